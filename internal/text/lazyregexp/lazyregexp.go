// Package lazyregexp defers the compilation of regular expressions until their
// first use, because compiling all of them takes longer than the rest of the
// program's start.
package lazyregexp

import (
	"regexp"
	"sync"
)

// Regexp is a regular expression that is compiled at its first use. It is safe
// for concurrent use.
type Regexp struct{ compiled func() *regexp.Regexp }

// New returns the regular expression of a pattern. An invalid pattern panics at
// its first use; a test in internal/arch compiles all patterns.
func New(pattern string) Regexp {
	return Regexp{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })}
}

// MatchString is like regexp.Regexp.MatchString.
func (r Regexp) MatchString(s string) bool { return r.compiled().MatchString(s) }

// FindStringSubmatch is like regexp.Regexp.FindStringSubmatch.
func (r Regexp) FindStringSubmatch(s string) []string { return r.compiled().FindStringSubmatch(s) }

// FindAllStringIndex is like regexp.Regexp.FindAllStringIndex.
func (r Regexp) FindAllStringIndex(s string, n int) [][]int {
	return r.compiled().FindAllStringIndex(s, n)
}

// FindString is like regexp.Regexp.FindString.
func (r Regexp) FindString(s string) string { return r.compiled().FindString(s) }

// FindAllSubmatch is like regexp.Regexp.FindAllSubmatch.
func (r Regexp) FindAllSubmatch(b []byte, n int) [][][]byte {
	return r.compiled().FindAllSubmatch(b, n)
}

// ReplaceAllString is like regexp.Regexp.ReplaceAllString.
func (r Regexp) ReplaceAllString(s, with string) string {
	return r.compiled().ReplaceAllString(s, with)
}
