package shell

import (
	"slices"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
)

// maxExported is the maximum number of values of exported variables that are told
// apart.
const maxExported = 10

// anyVariable stands for the exported variables beyond them.
const anyVariable = "…"

// environ is what a shell may pass on to the programs that it starts: the variables
// that the line exports, as far as a program may obey them. They stand before every
// later command as if they were written there. An environ only grows: unset and a
// second value take nothing back, since the variable may be read-only. It is
// immutable; a nil environ is empty.
type environ struct {
	vars []Assign        // the values that exported variables may have
	out  map[string]bool // names that may be exported
	all  bool            // every assignment exports
}

// change is a step of the shell that may change what it exports.
type change struct {
	name   string
	values []Word // one of them is the variable's value from here on; nil for no change
	export bool   // the name is exported from here on
	all    bool   // every name is exported from here on
}

// exports reports whether an assignment to a name may reach programs.
func (n *environ) exports(name string) bool {
	return n != nil && (n.all || n.out[name]) || inherits(name)
}

// after returns the environment after a change in a text of the dialect.
func (n *environ) after(c *change, d Dialect) *environ {
	if !c.export && !c.all && !n.exports(c.name) {
		return n
	}
	var old environ
	if n != nil {
		old = *n
	}
	grown := old
	grown.all = grown.all || c.all
	if c.export {
		grown.export(c.name)
	}
	if grown.exports(c.name) {
		for i := range c.values {
			if a := d.assign(c.name, &c.values[i]); a.Class == Other {
				grown.vars = withAssign(grown.vars, a)
			}
		}
	}
	if grown.all == old.all && len(grown.out) == len(old.out) && len(grown.vars) == len(old.vars) {
		return n
	}
	return &grown
}

// assign returns the assignment of a value to a name.
func (d Dialect) assign(name string, value *Word) Assign {
	a := Assign{Name: name, Value: *value, Class: d.classOf(name, value)}
	a.Value.Pos, a.Value.End = 0, 0
	return a
}

// export adds a name. Among too many, any name is exported.
func (n *environ) export(name string) {
	if n.out[name] {
		return
	}
	n.out = plus(n.out, name)
	n.all = n.all || !n.out[name]
}

// withAssign returns a list with one more assignment. Too many end in one that stands
// for any variable.
func withAssign(list []Assign, a Assign) []Assign {
	if len(list) > maxExported || slices.ContainsFunc(list, a.same) {
		return list
	}
	if len(list) == maxExported {
		a = Assign{Name: anyVariable, Value: unknown()} // which no program ignores
	}
	return append(list[:len(list):len(list)], a)
}

// sameList reports whether two lists are one.
func sameList(a, b []Assign) bool { return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0] }

func (a *Assign) same(b Assign) bool { return a.Name == b.Name && sameWord(&a.Value, &b.Value) }

// within reports whether other passes on everything that n does.
func (n *environ) within(other *environ) bool {
	if other == nil {
		other = &environ{}
	}
	if n == nil || n == other {
		return true
	}
	if n.all && !other.all {
		return false
	}
	for name := range n.out {
		if !other.all && !other.out[name] {
			return false
		}
	}
	return !slices.ContainsFunc(n.vars, func(a Assign) bool { return len(withAssign(other.vars, a)) > len(other.vars) })
}

// joinEnvirons returns what either of two shells may pass on.
func joinEnvirons(a, b *environ) *environ {
	switch {
	case b.within(a):
		return a
	case a.within(b):
		return b
	}
	out := *a
	out.all = a.all || b.all
	for name := range b.out {
		out.export(name)
	}
	for _, v := range b.vars {
		out.vars = withAssign(out.vars, v)
	}
	return &out
}

// late notes a change of the shell that reads the current statement. The statements
// that follow see it.
func (w *walker) late(c change) { w.changes = append(w.changes, c) }

// changed returns the state after the changes from index from on.
func (w *walker) changed(s *scope, from int) *scope {
	if s == nil || from >= len(w.changes) {
		return s
	}
	env := s.env
	for i := from; i < len(w.changes); i++ {
		env = env.after(&w.changes[i], w.unit.dialect)
	}
	return w.passing(s, env)
}

// passing returns a state that passes on more.
func (w *walker) passing(s *scope, env *environ) *scope {
	if s == nil || env.within(s.env) {
		return s
	}
	env = joinEnvirons(s.env, env)
	w.ever = joinEnvirons(w.ever, env)
	return s.with(func(c *scope) { c.env = env })
}

// anyTime returns the state in which a loop, a function or a trap begins, which may be
// after anything that the line exports anywhere.
func (w *walker) anyTime(s *scope) *scope {
	w.returns = true
	return w.passing(s, w.bodies)
}

// behind carries what a part of the line exports into the state behind it.
func (s *scope) behind(part *scope) *scope {
	if part == nil || part.env.within(s.env) {
		return s
	}
	return s.with(func(c *scope) { c.env = joinEnvirons(s.env, part.env) })
}

// standing returns the assignments that stand before a command of a program: its own
// and those of exported variables. A variable that the program does not obey is
// harmless.
func standing(own []Assign, s *scope, p *program.Program) []Assign {
	list := own
	switch {
	case s.env == nil:
	case len(own) == 0 || sameList(own, s.env.vars):
		list = s.env.vars
	default:
		for _, a := range s.env.vars {
			if !slices.ContainsFunc(own, a.same) {
				list = append(list[:len(list):len(list)], a)
			}
		}
	}
	copied := false
	for i := range list {
		a := &list[i]
		if a.Class != Other && !a.ignored || a.ignored == a.ignoredBy(p) {
			continue
		}
		if !copied {
			list, copied = slices.Clone(list), true
			a = &list[i]
		}
		if a.ignored = !a.ignored; a.ignored {
			a.Class = Harmless
		} else {
			a.Class = Other
		}
	}
	return list
}

// ignoredBy reports whether a program does the same with an assignment, and cannot show
// what it gives.
func (a *Assign) ignoredBy(p *program.Program) bool {
	return p.Ignores(a.Name) && (p.Facts&program.InShell != 0 || !a.givesSecret())
}

// given returns the environment with assignments that stand before a command.
func (n *environ) given(assigns []Assign, d Dialect) *environ {
	if n != nil && sameList(assigns, n.vars) {
		return n
	}
	for i := range assigns {
		if a := &assigns[i]; n == nil || !slices.ContainsFunc(n.vars, a.same) {
			n = n.after(&change{name: a.Name, values: []Word{a.Value}, export: true}, d)
		}
	}
	return n
}

// takes notes that a command of the shell itself may keep, and export, the assignments
// before its name: export does, and so does every special builtin of a shell that
// follows POSIX.
func (w *walker) takes(assigns []Assign) {
	for i := range assigns {
		w.late(change{name: assigns[i].Name, values: []Word{assigns[i].Value}, export: true})
	}
}
