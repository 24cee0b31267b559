// Package picture draws what a terminal shows as an SVG, for the README and the docs. The
// same screen gives the same bytes.
//
// A picture has a background of its own and follows the reader's colour scheme, dark or
// light. Its text is text: it can be selected, searched and read aloud. A program that
// ignores the media query of its style sheet shows the dark one.
package picture

import (
	"fmt"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/test/screen"
)

// Sizes in pixels. A glyph of the usual monospace fonts is 0.55 to 0.61 of the font's
// size wide; textLength makes it fit the grid, so that columns are columns. Glyphs are 1.16
// to 1.2 of it tall, so that the lines of a frame meet in rows of 16.
const (
	fontSize  = 14
	charWidth = 8.4
	rowHeight = 16
	margin    = 16
)

// The largest picture, so that it is seen as a whole on a laptop.
const (
	maxWidth  = 900
	maxHeight = 700
)

// hue is the name of a colour in the style sheet.
type hue byte

// The colours of a scheme.
const (
	paper   hue = 'w' // behind everything
	panel   hue = 'p' // behind what stands out from it: a float, a bar
	plain   hue = 't'
	faint   hue = 'd'
	red     hue = 'r'
	green   hue = 'g'
	yellow  hue = 'y'
	blue    hue = 'b'
	magenta hue = 'm'
	cyan    hue = 'c'
)

// scheme holds the colours in the order of the style sheet, dark and light. A test holds
// that each can be read on paper and panel: a contrast of 4.5 (WCAG 2.2, 1.4.3).
var scheme = []struct {
	hue         hue
	dark, light string
}{
	{paper, "#0d1117", "#ffffff"},
	{panel, "#1f252d", "#eef1f4"},
	{plain, "#e6edf3", "#1f2328"},
	{faint, "#9da5ae", "#59636e"},
	{red, "#ff8a80", "#b3201b"},
	{green, "#4ac26b", "#116329"},
	{yellow, "#e3b341", "#7a4d00"},
	{blue, "#79c0ff", "#0550ae"},
	{magenta, "#d2a8ff", "#7a3ec8"},
	{cyan, "#56d4dd", "#0a5f66"},
}

// inks are the colours of a terminal's. Black and White are what a terminal uses beside its
// own: the faint and the plain of a scheme.
var inks = map[screen.Ink]hue{
	screen.Plain: plain, screen.Black: faint, screen.Red: red, screen.Green: green, screen.Yellow: yellow,
	screen.Blue: blue, screen.Magenta: magenta, screen.Cyan: cyan, screen.White: plain,
}

// look is how a run of characters is drawn: on is "" for paper.
type look struct {
	ink, on                 hue
	bold, italic, underline bool
}

// lookOf returns the look of a style. On a colour the text has that of the paper, which can
// be read on all of them; grey behind it is the panel.
func lookOf(s screen.Style) look {
	l := look{ink: inks[s.Ink], on: paper, bold: s.Bold, italic: s.Italic, underline: s.Underline}
	if s.Dim && l.ink == plain {
		l.ink = faint
	}
	switch s.Paper {
	case screen.Plain:
	case screen.Black, screen.White:
		l.on = panel
	default:
		l.on, l.ink = inks[s.Paper], paper
	}
	if s.Reverse {
		l.ink, l.on = l.on, l.ink
	}
	return l
}

// SVG draws rows of a screen that is width columns wide. The title names the picture, the
// description says what it shows to who cannot see it. A picture that is larger than a
// laptop's screen is an error.
func SVG(title, description string, width int, rows [][]screen.Cell) (string, error) {
	w, h := int(2*margin+float64(width)*charWidth+0.5), 2*margin+len(rows)*rowHeight
	if w > maxWidth || h > maxHeight {
		return "", fmt.Errorf("the picture %q has %d x %d pixels; it may have %d x %d", title, w, h, maxWidth, maxHeight)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\" aria-labelledby=\"title desc\">\n", w, h, w, h)
	fmt.Fprintf(&out, "<title id=\"title\">%s</title>\n<desc id=\"desc\">%s</desc>\n", escape(title), escape(description))
	out.WriteString(styleSheet())
	fmt.Fprintf(&out, "<rect class=\"%c edge\" x=\"0.5\" y=\"0.5\" width=\"%d\" height=\"%d\" rx=\"8\"/>\n", paper, w-1, h-1)
	fmt.Fprintf(&out, "<g font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" font-size=\"%d\" xml:space=\"preserve\">\n", fontSize)
	for i, cells := range rows {
		drawRow(&out, i, cells)
	}
	out.WriteString("</g>\n</svg>\n")
	return out.String(), nil
}

// styleSheet has a class for each colour, dark, and light where the reader prefers that.
func styleSheet() string {
	var dark, light strings.Builder
	for _, c := range scheme {
		fmt.Fprintf(&dark, ".%c{fill:%s}", c.hue, c.dark)
		fmt.Fprintf(&light, ".%c{fill:%s}", c.hue, c.light)
	}
	return "<style>\n" + dark.String() + ".edge{stroke:#6e7781}.B{font-weight:700}.I{font-style:italic}.U{text-decoration:underline}text{white-space:pre}\n" +
		"@media (prefers-color-scheme: light){" + light.String() + "}\n</style>\n"
}

// drawRow draws a row: what is behind the text, then the text in runs of one look.
func drawRow(out *strings.Builder, row int, cells []screen.Cell) {
	top := margin + row*rowHeight
	for _, r := range runs(cells) {
		x, width := margin+float64(r.from)*charWidth, float64(r.width)*charWidth
		if r.look.on != paper {
			fmt.Fprintf(out, "<rect class=\"%c\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>\n", r.look.on, x, top, width, rowHeight)
		}
		if strings.TrimSpace(r.text) != "" || r.look.underline {
			fmt.Fprintf(out, "<text class=\"%s\" x=\"%.1f\" y=\"%d\" textLength=\"%.1f\" lengthAdjust=\"spacingAndGlyphs\">%s</text>\n", r.look.class(), x, top+rowHeight-4, width, escape(r.text))
		}
	}
}

// class is the classes of the style sheet.
func (l look) class() string {
	class := string(l.ink)
	for _, more := range []struct {
		on   bool
		name string
	}{{l.bold, " B"}, {l.italic, " I"}, {l.underline, " U"}} {
		if more.on {
			class += more.name
		}
	}
	return class
}

// run is some neighbouring cells of one look.
type run struct {
	look        look
	from, width int
	text        string
}

// runs divides a row. Blanks at the end of a run on paper are left out, and so are places
// where nothing is.
func runs(cells []screen.Cell) (all []run) {
	for i, c := range cells {
		l, text := lookOf(c.Style), c.Text
		if text == "" {
			text = " "
		}
		if n := len(all); n > 0 && all[n-1].look == l && all[n-1].from+all[n-1].width == i {
			all[n-1].width++
			all[n-1].text += text
			continue
		}
		all = append(all, run{l, i, 1, text})
	}
	for i := range all {
		if r := &all[i]; r.look.on == paper && !r.look.underline {
			trimmed := strings.TrimRight(r.text, " ")
			r.width -= len(r.text) - len(trimmed)
			r.text = trimmed
		}
	}
	return all
}

var entities = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

func escape(text string) string { return entities.Replace(text) }
