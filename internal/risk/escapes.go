package risk

import (
	"strconv"
	"strings"
)

// hiddenText is the reason for a command with a word that spellsOut reports.
const hiddenText = "hides plain characters behind escapes"

// spellsOut reports whether the text of a command line has a $'…' that writes
// an ordinary printable character as a number: $'\x72\x6d' is rm. That serves
// only to hide what runs from a reader. Escapes for characters that are hard to
// type (\e[1m, \t, é) are not reported.
func spellsOut(text string) bool {
	for {
		_, rest, found := strings.Cut(text, "$'")
		if !found {
			return false
		}
		for i := 0; i+1 < len(rest) && rest[i] != '\''; i++ {
			if rest[i] != '\\' {
				continue
			}
			i++
			if c := numbered(rest[i:]); c > ' ' && c < 0x7f {
				return true
			}
		}
		text = rest
	}
}

// numbered returns the character that the text behind a backslash encodes as a
// number, or 0 if it does not.
func numbered(text string) uint64 {
	base, most := 16, 0
	switch text[0] {
	case 'x':
		most = 2
	case 'u':
		most = 4
	case 'U':
		most = 8
	default:
		base, most = 8, 3
		text = "0" + text
	}
	digits := text[1:]
	for n := min(most, len(digits)); n > 0; n-- {
		if c, err := strconv.ParseUint(digits[:n], base, 32); err == nil {
			return c
		}
	}
	return 0
}
