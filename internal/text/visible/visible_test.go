package visible

import (
	"regexp"
	"slices"
	"strconv"
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
		{"a <U+202E> b <0xFF> <U-1> 1<2", "a <U+003C>U+202E> b <U+003C>0xFF> <U-1> 1<2"},
		{"e\u0301 Vie\u0323\u0302t", "e\u0301 Vie\u0323\u0302t"},
		{"e\u0301\u0302\u0303\u0304\u0305x", "e\u0301\u0302\u0303<U+0304><U+0305>x"},
		{"\u0301a", "<U+0301>a"},
		{"a\x00\x00\x00\x00\x00\x00b" + strings.Repeat("\u0301", 9), "a<U+0000 x6>b\u0301\u0301\u0301<U+0301 x6>"},
		{"\x1b\u0301", "<U+001B><U+0301>"},
		{"a\uFE0F", "a<U+FE0F>"},
	}
	for _, tt := range tests {
		if got := Line(tt.in); got != tt.want {
			t.Errorf("Line(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

// Every character of the assigned planes is either visible or spelled out.
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

func TestCode(t *testing.T) {
	tests := []struct{ in, code, command string }{
		{"if x {\n\treturn\n}", "if x {\n⇥   return\n}", ""},
		{"⇥", "<U+21E5>", ""},
		{"a" + strings.Repeat(" ", 60) + "b", "a" + strings.Repeat(" ", 60) + "b", ""},
		{"a" + strings.Repeat(" ", 61) + "; b", "a<U+0020 x61>; b", ""},
		{strings.Repeat(" ", 61), "<U+0020 x61>", ""},
		{"a" + strings.Repeat("\t", 13), "a<U+0009 x13>", ""},
		{"a\n\n\n\nb", "a\n\n\n\nb", ""},
		{"a" + strings.Repeat("\n", 500) + "b", "a\n<U+000A x498>\nb", ""},
		{"echo “; b”", "echo “; b”", "echo <U+201C>; b<U+201D>"},
		{"＃ ls ´ ＄x 你好！", "＃ ls ´ ＄x 你好！", "<U+FF03> ls <U+00B4> <U+FF04>x 你好！"},
	}
	for _, tt := range tests {
		if got := Code(tt.in); got != tt.code {
			t.Errorf("Code(%q) = %q, want %q", tt.in, got, tt.code)
		}
		want := tt.command
		if want == "" {
			want = tt.code
		}
		if got := Command(tt.in); got != want {
			t.Errorf("Command(%q) = %q, want %q", tt.in, got, want)
		}
	}
}

func TestPieces(t *testing.T) {
	got := Pieces("ls <U+41> \n\n\n\n\n\nx\u0301", true, 4, 12, 14)
	want := []string{"ls <U+003C>", "U+41> \n\n", "\n\n", "\n\nx\u0301"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

var spelled = regexp.MustCompile(`<U\+([0-9A-F]{4,6})(?: x([0-9]+))?>|<0x([0-9A-F]{2})>|⇥   |\n<U\+000A x([0-9]+)>\n`)

// back decodes displayed text as a person would read it; "⇥   " is a tab.
func back(s string) string {
	return spelled.ReplaceAllStringFunc(s, func(m string) string {
		p := spelled.FindStringSubmatch(m)
		switch {
		case m == tab:
			return "\t"
		case p[4] != "":
			n, _ := strconv.Atoi(p[4])
			return strings.Repeat("\n", n+2)
		case p[3] != "":
			n, _ := strconv.ParseUint(p[3], 16, 8)
			return string([]byte{byte(n)})
		}
		r, _ := strconv.ParseInt(p[1], 16, 32)
		n, _ := strconv.Atoi(p[2])
		return strings.Repeat(string(rune(r)), max(n, 1))
	})
}

// Nothing of a text is lost, and nothing remains that a screen obeys.
func FuzzLine(f *testing.F) {
	f.Add("a\x1b[31m\u202Eb\xff\n")
	f.Add("<U+202E><0xFF>⇥   \t" + strings.Repeat(" ", 70) + strings.Repeat("\n", 9))
	f.Add("<\xff<0x\u0301\u0301\u0301\u0301“")
	f.Fuzz(func(t *testing.T, s string) {
		for name, show := range map[string]func(string) string{"Line": Line, "Code": Code, "Command": Command} {
			got := show(s)
			for _, r := range got {
				if (r < ' ' && (r != '\n' || name == "Line")) || r == 0x7f || unicode.In(r, unicode.Bidi_Control, unicode.Cc, unicode.Cf) && r != '\n' {
					t.Fatalf("%s(%q) holds %U", name, s, r)
				}
			}
			if name == "Line" {
				got = strings.ReplaceAll(got, "⇥", "<U+21E5>") // here it stands for itself
			}
			if was := back(got); was != s {
				t.Fatalf("%s(%q) = %q, which reads %q", name, s, got, was)
			}
		}
	})
}
