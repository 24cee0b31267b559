package picture

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/test/screen"
)

// draw draws what a terminal of 40 columns shows of text.
func draw(t *testing.T, text string) string {
	t.Helper()
	s := screen.New(40, 10)
	io.WriteString(s, text)
	svg, err := SVG("a & b", "what <it> shows", 40, s.Shown())
	if err != nil {
		t.Fatal(err)
	}
	return svg
}

// TestSVG: the text of a screen is text in the picture, in the columns where it stood.
func TestSVG(t *testing.T) {
	svg := draw(t, "\x1b[32mALLOW\x1b[0m  echo <hi> && ls\r\n\r\n  \"no\"\x1b[2m  faint\r\n")
	d := xml.NewDecoder(strings.NewReader(svg))
	var text strings.Builder
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if chars, ok := token.(xml.CharData); ok {
			text.Write(chars)
		}
	}
	for _, want := range []string{"a & b", "what <it> shows", "ALLOW\n", "  echo <hi> && ls\n", "  \"no\"\n", "  faint\n"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in the picture:\n%s", want, svg)
		}
	}
	for _, want := range []string{
		`width="368" height="96"`,
		`<text class="g" x="16.0" y="28" textLength="42.0" lengthAdjust="spacingAndGlyphs">ALLOW</text>`,
		`<text class="d" x="66.4" y="60" textLength="58.8" lengthAdjust="spacingAndGlyphs">  faint</text>`,
		`@media (prefers-color-scheme: light)`,
	} {
		if !strings.Contains(svg, want) {
			t.Errorf("%s is not in the picture:\n%s", want, svg)
		}
	}
	if svg != draw(t, "\x1b[32mALLOW\x1b[0m  echo <hi> && ls\r\n\r\n  \"no\"\x1b[2m  faint\r\n") {
		t.Error("the same screen gives two pictures")
	}
}

// TestLooks: what a style becomes.
func TestLooks(t *testing.T) {
	for sgr, want := range map[string]string{
		"1":       `<text class="t B" x`,
		"1;33":    `<text class="y B" x`,
		"3;4;31":  `<text class="r I U" x`,
		"90":      `<text class="d" x`,
		"97":      `<text class="t" x`,
		"7":       "<rect class=\"t\" x=\"16.0\" y=\"16\" width=\"8.4\" height=\"16\"/>\n<text class=\"w\" x",
		"31;7":    "<rect class=\"r\" x=\"16.0\" y=\"16\" width=\"8.4\" height=\"16\"/>\n<text class=\"w\" x",
		"100;35":  "<rect class=\"p\" x=\"16.0\" y=\"16\" width=\"8.4\" height=\"16\"/>\n<text class=\"m\" x",
		"31;42":   "<rect class=\"g\" x=\"16.0\" y=\"16\" width=\"8.4\" height=\"16\"/>\n<text class=\"w\" x",
		"31;2":    `<text class="r" x`,
		"38;5;14": `<text class="c" x`,
	} {
		if svg := draw(t, "\x1b["+sgr+"mx"); !strings.Contains(svg, want) {
			t.Errorf("SGR %s: %s is not in\n%s", sgr, want, svg)
		}
	}
}

// TestTooLarge: a picture is seen as a whole on a laptop.
func TestTooLarge(t *testing.T) {
	for _, size := range []struct {
		width, rows int
		fits        bool
	}{{80, 24, true}, {100, 41, true}, {80, 42, false}, {104, 24, false}} {
		if _, err := SVG("x", "y", size.width, make([][]screen.Cell, size.rows)); (err == nil) != size.fits {
			t.Errorf("%d x %d: %v", size.width, size.rows, err)
		}
	}
}

// TestContrast: every colour can be read on what may be behind it, in both schemes.
func TestContrast(t *testing.T) {
	colours := map[hue][2]string{}
	for _, c := range scheme {
		colours[c.hue] = [2]string{c.dark, c.light}
	}
	pairs := 0
	for _, ink := range inks {
		for _, pair := range [][2]hue{{ink, paper}, {ink, panel}, {faint, paper}, {faint, panel}} {
			for i, name := range []string{"dark", "light"} {
				pairs++
				if c := contrast(t, colours[pair[0]][i], colours[pair[1]][i]); c < 4.5 {
					t.Errorf("%s: %c on %c has a contrast of %.2f", name, pair[0], pair[1], c)
				}
			}
		}
	}
	if pairs < 72 {
		t.Errorf("only %d pairs", pairs)
	}
	if c := contrast(t, "#767676", "#ffffff"); math.Abs(c-4.54) > 0.01 {
		t.Errorf("the contrast of #767676 on white is %.2f, and should be 4.54", c)
	}
}

// contrast is the contrast ratio of two colours. (WCAG 2.2, relative luminance)
func contrast(t *testing.T, a, b string) float64 {
	light, dark := luminance(t, a), luminance(t, b)
	if light < dark {
		light, dark = dark, light
	}
	return (light + 0.05) / (dark + 0.05)
}

func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	var rgb [3]int
	if _, err := fmt.Sscanf(colour, "#%02x%02x%02x", &rgb[0], &rgb[1], &rgb[2]); err != nil {
		t.Fatal(colour, err)
	}
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		c := float64(rgb[i]) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

// TestColourAlone: what a colour says is also said without it.
func TestColourAlone(t *testing.T) {
	for written, want := range map[string]string{
		"\x1b[32mALLOW\x1b[0m  Bash  ls":                                        "",
		"  cd web && \x1b[1;33mgit push\x1b[0m\r\n            \x1b[33m^^^^^^^^": "",
		"  cd web && \x1b[1;33mgit push\x1b[0m\r\n":                             "git push",
		" -| \x1b[31mn * 99\x1b[0m\r\n +| \x1b[32mn * 100":                      "",
		"    \x1b[31mn * 99\x1b[0m\r\n    \x1b[32mn * 100":                      "n * 99; n * 100",
		"\x1b[31mBash(rm:*)\x1b[0m":                                             "Bash(rm:*)",
		"\x1b[36mtitle\x1b[0m \x1b[2mfaint\x1b[0m \x1b[1mbold":                  "",
	} {
		s := screen.New(40, 10)
		io.WriteString(s, written)
		if got := strings.Join(ColourAlone(s.Shown()), "; "); got != want {
			t.Errorf("%q: %q, want %q", written, got, want)
		}
	}
}
