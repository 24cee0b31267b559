package shell

import (
	"maps"
	"slices"
)

// scope is the state of the shell at one place of a line. It is never changed,
// only replaced. A nil scope stands for a place that is not reached.
type scope struct {
	dirs  []Word          // the directories that the shell may be in
	set   map[string]bool // variables that were assigned in this line for certain
	all   bool            // every variable counts as set
	funcs map[string]bool // functions that were defined in this line for certain
	names []Word          // places whose names stand on standard input, or nil
}

func (s *scope) with(change func(*scope)) *scope {
	c := *s
	change(&c)
	return &c
}

func (s *scope) in(dirs ...Word) *scope {
	return s.with(func(c *scope) { c.dirs = dirs })
}

func (s *scope) assign(name string) *scope {
	if s.set[name] {
		return s
	}
	return s.with(func(c *scope) { c.set = plus(c.set, name) })
}

func (s *scope) define(name string) *scope {
	return s.with(func(c *scope) { c.funcs = plus(c.funcs, name) })
}

// plus is the set with one name more. A set that is full stays as it is: what
// is not in it counts as not known.
func plus(set map[string]bool, name string) map[string]bool {
	if len(set) >= maxNames {
		return set
	}
	set = maps.Clone(set)
	if set == nil {
		set = map[string]bool{}
	}
	set[name] = true
	return set
}

// join is the state after either of two ways.
func join(a, b *scope) *scope {
	switch {
	case a == nil || a == b:
		return b
	case b == nil:
		return a
	}
	return &scope{
		dirs:  joinDirs(a.dirs, b.dirs),
		set:   both(a.set, b.set),
		funcs: both(a.funcs, b.funcs),
		names: a.names,
	}
}

func both(a, b map[string]bool) map[string]bool {
	if len(a) == 0 || len(b) == 0 {
		return nil
	}
	out := map[string]bool{}
	for k := range a {
		if b[k] {
			out[k] = true
		}
	}
	return out
}

func joinDirs(a, b []Word) []Word {
	out := append(make([]Word, 0, len(a)+len(b)), a...)
	for _, d := range b {
		if !slices.ContainsFunc(out, func(o Word) bool { return sameWord(&o, &d) }) {
			out = append(out, d)
		}
	}
	if len(out) > maxDirs {
		return []Word{unknown()}
	}
	return out
}

// outcome is the state after a statement that succeeded and after one that
// failed.
type outcome struct{ ok, fail *scope }

func same(s *scope) outcome { return outcome{ok: s, fail: s} }

func (o outcome) any() *scope { return join(o.ok, o.fail) }
