// Package visible makes text fit to be shown to a person who decides on it:
// what stands on the screen is what is in the text. Characters that a screen
// would obey, hide or reorder come out as <U+202E>, bytes that are no UTF-8 as
// <0xFF>.
//
// It does not touch letters that look like others, nor combining marks.
package visible

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line returns s as one line: line breaks are shown as well.
func Line(s string) string { return text(s, false) }

// Text returns s with its line feeds and tabs as they are.
func Text(s string) string { return text(s, true) }

// Indent returns s as Text does, every line after the first begun with prefix,
// so that no line of s can pass for one of the text around it.
func Indent(s, prefix string) string {
	return strings.ReplaceAll(Text(s), "\n", "\n"+prefix)
}

func text(s string, lines bool) string {
	if plain(s) {
		return s
	}
	var out strings.Builder
	var last rune
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&out, "<0x%02X>", s[i])
		case lines && (r == '\n' || r == '\t'), shows(r), r == emojiStyle && unicode.Is(unicode.So, last):
			out.WriteRune(r)
		default:
			fmt.Fprintf(&out, "<U+%04X>", r)
		}
		last = r
		i += size
	}
	return out.String()
}

// plain reports whether s is printable ASCII throughout.
func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// emojiStyle asks for the coloured form of the symbol before it.
const emojiStyle = 0xFE0F

// shows reports whether r leaves a mark of its own on the screen. Of the
// blanks only the space does.
func shows(r rune) bool { return unicode.IsPrint(r) && !unicode.Is(blank, r) }

// blank are characters that count as printable and show nothing.
var blank = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x034F, Hi: 0x034F, Stride: 1}, // combining grapheme joiner
		{Lo: 0x115F, Hi: 0x1160, Stride: 1}, // Hangul fillers
		{Lo: 0x17B4, Hi: 0x17B5, Stride: 1}, // Khmer inherent vowels
		{Lo: 0x180B, Hi: 0x180F, Stride: 1}, // Mongolian variation selectors
		{Lo: 0x2800, Hi: 0x2800, Stride: 1}, // empty Braille cell
		{Lo: 0x3164, Hi: 0x3164, Stride: 1}, // Hangul filler
		{Lo: 0xFE00, Hi: 0xFE0F, Stride: 1}, // variation selectors
		{Lo: 0xFFA0, Hi: 0xFFA0, Stride: 1}, // halfwidth Hangul filler
	},
	R32: []unicode.Range32{
		{Lo: 0xE0100, Hi: 0xE01EF, Stride: 1}, // variation selectors supplement
	},
}
