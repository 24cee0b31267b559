package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// param expands a parameter expansion.
func (w *walker) param(p *syntax.ParamExp, s *scope, at place) [][]piece {
	many := !at.quoted && !at.assign
	hole := [][]piece{{{hole: true, quoted: at.quoted, many: many, secret: w.secrecy(p), job: showsJob(p)}}}
	if p.Param == nil || p.NestedParam != nil || p.Flags != nil || len(p.Modifiers) > 0 || p.Width || p.IsSet {
		w.odd(causeOtherParameter)
		return hole
	}
	name := p.Param.Value
	if w.muted == 0 {
		w.paramParts(p, s, at)
		w.traceShows(p)
	}
	switch {
	case p.Excl && p.Names == 0:
		w.odd(causeIndirect, name)
		return hole
	case p.Length, isNumber(name) && p.Exp == nil && p.Slice == nil && p.Repl == nil && name != "-":
		if p.Length || strings.Contains("?#$", name) {
			return [][]piece{{{hole: true, kind: Digits, quoted: true, secret: hole[0][0].secret}}}
		}
		return hole
	case name == "@" || name == "*":
		return [][]piece{{{hole: true, quoted: at.quoted, many: name == "@" || many}}}
	}
	if p.Index != nil || p.Slice != nil || p.Repl != nil || p.Names != 0 {
		return w.maybeMany(p, hole)
	}
	if p.Exp != nil {
		return w.expansion(p, s, at, hole)
	}
	return w.variable(name, s, at, hole)
}

// showsJob reports whether an expansion is that of $!, the last process that the shell
// has put into the background.
func showsJob(p *syntax.ParamExp) bool {
	return p.Param != nil && p.Param.Value == "!" && p.Exp == nil && p.Slice == nil && p.Repl == nil && !p.Length && !p.Excl
}

// maybeMany marks a hole that may be any number of words although it is quoted:
// "${a[@]}".
func (w *walker) maybeMany(p *syntax.ParamExp, hole [][]piece) [][]piece {
	if word, ok := p.Index.(*syntax.Word); ok && word.Lit() == "@" || p.Names != 0 {
		hole[0][0].many = true
	}
	return hole
}

func isNumber(name string) bool {
	return name != "" && (name[0] >= '0' && name[0] <= '9' || strings.Contains("?#$!-", name))
}

// paramParts walks the parts of ${..}: indexes and offsets are evaluated as
// arithmetic, words expand, and an operator may run the value.
func (w *walker) paramParts(p *syntax.ParamExp, s *scope, at place) {
	if text := w.unit.text(p); strings.Contains(text, "$${") || strings.Contains(text, "$$(") {
		w.odd(causeDollarsInside)
	}
	if word, ok := p.Index.(*syntax.Word); ok && (word.Lit() == "@" || word.Lit() == "*") {
		// all elements
	} else if p.Index != nil {
		w.arithm(p.Index, s)
	}
	if p.Slice != nil {
		w.arithm(p.Slice.Offset, s)
		w.arithm(p.Slice.Length, s)
	}
	if p.Repl != nil {
		w.inner(p.Repl.Orig, s, at)
		w.inner(p.Repl.With, s, at)
	}
	if p.Exp == nil {
		return
	}
	if p.Exp.Op == syntax.OtherParamOps {
		w.odd(causeTransformed, p.Param.Value)
	}
	w.inner(p.Exp.Word, s, at)
	switch p.Exp.Op {
	case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		if w.mentionsSecret(p.Exp.Word) || w.holds(p.Param.Value) == derived {
			w.secretShown("the message of " + w.unit.text(p))
		}
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if p.Index != nil && w.holds(p.Param.Value) != unrelated {
			w.declaresSecret()
		}
		value := plainWordText(p.Exp.Word).revealing(w.secrecy(p.Exp.Word))
		w.keeps(p.Param.Value, &value, w.parent)
	}
}

// inner walks a word inside ${..}. In double quotes and here-documents bash takes
// single quotes there literally for some operators, so that an expansion between them
// runs, even one spelled by an escape of $'..'. The set of these operators changed
// between versions.
func (w *walker) inner(word *syntax.Word, s *scope, at place) {
	if word == nil {
		return
	}
	for _, part := range word.Parts {
		if q, ok := part.(*syntax.SglQuoted); ok && w.opens(q, at.quoted) {
			w.odd(causeQuotesInside)
		}
		if lit, ok := part.(*syntax.Lit); ok && at.quoted && hidden(lit.Value, false) {
			w.odd(causeProcessInside)
		}
	}
	w.pieces(word.Parts, s, place{quoted: at.quoted, assign: true})
}

// opens reports whether bash may expand the text of a single-quoted part of a word
// inside ${..}. It drops the quotes of $'..' in a substitution in double quotes as
// well.
func (w *walker) opens(q *syntax.SglQuoted, quoted bool) bool {
	if q.Dollar {
		return (quoted || w.quotes > 0) && strings.ContainsAny(q.Value, "$`\\")
	}
	return quoted && strings.ContainsAny(q.Value, "$`")
}

// expansion expands ${x:-word} and the like to the value, or the word.
func (w *walker) expansion(p *syntax.ParamExp, s *scope, at place, hole [][]piece) [][]piece {
	values, ok := w.valuesOf(p.Param.Value, s)
	if !ok {
		return hole
	}
	switch p.Exp.Op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
		for _, v := range values {
			if v.Text == "" {
				return hole
			}
		}
		return valuePieces(values, at)
	}
	return hole
}

// variable expands a plain $x.
func (w *walker) variable(name string, s *scope, at place, hole [][]piece) [][]piece {
	values, ok := w.valuesOf(name, s)
	if !ok || w.unit.dialect == Zsh && !at.quoted && !at.assign && slices.ContainsFunc(values, splits) {
		return hole
	}
	return valuePieces(values, at)
}

// splits reports whether bash may split a value into several words, or none. Zsh does
// not.
func splits(v Word) bool { return v.Text == "" || strings.ContainsAny(v.Text, " \t\n*?[~") }

func valuePieces(values []Word, at place) [][]piece {
	var out [][]piece
	for _, v := range values {
		out = append(out, wordPieces(v, at))
	}
	return out
}

// wordPieces returns the pieces of a value that becomes part of another word.
func wordPieces(v Word, at place) []piece {
	var out []piece
	from := 0
	text := func(to int) {
		out = append(out, piece{text: v.Text[from:to], quoted: at.quoted || at.assign, split: true})
		from = to
	}
	for _, h := range v.Holes {
		text(h.At)
		out = append(out, piece{hole: true, kind: h.Kind, quoted: at.quoted, many: !at.quoted && !at.assign, under: v.under, secret: h.Secret, job: h.Job, count: h.Count})
	}
	text(len(v.Text))
	return out
}
