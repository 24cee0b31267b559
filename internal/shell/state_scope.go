package shell

import (
	"maps"
	"slices"
)

// scope is the state of the shell at one place of a line. It is immutable. A nil
// scope stands for an unreachable place.
type scope struct {
	dirs  []Word          // possible current directories
	set   map[string]bool // variables certainly assigned in this line
	all   bool            // all variables count as set
	funcs map[string]bool // functions certainly defined in this line
	names []Word          // places of the names on standard input, or nil
	input *input          // text of the line on standard input, or nil
	env   *environ        // what commands get from the shell
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

// plus returns the set with one more name. A full set stays as it is, and the name
// counts as unknown.
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

// join returns the state after either of two paths.
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
		input: a.input,
		env:   joinEnvirons(a.env, b.env),
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

// outcome is the state after a statement, by whether it succeeded.
type outcome struct{ ok, fail *scope }

func same(s *scope) outcome { return outcome{ok: s, fail: s} }

func (o outcome) any() *scope { return join(o.ok, o.fail) }
