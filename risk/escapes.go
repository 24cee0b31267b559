package risk

import (
	"strconv"
	"strings"
)

// hiddenText is the reason of a command with a word as spellsOut means it.
const hiddenText = "hides plain characters behind escapes"

// spellsOut reports whether a text of a command line has a $'…' in which an
// ordinary printable character is written as a number: $'\x72\x6d' is rm. Nobody
// needs that; it keeps a reader from seeing what runs. Escapes for what cannot be
// typed (\e[1m, \t, é) are none of that.
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

// numbered is the character that the letters and digits behind a backslash
// stand for, 0 if they are no number.
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
