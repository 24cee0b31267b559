// Package subpath tells whether a path lies below another. It compares texts: links are for
// the caller to follow. Within and Below are for clean paths with slashes; Rel and Inside
// clean their paths, and compare them as this system does.
package subpath

import (
	"path/filepath"
	"strings"
)

// Within reports whether a path is dir or lies below it. The directory ""
// stands for /.
func Within(name, dir string) bool {
	_, below := cut(name, dir)
	return below || name == dir
}

// Below returns the rest of a path that lies below dir.
func Below(name, dir string) (rest string, below bool) {
	rest, below = cut(name, dir)
	return rest, below && rest != ""
}

// BelowFold reports whether a path lies below dir, regardless of letter case.
func BelowFold(name, dir string) bool {
	dir = strings.TrimSuffix(dir, "/")
	return len(name) > len(dir)+1 && name[len(dir)] == '/' && strings.EqualFold(name[:len(dir)], dir)
}

// Rel returns a path of this system as seen from dir, if it is dir or lies below it. Both
// are absolute, or both are not.
func Rel(name, dir string) (rel string, within bool) {
	rel, err := filepath.Rel(dir, name)
	return rel, err == nil && filepath.IsLocal(rel)
}

// Inside reports whether a path of this system is dir or lies below it, as Rel does.
func Inside(name, dir string) bool {
	_, within := Rel(name, dir)
	return within
}

func cut(name, dir string) (rest string, ok bool) {
	dir = strings.TrimSuffix(dir, "/")
	if len(name) <= len(dir) || name[len(dir)] != '/' || name[:len(dir)] != dir {
		return "", false
	}
	return name[len(dir)+1:], true
}
