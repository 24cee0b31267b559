package shell

import "mvdan.cc/sh/v3/syntax"

// binary walks a chain of commands. Chains nest to the left, as deep as they are
// long, and are walked in a loop, since recursion would copy a growing stack
// repeatedly.
func (w *walker) binary(c *syntax.BinaryCmd, s *scope) outcome {
	var few [8]*syntax.BinaryCmd
	chain := few[:0]
	from, to := w.from, w.to
	for st := (*syntax.Stmt)(nil); c != nil; c = chained(st) {
		if st != nil {
			w.at(st)
		}
		if c.Op == syntax.PipeAll {
			w.bashOnly("|&")
		}
		chain = append(chain, c)
		st = c.X
	}
	last := len(chain) - 1
	left := len(w.facts.Actions) // first action of the left side
	out := w.stmt(chain[last].X, s)
	var names []Word // names that the left side of the pipe prints
	for i := last; i >= 0; i-- {
		c = chain[i]
		w.from, w.to = from, to
		if i > 0 {
			w.at(chain[i-1].X)
		}
		switch {
		case c.Op == syntax.AndStmt || c.Op == syntax.OrStmt:
			out = w.right(c, out, s)
			continue
		case i == last || chain[i+1].Op != syntax.Pipe:
			names = w.namesFrom(c.X, s, false)
		case !narrows(chain[i+1].Y):
			names = w.namesFrom(chain[i+1].Y, s, false)
		default:
			names = w.narrowed(names, chain[i+1].Y)
		}
		in := w.printed(left)
		left = len(w.facts.Actions)
		last := w.piped(c, names, in, s)
		out = same(s)
		if w.unit.dialect == Zsh { // which runs the last command itself
			out = same(s.behind(last.any()))
		}
	}
	return out
}

// at makes a statement of the line itself the place of the next actions.
func (w *walker) at(st *syntax.Stmt) {
	if w.unit.outer == nil {
		w.from, w.to = int(st.Pos().Offset()), int(st.End().Offset())
	}
}

// right walks the right side of && or ||.
func (w *walker) right(c *syntax.BinaryCmd, x outcome, s *scope) outcome {
	if c.Op == syntax.AndStmt {
		y := w.stmt(c.Y, reached(x.ok, s))
		return outcome{ok: y.ok, fail: join(x.fail, y.fail)}
	}
	y := w.stmt(c.Y, reached(x.fail, s))
	return outcome{ok: join(x.ok, y.ok), fail: y.fail}
}

// piped walks the right side of a pipe.
func (w *walker) piped(c *syntax.BinaryCmd, names []Word, in *input, s *scope) outcome {
	if _, ok := c.Y.Cmd.(*syntax.TimeClause); ok {
		// Behind a pipe bash takes time for an ordinary command.
		w.odd(causeTimeBehindPipe)
	}
	if c.Op == syntax.PipeAll {
		names = nil // standard error comes through as well
	}
	if names != nil || s.names != nil || in != nil || s.input != nil {
		s = s.with(func(n *scope) { n.names, n.input = names, in })
	}
	defer func(before bool) { w.fed = before }(w.fed)
	w.fed = true
	return w.stmt(c.Y, s)
}
