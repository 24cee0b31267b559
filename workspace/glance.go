package workspace

import (
	"os"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/agent-wrapper/agent-wrapper/walls"
)

// Glance is a Tree for one plan: what it has seen of a directory counts until the plan is
// made. A plan asks for hundreds of names, of which few exist and most are in the same
// directories. It is not safe for concurrent use.
type Glance struct {
	Tree
	seen  map[string]*directory
	links map[string]link
}

// directory is what is known of a directory.
type directory struct {
	asked  int                      // for how many names
	listed bool                     // names is all that is there
	odd    bool                     // some are not in ASCII
	names  map[string][]walls.Entry // by the name in lower case
}

type link struct {
	target string
	ok     bool
}

// NewGlance returns a Glance at a tree.
func NewGlance(t Tree) *Glance {
	return &Glance{Tree: t, seen: map[string]*directory{}, links: map[string]link{}}
}

// Kind implements walls.Files.
func (g *Glance) Kind(name string) walls.Kind {
	name = path.Clean(name)
	dir, base := path.Split(name)
	if base == "" || !path.IsAbs(name) {
		return g.Tree.Kind(name)
	}
	d := g.look(path.Clean(dir))
	if !d.listed {
		return g.Tree.Kind(name)
	}
	alike := d.names[strings.ToLower(base)]
	for _, e := range alike {
		if e.Name == base {
			return e.Kind
		}
	}
	if len(alike) > 0 || d.odd || !ascii(base) {
		return g.Tree.Kind(name) // the directory may be one that takes them for the same
	}
	return walls.Nothing
}

// ascii reports whether a name is in ASCII: two others may be the same to a directory in
// more ways than by case.
func ascii(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf })
}

// look returns what is known of a directory. It is listed when there is a second question
// about it, unless nothing is there.
func (g *Glance) look(dir string) *directory {
	d := g.seen[dir]
	if d == nil {
		d = &directory{}
		g.seen[dir] = d
	}
	if d.asked++; d.asked != 2 || strings.HasPrefix(dir, "/proc") {
		return d
	}
	if above := path.Dir(dir); dir != "/" && g.look(above).listed && g.Kind(dir) == walls.Nothing {
		d.listed = true
		return d
	}
	entries, err := g.List(dir)
	switch {
	case os.IsNotExist(err):
		d.listed = true
		return d
	case err != nil:
		return d
	case len(entries) > 0:
		if _, err := os.Lstat(path.Join(dir, entries[0].Name)); err != nil {
			return d // one that may be listed, and not entered
		}
	}
	d.listed, d.names = true, make(map[string][]walls.Entry, len(entries))
	for _, e := range entries {
		d.odd = d.odd || !ascii(e.Name)
		lower := strings.ToLower(e.Name)
		d.names[lower] = append(d.names[lower], e)
	}
	return d
}

// Resolve implements walls.Files.
func (g *Glance) Resolve(name string) (real string, ok bool) { return follow(name, g.readlink) }

// readlink is a reader.
func (g *Glance) readlink(at string) (target string, ok bool) {
	if known, found := g.links[at]; found {
		return known.target, known.ok
	}
	if dir := path.Dir(at); at != "/" && g.look(dir).listed && g.Kind(at) != walls.Link {
		return "", true
	}
	target, ok = readlink(at)
	g.links[at] = link{target, ok}
	return target, ok
}
