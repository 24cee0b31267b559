// Package picture renders the terminal output of a program as an SVG, for the
// README. The same text gives the same bytes.
package picture

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Sizes in pixels.
const (
	lineHeight = 18
	charWidth  = 8
	margin     = 16
)

// words are coloured at the beginning of a line.
var words = []struct{ word, colour string }{
	{"ALLOW", "#3fb950"}, {"DENY", "#f85149"}, {"ASK", "#d29922"}, {"warning:", "#d29922"}, {"error:", "#f85149"}, {"$ ", "#58a6ff"}, {"? ", "#58a6ff"}, {"  > ", "#58a6ff"},
}

// SVG renders text, which consists of printable characters and line feeds.
func SVG(title, text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	width := 0
	for _, line := range lines {
		width = max(width, utf8.RuneCountInString(line))
	}
	var out strings.Builder
	w, h := 2*margin+width*charWidth, 2*margin+len(lines)*lineHeight
	fmt.Fprintf(&out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\">\n", w, h, w, h)
	fmt.Fprintf(&out, "<title>%s</title>\n<rect width=\"100%%\" height=\"100%%\" rx=\"6\" fill=\"#0d1117\"/>\n", escape(title))
	out.WriteString("<g font-family=\"ui-monospace, Menlo, Consolas, monospace\" font-size=\"13\" fill=\"#c9d1d9\" xml:space=\"preserve\" style=\"white-space:pre\">\n")
	for i, line := range lines {
		if line != "" {
			fmt.Fprintf(&out, "<text x=\"%d\" y=\"%d\">%s</text>\n", margin, margin+(i+1)*lineHeight-5, paint(line))
		}
	}
	out.WriteString("</g>\n</svg>\n")
	return out.String()
}

// paint returns a line with its first word coloured.
func paint(line string) string {
	for _, w := range words {
		if rest, ok := strings.CutPrefix(line, w.word); ok {
			return fmt.Sprintf("<tspan fill=%q>%s</tspan>%s", w.colour, escape(w.word), escape(rest))
		}
	}
	if strings.HasPrefix(line, "       ") {
		return fmt.Sprintf("<tspan fill=\"#8b949e\">%s</tspan>", escape(line))
	}
	return escape(line)
}

var entities = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

func escape(text string) string { return entities.Replace(text) }
