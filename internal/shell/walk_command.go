package shell

import (
	"mvdan.cc/sh/v3/syntax"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
)

// call walks a simple command, or assignments alone.
func (w *walker) call(c *syntax.CallExpr, s *scope) outcome {
	w.substituted = false
	if len(c.Args) == 0 {
		for _, a := range c.Assigns {
			s = w.assignment(a, s, true)
		}
		return same(s)
	}
	var assigns []Assign
	for _, a := range c.Assigns {
		if readsLine(c) && !s.funcs["read"] && !w.defined["read"] {
			break
		}
		w.assignment(a, s, false)
		if a.Name != nil {
			value := plainValue(a).revealing(w.secrecy(a))
			assigns = append(assigns, w.unit.dialect.assign(a.Name.Value, &value))
		}
	}
	words, plain := w.plainArgs(c.Args)
	if plain {
		return w.simple(words, frame{assigns: assigns, parent: w.parent, from: -1, subst: w.substituted, pos: w.span(c)}, s)
	}
	lists := w.fieldLists(c.Args, s)
	frame := frame{assigns: assigns, parent: w.parent, from: -1, subst: w.substituted, pos: w.span(c)}
	out := outcome{}
	for _, words := range lists {
		o := w.simple(words, frame, s)
		out = outcome{ok: join(out.ok, o.ok), fail: join(out.fail, o.fail)}
	}
	return out
}

// simple walks one argument list of a command.
func (w *walker) simple(words []Word, f frame, s *scope) outcome {
	if len(words) == 0 {
		return same(s)
	}
	s = w.changed(s, 0)
	a := Action{
		Kind: Command, Need: NeedCover, Words: words, Assigns: f.assigns, Dirs: s.dirs,
		Substitution: f.subst, Parent: f.parent, From: f.from, Pos: f.pos[0], End: f.pos[1],
	}
	if s.input != nil {
		a.input = *s.input
		a.Environment = a.input.secret
	}
	name := &words[0]
	if !name.Known() {
		i := w.add(a)
		w.opaque(i, MayRun, causeNameUnknown)
		return same(s)
	}
	if len(f.assigns) > 0 && (s.funcs[name.Text] || w.defined[name.Text]) {
		w.ever = joinEnvirons(w.ever, (*environ)(nil).given(f.assigns, w.unit.dialect))
	}
	if s.funcs[name.Text] && f.from < 0 {
		a.Reason = "a function of this line"
		a.function = true
		a.Environment = a.Environment || holdsSecret(words) // its positional parameters
		if !a.Environment {
			a.Need = NeedNone
		}
		w.add(a)
		if w.unit.moves {
			return same(s.in(unknown()))
		}
		return same(s)
	}
	if w.unit.dialect == Zsh {
		w.zshEvaluates(words, f.parent)
	}
	a.Program = w.opt.Catalog.Lookup(base(name.Text))
	a.Installed = w.installed(name, s.dirs, a.Program)
	a.Assigns = standing(f.assigns, s, a.Program)
	a.Why = unprovenAssign(a.Assigns)
	if a.Program != nil && a.Program.Facts&program.InShell != 0 {
		w.takes(f.assigns)
	}
	out := w.effects(a, s)
	if w.defined[name.Text] { // it may be the function, whose changes are unknown
		return same(s.in(unknown()))
	}
	return out
}

func unprovenAssign(assigns []Assign) Why {
	for _, x := range assigns {
		if x.Class == Other {
			if x.givesSecret() {
				return because(causeSecretShown, x.Name)
			}
			return because(causeObeysVariable, x.Name)
		}
	}
	return Why{}
}

// assignment walks one assignment. A dangerous variable makes an opaque spot, before
// a command as well as alone.
func (w *walker) assignment(a *syntax.Assign, s *scope, alone bool) *scope {
	if a.Name == nil || !syntax.ValidName(a.Name.Value) {
		// The parser takes any word with =[ in it for an assignment.
		w.odd(causeNoAssignment)
		if a.Value != nil {
			w.value(a.Value, s)
		}
		return s
	}
	values := w.assignParts(a, s)
	if a.Append && !allNumbers(values) {
		values = []Word{unknown().revealing(secrecyOf(values))} // behind a value that is not known
	}
	if !alone {
		w.setsOneOf(a.Name.Value, values, w.parent)
		return s
	}
	w.keepsOneOf(a.Name.Value, values, w.parent)
	return s.assign(a.Name.Value)
}

// assignParts walks the index and the value of an assignment, records the value, and
// returns its possible words, nil if unknown.
func (w *walker) assignParts(a *syntax.Assign, s *scope) []Word {
	if a.Append {
		w.bashOnly("+=")
	}
	if a.Index != nil {
		w.bashOnly("an index")
		w.arithm(a.Index, s)
	}
	if a.Array != nil {
		w.array(a.Array, s)
	}
	if (a.Array != nil || a.Index != nil) && (w.mentionsSecret(a) || w.holds(a.Name.Value) != unrelated) {
		w.declaresSecret()
	}
	if a.Value == nil {
		return []Word{unknown().revealing(w.secrecy(a))}
	}
	values := w.value(a.Value, s)
	for i := range values {
		values[i].Pos, values[i].End = 0, 0
	}
	w.unit.saw(a.Value, values)
	return values
}

func (w *walker) array(a *syntax.ArrayExpr, s *scope) {
	w.bashOnly("an array")
	for _, e := range a.Elems {
		if e.Index != nil {
			w.arithm(e.Index, s)
		}
		if e.Value != nil {
			w.fields(e.Value, s)
		}
	}
}
