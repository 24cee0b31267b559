package ask

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/agent-wrapper/agent-wrapper/internal/tty"
	"github.com/agent-wrapper/agent-wrapper/internal/visible"
)

// lineEdit is a line of text that a person types. Only the Enter that ends it has
// an effect.
type lineEdit struct {
	head string // what precedes it
	text []rune
	wide int // width when it was last shown
}

// maxField is the longest line, in characters.
const maxField = 4000

// line asks for a line of text; ok is false if the person leaves it with Escape.
// Enter ends the line only if it is pressed alone: a pasted one becomes a blank.
func (q *question) line(ctx context.Context, head string) (text string, ok bool, err error) {
	e := &lineEdit{head: head}
	q.say(e.shown(q.width()))
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
			return strings.TrimSpace(string(e.text)), true, nil
		case len(keys) == 1 && keys[0].Kind == tty.Escape:
			q.say("\n")
			return "", false, nil
		}
		for _, key := range keys {
			e.take(key)
		}
		q.say("\r" + e.shown(q.width()))
	}
}

// take applies one key to the text.
func (e *lineEdit) take(key tty.Key) {
	switch key.Kind {
	case tty.Rune:
		e.add(key.Rune)
	case tty.Enter:
		e.add(' ')
	case tty.Paste:
		for _, r := range key.Text {
			e.add(r)
		}
	case tty.Backspace:
		e.text = e.text[:max(len(e.text)-1, 0)]
	case tty.EraseWord:
		at := strings.LastIndex(strings.TrimRight(string(e.text), " "), " ") + 1
		e.text = []rune(string(e.text)[:at])
	case tty.EraseLine:
		e.text = nil
	}
}

// add appends a character; a line break becomes a blank.
func (e *lineEdit) add(r rune) {
	switch r {
	case '\n', '\r', '\t':
		r = ' '
	}
	if len(e.text) < maxField {
		e.text = append(e.text, r)
	}
}

// shown returns the end of the line, as much as fits into a row, and blanks to
// overwrite what was there.
func (e *lineEdit) shown(width int) string {
	text := visible.Line(string(e.text))
	room := max(width-utf8.RuneCountInString(e.head)-2, 10)
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
	pad := max(e.wide-wide, 0)
	e.wide = wide
	return e.head + text[at:] + strings.Repeat(" ", pad) + strings.Repeat("\b", pad)
}
