package chat

import (
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/tty"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
)

// search is a search in the earlier prompts, from the newest back.
type search struct {
	words string // that are searched
	at    int    // the index of the prompt that is in the line; that of none before the first
	none  bool   // no prompt has the words
	was   edit   // the line before
	stood int    // the index of the history before
}

// status returns the last row for a search.
func (s *search) status() string {
	const keys = "  ^R older, Enter takes it, ^C leaves"
	if s.none {
		return "no earlier prompt has: " + visible.Line(s.words) + keys
	}
	return "search: " + visible.Line(s.words) + keys
}

// beginSearch begins to search the earlier prompts. A terminal that cannot move its cursor
// would show each one found as a row of its own.
func (l *loop) beginSearch() {
	if l.board.Dumb() {
		l.tell("there is no search on this terminal")
		return
	}
	h := l.history
	if h.at == len(h.all) {
		h.draft = l.edit.String()
	}
	l.search = &search{at: len(h.all), was: l.edit, stood: h.at}
	l.search.was.text = []rune(l.edit.String())
}

// unsearched puts the line as it was before the search.
func (l *loop) unsearched() {
	l.edit, l.history.at = l.search.was, l.search.stood
	l.edit.text = []rune(l.search.was.String())
}

// searched takes a key of a search. It reports whether that is all that the key does: any
// other key takes what was found into the line, and then does what it always does. Enter
// sends nothing.
func (l *loop) searched(key tty.Key) bool {
	s := l.search
	switch key.Kind {
	case tty.Rune:
		l.seek(s.words+string(key.Rune), s.at)
	case tty.Paste:
		first, _, _ := strings.Cut(pasted(key.Text), "\n")
		l.seek(s.words+first, s.at)
	case tty.Backspace:
		if words := []rune(s.words); len(words) > 0 {
			l.seek(string(words[:len(words)-1]), len(l.history.all))
		}
	case tty.Search:
		l.seek(s.words, s.at-1)
	case tty.Interrupt:
		l.unsearched()
		l.search = nil
	case tty.Other: // a reply of the terminal
	case tty.Enter, tty.Tab, tty.Escape:
		l.search = nil
	default:
		l.search = nil
		return false
	}
	return true
}

// seek puts the newest prompt with the words into the line that is not behind the index
// from. If there is none, the line stays as it is.
func (l *loop) seek(words string, from int) {
	s := l.search
	s.words = words
	if words == "" {
		s.none, s.at = false, len(l.history.all)
		l.unsearched()
		return
	}
	at := l.history.find(words, from)
	if s.none = at < 0; s.none {
		return
	}
	s.at = at
	l.edit.set(l.history.all[at])
	l.history.at = at
}
