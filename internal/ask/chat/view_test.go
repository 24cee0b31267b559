package chat

import (
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/display"
	"pgregory.net/rapid"
)

// TestRows: the cursor stands where the next character will.
func TestRows(t *testing.T) {
	for _, tt := range []struct {
		text        string // | is the cursor
		width, most int
		want        string // | is the cursor
	}{
		{"|", 20, 9, "> |"},
		{"ab|c", 20, 9, "> ab|c"},
		{"one\n|two", 20, 9, "> one\n  |two"},
		{"fix the failing test|", 14, 9, "> fix the \n  failing \n  test|"},
		{"fix |the failing test", 14, 9, "> fix |the \n  failing \n  test"},
		{"abcdefghijk|", 14, 9, "> abcdefghijk\n  |"},
		{"abcdefghijk|l", 14, 9, "> abcdefghijk\n  |l"},
		{"日本語|", 20, 9, "> 日本語|"},
		{"a\u0301b|c", 20, 9, "> a\u0301b|c"},
		{"a\x1b|b", 20, 9, "> a<U+001B>|b"},
		{"1\n2\n3\n4|\n5", 20, 2, "^ 3\n  4|"},
		{"1|\n2\n3", 20, 2, "> 1|\n  2"},
		{"\u202E|", 20, 9, "> <U+202E>|"},
		{"\u202E|", 9, 9, "> <U+202\n  E>|"},
		{strings.Repeat("\u202E", 100) + "|", 14, 9, "> <U+202E \n  x100>|"},
	} {
		at := strings.IndexByte(tt.text, '|')
		e := edit{text: []rune(tt.text[:at] + tt.text[at+1:]), at: len([]rune(tt.text[:at]))}
		rows, row, column := e.rows(tt.width, tt.most)
		used, out := 0, ""
		for _, c := range append(display.Chars(rows[row]), display.Char{}) {
			if used == column && !strings.Contains(out, "|") && c.Width+len(c.Text) >= 0 {
				out += "|"
			}
			out += c.Text
			used += c.Width
		}
		rows[row] = out
		if got := strings.Join(rows, "\n"); got != tt.want {
			t.Errorf("%q at %d: %q, want %q", tt.text, tt.width, got, tt.want)
		}
	}
}

// TestRowsFit: whatever was typed or pasted, no row is as wide as the terminal, nothing in
// it is obeyed by a terminal, and the cursor is in one.
func TestRowsFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := edit{text: []rune(pasted(rapid.String().Draw(t, "text")))}
		e.at = rapid.IntRange(0, len(e.text)).Draw(t, "at")
		width, most := rapid.IntRange(12, 90).Draw(t, "width"), rapid.IntRange(1, 10).Draw(t, "most")
		rows, row, column := e.rows(width, most)
		if len(rows) == 0 || len(rows) > most || row < 0 || row >= len(rows) || column < 0 || column >= width {
			t.Fatalf("%d rows, the cursor at %d, %d", len(rows), row, column)
		}
		for _, r := range rows {
			if n := cells(display.Chars(r)); n >= width || strings.ContainsFunc(r, func(r rune) bool { return r < ' ' || r == 0x7f || 0x80 <= r && r < 0xa0 || 0x202a <= r && r <= 0x202e }) {
				t.Fatalf("%d cells of %d: %q", n, width, r)
			}
		}
	})
}

// TestEdits: no key leaves the cursor outside the text.
func TestEdits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := &loop{history: &history{}}
		for _, data := range rapid.SliceOf(rapid.SliceOf(rapid.SampledFrom([]byte("ab \n\x01\x05\x02\x06\x17\x15\x0b\x19\x7f\x1b[ABCD3~f;5")))).Draw(t, "keys") {
			for _, key := range l.keys.Feed(data) {
				if !l.edit.take(key) {
					l.edit.up()
				}
				if l.edit.at < 0 || l.edit.at > len(l.edit.text) {
					t.Fatalf("the cursor is at %d of %d", l.edit.at, len(l.edit.text))
				}
			}
		}
	})
}
