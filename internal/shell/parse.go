package shell

import (
	"strconv"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// refuse returns why a line is not parsed at all, or the zero Why.
func refuse(line string, d Dialect) Why {
	switch {
	case d == Foreign:
		return because(causeForeign)
	case len(line) > MaxLine:
		return because(causeTooLong, strconv.Itoa(MaxLine))
	case strings.IndexByte(line, 0) >= 0:
		return because(causeNUL)
	case openers(line) > maxOpeners:
		// The parser has no depth limit, and a stack overflow cannot be recovered, so
		// nesting is bounded before the parse.
		return because(causeBrackets, strconv.Itoa(maxOpeners))
	}
	return Why{}
}

func openers(line string) int {
	return strings.Count(line, "(") + strings.Count(line, "[") + strings.Count(line, "{") + strings.Count(line, "`")
}

// parse parses text as bash. RecoverErrors is never used, and the tree of a text with
// an error is dropped, although bash runs the lines before the error. A parser that
// failed or panicked is not used again.
func parse(text string) (*syntax.File, error) {
	p := borrow()
	p.src.Reset(text)
	f, err := p.Parse(&p.src, "")
	if err != nil {
		return nil, err
	}
	p.src.Reset("")
	parsers.Put(p)
	return f, nil
}

// bashParser is a parser with its input.
type bashParser struct {
	*syntax.Parser
	src strings.Reader
}

var parsers sync.Pool // of *bashParser; borrow makes them

// borrow returns a parser from the pool, or a new one.
func borrow() *bashParser {
	if p, _ := parsers.Get().(*bashParser); p != nil {
		return p
	}
	return &bashParser{Parser: syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true))}
}

// simpleLine reports whether the words of a rule can stand for the whole line.
func simpleLine(f *syntax.File) bool {
	if len(f.Stmts) != 1 {
		return false
	}
	s := f.Stmts[0]
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(s.Redirs) > 0 || s.Background || s.Negated || s.Coprocess || len(call.Assigns) > 0 {
		return false
	}
	for _, arg := range call.Args {
		if substitutes(arg.Parts) {
			return false
		}
	}
	return true
}

// substitutes reports whether word parts hold a command or process
// substitution.
func substitutes(parts []syntax.WordPart) bool {
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			return true
		case *syntax.DblQuoted:
			if substitutes(p.Parts) {
				return true
			}
		case *syntax.ParamExp:
			if p.Exp != nil && p.Exp.Word != nil && substitutes(p.Exp.Word.Parts) {
				return true
			}
		}
	}
	return false
}
