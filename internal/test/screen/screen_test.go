package screen

import (
	"io"
	"slices"
	"strings"
	"testing"
)

// TestShown: what a terminal of 8 columns and 4 rows shows.
func TestShown(t *testing.T) {
	tests := []struct{ name, written, want string }{
		{"lines", "one\r\ntwo\r\n", "one\ntwo\n"},
		{"a line feed goes down only", "one\ntwo", "one\n   two\n"},
		{"a full row", "12345678\r\nnext", "12345678\nnext\n"},
		{"one more wraps", "123456789", "12345678\n9\n"},
		{"written over", "abcdef\rxy", "xycdef\n"},
		{"backspace", "abc\b\bx", "axc\n"},
		{"tab", "a\tb", "a      b\n"},
		{"scrolled", "1\r\n2\r\n3\r\n4\r\n5\r\n6", "3\n4\n5\n6\n"},
		{"up and erased below", "one\r\ntwo\r\nthree\x1b[2A\r\x1b[Jnew", "new\n"},
		{"up stops at the top", "1\r\n2\r\n3\r\n4\r\n5\x1b[9A\rx", "x\n3\n4\n5\n"},
		{"right stops at the edge", "\x1b[99Cx", "       x\n"},
		{"left, up, down", "abc\x1b[2Dx\x1b[Bdown\x1b[Aup", "axc   up\n  down\n"},
		{"column", "abc\x1b[2Gx\x1b[Gy", "yxc\n"},
		{"place", "abc\r\ndef\x1b[1;3Hx\x1b[Hy", "ybx\ndef\n"},
		{"to the end", "abcdef\x1b[4G\x1b[K", "abc\n"},
		{"to the beginning", "abcdef\x1b[4G\x1b[1K", "    ef\n"},
		{"all of a row", "abcdef\x1b[2K", "\n"},
		{"all of a screen", "abc\r\ndef\r\nghi\x1b[A\x1b[2J", "\n"},
		{"the beginning of a screen", "abc\r\ndef\r\nghi\x1b[A\x1b[1G\x1b[1J", "\n ef\nghi\n"},
		{"tab behind a full row", "12345678\tx", "12345678\nx\n"},
		{"left of a full row", "12345678\x1b[Dx", "123456x8\n"},
		{"a combining mark", "e\u0301a", "e\u0301a\n"},
		{"characters", "┌│…→", "┌│…→\n"},
		{"not shown", "\x1b]0;title\aa\x1b]133;D;0\x1b\\b\x1b[?2004hc\x1b[?25ld\a", "abcd\n"},
	}
	for _, tt := range tests {
		for _, pieces := range []int{1, len(tt.written)} { // at once, and byte for byte
			s := New(8, 4)
			for i := 0; i < len(tt.written); i += len(tt.written) / pieces {
				io.WriteString(s, tt.written[i:i+len(tt.written)/pieces])
			}
			if got := Text(s.Shown()); got != tt.want || len(s.Unknown()) > 0 {
				t.Errorf("%s: %q, want %q; unknown: %q", tt.name, got, tt.want, s.Unknown())
			}
		}
	}
}

// TestStyles: what SGR does.
func TestStyles(t *testing.T) {
	for sgr, want := range map[string]Style{
		"":                      {},
		"0":                     {},
		"1":                     {Bold: true},
		"2;3;4;7":               {Dim: true, Italic: true, Underline: true, Reverse: true},
		"1;33":                  {Bold: true, Ink: Yellow},
		"91;42":                 {Ink: Red, Paper: Green},
		"38;5;6":                {Ink: Cyan},
		"48;5;12;1":             {Paper: Blue, Bold: true},
		"31;41;39;49":           {},
		"1;2;3;4;7;22;23;24;27": {},
		"1;31;0;4":              {Underline: true},
	} {
		s := New(8, 4)
		io.WriteString(s, "a\x1b["+sgr+"mb\x1b[0mc")
		row := s.Shown()[0]
		if row[1] != (Cell{"b", want}) || row[0] != (Cell{Text: "a"}) || row[2] != (Cell{Text: "c"}) || row[3] != (Cell{}) || len(s.Unknown()) > 0 {
			t.Errorf("SGR %s: %+v; unknown: %q", sgr, row, s.Unknown())
		}
	}
}

// TestUnknown: what the terminal does not know is said.
func TestUnknown(t *testing.T) {
	for _, sequence := range []string{"\x1b[5n", "\x1b[?1049h", "\x1b[48;2;1;2;3m", "\x1b[38;5;200m", "\x1b[5m", "\x1bM", "\x1b7", "\x1b[3J", "\x1b[>c", "\x0e", "漢", "\u202e", "\xff", "👍"} {
		s := New(8, 4)
		io.WriteString(s, "a"+sequence+"b")
		if got := s.Unknown(); !slices.Equal(got, []string{sequence}) {
			t.Errorf("%q: unknown are %q", sequence, got)
		}
		if got := Text(s.Shown()); !strings.HasPrefix(got, "a") {
			t.Errorf("%q: %q", sequence, got)
		}
	}
}

// TestFrom: rows that have scrolled away are kept.
func TestFrom(t *testing.T) {
	s := New(8, 2)
	io.WriteString(s, "1\r\n2\r\n3\r\n4")
	if got := Text(s.From(1)); got != "2\n3\n4\n" || s.Rows() != 4 {
		t.Errorf("%q of %d rows", got, s.Rows())
	}
	s.From(0)[0][0].Text = "x"
	if got := Text(s.From(0)); got != "1\n2\n3\n4\n" {
		t.Errorf("who looks can change it: %q", got)
	}
}
