package shell

import "sync"

// Analyzing a line takes a parser, a walker and an effector for each command in
// progress. They are pooled. Nothing that they hold becomes part of Facts except by
// copy: the buffers of an effector are its own, and facts are allocated anew
// (TestPooled). After a panic nothing is returned to a pool.

var walkers = sync.Pool{New: func() any { return new(walker) }}

// scratch is the part of a walker that is kept for the next line.
type scratch struct {
	idle []*effector // unused effectors
	home scope       // where the line starts
	top  unit        // unit of the line itself
	look surveyor    // surveyor of the line itself
}

// opening holds what every line allocates, in one allocation.
type opening struct {
	facts Facts
	dirs  [1]Word // where the line starts
}

// newWalker returns a walker at the start of a line.
func newWalker(opt Options, line string) *walker {
	w := walkers.Get().(*walker)
	o := &opening{facts: Facts{Source: line}, dirs: [1]Word{known(opt.Dir)}}
	w.opt, w.facts = opt, &o.facts
	w.home = scope{dirs: o.dirs[:]}
	if opt.Workspace == "" {
		w.opt.Workspace = opt.Dir
	}
	return w
}

// free returns a walker to the pool when its line is done. The facts belong to the
// caller.
func (w *walker) free() {
	*w = walker{scratch: scratch{idle: w.idle}}
	walkers.Put(w)
}

// newUnit returns an empty unit and its surveyor. Those of the line itself are part
// of the walker.
func (w *walker) newUnit() (*unit, *surveyor) {
	if w.unit == nil {
		return &w.top, &w.look
	}
	return new(unit), new(surveyor)
}

// effector returns an empty effector.
func (w *walker) effector() *effector {
	n := len(w.idle)
	if n == 0 {
		return new(effector)
	}
	e := w.idle[n-1]
	w.idle = w.idle[:n-1]
	return e
}

// retire keeps an effector for the next command. Only its buffers survive.
func (w *walker) retire(e *effector) {
	args, operands := e.scan.Args, e.operands
	clear(args)
	*e = effector{operands: operands[:0]}
	e.scan.Args = args[:0]
	w.idle = append(w.idle, e)
}
