// Package lazyregexp defers the compilation of regular expressions until they are
// used: compiling all of them takes longer than the program takes to start.
package lazyregexp

import (
	"regexp"
	"sync"
)

// Regexp is a regular expression that is compiled at its first use. It is safe
// for concurrent use.
type Regexp struct{ compiled func() *regexp.Regexp }

// New returns the regular expression of a pattern. One that does not compile
// panics at its first use; internal/arch compiles all.
func New(pattern string) Regexp {
	return Regexp{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })}
}

// MatchString is that of regexp.Regexp.
func (r Regexp) MatchString(s string) bool { return r.compiled().MatchString(s) }

// FindStringSubmatch is that of regexp.Regexp.
func (r Regexp) FindStringSubmatch(s string) []string { return r.compiled().FindStringSubmatch(s) }

// FindAllSubmatch is that of regexp.Regexp.
func (r Regexp) FindAllSubmatch(b []byte, n int) [][][]byte {
	return r.compiled().FindAllSubmatch(b, n)
}

// ReplaceAllString is that of regexp.Regexp.
func (r Regexp) ReplaceAllString(s, with string) string {
	return r.compiled().ReplaceAllString(s, with)
}
