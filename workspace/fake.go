package workspace

import (
	"path"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// Fake is a file system that has nothing in it but symbolic links: every
// other path leads to itself, and nothing exists below any directory. It
// looks at nothing real.
type Fake struct {
	// Symlinks leads from a link to its target. A relative link is relative
	// to Dir, a relative target to the link's directory.
	Symlinks map[string]string
	Dir      string // absolute
	Fold     bool   // letter case does not count
}

// Resolve follows the links of the table.
func (f Fake) Resolve(name string) (real string, ok bool) {
	links := make(map[string]string, len(f.Symlinks))
	for link, target := range f.Symlinks {
		links[f.abs(link)] = target
	}
	return follow(name, func(at string) (string, bool) {
		target, found := links[f.fold(at)]
		return target, !found || target != ""
	})
}

func (f Fake) abs(name string) string {
	if path.IsAbs(name) {
		return f.fold(path.Clean(name))
	}
	return f.fold(path.Join(f.Dir, name))
}

func (f Fake) fold(name string) string {
	if f.Fold {
		return strings.ToLower(name)
	}
	return name
}

// Links looks at the table.
func (f Fake) Links(dir string, depth int) bool {
	for link := range f.Symlinks {
		rest, below := strings.CutPrefix(f.abs(link), strings.TrimSuffix(f.fold(path.Clean(dir)), "/")+"/")
		if below && strings.Count(rest, "/") < depth {
			return true
		}
	}
	return false
}

// Below is always false.
func (f Fake) Below(string, *patterns.Rule, bool) bool { return false }
