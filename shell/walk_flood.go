package shell

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// endless reports whether the condition of a loop is always met.
func endless(c *syntax.WhileClause) bool {
	if len(c.Cond) == 0 {
		return false
	}
	name := calledBy(c.Cond[len(c.Cond)-1])
	if c.Until {
		return name == "false" || name == "/bin/false" || name == "/usr/bin/false"
	}
	return name == ":" || name == "true" || name == "/bin/true" || name == "/usr/bin/true"
}

// floods reports whether the body of a loop starts programs in the background, and waits
// neither for them nor, with sleep, for a while. Jobs of a subshell are not its children.
func floods(body []*syntax.Stmt) bool {
	jobs, orphans := jobsOf(body)
	return jobs && !slices.ContainsFunc(body, func(st *syntax.Stmt) bool {
		name := calledBy(st)
		return !st.Background && (name == "sleep" || name == "wait" && !orphans)
	})
}

// jobsOf reports whether statements, or those within them, run in the background, and
// whether some of those are in a subshell.
func jobsOf(body []*syntax.Stmt) (jobs, orphans bool) {
	for _, st := range body {
		syntax.Walk(st, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Stmt:
				jobs = jobs || n.Background
			case *syntax.Subshell:
				inside, _ := jobsOf(n.Stmts)
				orphans = orphans || inside
			}
			return !jobs || !orphans
		})
	}
	return jobs, orphans
}

// calledBy returns the name of the command that a statement runs, "" if it is another one.
func calledBy(st *syntax.Stmt) string {
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return ""
	}
	name, _ := literal(call.Args[0])
	return name
}
