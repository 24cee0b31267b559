package program

import (
	"slices"
	"strings"
)

// Ignores reports whether the program is known to do the same whatever a variable of
// the environment holds.
func (p *Program) Ignores(name string) bool {
	return p != nil && (p.Facts&InShell != 0 || slices.ContainsFunc(p.Ignored, func(pattern string) bool { return meets(pattern, name) }))
}

// Obeyed reports whether a built-in entry says that its program obeys a variable.
func Obeyed(name string) bool {
	if _, found := slices.BinarySearch(obeyed[:], name); found {
		return true
	}
	return slices.ContainsFunc(obeyedPatterns[:], func(pattern string) bool { return meets(pattern, name) })
}

// meets reports whether a name is that of a pattern in which a * stands for any text.
func meets(pattern, name string) bool {
	before, behind, wild := strings.Cut(pattern, "*")
	if !wild {
		return name == pattern
	}
	return len(name) >= len(before)+len(behind) && strings.HasPrefix(name, before) && strings.HasSuffix(name, behind)
}
