// Package visible prepares text for display to a person who decides on it: the
// screen shows what is in the text, and different texts look different.
// Characters that a screen would obey, hide or reorder are written as <U+202E>,
// invalid UTF-8 as <0xFF>, and the < of a literal <U+ or <0x as <U+003C>.
//
// A letter has at most three combining marks; further ones, and a mark without
// a letter, are spelled out, four or more equal ones as <U+0301 x40>. Letters
// that look like others are kept, except for the quotes and signs that Command
// spells out.
package visible

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line returns s as one line, with line breaks spelled out.
func Line(s string) string { return text(s, style{}) }

// Text returns s with its line feeds and tabs unchanged.
func Text(s string) string { return text(s, style{feeds: true, tabs: true}) }

// Code returns s with its line feeds unchanged, a tab as "⇥   ", and a long run
// of blanks, which would push what follows out of sight, as <U+0020 x300>.
func Code(s string) string { return text(s, style{feeds: true, code: true}) }

// Command is Code for a command line: it also spells out quotes and signs that
// only look like those of the shell.
func Command(s string) string { return text(s, style{feeds: true, code: true, command: true}) }

// tab is how Code and Command show a tab.
const tab = "⇥   "

const tabSign = '⇥'

// The longest runs that Code does not abbreviate.
const (
	maxBlanks = 60 // spaces; allows deep indentation
	maxTabs   = 12
	maxFeeds  = 4
)

// style selects what is kept or spelled out in addition.
type style struct{ feeds, tabs, code, command bool }

func text(s string, st style) string {
	if plain(s) && !strings.Contains(s, "<") && (!st.code || len(s) <= maxBlanks) {
		return s
	}
	w := writer{style: st, marks: maxMarks}
	w.write(s, len(s))
	return w.out.String()
}

// Pieces returns s as Command or, if command is false, Code does, split at the
// given increasing offsets. The text is converted as a whole: if it were split
// first, <U+ could be assembled from pieces.
func Pieces(s string, command bool, cuts ...int) []string {
	w := writer{style: style{feeds: true, code: true, command: command}, marks: maxMarks}
	var out []string
	at := 0
	for _, cut := range append(cuts, len(s)) {
		w.out.Reset()
		at += w.write(s[at:], cut-at)
		out = append(out, w.out.String())
	}
	return out
}

// writer writes a text character by character.
type writer struct {
	style
	out   strings.Builder
	last  rune
	marks int // number of combining marks on the last letter
}

// maxMarks is the maximum number of combining marks on a letter; at the start
// of a text there is no letter.
const maxMarks = 3

// write writes the first n bytes of s and returns how many it wrote: it does
// not split a character.
func (w *writer) write(s string, n int) int {
	at := 0
	for at < n {
		at += w.next(s[at:], n-at)
	}
	return at
}

// next writes the first character of s, or a run of it up to n, and returns the
// number of bytes.
func (w *writer) next(s string, n int) int {
	r, size := utf8.DecodeRuneInString(s)
	if n := w.run(s[:max(n, size)], r); n > 0 {
		return n
	}
	switch {
	case r == utf8.RuneError && size == 1:
		w.spell(fmt.Sprintf("<0x%02X>", s[0]))
	case r == '<' && (strings.HasPrefix(s, "<U+") || strings.HasPrefix(s, "<0x")):
		w.spell("<U+003C>")
	case r == '\n' && w.feeds || r == '\t' && w.tabs:
		w.out.WriteRune(r)
		w.last, w.marks = r, maxMarks
	case r == '\t' && w.code:
		w.spell(tab)
	case w.shown(r):
		w.out.WriteRune(r)
		w.last = r
	default:
		return w.name(s[:max(n, size)], r, size)
	}
	return size
}

// minNamed is the minimum length of a run that is spelled out once.
const minNamed = 4

