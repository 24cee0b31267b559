package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

func (w *walker) function(c *syntax.FuncDecl, s *scope) outcome {
	if c.Name == nil || len(c.Names) > 0 {
		w.odd(causeOtherFunction)
		return same(s.behind(w.stmt(c.Body, w.anyTime(s)).any()))
	}
	if c.RsrvWord {
		w.bashOnly("function")
	}
	name := c.Name.Value
	if w.opt.Catalog.Lookup(name) != nil || strings.HasPrefix(name, "command_not_found") {
		w.odd(causeFunctionOfCommand, name)
	}
	if callsItself(c.Body, name) {
		w.opaque(w.parent, MayRun, CauseForkBomb)
	}
	// The body may be called from anywhere later on, so the directory is known only
	// if nothing in the text changes it.
	in := w.anyTime(s)
	if w.unit.moves {
		in = s.in(unknown())
	}
	outer, fed := w.inFunction, w.fed
	w.inFunction, w.fed = true, true // local is an error elsewhere
	body := w.stmt(c.Body, in.with(func(n *scope) { n.names = nil }))
	w.inFunction, w.fed = outer, fed
	return same(s.define(name).behind(body.any()))
}

// callsItself reports whether a function calls itself in a pipe or in the
// background.
func callsItself(body *syntax.Stmt, name string) bool {
	found := false
	var in func(st *syntax.Stmt, forked bool)
	in = func(st *syntax.Stmt, forked bool) {
		forked = forked || st.Background
		switch c := st.Cmd.(type) {
		case *syntax.CallExpr:
			if len(c.Args) > 0 {
				if text, ok := literal(c.Args[0]); ok && text == name && forked {
					found = true
				}
			}
		case *syntax.BinaryCmd:
			pipe := c.Op == syntax.Pipe || c.Op == syntax.PipeAll
			in(c.X, forked || pipe)
			in(c.Y, forked || pipe)
		case *syntax.Block:
			for _, x := range c.Stmts {
				in(x, forked)
			}
		case *syntax.Subshell:
			for _, x := range c.Stmts {
				in(x, forked)
			}
		}
	}
	in(body, false)
	return found
}

func (w *walker) definesFunctions(s *scope) bool { return len(s.funcs) > 0 }
