package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// declare walks an export, declare, local, readonly or typeset, which the parser
// reads as a clause, as a command.
func (w *walker) declare(c *syntax.DeclClause, s *scope) outcome {
	w.substituted = false
	if c.Variant.Value != "export" && c.Variant.Value != "readonly" {
		w.bashOnly(c.Variant.Value)
	}
	words := []Word{{Text: c.Variant.Value}}
	for _, a := range c.Args {
		words = append(words, w.declared(a, s)...)
	}
	f := frame{parent: w.parent, from: -1, subst: w.substituted, pos: w.span(c)}
	w.simple(words, f, s) // what it exports is noted for the statement's end
	if c.Variant.Value == "local" && !w.inFunction || slices.ContainsFunc(words[1:], prints) {
		return same(s)
	}
	for _, a := range c.Args {
		if a.Name != nil && !a.Naked {
			s = s.assign(a.Name.Value)
		}
	}
	return same(s)
}

// prints reports whether a word may be an option with which a declaration prints
// variables or concerns functions, and assigns nothing: declare -p x=1.
func prints(word Word) bool {
	return word.MayBeOption() || isOption(word.Text) && strings.ContainsAny(word.Text, "pfF")
}

// declared returns the words of one argument of a declaration.
func (w *walker) declared(a *syntax.Assign, s *scope) []Word {
	switch {
	case a.Name == nil:
		lists := w.fields(a.Value, s)
		if len(lists) != 1 {
			return []Word{{Holes: []Hole{{Kind: AnyText, Secret: w.secrecy(a.Value)}}, Split: true}}
		}
		return lists[0]
	case a.Naked:
		if a.Index != nil {
			w.arithm(a.Index, s)
		}
		return []Word{{Text: a.Name.Value}}
	}
	w.assignParts(a, s)
	word := Word{Text: a.Name.Value + "="}
	if a.Value != nil {
		word = joinText(word, w.mutedValue(a.Value, s))
		if mayHoldBraces(a.Value) {
			w.odd(causeDeclaredBraces)
		}
	}
	return []Word{word}
}

func (w *walker) mutedValue(word *syntax.Word, s *scope) Word {
	defer w.mute()()
	values := w.value(word, s)
	if len(values) != 1 {
		return Word{Holes: []Hole{{Kind: AnyText, Secret: secrecyOf(values)}}}
	}
	return values[0]
}

// let walks a let clause as a command.
func (w *walker) let(c *syntax.LetClause, s *scope) outcome {
	w.bashOnly("let")
	words := []Word{{Text: "let"}}
	for _, x := range c.Exprs {
		w.arithm(x, s)
		s = w.assignedBy(x, s)
		words = append(words, Word{Text: w.unit.src[x.Pos().Offset():x.End().Offset()]})
	}
	w.add(Action{
		Kind: Command, Need: NeedCover, Words: words, Program: w.opt.Catalog.Lookup("let"), Dirs: s.dirs,
		Parent: w.parent, From: -1,
	})
	return same(s)
}
