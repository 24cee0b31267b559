package program

import (
	"slices"
	"strings"
	"sync"
)

// Ignores reports whether the program is known to do the same whatever a variable of
// the environment holds.
func (p *Program) Ignores(name string) bool {
	return p != nil && (p.Facts&InShell != 0 || slices.ContainsFunc(p.Ignored, func(pattern string) bool { return meets(pattern, name) }))
}

// Obeyed reports whether a built-in entry says that its program obeys a variable.
func Obeyed(name string) bool {
	all := obeyed()
	if all.names[name] {
		return true
	}
	return slices.ContainsFunc(all.patterns, func(pattern string) bool { return meets(pattern, name) })
}

// obeyedNames are the variables that programs obey, by their names and by patterns.
type obeyedNames struct {
	names    map[string]bool
	patterns []string
}

var obeyed = sync.OnceValue(func() obeyedNames {
	all := obeyedNames{names: map[string]bool{}}
	for i := range programs {
		for _, name := range programs[i].Variables {
			if strings.Contains(name, "*") {
				all.patterns = append(all.patterns, name)
			} else {
				all.names[name] = true
			}
		}
	}
	slices.Sort(all.patterns)
	all.patterns = slices.Compact(all.patterns)
	return all
})

// meets reports whether a name is that of a pattern in which a * stands for any text.
func meets(pattern, name string) bool {
	before, behind, wild := strings.Cut(pattern, "*")
	if !wild {
		return name == pattern
	}
	return len(name) >= len(before)+len(behind) && strings.HasPrefix(name, before) && strings.HasSuffix(name, behind)
}
