package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// stmts walks statements in order and returns the state after them. Statements behind
// an exit are walked as well.
func (w *walker) stmts(list []*syntax.Stmt, s *scope) *scope {
	return w.block(list, s).any()
}

// block is stmts with the outcome of the last statement.
func (w *walker) block(list []*syntax.Stmt, s *scope) outcome {
	out := same(s)
	last := s
	for _, stmt := range list {
		at := out.any()
		if at == nil {
			at = last
		}
		last = at
		out = w.stmt(stmt, at)
	}
	return out
}

func (w *walker) stmt(st *syntax.Stmt, s *scope) outcome {
	if w.unit.outer == nil {
		defer func(from, to int) { w.from, w.to = from, to }(w.from, w.to)
		w.from, w.to = int(st.Pos().Offset()), int(st.End().Offset())
	}
	from := len(w.changes)
	s = w.changed(s, 0)
	given := w.redirects(st.Redirs, s)
	if st.Coprocess || st.Disown {
		w.odd(causeOtherBackground)
	}
	in := s
	if (given != nil || s.names != nil || s.input != nil) && redirectsInput(st.Redirs) {
		in = s.with(func(c *scope) { c.names, c.input = nil, given })
	}
	fed := w.fed
	here := !fed && (st.Background || redirectsInput(st.Redirs))
	w.fed = fed || here
	out := w.command(st.Cmd, in)
	if here {
		w.fed = replacesInput(st)
	}
	if len(st.Redirs) > 0 {
		out.fail = join(out.fail, in) // a redirection that fails changes nothing
	}
	if out.ok, out.fail = w.changed(out.ok, from), w.changed(out.fail, from); from < len(w.changes) {
		w.changes = w.changes[:from]
	}
	switch {
	case st.Background || st.Coprocess || st.Disown:
		return same(s)
	case st.Negated:
		return outcome{ok: out.fail, fail: out.ok}
	}
	return out
}

func (w *walker) command(cmd syntax.Command, s *scope) outcome {
	switch c := cmd.(type) {
	case nil:
		return same(s)
	case *syntax.CallExpr:
		return w.call(c, s)
	case *syntax.BinaryCmd:
		return w.binary(c, s)
	case *syntax.Subshell:
		w.stmts(c.Stmts, s)
		return same(s)
	case *syntax.Block:
		return w.block(c.Stmts, s)
	case *syntax.IfClause:
		return w.ifClause(c, s)
	case *syntax.WhileClause:
		return w.while(c, s)
	case *syntax.ForClause:
		return w.forClause(c, s)
	case *syntax.CaseClause:
		return w.caseClause(c, s)
	case *syntax.FuncDecl:
		return w.function(c, s)
	case *syntax.TestClause:
		w.bashOnly("[[")
		w.test(c.X, s)
		return same(s)
	case *syntax.ArithmCmd:
		w.bashOnly("((")
		w.arithm(c.X, s)
		return same(w.assignedBy(c.X, s))
	case *syntax.DeclClause:
		return w.declare(c, s)
	case *syntax.LetClause:
		return w.let(c, s)
	case *syntax.TimeClause:
		return w.time(c, s)
	case *syntax.CoprocClause:
		w.odd(causeCoproc)
		if c.Stmt != nil {
			w.stmt(c.Stmt, s)
		}
		if c.Name != nil {
			w.fields(c.Name, s)
		}
		return same(s)
	}
	w.odd(causeOtherCommand)
	return same(s)
}

// reached returns s, or instead for an unreachable place.
func reached(s, instead *scope) *scope {
	if s == nil {
		return instead
	}
	return s
}

func (w *walker) ifClause(c *syntax.IfClause, s *scope) outcome {
	if len(c.Cond) == 0 { // else
		return w.block(c.Then, s)
	}
	cond := w.block(c.Cond, s)
	then := w.block(c.Then, reached(cond.ok, s))
	if c.Else == nil {
		return outcome{ok: join(then.ok, cond.fail), fail: then.fail}
	}
	other := w.ifClause(c.Else, reached(cond.fail, s))
	return outcome{ok: join(then.ok, other.ok), fail: join(then.fail, other.fail)}
}

func (w *walker) while(c *syntax.WhileClause, s *scope) outcome {
	if endless(c) && floods(c.Do) {
		w.odd(causeFlood)
	}
	in := w.loopStart(s, c.Cond, c.Do)
	cond := w.block(c.Cond, in)
	enter, leave := cond.ok, cond.fail
	if c.Until {
		enter, leave = leave, enter
	}
	body := w.stmts(c.Do, reached(enter, in))
	return same(reached(leave, in).behind(body))
}