// name spells out a character or a run of it, and returns its length in bytes.
func (w *writer) name(s string, r rune, size int) int {
	n := (len(s) - len(strings.TrimLeft(s, string(r)))) / size
	if n < minNamed || r == '\t' && w.code || r == '\n' && w.feeds {
		w.spell(fmt.Sprintf("<U+%04X>", r))
		return size
	}
	w.spell(fmt.Sprintf("<U+%04X x%d>", r, n))
	return n * size
}

// spell writes text that no combining mark can modify.
func (w *writer) spell(text string) {
	w.out.WriteString(text)
	w.last, w.marks = 0, maxMarks
}

// run writes a run of blanks that is too long to be kept and returns its length
// in bytes, or 0.
func (w *writer) run(s string, r rune) int {
	limit := map[rune]int{' ': maxBlanks, '\t': maxTabs, '\n': maxFeeds}[r]
	if !w.code || limit == 0 {
		return 0
	}
	n := len(s) - len(strings.TrimLeft(s, string(r)))
	if n <= limit {
		return 0
	}
	if r == '\n' {
		w.spell(fmt.Sprintf("\n<U+000A x%d>\n", n-2))
	} else {
		w.spell(fmt.Sprintf("<U+%04X x%d>", r, n))
	}
	return n
}

// shown reports whether r is displayed as itself here, and counts its combining
// marks.
func (w *writer) shown(r rune) bool {
	switch {
	case unicode.Is(unicode.M, r):
		w.marks++
		return w.marks <= maxMarks && (shows(r) || r == emojiStyle && unicode.Is(unicode.So, w.last))
	case w.code && r == tabSign, w.command && unicode.Is(signs, r):
		return false
	case shows(r):
		w.marks = 0
		return true
	}
	return false
}

// plain reports whether s consists of printable ASCII.
func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// emojiStyle selects the coloured form of the preceding symbol.
const emojiStyle = 0xFE0F

// shows reports whether r is visible. Of the blanks only the space counts.
func shows(r rune) bool { return unicode.IsPrint(r) && !unicode.Is(blank, r) }

// signs look like special characters of the shell but are ordinary to it: what
// seems to be quoted, or a comment, is not.
var signs = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x00B4, Hi: 0x00B4, Stride: 1}, // acute accent
		{Lo: 0x02B9, Hi: 0x02BD, Stride: 1}, // modifier primes and commas
		{Lo: 0x02C8, Hi: 0x02CB, Stride: 1}, // modifier strokes and accents
		{Lo: 0x02EE, Hi: 0x02EE, Stride: 1}, // modifier double apostrophe
		{Lo: 0x037E, Hi: 0x037E, Stride: 1}, // Greek question mark, as a semicolon
		{Lo: 0x2018, Hi: 0x201F, Stride: 1}, // quotes
		{Lo: 0x2032, Hi: 0x2037, Stride: 1}, // primes
		{Lo: 0x275B, Hi: 0x275E, Stride: 1}, // ornamental quotes
		{Lo: 0x301D, Hi: 0x301F, Stride: 1}, // quotes of East Asia
		{Lo: 0xA78B, Hi: 0xA78C, Stride: 1}, // saltillo
		{Lo: 0xFF02, Hi: 0xFF04, Stride: 1}, // fullwidth " # $
		{Lo: 0xFF06, Hi: 0xFF07, Stride: 1}, // fullwidth & '
		{Lo: 0xFF1B, Hi: 0xFF1C, Stride: 1}, // fullwidth ; <
		{Lo: 0xFF1E, Hi: 0xFF1E, Stride: 1}, // fullwidth >
		{Lo: 0xFF3C, Hi: 0xFF3C, Stride: 1}, // fullwidth backslash
		{Lo: 0xFF40, Hi: 0xFF40, Stride: 1}, // fullwidth backquote
		{Lo: 0xFF5C, Hi: 0xFF5C, Stride: 1}, // fullwidth |
	},
	LatinOffset: 1,
}

// blank are characters that are classified as printable but show nothing.
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
