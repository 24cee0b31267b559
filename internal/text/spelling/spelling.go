// Package spelling finds the name that a misspelt word was meant to be. What it
// finds is for messages only: no word is ever taken for another.
package spelling

import (
	"maps"
	"slices"
	"strings"
)

// shortest is the length in bytes of the shortest words that are compared: every
// shorter one is near another.
const shortest = 3

// longest is the length in bytes of the longest words that are compared.
const longest = 64

// Nearest returns the name that a word is most likely a misspelling of, or "" if
// none is near. A word that differs only in case, or in - for _, is near; others
// are if they differ in one letter, or in two of many. Of equally near names it
// is the first in byte order.
func Nearest(word string, names func(yield func(string) bool)) string {
	best, least := "", longest
	for name := range names {
		if d := distance(word, name); d < least || d == least && name < best {
			best, least = name, d
		}
	}
	return best
}

// Hint returns what to say behind an unknown key: the key that was meant, or else all
// that there are.
func Hint[V any](key string, known map[string]V) string {
	if near := Nearest(key, maps.Keys(known)); near != "" {
		return " (did you mean " + near + "?)"
	}
	if len(known) == 0 {
		return ""
	}
	return " (the keys are " + strings.Join(slices.Sorted(maps.Keys(known)), ", ") + ")"
}

// distance returns how far a word is from a name; longest if it is not near.
func distance(word, name string) int {
	switch {
	case strings.EqualFold(name, word) || strings.EqualFold(strings.ReplaceAll(name, "_", "-"), word):
		return 0
	case min(len(word), len(name)) < shortest || max(len(word), len(name)) > longest:
		return longest
	}
	if d := Edits(word, name); d <= 1+min(len(word), len(name))/8 {
		return d
	}
	return longest
}

// Edits returns the number of bytes to insert, delete, replace, or swap with
// the next one to turn a into b.
func Edits(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(change, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
