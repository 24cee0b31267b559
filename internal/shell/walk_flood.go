package shell

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// fixed is the set of results that a condition may have whenever it is asked; 0 if it
// depends on more than its words.
type fixed uint8

const (
	met fixed = 1 << iota
	unmet
)

// not returns the outcome of the negation.
func (o fixed) not() fixed { return o&met<<1 | o&unmet>>1 }

// endless reports whether the condition of a loop is always met.
func endless(c *syntax.WhileClause) bool {
	o := constantList(c.Cond)
	if c.Until {
		o = o.not()
	}
	return o&met != 0
}

func constantList(list []*syntax.Stmt) fixed {
	if len(list) == 0 {
		return 0
	}
	return constant(list[len(list)-1])
}

// constant returns the outcome of a statement.
func constant(st *syntax.Stmt) fixed {
	o := fixed(0)
	switch c := st.Cmd.(type) {
	case *syntax.CallExpr:
		o = constantCall(c.Args)
	case *syntax.TestClause:
		o = constantTest(c.X)
	case *syntax.ArithmCmd:
		o = constantArithm(c.X)
	case *syntax.Subshell:
		o = constantList(c.Stmts)
	case *syntax.Block:
		o = constantList(c.Stmts)
	case *syntax.BinaryCmd:
		o = constantPair(c)
	}
	if st.Negated {
		return o.not()
	}
	return o
}

func constantPair(c *syntax.BinaryCmd) fixed {
	x, y := constant(c.X), constant(c.Y)
	switch {
	case c.Op == syntax.AndStmt && x == unmet, c.Op == syntax.OrStmt && x == met:
		return x
	case c.Op != syntax.AndStmt && c.Op != syntax.OrStmt:
		return y
	case x == 0 || y == 0:
		return 0
	case c.Op == syntax.AndStmt:
		return x&y&met | (x|y)&unmet
	}
	return (x|y)&met | x&y&unmet
}

// constantCall returns the outcome of a command that always has the same.
func constantCall(args []*syntax.Word) fixed {
	if len(args) == 0 {
		return 0
	}
	name, _ := literal(args[0])
	switch name = name[strings.LastIndexByte(name, '/')+1:]; name {
	case "true", ":", "echo", "printf":
		return met
	case "false":
		return unmet
	case "command", "builtin":
		return constantCall(args[1:])
	case "[", "test":
		return constantWords(args[1:], name == "[")
	}
	return 0
}

// constantWords returns the outcome of test with known words that name no file.
func constantWords(args []*syntax.Word, closed bool) fixed {
	var words []string
	for _, arg := range args {
		text, ok := literal(arg)
		if !ok {
			return 0
		}
		words = append(words, text)
	}
	if closed && len(words) > 0 {
		words = words[:len(words)-1]
	}
	negated := false
	for len(words) > 1 && words[0] == "!" {
		words, negated = words[1:], !negated
	}
	o := fixed(0)
	switch {
	case len(words) == 0:
		o = unmet
	case len(words) == 1:
		o = ifFull(words[0])
	case len(words) == 2 && words[0] == "-n":
		o = ifFull(words[1])
	case len(words) == 2 && words[0] == "-z":
		o = ifFull(words[1]).not()
	case len(words) == 3 && !strings.HasSuffix(words[1], "t") && words[1] != "-ef", len(words) == 3 && (words[1] == "-lt" || words[1] == "-gt"):
		o = met | unmet
	}
	if negated {
		return o.not()
	}
	return o
}

func ifFull(text string) fixed {
	if text == "" {
		return unmet
	}
	return met
}

// constantTest returns the outcome of [[ with known words that name no file.
func constantTest(x syntax.TestExpr) fixed {
	switch x := x.(type) {
	case *syntax.Word:
		if text, ok := literal(x); ok {
			return ifFull(text)
		}
	case *syntax.ParenTest:
		return constantTest(x.X)
	case *syntax.UnaryTest:
		switch x.Op {
		case syntax.TsNot, syntax.TsEmpStr:
			return constantTest(x.X).not()
		case syntax.TsNempStr:
			return constantTest(x.X)
		}
	case *syntax.BinaryTest:
		switch x.Op {
		case syntax.TsNewer, syntax.TsOlder, syntax.TsDevIno:
			return 0
		}
		if constantTest(x.X) != 0 && constantTest(x.Y) != 0 {
			return met | unmet
		}
	}
	return 0
}

// constantArithm returns the outcome of an expression without variables.
func constantArithm(x syntax.ArithmExpr) fixed {
	if w, ok := x.(*syntax.Word); ok {
		text, known := literal(w)
		switch {
		case !known || text == "" || text[0] < '0' || text[0] > '9':
			return 0
		case strings.Trim(text, "0") == "":
			return unmet
		}
		return met
	}
	constant := true
	syntax.Walk(x, func(n syntax.Node) bool {
		if w, ok := n.(*syntax.Word); ok {
			constant = constant && constantArithm(w) != 0
			return false
		}
		return constant
	})
	if constant {
		return met | unmet
	}
	return 0
}

// floods reports whether the body of a loop starts programs in the background, and waits
// neither for them nor, with sleep, for a while. Jobs of a subshell are not its children.
func floods(body []*syntax.Stmt) bool {
	jobs, orphans := jobsOf(body)
	return jobs && !slices.ContainsFunc(body, func(st *syntax.Stmt) bool {
		name := calledBy(st)
		return !st.Background && (name == "sleep" && pauses(st.Cmd.(*syntax.CallExpr).Args[1:]) || name == "wait" && !orphans)
	})
}

// pauses reports whether sleep waits for a while.
func pauses(args []*syntax.Word) bool {
	return slices.ContainsFunc(args, func(arg *syntax.Word) bool {
		text, ok := literal(arg)
		seconds, err := strconv.ParseFloat(strings.TrimRight(text, "smhd"), 64)
		return !ok || err == nil && seconds >= 0.01
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
