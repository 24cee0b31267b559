package shell

import (
	"slices"
	"strings"
)

// nameSet is a few names. It is no map, which would be filled whenever a program starts.
type nameSet []string

func set(all ...string) nameSet { return all }

// has reports whether a name is one of them.
func (s nameSet) has(name string) bool { return slices.Contains(s, name) }

func begins(text string, with []string) bool {
	for _, p := range with {
		if strings.HasPrefix(text, p) {
			return true
		}
	}
	return false
}

func ends(text string, with []string) bool {
	for _, s := range with {
		if strings.HasSuffix(text, s) {
			return true
		}
	}
	return false
}

// isName reports whether a literal is only lower-case letters, so that it stands for
// itself.
func isName(text string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] < 'a' || text[i] > 'z' {
			return false
		}
	}
	return text != ""
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// isOption reports whether a word before -- is an option. A single dash is not.
func isOption(text string) bool { return len(text) > 1 && text[0] == '-' }

// wordIn reports whether text holds one of the names as a whole word.
func wordIn(text string, names ...string) bool {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool {
		return !(r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9')
	}) {
		for _, n := range names {
			if word == n {
				return true
			}
		}
	}
	return false
}

func awkLetter(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// nameAt returns the identifier at the start of a text.
func nameAt(text string) string {
	for i := range len(text) {
		if !awkLetter(text[i]) {
			return text[:i]
		}
	}
	return text
}

// base returns the last path element of a program name.
func base(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// plainName reports whether text is nothing but characters that stand for
// themselves in any language: a name, a path, a number.
func plainName(text string) bool {
	for i := range len(text) {
		if !tokenByte(text[i]) {
			return false
		}
	}
	return true
}

func tokenByte(b byte) bool {
	return awkLetter(b) || b >= 0x80 || strings.IndexByte("-./+~%@^", b) >= 0
}
