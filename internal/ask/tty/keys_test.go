package tty

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func rune1(r rune) Key { return Key{Kind: Rune, Rune: r} }

func TestFeed(t *testing.T) {
	other := Key{Kind: Other}
	tests := []struct {
		in   string
		want []Key
	}{
		{"o", []Key{rune1('o')}},
		{"é日 ", []Key{rune1('é'), rune1('日'), rune1(' ')}},
		{"\r\n\x1b\r\t", []Key{{Kind: Enter}, {Kind: NewLine}, {Kind: AltEnter}, {Kind: Tab}}},
		{"\x0b\x19\x04\x0c\x10\x0e\x02\x06", []Key{{Kind: EraseEnd}, {Kind: PutBack}, {Kind: EndInput}, {Kind: Redraw}, {Kind: Up}, {Kind: Down}, {Kind: Left}, {Kind: Right}}},
		{"\x1b[A\x1bOB\x1bb\x1bf\x1b[1;5D\x1b[1;3C", []Key{{Kind: Up}, {Kind: Down}, {Kind: WordLeft}, {Kind: WordRight}, {Kind: WordLeft}, {Kind: WordRight}}},
		{"\x7f\x08\x17\x15\x03\x1a", []Key{{Kind: Backspace}, {Kind: Backspace}, {Kind: EraseWord}, {Kind: EraseLine}, {Kind: Interrupt}, {Kind: Suspend}}},
		{"\x1b[C\x1b[D\x1bOC\x1bOD\x1b[H\x1b[F\x1b[1~\x1b[4~\x1b[3~\x01\x05", []Key{{Kind: Right}, {Kind: Left}, {Kind: Right}, {Kind: Left}, {Kind: Home}, {Kind: End}, {Kind: Home}, {Kind: End}, {Kind: Delete}, {Kind: Home}, {Kind: End}}},
		{"\x1b[1;2C\x1b[5~\x1b[33~", []Key{other, other, other}},
		{"\x00\x12\x14\u202E\u200B\xff", []Key{other, {Kind: Search}, other, other, other, other}},
		{"\x1b[Io", []Key{other, rune1('o')}},
		{"\x1b[1;2A\x1b[15~\x1b[[Ao", []Key{other, other, other, rune1('o')}},
		{"\x1b[Mabco", []Key{other, rune1('o')}},
		{"\x1b[<0;1;2Mo", []Key{other, rune1('o')}},
		{"\x1boo", []Key{other, rune1('o')}},
		{"\x1b日o", []Key{other, rune1('o')}},
		{"\x1b\x1b[Ao", []Key{other, {Kind: Up}, rune1('o')}},
		{"\x1b[1\x03o", []Key{other, {Kind: Interrupt}, rune1('o')}},
		{"\x1b]0;o\ao", []Key{other, rune1('o')}},
		{"\x1b]0;o\x1b\\o", []Key{other, rune1('o')}},
		{"\x1bPo\x1b[Ao", []Key{other, {Kind: Up}, rune1('o')}},
		{"\x1b[200~o\r\x1b[A\x1b[201~o", []Key{{Kind: Paste, Text: "o\r\x1b[A"}, rune1('o')}},
		{"\x1b[200~\x1b[201~", []Key{{Kind: Paste}}},
	}
	for _, tt := range tests {
		for cut := range len(tt.in) + 1 { // in one piece or two
			d := &Decoder{}
			got := append(d.Feed([]byte(tt.in[:cut])), d.Feed([]byte(tt.in[cut:]))...)
			if diff := cmp.Diff(tt.want, got); diff != "" || d.Pending() {
				t.Errorf("%q cut at %d, pending %v:\n%s", tt.in, cut, d.Pending(), diff)
			}
		}
	}
}

func TestFlush(t *testing.T) {
	for in, want := range map[string]Kind{"\x1b": Escape, "\x1b[": Other, "\x1b[200~o": Paste, "\x1bO": Other, "\xc3": Other} {
		d := &Decoder{}
		if keys := d.Feed([]byte(in)); len(keys) != 0 || !d.Pending() {
			t.Errorf("%q gives %v", in, keys)
		}
		if key, ok := d.Flush(); !ok || key.Kind != want || d.Pending() {
			t.Errorf("%q: %v, %v", in, key, ok)
		}
		if key, ok := d.Flush(); ok {
			t.Errorf("%q: once more %v", in, key)
		}
	}
}

// A sequence without an end is abandoned.
func TestEndless(t *testing.T) {
	d := &Decoder{}
	keys := d.Feed([]byte("\x1b]" + strings.Repeat("o", maxRest)))
	if len(keys) != 1 || keys[0].Kind != Other || d.Pending() {
		t.Errorf("%d keys, pending %v", len(keys), d.Pending())
	}
}

// The keys do not depend on how the bytes are split.
// TestLongPaste: whatever its length, pasted text is never taken for keys.
func TestLongPaste(t *testing.T) {
	text := strings.Repeat("é line\r\x03", 3*maxRest/10)
	d := &Decoder{}
	var got strings.Builder
	in := "\x1b[200~" + text + "\x1b[201~o"
	for at := 0; at < len(in); at += 4096 {
		for _, key := range d.Feed([]byte(in[at:min(at+4096, len(in))])) {
			if key.Kind != Paste && key != rune1('o') {
				t.Fatalf("%+v", key)
			}
			got.WriteString(key.Text)
		}
	}
	if got.String() != text || d.Pending() {
		t.Errorf("%d of %d bytes, pending %v", got.Len(), len(text), d.Pending())
	}
}

func FuzzFeed(f *testing.F) {
	f.Add("\x1b[200~a\x1b[201~o\x1b[Mabc\x1b]x\a", 3)
	f.Fuzz(func(t *testing.T, in string, cut int) {
		if cut < 0 || cut > len(in) {
			return
		}
		whole, pieces := &Decoder{}, &Decoder{}
		a := whole.Feed([]byte(in))
		b := append(pieces.Feed([]byte(in[:cut])), pieces.Feed([]byte(in[cut:]))...)
		if diff := cmp.Diff(a, b); diff != "" || whole.Pending() != pieces.Pending() {
			t.Errorf("%q cut at %d:\n%s", in, cut, diff)
		}
	})
}

// The first variable that is set counts; without one the locale is C.
func TestUTF8Locale(t *testing.T) {
	for _, tt := range []struct {
		all, ctype, lang, system string
		want                     bool
	}{
		{"", "", "de_DE.UTF-8", "linux", true},
		{"", "", "C.utf8", "linux", true},
		{"", "C", "de_DE.UTF-8", "linux", false},
		{"C.UTF-8", "C", "C", "linux", true},
		{"POSIX", "", "C.UTF-8", "linux", false},
		{"", "", "", "linux", false},
		{"", "", "", "windows", true},
	} {
		values := map[string]string{"LC_ALL": tt.all, "LC_CTYPE": tt.ctype, "LANG": tt.lang}
		if got := utf8Locale(func(name string) string { return values[name] }, tt.system); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}
