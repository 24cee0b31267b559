package shell

import "sync"

// Reading a line takes a parser, a walker and an effector for each command in
// progress. They are kept from one line to the next. What they hold on the way
// never becomes part of Facts but by copy: an effector's buffers are slices of
// its own, and facts get new ones (TestPooled). After a panic nothing is kept.

var walkers = sync.Pool{New: func() any { return new(walker) }}

// scratch is what a walker keeps for the next line.
type scratch struct {
	idle []*effector // effectors that no command uses now
	home scope       // where the line starts
	top  unit        // the line itself
	look surveyor    // of the line itself
}

// opening is what the facts of every line need, in one piece of memory.
type opening struct {
	facts Facts
	dirs  [1]Word // where the line starts
}

// newWalker returns a walker at the beginning of a line.
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

// free gives a walker back that has come to the end of its line. Its facts
// belong to the caller.
func (w *walker) free() {
	*w = walker{scratch: scratch{idle: w.idle}}
	walkers.Put(w)
}

// newUnit returns an empty unit and what surveys it; those of the line itself
// are the walker's own.
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

// retire keeps an effector for the next command, emptied but for the room in
// its buffers.
func (w *walker) retire(e *effector) {
	args, operands := e.scan.Args, e.operands
	clear(args)
	*e = effector{operands: operands[:0]}
	e.scan.Args = args[:0]
	w.idle = append(w.idle, e)
}
