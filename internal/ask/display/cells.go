package display

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// cell is a character with its marks.
type cell struct {
	text  string
	width int
	mark  bool
}

// Char is a character with its marks, and how many cells of a terminal it takes.
type Char struct {
	Text  string
	Width int
}

// Chars splits a text that package visible has prepared into its characters.
func Chars(text string) []Char {
	var out []Char
	for _, c := range characters(text) {
		out = append(out, Char{c.text, c.width})
	}
	return out
}

// fits returns the number of characters that fit into room cells, at least one.
func fits(line []cell, room int) int {
	n := 0
	for n < len(line) && (n == 0 || line[n].width <= room) {
		room -= line[n].width
		n++
	}
	return n
}

// cells returns the characters of a line, each with its combining marks.
func (l *Line) cells() []cell {
	var out []cell
	for _, s := range l.Segments {
		for _, c := range characters(s.Text) {
			c.mark = s.Mark
			out = append(out, c)
		}
	}
	return out
}

// characters splits a text into characters with their combining marks.
func characters(text string) []cell {
	var out []cell
	for len(text) > 0 {
		if name := spelled(text); name != "" {
			out = append(out, cell{text: name, width: len(name)})
			text = text[len(name):]
			continue
		}
		r, size := utf8.DecodeRuneInString(text)
		text = text[size:]
		w := runeWidth(r)
		if w > 0 || len(out) == 0 {
			out = append(out, cell{text: string(r), width: w})
			continue
		}
		c := &out[len(out)-1]
		c.text += string(r)
		if r == emojiStyle {
			c.width = 2
		}
	}
	return out
}

// spelled returns the escaped character that a text begins with, "" if none. It
// is not wrapped.
func spelled(text string) string {
	if !strings.HasPrefix(text, "<U+") && !strings.HasPrefix(text, "<0x") {
		return ""
	}
	return text[:strings.IndexByte(text, '>')+1]
}

// emojiStyle makes the symbol before it a wide one.
const emojiStyle = '\uFE0F'

// runeWidth returns how many cells a character takes. A terminal that uses fewer
// wraps later than it could.
func runeWidth(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r < 0x1100:
		return 1
	case r >= 0x1F000, 0x2E80 <= r && r <= 0xA4CF, 0x1D300 <= r && r <= 0x1D37F, 0x2630 <= r && r <= 0x2637, 0x268A <= r && r <= 0x268F:
		return 2 // also what Unicode 16 or older terminals have wide, such as the hexagrams
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// cells returns the width of a text.
func cells(text string) int {
	n := 0
	for _, r := range text {
		n += runeWidth(r)
	}
	return n
}

// breakAt returns the index after the last blank in the first n cells, n if there is
// none.
func breakAt(line []cell, n int) int {
	for at := n; at > 0; at-- {
		if line[at-1].text == " " {
			return at
		}
	}
	return n
}

// total returns the width of a row.
func total(line []cell) int {
	n := 0
	for _, c := range line {
		n += c.width
	}
	return n
}
