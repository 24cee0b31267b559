package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// arithm walks an arithmetic expression. bash evaluates what a variable holds
// as an expression again, and an index in it runs its substitutions: only
// numbers are harmless.
func (w *walker) arithm(x syntax.ArithmExpr, s *scope) {
	if x == nil {
		return
	}
	w.arithmWords(x, s)
	if !w.numeric(x, s) {
		w.odd(causeArithmetic)
	}
}

// arithmWords expands every word of an expression, for what it runs.
func (w *walker) arithmWords(x syntax.ArithmExpr, s *scope) {
	switch x := x.(type) {
	case *syntax.Word:
		w.pieces(x.Parts, s, place{assign: true})
	case *syntax.BinaryArithm:
		w.arithmWords(x.X, s)
		w.arithmWords(x.Y, s)
	case *syntax.UnaryArithm:
		w.arithmWords(x.X, s)
	case *syntax.ParenArithm:
		w.arithmWords(x.X, s)
	case *syntax.FlagsArithm:
		w.odd(causeOtherArithmetic)
	}
}

// numeric reports whether an expression can only be a number: digits,
// operators, and variables that were assigned numbers for certain.
func (w *walker) numeric(x syntax.ArithmExpr, s *scope) bool {
	switch x := x.(type) {
	case *syntax.Word:
		return w.numericWord(x, s)
	case *syntax.BinaryArithm:
		if x.Op == syntax.Assgn {
			return w.plainName(x.X) && w.numeric(x.Y, s)
		}
		return w.numeric(x.X, s) && w.numeric(x.Y, s)
	case *syntax.UnaryArithm:
		return w.numeric(x.X, s)
	case *syntax.ParenArithm:
		return w.numeric(x.X, s)
	}
	return false
}

func (w *walker) plainName(x syntax.ArithmExpr) bool {
	word, ok := x.(*syntax.Word)
	return ok && syntax.ValidName(word.Lit())
}

func (w *walker) numericWord(word *syntax.Word, s *scope) bool {
	defer w.mute()()
	if name := word.Lit(); syntax.ValidName(name) {
		if w.unit.busy[name] {
			return true // a number if all that it is made of are numbers
		}
		values, ok := w.valuesOf(name, s)
		return ok && allNumbers(values)
	}
	for _, seq := range w.pieces(word.Parts, s, place{assign: true}) {
		v := single(seq)
		if !number(&v) {
			return false
		}
	}
	return true
}

func allNumbers(values []Word) bool {
	for i := range values {
		if !number(&values[i]) {
			return false
		}
	}
	return true
}

// number reports whether a word is digits: known ones, or a hole for digits.
func number(v *Word) bool {
	for _, h := range v.Holes {
		if h.Kind != Digits && h.Kind != Number {
			return false
		}
	}
	if v.Text == "" {
		return len(v.Holes) > 0
	}
	return strings.Trim(strings.TrimPrefix(v.Text, "-"), "0123456789") == "" && v.Text != "-" ||
		strings.HasPrefix(v.Text, "0x") && strings.Trim(v.Text[2:], "0123456789abcdefABCDEF") == ""
}

// assignedBy is the state behind an arithmetic expression that assigns.
func (w *walker) assignedBy(x syntax.ArithmExpr, s *scope) *scope {
	switch x := x.(type) {
	case *syntax.BinaryArithm:
		if x.Op == syntax.Assgn && w.plainName(x.X) {
			name := x.X.(*syntax.Word).Lit()
			w.sets(name, &Word{Holes: []Hole{{Kind: Number}}}, w.parent)
			return s.assign(name)
		}
		if x.Op == syntax.Comma {
			return w.assignedBy(x.Y, w.assignedBy(x.X, s))
		}
	case *syntax.ParenArithm:
		return w.assignedBy(x.X, s)
	}
	return s
}

// test walks the expression of [[ ]].
func (w *walker) test(x syntax.TestExpr, s *scope) {
	switch x := x.(type) {
	case *syntax.Word:
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
	word, ok := x.X.(*syntax.Word)
	if x.Op == syntax.TsFdTerm && w.unit.dialect == Zsh {
		w.comparison("-t", x.X, s) // the number of a descriptor
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

// comparison: the sides of -eq and its like are evaluated as arithmetic, in zsh
// also what -t looks at.
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

// pattern walks a pattern of case or [[. The parser keeps an extended glob as
// text although bash runs the substitutions in it.
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
