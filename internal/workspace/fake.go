package workspace

import (
	"path"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// Fake is a file system that consists of symbolic links and of the directories
// and files that rules for writing name: every other path resolves to itself, and
// nothing else exists below any directory. It implements
// permission.Env, for tests of policies and for decisions about other machines.
// It reads nothing.
type Fake struct {
	// Symlinks maps links to their targets. A relative link is relative to Dir, a
	// relative target to the directory of its link.
	Symlinks map[string]string
	Dir      string // absolute
	Fold     bool   // ignore letter case
	// Git are the settings of every repository.
	Git []shell.Setting
}

// Resolve follows the links in Symlinks.
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

// Entry reports whether Symlinks has the path. Nothing else exists.
func (f Fake) Entry(name string) (exists, own bool) {
	for link := range f.Symlinks {
		exists = exists || f.abs(link) == f.abs(name)
	}
	return exists, false
}

// Ignored reports false: there is no .gitignore.
func (Fake) Ignored(string) bool { return false }

// Unkept reports false: there are no files.
func (Fake) Unkept(shell.Word) bool { return false }

// Compiled reports false: there are no files.
func (Fake) Compiled(shell.Word) bool { return false }

// Files returns none: wildcards mean no files.
func (Fake) Files(shell.Word) (found []string, all bool) { return nil, true }

// Links returns the links in Symlinks at most depth levels below dir.
func (f Fake) Links(dir string, depth int) (links []string, all bool) {
	for link := range f.Symlinks {
		at := f.abs(link)
		rest, below := strings.CutPrefix(at, strings.TrimSuffix(f.fold(path.Clean(dir)), "/")+"/")
		if below && strings.Count(rest, "/") < depth {
			links = append(links, at)
		}
	}
	slices.Sort(links)
	return links, true
}

// Below reports whether a directory that a rule for writing names, or a file that
// it names, lies below dir.
func (f Fake) Below(dir string, rule *patterns.Rule, _ bool) bool {
	if about(rule).Kind != patterns.WritePath {
		return false
	}
	above := strings.TrimSuffix(f.fold(path.Clean(dir)), "/") + "/"
	return slices.ContainsFunc(rule.Roots(), func(root string) bool { return strings.HasPrefix(f.fold(root), above) })
}

// Hosts returns none: there are no files.
func (Fake) Hosts(*program.Registry, string, []string) ([]shell.Named, bool) { return nil, true }

// Settings returns the settings in Git.
func (f Fake) Settings(string) ([]shell.Setting, bool) { return f.Git, true }
