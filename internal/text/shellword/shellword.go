// Package shellword writes words for a POSIX shell: bash, zsh and dash read them back as
// they were.
package shellword

import "strings"

// Quote returns a word as a shell reads it: in single quotes unless it needs none. A word
// with an equals sign could set a variable, so that only an option has one without quotes.
func Quote(word string) string {
	if word == "" || strings.ContainsFunc(word, special) || strings.Contains(word, "=") && word[0] != '-' {
		return Single(word)
	}
	return word
}

// Single returns a word in single quotes.
func Single(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// Join returns words as one line.
func Join(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = Quote(w)
	}
	return strings.Join(quoted, " ")
}

// special reports whether a character may mean something to a shell.
func special(r rune) bool {
	return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("_@%+:,./=-", r))
}
