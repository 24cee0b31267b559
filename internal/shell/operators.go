package shell

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Operator is a place in a line where a shell does more than run one simple command
// with the literal words.
type Operator struct {
	Kind OperatorKind
	Text string // "|", "$x", "{a,b}"; long text is truncated
	Pos  int    // byte offset in the line
	// Free reports that a redirection neither reads nor writes a file (2>&1,
	// >/dev/null).
	Free bool
}

// OperatorKind is the kind of an operator.
type OperatorKind uint8

// The kinds of operators; the zero value is invalid.
const (
	Joins     OperatorKind = iota + 1 // runs several commands, or one command differently: | && || ; & ! ( ) { } and newlines
	Compound                          // loops, conditions, functions, declarations
	Redirects                         // a redirection, a here-document
	Expands                           // a variable, substitution, arithmetic, glob, brace or tilde
	Sets                              // an assignment that is not NAME=text before a command
)

// Operators returns the operators of a line in order. If there are none, the words of
// the line are its text after quote removal, with or without variables before them.
// Operators parses the line as bash, like Analyze. Differences between bash and the
// parser, and other shells, are left to the opaque spots of Analyze.
func Operators(line string) (found []Operator, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New(because(causeReaderFailed, fmt.Sprint(r)).String())
		}
	}()
	if why := refuse(line, Bash); why.Cause != 0 {
		return nil, errors.New(why.String())
	}
	file, err := parse(line)
	if err != nil {
		return nil, errors.New(because(CauseUnparsed, err.Error()).String())
	}
	o := outline{line: line}
	o.between(file.Stmts)
	syntax.Walk(file, o.node)
	slices.SortStableFunc(o.found, func(a, b Operator) int { return cmp.Compare(a.Pos, b.Pos) })
	return o.found, nil
}

type outline struct {
	line  string
	found []Operator
}

func (o *outline) add(kind OperatorKind, text string, at syntax.Pos) {
	o.found = append(o.found, Operator{Kind: kind, Text: text, Pos: int(at.Offset())})
}

// written adds an operator with the text of a node.
func (o *outline) written(kind OperatorKind, n syntax.Node) {
	const longest = 30
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	from = min(from, len(o.line))
	to = min(max(to, from), len(o.line))
	text, _, more := strings.Cut(o.line[from:to], "\n")
	if more || len(text) > longest {
		text = strings.ToValidUTF8(text[:min(longest, len(text))], "") + "…"
	}
	o.add(kind, text, n.Pos())
}

// between adds what separates and ends statements.
func (o *outline) between(stmts []*syntax.Stmt) {
	for i, s := range stmts {
		switch {
		case s.Background || s.Coprocess || s.Disown:
		case s.Semicolon.IsValid():
			o.add(Joins, ";", s.Semicolon)
		case i+1 < len(stmts):
			o.add(Joins, "newline", s.End())
		}
	}
}

func (o *outline) node(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.Stmt:
		o.stmt(n)
	case *syntax.BinaryCmd:
		o.add(Joins, n.Op.String(), n.OpPos)
	case *syntax.Subshell:
		o.add(Joins, "(", n.Pos())
		o.between(n.Stmts)
	case *syntax.Block:
		o.add(Joins, "{", n.Pos())
		o.between(n.Stmts)
	case *syntax.CallExpr:
		o.call(n)
	case *syntax.Redirect:
		o.redirect(n)
	case *syntax.IfClause, *syntax.WhileClause, *syntax.ForClause, *syntax.CaseClause, *syntax.FuncDecl, *syntax.ArithmCmd,
		*syntax.TestClause, *syntax.DeclClause, *syntax.LetClause, *syntax.TimeClause, *syntax.CoprocClause, *syntax.TestDecl:
		o.written(Compound, n)
	case *syntax.ParamExp, *syntax.CmdSubst, *syntax.ArithmExp, *syntax.ProcSubst, *syntax.ExtGlob:
		o.written(Expands, n)
	case *syntax.DblQuoted:
		if n.Dollar {
			o.written(Expands, n)
		}
	}
	return true
}

func (o *outline) stmt(s *syntax.Stmt) {
	if s.Negated {
		o.add(Joins, "!", s.Pos())
	}
	if s.Background || s.Coprocess || s.Disown {
		o.add(Joins, "&", s.Semicolon)
	}
}

func (o *outline) call(c *syntax.CallExpr) {
	for _, a := range c.Assigns {
		if len(c.Args) == 0 || a.Name == nil || !syntax.ValidName(a.Name.Value) || a.Append || a.Naked || a.Index != nil || a.Array != nil {
			o.written(Sets, a)
		}
		if a.Value != nil {
			o.word(a.Value)
		}
	}
	for _, w := range c.Args {
		o.word(w)
	}
}

func (o *outline) redirect(r *syntax.Redirect) {
	o.written(Redirects, r)
	o.found[len(o.found)-1].Free = isFree(r)
	if r.Hdoc == nil {
		o.word(r.Word)
	}
}

// isFree reports whether a redirection only duplicates or closes descriptors, or
// discards output.
func isFree(r *syntax.Redirect) bool {
	target, plain := literal(r.Word)
	if !plain {
		return false
	}
	switch r.Op {
	case syntax.DplOut, syntax.DplIn:
		return target == "-" || target != "" && digits(target) == len(target)
	case syntax.RdrOut, syntax.AppOut, syntax.RdrAll, syntax.AppAll:
		return free.has(target)
	}
	return false
}

// word adds the expansions without a node of their own: globs, braces and tildes. It
// may add more than bash expands.
func (o *outline) word(w *syntax.Word) {
	clone := &syntax.Word{Parts: slices.Clone(w.Parts)}
	if syntax.SplitBraces(clone) && slices.ContainsFunc(clone.Parts, isBraceExp) {
		o.written(Expands, w)
		return
	}
	bracket := false
	for i, part := range w.Parts {
		lit, ok := part.(*syntax.Lit)
		if ok && expandsText(lit.Value, i == 0, &bracket) {
			o.written(Expands, w)
			return
		}
	}
}

// expandsText reports whether unquoted text holds a glob or a tilde that is expanded.
// bracket reports an open [ before the text, and is updated.
func expandsText(text string, first bool, bracket *bool) bool {
	before := byte('x')
	if first {
		before = ':'
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case c == '*', c == '?', c == ']' && *bracket, c == '~' && (before == ':' || before == '='):
			return true
		case c == '[':
			*bracket = true
		}
		before = text[min(i, len(text)-1)]
	}
	return false
}
