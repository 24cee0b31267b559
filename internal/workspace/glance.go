package workspace

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/agent-wrapper/agent-wrapper/internal/sandbox"
)

// Memory is what is known of directories from one Glance to the next, as long as nothing
// changes in them. The zero value knows of none. It is safe for concurrent use.
type Memory struct {
	mu    sync.Mutex
	known map[string]*directory
	names int              // in all of them, and each directory itself
	clock func() time.Time // nil: time.Now
}

// maxNames is how many names are kept: more than a plan looks at in a directory of the
// workspace, or it would look at all of them each time.
const maxNames = 1_500_000

// directory is what is in a directory.
type directory struct {
	of *sandbox.Listing
	stamp
	err error // why it could not be listed

	index sync.Once
	odd   bool                       // some names are not in ASCII
	names map[string][]sandbox.Entry // by the name in lower case
}

// list lists a directory.
func (m *Memory) list(dir string) *directory {
	m.mu.Lock()
	d := m.known[dir]
	m.mu.Unlock()
	if d != nil && d.still(dir) {
		return d
	}
	now := time.Now
	if m.clock != nil {
		now = m.clock
	}
	began := now()
	d = &directory{}
	d.of, d.stamp, d.err = listing(dir)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(dir)
	if d.err == nil && d.settled(began) {
		m.keep(dir, d)
	}
	return d
}

// keep keeps a directory. mu is held.
func (m *Memory) keep(dir string, d *directory) {
	if m.names += d.size(); m.known == nil || m.names > maxNames {
		m.known, m.names = map[string]*directory{}, d.size()
	}
	m.known[dir] = d
}

// drop forgets a directory. mu is held.
func (m *Memory) drop(dir string) {
	if d := m.known[dir]; d != nil {
		m.names -= d.size()
		delete(m.known, dir)
	}
}

// size is how much is kept of a directory: one that is empty is something, too.
func (d *directory) size() int { return 1 + len(d.of.Entries) }

// knows reports whether there is something to find out about a directory at less than what
// its listing takes.
func (m *Memory) knows(dir string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.known[dir] != nil
}

// alike returns the entries whose names differ from one by case only. With sure set a name
// that is not among them is not there.
func (d *directory) alike(base string) (found []sandbox.Entry, sure bool) {
	d.index.Do(func() {
		d.names = make(map[string][]sandbox.Entry, len(d.of.Entries))
		for _, e := range d.of.Entries {
			d.odd = d.odd || !ascii(e.Name)
			lower := strings.ToLower(e.Name)
			d.names[lower] = append(d.names[lower], e)
		}
	})
	found = d.names[strings.ToLower(base)]
	return found, len(found) == 0 && !d.odd && ascii(base)
}

// ascii reports whether a name is in ASCII: two others may be the same to a directory in
// more ways than by case.
func ascii(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf })
}

// Glance is a Tree for one plan: what it has seen of a directory counts until the plan is
// made. A plan asks for hundreds of names, of which few exist and most are in the same
// directories. It is not safe for concurrent use.
type Glance struct {
	Tree
	memory *Memory
	seen   map[string]*glanced
	links  map[string]link
}

// glanced is what a Glance has seen of a directory.
type glanced struct {
	asked  int        // for how many names
	listed *directory // nil: not yet
	// sure says that names can be looked up in listed, or that nothing is there; tried that
	// this was found out.
	sure, tried bool
}

type link struct {
	target string
	ok     bool
}

// NewGlance returns a Glance at a tree, with what is known from earlier ones.
func NewGlance(t Tree, m *Memory) *Glance {
	return &Glance{Tree: t, memory: m, seen: map[string]*glanced{}, links: map[string]link{}}
}

// List implements sandbox.Files.
func (g *Glance) List(dir string) (*sandbox.Listing, error) {
	d := g.list(g.at(dir), dir)
	return d.of, d.err
}

// Again implements sandbox.Files.
func (g *Glance) Again(dir string) (*sandbox.Listing, error) {
	d := g.memory.list(dir)
	return d.of, d.err
}

func (g *Glance) at(dir string) *glanced {
	p := g.seen[dir]
	if p == nil {
		p = &glanced{}
		g.seen[dir] = p
	}
	return p
}

func (g *Glance) list(p *glanced, dir string) *directory {
	if p.listed == nil {
		p.listed = g.memory.list(dir)
	}
	return p.listed
}

// Kind implements sandbox.Files.
func (g *Glance) Kind(name string) sandbox.Kind {
	name = path.Clean(name)
	dir, base := path.Split(name)
	if base == "" || !path.IsAbs(name) || len(name) >= sandbox.MaxPath {
		return g.Tree.Kind(name)
	}
	p := g.look(path.Clean(dir))
	switch {
	case !p.sure:
		return g.Tree.Kind(name)
	case p.listed == nil || p.listed.err != nil: // it was not there, and is not to be listed
		return sandbox.Nothing
	}
	alike, sure := p.listed.alike(base)
	for _, e := range alike {
		if e.Name == base {
			return e.Kind
		}
	}
	if !sure {
		return g.Tree.Kind(name) // the directory may be one that takes them for the same
	}
	return sandbox.Nothing
}

// look returns what is known of a directory. It is listed when there is a second question
// about it, unless nothing is there, or when that costs no more than the first one.
func (g *Glance) look(dir string) *glanced {
	p := g.at(dir)
	p.asked++
	if p.tried || p.asked < 2 && p.listed == nil && !g.memory.knows(dir) || strings.HasPrefix(dir, "/proc") {
		return p
	}
	p.tried = true
	if above := path.Dir(dir); dir != "/" && p.listed == nil && g.look(above).sure && g.Kind(dir) == sandbox.Nothing {
		p.sure = true
		return p
	}
	d := g.list(p, dir)
	if errors.Is(d.err, fs.ErrNotExist) {
		p.listed = nil
	}
	p.sure = p.listed == nil || d.err == nil
	return p
}

// Resolve implements sandbox.Files.
func (g *Glance) Resolve(name string) (real string, ok bool) { return follow(name, g.readlink) }

// Passes implements sandbox.Files.
func (g *Glance) Passes(name string) []string { return passes(name, g.readlink) }

// maxName is how long a name of a directory may be: NAME_MAX of Linux.
const maxName = 255

// readlink is a reader.
func (g *Glance) readlink(at string) (target string, ok bool) {
	if known, found := g.links[at]; found {
		return known.target, known.ok
	}
	if dir := path.Dir(at); at != "/" && len(path.Base(at)) <= maxName && len(at) < sandbox.MaxPath && g.look(dir).sure && g.Kind(at) != sandbox.Link {
		return "", true
	}
	target, ok = readlink(at)
	g.links[at] = link{target, ok}
	return target, ok
}

// Made returns those of some paths that are there.
func Made(paths []sandbox.Path, m *Memory) []sandbox.Path {
	g := NewGlance(Tree{}, m)
	return slices.DeleteFunc(slices.Clone(paths), func(p sandbox.Path) bool { return g.Kind(p.Path) == sandbox.Nothing })
}