// replacesInput reports whether a statement may be an exec, whose redirections stay for
// the statements behind it.
func replacesInput(st *syntax.Stmt) bool {
	c, ok := st.Cmd.(*syntax.CallExpr)
	return ok && !st.Background && slices.ContainsFunc(c.Args, func(arg *syntax.Word) bool {
		text, plain := literal(arg)
		return !plain || text == "exec"
	})
}

// redirectsInput reports whether a redirection replaces standard input.
func redirectsInput(list []*syntax.Redirect) bool {
	for _, r := range list {
		switch r.Op {
		case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
			return true
		}
	}
	return false
}

// loopStart returns the state at the start of each iteration of a loop: the directory
// is known only if no iteration changes it.
func (w *walker) loopStart(s *scope, bodies ...[]*syntax.Stmt) *scope {
	s = w.anyTime(s)
	for _, body := range bodies {
		if moves(body) {
			return s.in(unknown())
		}
	}
	return s
}

// moves reports whether statements may change the directory. A word that is not
// literal may be cd, and a function may call it.
func moves(stmts []*syntax.Stmt) bool {
	found := false
	for _, st := range stmts {
		syntax.Walk(st, func(n syntax.Node) bool {
			call, ok := n.(*syntax.CallExpr)
			if !ok || len(call.Args) == 0 {
				return !found
			}
			for i, arg := range call.Args {
				text, plain := literal(arg)
				if _, moves := movers[text]; moves || !plain && i == 0 {
					found = true
				}
				if !runsBuiltins[text] && !strings.HasPrefix(text, "-") {
					break
				}
			}
			return !found
		})
	}
	return found
}

func (w *walker) forClause(c *syntax.ForClause, s *scope) outcome {
	if c.Braces {
		w.odd(causeLoopBraces)
	}
	in := w.loopStart(s, c.Do)
	if w.unit.moves && w.definesFunctions(s) {
		in = s.in(unknown())
	}
	switch l := c.Loop.(type) {
	case *syntax.WordIter:
		w.loopVariable(l, s)
		in = in.assign(l.Name.Value)
	case *syntax.CStyleLoop:
		w.bashOnly("for ((")
		if (l.Cond == nil || constantArithm(l.Cond)&met != 0) && floods(c.Do) {
			w.odd(causeFlood)
		}
		w.arithm(l.Init, s)
		in = w.assignedBy(l.Init, in)
		w.arithm(l.Cond, in)
		w.arithm(l.Post, in)
	default:
		w.odd(causeOtherLoop)
	}
	if c.Select {
		w.bashOnly("select")
		if w.mentionsSecret(c.Loop) {
			w.secretShown("select")
		}
	}
	body := w.stmts(c.Do, in)
	return same(s.in(in.dirs...).behind(in).behind(body))
}

func (w *walker) loopVariable(l *syntax.WordIter, s *scope) {
	var all []Word
	for _, item := range l.Items {
		w.loopsOverSecret(item)
		var values []Word
		for _, list := range w.fields(item, s) {
			values = append(values, list...)
		}
		for i := range values {
			values[i].Split, values[i].Pos, values[i].End = false, 0, 0
		}
		w.unit.saw(item, values)
		all = append(all, values...)
	}
	w.keepsOneOf(l.Name.Value, all, -1)
}

func (w *walker) caseClause(c *syntax.CaseClause, s *scope) outcome {
	w.value(c.Word, s)
	out := same(s)
	for _, item := range c.Items {
		for _, p := range item.Patterns {
			w.pattern(p, s, true)
			w.comparesSecret(c.Word, p)
			w.comparesSecret(p, c.Word)
		}
		o := w.block(item.Stmts, s.in(out.any().dirs...).behind(out.any()))
		out = outcome{ok: join(out.ok, o.ok), fail: join(out.fail, o.fail)}
	}
	return out
}

// time walks a time clause. Bash takes the word for the keyword only before a
// pipeline; the parser does so in other places as well.
func (w *walker) time(c *syntax.TimeClause, s *scope) outcome {
	w.bashOnly("time")
	if c.Stmt == nil {
		return same(s)
	}
	if strings.HasPrefix(w.unit.src[c.Stmt.Pos().Offset():], "-") {
		w.odd(causeTimeOption)
	}
	switch c.Stmt.Cmd.(type) {
	case *syntax.CallExpr, *syntax.BinaryCmd, nil:
	default:
		w.odd(causeTimeCompound)
	}
	return w.stmt(c.Stmt, s)
}
