package main

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/agent-wrapper/agent-wrapper/internal/tty"
	"github.com/agent-wrapper/agent-wrapper/internal/visible"
)

// field is a line that a person types. Nothing typed into it decides, but the
// Enter that ends it.
type field struct {
	head string // what stands before it
	text []rune
	wide int // how wide it was shown
}

// maxField is how many characters a field takes.
const maxField = 4000

// line asks for a line of text; not ok is a person who left it with Escape.
// Enter counts only by itself: one that is pasted is a blank.
func (q *question) line(ctx context.Context, head string) (text string, ok bool, err error) {
	f := &field{head: head}
	q.say(f.shown(q.width()))
	for {
		keys, notice, err := q.keys.typed(ctx)
		if err != nil {
			return "", false, err
		}
		if err := q.noticed(notice); err != nil {
			return "", false, err
		}
		switch kind := stops(keys); {
		case kind != 0:
			if err := q.stopped(kind); err != nil {
				return "", false, err
			}
		case len(keys) == 1 && keys[0].Kind == tty.Enter:
			q.say("\n")
			return strings.TrimSpace(string(f.text)), true, nil
		case len(keys) == 1 && keys[0].Kind == tty.Escape:
			q.say("\n")
			return "", false, nil
		}
		for _, key := range keys {
			f.take(key)
		}
		q.say("\r" + f.shown(q.width()))
	}
}

// take changes the text by one key.
func (f *field) take(key tty.Key) {
	switch key.Kind {
	case tty.Rune:
		f.add(key.Rune)
	case tty.Enter:
		f.add(' ')
	case tty.Paste:
		for _, r := range key.Text {
			f.add(r)
		}
	case tty.Backspace:
		f.text = f.text[:max(len(f.text)-1, 0)]
	case tty.EraseWord:
		at := strings.LastIndex(strings.TrimRight(string(f.text), " "), " ") + 1
		f.text = []rune(string(f.text)[:at])
	case tty.EraseLine:
		f.text = nil
	}
}

// add appends a character; a break of lines is a blank.
func (f *field) add(r rune) {
	switch r {
	case '\n', '\r', '\t':
		r = ' '
	}
	if len(f.text) < maxField {
		f.text = append(f.text, r)
	}
}

// shown is the end of the field, as much as fits into a row, and blanks over
// what stood there before.
func (f *field) shown(width int) string {
	text := visible.Line(string(f.text))
	room := max(width-utf8.RuneCountInString(f.head)-2, 10)
	at, wide := len(text), 0
	for at > 0 {
		r, size := utf8.DecodeLastRuneInString(text[:at])
		cells := 1
		if r >= 0x1100 {
			cells = 2
		}
		if wide+cells > room {
			break
		}
		at, wide = at-size, wide+cells
	}
	pad := max(f.wide-wide, 0)
	f.wide = wide
	return f.head + text[at:] + strings.Repeat(" ", pad) + strings.Repeat("\b", pad)
}
