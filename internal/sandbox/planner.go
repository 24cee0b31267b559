package sandbox

import (
	"path"
	"slices"
	"sync"

	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Planner makes plans. It keeps what the policy says of names, which does not change, so
// that the plan for the next command takes as long as what has changed in the workspace,
// and not as long as what is there. The zero value has nothing yet. It is safe for
// concurrent use.
type Planner struct {
	mu     sync.Mutex
	bounds *permission.Bounds
	bound  map[subject]permission.Bound // of what was asked for by its name
	found  map[string]*found            // by the directory
	round  int                          // of Make
}

// subject is what a bound is of.
type subject struct {
	path string
	dir  bool
}

// found is what a plan needs of a directory.
type found struct {
	in         *Listing
	round      int // the last one that had it
	repository bool
	deep       bool // some of notable cannot be named
	notable    []notable
}

// notable is a name that a plan looks at: a directory, a link, and what is bound.
type notable struct {
	path  string
	kind  Kind
	bound permission.Bound // but of a link, for which it depends on where that leads
}

// maxBound is how many bounds are kept of names, of which a plan asks for some hundred.
const maxBound = 20_000

// under begins a plan under bounds. What is known counts under the same ones only.
func (pl *Planner) under(b *permission.Bounds) {
	pl.round++
	if pl.bounds == nil || !pl.bounds.Same(b) {
		pl.found, pl.bound = map[string]*found{}, nil
	}
	if pl.bounds = b; pl.bound == nil || len(pl.bound) > maxBound {
		pl.bound = map[subject]permission.Bound{}
	}
}

// at returns the bound of a path.
func (pl *Planner) at(path string, dir bool) permission.Bound {
	s := subject{path, dir}
	bound, known := pl.bound[s]
	if !known {
		bound = pl.bounds.At(path, dir)
		pl.bound[s] = bound
	}
	return bound
}

// in returns what a plan needs of a directory with a listing.
func (pl *Planner) in(dir string, l *Listing) *found {
	f := pl.found[dir]
	if f == nil || f.in != l {
		f = &found{in: l, repository: isRepository(l.Entries)}
		for _, e := range l.Entries {
			n := notable{path: path.Join(dir, e.Name), kind: e.Kind}
			if e.Kind != Link {
				n.bound = pl.bounds.At(n.path, e.Kind == Dir)
			}
			if e.Kind != File || n.bound != (permission.Bound{}) {
				f.notable = append(f.notable, n)
				f.deep = f.deep || len(n.path) >= MaxPath
			}
		}
		pl.found[dir] = f
	}
	f.round = pl.round
	return f
}

// forgetEvery is after how many plans directories are forgotten.
const forgetEvery = 64

// forget lets go of the directories that the last plan did not come to.
func (pl *Planner) forget() {
	for dir, f := range pl.found {
		if f.round != pl.round {
			delete(pl.found, dir)
		}
	}
}

// repositoryNames are the directories by which git knows a repository. It has to have a file
// HEAD too, which a command can move away and back again.
var repositoryNames = []string{"objects", "refs"}

// isRepository reports whether git takes a directory with these entries for a
// repository, or would with a file more.
func isRepository(entries []Entry) bool {
	return !slices.ContainsFunc(repositoryNames, func(name string) bool { return !slices.Contains(entries, Entry{name, Dir}) })
}
