package chat

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/tty"
)

// edit is a text of several lines that a person types.
type edit struct {
	text []rune
	at   int    // the index of the cursor in it
	cut  []rune // what was erased last by a key for more than a character
}

// maxText is the longest text, in characters.
const maxText = 1 << 20

func (e *edit) String() string { return string(e.text) }

// set replaces the text, with the cursor at its end.
func (e *edit) set(text string) {
	e.text = []rune(text)
	e.at = len(e.text)
}

// place returns in which line the cursor is, "" if the text has at most so many.
func (e *edit) place(most int) string {
	lines := 1
	at := 0
	for i, r := range e.text {
		if i == e.at {
			at = lines
		}
		if r == '\n' {
			lines++
		}
	}
	if lines <= most {
		return ""
	}
	return fmt.Sprintf("  line %d of %d", cmp.Or(at, lines), lines)
}

// take applies a key, and reports whether it is one that edits.
func (e *edit) take(key tty.Key) bool {
	switch key.Kind {
	case tty.Rune:
		e.insert(key.Rune)
	case tty.NewLine, tty.AltEnter:
		e.insert('\n')
	case tty.Paste:
		e.insert([]rune(pasted(key.Text))...)
	case tty.PutBack:
		e.insert(e.cut...)
	case tty.Backspace:
		e.erase(e.left(), e.at)
	case tty.Delete:
		e.erase(e.at, e.right())
	case tty.EraseWord:
		e.cuts(e.wordLeft(), e.at)
	case tty.EraseLine:
		e.cuts(e.lineStart(), e.at)
	case tty.EraseEnd:
		e.cuts(e.at, e.lineEnd())
	default:
		return e.moves(key.Kind)
	}
	return true
}

// moves applies a key that moves the cursor within the text.
func (e *edit) moves(kind tty.Kind) bool {
	switch kind {
	case tty.Left:
		e.at = e.left()
	case tty.Right:
		e.at = e.right()
	case tty.WordLeft:
		e.at = e.wordLeft()
	case tty.WordRight:
		e.at = e.wordRight()
	case tty.Home:
		e.at = e.lineStart()
	case tty.End:
		e.at = e.lineEnd()
	default:
		return false
	}
	return true
}

// pasted returns pasted text with its line ends as line feeds. What a terminal would obey
// stays in the text, and is spelled out where it is shown; characters that mean nothing to
// an agent do not.
func pasted(text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	return strings.ReplaceAll(text, "\x00", "")
}

// insert inserts characters before the cursor, as far as they fit.
func (e *edit) insert(text ...rune) {
	text = text[:min(len(text), max(maxText-len(e.text), 0))]
	e.text = slices.Insert(e.text, e.at, text...)
	e.at += len(text)
}

func (e *edit) erase(from, to int) {
	e.text = slices.Delete(e.text, from, to)
	e.at = from
}

// cuts erases, and keeps what it was.
func (e *edit) cuts(from, to int) {
	if from < to {
		e.cut = slices.Clone(e.text[from:to])
	}
	e.erase(from, to)
}

// joins reports whether a character belongs to the one before it.
func joins(r rune) bool { return unicode.In(r, unicode.Mn, unicode.Me) || r == '\u200d' }

func (e *edit) left() int {
	at := max(e.at-1, 0)
	for at > 0 && joins(e.text[at]) {
		at--
	}
	return at
}

func (e *edit) right() int {
	at := min(e.at+1, len(e.text))
	for at < len(e.text) && joins(e.text[at]) {
		at++
	}
	return at
}

func (e *edit) wordLeft() int {
	at := e.at
	for at > 0 && unicode.IsSpace(e.text[at-1]) {
		at--
	}
	for at > 0 && !unicode.IsSpace(e.text[at-1]) {
		at--
	}
	return at
}

func (e *edit) wordRight() int {
	at := e.at
	for at < len(e.text) && unicode.IsSpace(e.text[at]) {
		at++
	}
	for at < len(e.text) && !unicode.IsSpace(e.text[at]) {
		at++
	}
	return at
}

func (e *edit) lineStart() int {
	at := e.at
	for at > 0 && e.text[at-1] != '\n' {
		at--
	}
	return at
}

func (e *edit) lineEnd() int {
	at := e.at
	for at < len(e.text) && e.text[at] != '\n' {
		at++
	}
	return at
}

// up moves the cursor to the line above, and reports whether there is one.
func (e *edit) up() bool {
	start := e.lineStart()
	if start == 0 {
		return false
	}
	column := e.at - start
	e.at = start - 1
	e.at = min(e.lineStart()+column, start-1)
	return true
}

// down moves the cursor to the line below, and reports whether there is one.
func (e *edit) down() bool {
	end := e.lineEnd()
	if end == len(e.text) {
		return false
	}
	column := e.at - e.lineStart()
	e.at = end + 1
	e.at = min(e.at+column, e.lineEnd())
	return true
}
