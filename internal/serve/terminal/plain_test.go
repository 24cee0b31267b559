package terminal

import (
	"bytes"
	"testing"
)

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"a\r\nb\r\n":                            "a\nb\n",
		"10%\r20%\r\n":                          "10%\n20%\n",
		"\r\r\nx":                               "\nx",
		"$ a\r\n\x1b[?2004l\rb\r\n":             "$ a\nb\n",
		"a\r\r\x1b[Kb":                          "a\nb",
		"\ra\n\rb":                              "a\nb",
		"\x1b[1;31mred\x1b[0m":                  "red",
		"\x1b]0;title\x07x\x1b]2;t\x1b\\y":      "xy",
		"\x1bPq#0\x1b\\z\x1b(Bw\x1b=v":          "zwv",
		"\x1b[3\x1b[31mx":                       "x",
		"a\x07\x08\x00\x7fb\tc":                 "ab\tc",
		"gr\u00fc\u00df \u009b31m \u4f60\u597d": "gr\u00fc\u00df 31m \u4f60\u597d",
		"\xff\xc3x":                             "\ufffd\ufffdx",
		"\x1b]0;" + string(bytes.Repeat([]byte("h"), longest-1)) + "seen": "seen",
		"\x1b[?2004h$ ": "$ ",
	} {
		for cut := range len(in) + 1 {
			var p plain
			got := p.append(p.append(nil, []byte(in[:cut])), []byte(in[cut:]))
			if string(got) != want {
				t.Errorf("%q cut at %d: %q, want %q", in[:min(len(in), 40)], cut, got, want)
				break
			}
		}
	}
}

func FuzzPlain(f *testing.F) {
	f.Add([]byte("\x1b[1ma\r\n\x1b]0;x\x07\xe4\xbd\xa0"), 3)
	f.Fuzz(func(t *testing.T, in []byte, cut int) {
		var whole, pieces plain
		all := whole.append(nil, in)
		cut = min(max(cut, 0), len(in))
		if got := pieces.append(pieces.append(nil, in[:cut]), in[cut:]); !bytes.Equal(got, all) {
			t.Errorf("%q, cut: %q", all, got)
		}
		for _, r := range string(all) {
			if r != '\n' && r != '\t' && r < ' ' || r >= 0x7f && r < 0xa0 {
				t.Errorf("%q has %U", all, r)
			}
		}
	})
}
