package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// test walks the expression of [[ ]].
func (w *walker) test(x syntax.TestExpr, s *scope) {
	switch x := x.(type) {
	case *syntax.Word:
		w.testsSecret(0, x)
		w.value(x, s)
	case *syntax.ParenTest:
		w.test(x.X, s)
	case *syntax.UnaryTest:
		w.unaryTest(x, s)
	case *syntax.BinaryTest:
		w.binaryTest(x, s)
	}
}

func (w *walker) unaryTest(x *syntax.UnaryTest, s *scope) {
	w.testsSecret(x.Op, x.X)
	word, ok := x.X.(*syntax.Word)
	if x.Op == syntax.TsFdTerm && w.unit.dialect == Zsh {
		w.comparison("-t", x.X, s) // a descriptor number
	}
	if !ok || x.Op != syntax.TsVarSet && x.Op != syntax.TsRefVar {
		w.test(x.X, s)
		return
	}
	for _, v := range w.value(word, s) {
		if !v.Known() || !syntax.ValidName(v.Text) {
			w.odd(causeTestIndex)
		}
	}
}

func (w *walker) binaryTest(x *syntax.BinaryTest, s *scope) {
	w.test(x.X, s)
	if one, ok := x.X.(*syntax.Word); ok {
		if other, ok := x.Y.(*syntax.Word); ok {
			w.comparesSecret(one, other)
			w.comparesSecret(other, one)
		}
	}
	switch x.Op {
	case syntax.TsMatch, syntax.TsMatchShort, syntax.TsNoMatch:
		if word, ok := x.Y.(*syntax.Word); ok {
			w.pattern(word, s, false)
			return
		}
	case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
		w.comparison("-eq", x.X, s)
		w.comparison("-eq", x.Y, s)
	}
	w.test(x.Y, s)
}

// comparison examines an operand that the shell evaluates as arithmetic: the sides of
// -eq and the like, and in zsh the operand of -t.
func (w *walker) comparison(op string, x syntax.TestExpr, s *scope) {
	word, ok := x.(*syntax.Word)
	if !ok {
		w.odd(causeOtherComparison)
		return
	}
	mute := w.mute()
	values := w.value(word, s)
	mute()
	if !allNumbers(values) {
		w.odd(causeTestArithmetic, op)
	}
}

// pattern walks a pattern of case or [[. The parser keeps an extended glob as text,
// although bash runs the substitutions in it.
func (w *walker) pattern(word *syntax.Word, s *scope, isCase bool) {
	for _, part := range word.Parts {
		g, ok := part.(*syntax.ExtGlob)
		if !ok {
			w.pieces([]syntax.WordPart{part}, s, place{assign: true})
			continue
		}
		if isCase || strings.ContainsAny(g.Pattern.Value, "$`<>") {
			w.odd(causeExtGlobCommands)
		}
	}
}
