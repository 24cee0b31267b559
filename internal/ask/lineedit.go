package ask

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/tty"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
)

// lineEdit is a line of text that a person types. Only the Enter that ends it has
// an effect.
type lineEdit struct {
	head string // what precedes it
	text []rune
	at   int // the index of the cursor in it
	wide int // width when it was last shown
}

// maxField is the longest line, in characters.
const maxField = 4000

// line asks for a line of text; ok is false if the person leaves it with Escape.
// Enter ends the line only if it is pressed alone: a pasted one becomes a blank.
func (q *question) line(ctx context.Context, e *lineEdit) (text string, ok bool, err error) {
	q.say("\r" + e.shown(q.width()))
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
		case len(keys) == 1 && (keys[0].Kind == tty.Enter || keys[0].Kind == tty.NewLine):
			q.say("\n")
			return strings.TrimSpace(string(e.text)), true, nil
		case len(keys) == 1 && keys[0].Kind == tty.Escape:
			q.say("\r" + strings.Repeat(" ", utf8.RuneCountInString(e.head)+e.wide) + "\r")
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
	case tty.Enter, tty.NewLine:
		e.add(' ')
	case tty.Paste:
		for _, r := range key.Text {
			e.add(r)
		}
	case tty.Backspace:
		e.erase(max(e.at-1, 0), e.at)
	case tty.Delete:
		e.erase(e.at, min(e.at+1, len(e.text)))
	case tty.EraseWord:
		before := strings.TrimRight(string(e.text[:e.at]), " ")
		e.erase(utf8.RuneCountInString(before[:strings.LastIndex(before, " ")+1]), e.at)
	case tty.EraseLine:
		e.erase(0, e.at)
	case tty.Left:
		e.at = max(e.at-1, 0)
	case tty.Right:
		e.at = min(e.at+1, len(e.text))
	case tty.Home:
		e.at = 0
	case tty.End:
		e.at = len(e.text)
	}
}

// erase removes characters before or behind the cursor.
func (e *lineEdit) erase(from, to int) {
	e.text = slices.Delete(e.text, from, to)
	e.at = from
}

// add inserts a character; a line break becomes a blank.
func (e *lineEdit) add(r rune) {
	switch r {
	case '\n', '\r', '\t':
		r = ' '
	}
	if len(e.text) < maxField {
		e.text = slices.Insert(e.text, e.at, r)
		e.at++
	}
}

// shown returns the part of the line around the cursor that fits into a row, and blanks
// to overwrite what was there. The cursor stands behind head and the text before it.
func (e *lineEdit) shown(width int) string {
	room := max(width-utf8.RuneCountInString(e.head)-2, 10)
	before, after := []rune(visible.Line(string(e.text[:e.at]))), []rune(visible.Line(string(e.text[e.at:])))
	from, wide := len(before), 0
	for from > 0 && wide+cellsOf(before[from-1]) <= room {
		from--
		wide += cellsOf(before[from])
	}
	to, back := 0, 0
	for to < len(after) && wide+back+cellsOf(after[to]) <= room {
		back += cellsOf(after[to])
		to++
	}
	pad := max(e.wide-wide-back, 0)
	e.wide = wide + back
	return e.head + string(before[from:]) + string(after[:to]) + strings.Repeat(" ", pad) + strings.Repeat("\b", pad+back)
}

// cellsOf returns the width of a character, which may be less on the terminal.
func cellsOf(r rune) int {
	if r >= 0x1100 {
		return 2
	}
	return 1
}
