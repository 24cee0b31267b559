package shell

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// unescape removes backslashes from literal text as bash does, outside or inside
// double quotes.
func unescape(text string, quoted bool) string {
	if strings.IndexByte(text, '\\') < 0 {
		return text
	}
	var sb strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			sb.WriteByte(text[i])
			continue
		}
		next := text[i+1]
		switch {
		case next == '\n':
			i++
		case !quoted || strings.IndexByte("$`\"\\", next) >= 0:
			sb.WriteByte(next)
			i++
		default:
			sb.WriteByte('\\')
		}
	}
	return sb.String()
}

// decodeANSI decodes the text of $'..' (bash manual, "ANSI-C Quoting"). It is not ok
// if the text holds an unknown escape or a NUL.
func decodeANSI(text string) (string, bool) {
	var sb strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			sb.WriteByte(text[i])
			continue
		}
		i++
		n, ok := ansiEscape(&sb, text[i:])
		if !ok {
			return "", false
		}
		i += n - 1
	}
	out := sb.String()
	return out, strings.IndexByte(out, 0) < 0
}

const ansiLetters = "a\ab\be\x1bE\x1bf\fn\nr\rt\tv\v\\\\''\"\"??"

// ansiEscape writes the character of the escape at the start of rest, which follows
// the backslash, and returns the length of the escape.
func ansiEscape(sb *strings.Builder, rest string) (int, bool) {
	for i := 0; i < len(ansiLetters); i += 2 {
		if rest[0] == ansiLetters[i] {
			sb.WriteByte(ansiLetters[i+1])
			return 1, true
		}
	}
	switch rest[0] {
	case 'x':
		return ansiNumber(sb, rest, 1, 2, 16, false)
	case 'u':
		return ansiNumber(sb, rest, 1, 4, 16, true)
	case 'U':
		return ansiNumber(sb, rest, 1, 8, 16, true)
	case '0', '1', '2', '3', '4', '5', '6', '7':
		return ansiNumber(sb, rest, 0, 3, 8, false)
	}
	return 0, false
}

func ansiNumber(sb *strings.Builder, rest string, from, digits, base int, isRune bool) (int, bool) {
	end := from
	for end < len(rest) && end < from+digits && isDigit(rest[end], base) {
		end++
	}
	n, err := strconv.ParseUint(rest[from:end], base, 32)
	if err != nil {
		return 0, false
	}
	switch {
	case isRune && utf8.ValidRune(rune(n)):
		sb.WriteRune(rune(n))
	case isRune || n > 255:
		return 0, false
	default:
		sb.WriteByte(byte(n))
	}
	return end, true
}

func isDigit(c byte, base int) bool {
	switch {
	case c >= '0' && c <= '7':
		return true
	case base == 8:
		return false
	}
	return c == '8' || c == '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
