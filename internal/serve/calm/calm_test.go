package calm

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// What draws is passed on; what reaches beyond the terminal is not, in whatever pieces
// it comes.
func TestCalm(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"plain \x1b[1;31mred\x1b[0m\r\n", "plain \x1b[1;31mred\x1b[0m\r\n"},
		{"\x1b[2J\x1b[H\x1b7\x1b8\x1bc\x1b(B\x1b[?1049h", "\x1b[2J\x1b[H\x1b7\x1b8\x1bc\x1b(B\x1b[?1049h"},
		{"a\x1b]0;title\x07b", "ab"},
		{"a\x1b]2;title\x1b\\b", "ab"},
		{"a\x1b]52;c;cm0gLXJm\x07b", "ab"},
		{"a\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\b", "alinkb"},
		{"a\x1bP$qm\x1b\\b\x1bXsos\x1b\\c\x1b^pm\x1b\\d\x1b_apc\x1b\\e", "abcde"},
		{"a\u009d0;title\u009cb\u0090dcs\u009cc", "abc"},
		{"a\u009d0;title\x07b", "ab"},
		{"a\x1b[21tb\x1b[22;0tc\u009b21td", "abcd"},
		{"a\x1b]0;one\x1b]0;two\x07b", "ab"},
		{"a\x1b]0;one\x1b[1mb", "a\x1b[1mb"},
		{"a\x1b]0;one\x18b", "ab"},
		{"a\x1b[1\x1b[31mb", "a\x1b[31mb"},
		{"\x1b\x1b]0;t\x07a", "a"},
		{"\x1b\x1b]0;t\x07]0;evil\x07", "]0;evil\x07"},
		{"\xc2\x1b]0;t\x07\x9d0;evil\x07", "\ufffd\x9d0;evil\x07"},
		{"\x1b\xc2\x9d0;t\x07]a", "]a"},
		{"\x1b\x00]0;evil\x07a", "\x00a"},
		{"\x1b\x7f\r]0;evil\x07a", "\ra"},
		{"\x1b\x18]a", "\x18]a"},
		{"a\x1b[21\x7ftb", "ab"},
		{"a\u009b21\ntb", "a\nb"},
		{"a\x1b[2\x1aJ", "a\x1aJ"},
		{"a\u009b0\u009fapc\u009cb", "ab"},
		{"a\x1b[1\u00e4t", "a\u00e4t"},
		{"\u00e4\u00f6 caf\u00e9 \u20ac", "\u00e4\u00f6 caf\u00e9 \u20ac"},
		{"\xc2\x1b]0;t\x07a", "\ufffda"},
		{"a\x1b[" + strings.Repeat("1;", 500) + "mb", "a" + strings.Repeat("1;", 500)[maxCSI-2+1:] + "mb"},
	} {
		for size := 1; size <= len(tt.in); size++ {
			var c Filter
			var out []byte
			for rest := tt.in; rest != ""; {
				n := min(size, len(rest))
				out = c.append(out, []byte(rest[:n]))
				rest = rest[n:]
			}
			if string(out) != tt.want {
				t.Fatalf("%q in pieces of %d: got %q, want %q", tt.in, size, out, tt.want)
			}
			if c.seen != 0 {
				t.Fatalf("%q: %d bytes are held", tt.in, c.seen)
			}
		}
	}
}

// A string that never ends hides no more than its limit.
func TestCalmForever(t *testing.T) {
	var c Filter
	out := c.append(nil, []byte("\x1b]0;"+strings.Repeat("x", 2*maxString)+"end"))
	if !strings.HasSuffix(string(out), "xend") || len(out) < maxString/2 {
		t.Errorf("%d bytes are left", len(out))
	}
}

// texts returns the text of an output that comes in pieces, and how much is held at the end.
func texts(in []byte, size int) (all string, held int) {
	var c Filter
	for len(in) > 0 {
		var text []byte
		n := min(size, len(in))
		text, held = c.Text(in[:n])
		all += string(text)
		in = in[n:]
	}
	return all, held
}

// A character or a sequence that has only begun is held, and what is held is told.
func TestText(t *testing.T) {
	for _, tt := range []struct {
		in, want string
		held     int
	}{
		{"\u20ac", "\u20ac", 0},
		{"a\u20ac\xe2\x82", "a\u20ac", 2},
		{"a\xf0\x9f\x98", "a", 3},
		{"a\xff\x82\x82\x82\x82", "a\xff\x82\x82\x82\x82", 0},
		{"a\x1b[1", "a", 3},
		{"\xe2\x82\x1b]0;x", "", 7}, // it may go on behind the string
	} {
		for size := 1; size <= len(tt.in); size++ {
			if got, held := texts([]byte(tt.in), size); got != tt.want || held != tt.held {
				t.Errorf("%q in pieces of %d: %q, %d bytes held", tt.in, size, got, held)
			}
		}
	}
}

// obeyed is what a terminal obeys: the beginning of a string, and a report of its window.
// Control characters in a sequence are obeyed or skipped, and it goes on behind them.
var obeyed = regexp.MustCompile("\x1b[\x00-\x17\x19\x1c-\x1f\x7f]*[\\]PX^_]|[\u0090\u0098\u009d-\u009f]|" +
	"(?:\x1b[\x00-\x17\x19\x1c-\x1f\x7f]*\\[|\u009b)[\x00-\x17\x19\x1c-\x3f\x7f]*t")

// However it comes, nothing of a string is left, and what is held is bounded.
func FuzzCalm(f *testing.F) {
	for _, seed := range []string{"a\x1b]0;t\x07b", "\u009d0;t\u009c", "\x1b[21t", "\x1b\x1b\x1b[", "\xc2\xc2\x9d", "\x1b\x1b]0;t\x07]0;evil\x07", "\u009b\r0\x06\u009f", "\x1b\x00]0;evil\x07", "\x1b[21\x7ft"} {
		f.Add([]byte(seed), 3)
	}
	f.Fuzz(func(t *testing.T, in []byte, size int) {
		size = max(1, min(size, 64))
		var once, pieces Filter
		want := once.append(nil, in)
		var got []byte
		for rest := in; len(rest) > 0; {
			n := min(size, len(rest))
			got = pieces.append(got, rest[:n])
			rest = rest[n:]
		}
		if string(got) != string(want) {
			t.Fatalf("%q in pieces is %q, at once %q", in, got, want)
		}
		if text, held := texts(in, size); held > len(in) || string(want[:len(text)]) != text || !utf8.ValidString(text) && utf8.Valid(want) {
			t.Fatalf("%q in pieces is %q, and %d bytes are held", in, text, held)
		}
		if len(once.held) > maxCSI+2 || once.seen > maxString+2 {
			t.Fatalf("%d bytes are held", len(once.held))
		}
		if bad := obeyed.FindString(string(want)); bad != "" {
			t.Fatalf("%q lets %q pass: %q", in, bad, want)
		}
	})
}
