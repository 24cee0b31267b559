package shell

import "mvdan.cc/sh/v3/syntax"

// arithm walks an arithmetic expression. Bash evaluates the value of a variable as an
// expression again, and runs the substitutions of an index in it, so that only
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

// arithmWords expands every word of an expression for its substitutions.
func (w *walker) arithmWords(x syntax.ArithmExpr, s *scope) {
	switch x := x.(type) {
	case *syntax.Word:
		w.countsSecret(x)
		w.pieces(x.Parts, s, place{assign: true})
	case *syntax.BinaryArithm:
		w.countsIn(x.X)
		w.arithmWords(x.X, s)
		w.arithmWords(x.Y, s)
	case *syntax.UnaryArithm:
		w.countsIn(x.X)
		w.arithmWords(x.X, s)
	case *syntax.ParenArithm:
		w.arithmWords(x.X, s)
	case *syntax.FlagsArithm:
		w.odd(causeOtherArithmetic)
	}
}

// numeric reports whether an expression is certainly a number: digits, operators, and
// variables that were certainly assigned numbers.
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

// countsIn notes that an expression may leave a number in a variable.
func (w *walker) countsIn(x syntax.ArithmExpr) {
	if w.plainName(x) {
		w.late(change{name: x.(*syntax.Word).Lit(), values: []Word{{Holes: []Hole{{Kind: Number}}}}})
	}
}

func (w *walker) plainName(x syntax.ArithmExpr) bool {
	word, ok := x.(*syntax.Word)
	return ok && syntax.ValidName(word.Lit())
}

func (w *walker) numericWord(word *syntax.Word, s *scope) bool {
	defer w.mute()()
	if name := word.Lit(); syntax.ValidName(name) {
		if w.unit.busy[name] {
			return true // a number if everything else in the cycle is one
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

// assignedBy returns the state after an arithmetic expression that may assign.
func (w *walker) assignedBy(x syntax.ArithmExpr, s *scope) *scope {
	switch x := x.(type) {
	case *syntax.BinaryArithm:
		if x.Op == syntax.Assgn && w.plainName(x.X) {
			name := x.X.(*syntax.Word).Lit()
			w.keeps(name, &Word{Holes: []Hole{{Kind: Number}}}, w.parent)
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
