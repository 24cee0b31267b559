package visible

import (
	"strings"
	"testing"
	"unicode"
)

func TestLine(t *testing.T) {
	tests := []struct{ in, want string }{
		{"", ""},
		{"git push origin main", "git push origin main"},
		{"größe 日本 ✓ é", "größe 日本 ✓ é"},
		{"a\x1b[2Kb", "a<U+001B>[2Kb"},
		{"a\rb", "a<U+000D>b"},
		{"a\nb\tc", "a<U+000A>b<U+0009>c"},
		{"\x00\x7f\u0085", "<U+0000><U+007F><U+0085>"},
		{"\u202Egnp.sh", "<U+202E>gnp.sh"},
		{"\u2066x\u2069", "<U+2066>x<U+2069>"},
		{"a\u200Bb\u200Dc\uFEFFd\u00ADe", "a<U+200B>b<U+200D>c<U+FEFF>d<U+00AD>e"},
		{"rm\u00A0x\u2003y\u3000z", "rm<U+00A0>x<U+2003>y<U+3000>z"},
		{"x\u3164y\u2800z\u115F", "x<U+3164>y<U+2800>z<U+115F>"},
		{"a\u2028b\u2029c", "a<U+2028>b<U+2029>c"},
		{"x\U000E0041\U000E0101", "x<U+E0041><U+E0101>"},
		{"a\xffb\xc0\x80", "a<0xFF>b<0xC0><0x80>"},
		{"\uFFFD", "\uFFFD"},
		{"⚠\uFE0F ok", "⚠\uFE0F ok"},
		{"a\uFE0F", "a<U+FE0F>"},
	}
	for _, tt := range tests {
		if got := Line(tt.in); got != tt.want {
			t.Errorf("Line(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestIndent(t *testing.T) {
	got := Indent("one\ntwo\r\n\tthree", "  | ")
	if want := "one\n  | two<U+000D>\n  | \tthree"; got != want {
		t.Errorf("Indent = %q, want %q", got, want)
	}
}

// Every character of the planes in use either shows or is spelled out.
func TestNothingHides(t *testing.T) {
	for r := rune(0); r <= 0xE0FFF; r++ {
		if r >= 0xD800 && r <= 0xDFFF {
			continue
		}
		got := Line(string(r))
		hidden := unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector, unicode.Bidi_Control)
		if hidden && !strings.HasPrefix(got, "<U+") {
			t.Fatalf("%U comes out as %q", r, got)
		}
	}
}

func FuzzLine(f *testing.F) {
	f.Add("a\x1b[31m\u202Eb\xff\n")
	f.Fuzz(func(t *testing.T, s string) {
		got := Line(s)
		for _, r := range got {
			if r < ' ' || r == 0x7f || unicode.Is(unicode.Bidi_Control, r) {
				t.Fatalf("Line(%q) holds %U", s, r)
			}
		}
		if Line(got) != got {
			t.Fatalf("Line(%q) is not stable", s)
		}
	})
}
