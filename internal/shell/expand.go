package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// fields expands a word as bash does. It returns the argument lists that the word may
// stand for, nearly always one list of one word.
func (w *walker) fields(word *syntax.Word, s *scope) [][]Word {
	if word == nil {
		return [][]Word{nil}
	}
	if f, ok := w.plainWord(word); ok {
		return [][]Word{{f}}
	}
	var out [][]Word
	for _, seq := range w.braces(word, s) {
		lists := w.lists(seq, s)
		out = product(out, lists)
	}
	for _, list := range out {
		w.place(list, word)
	}
	if len(out) == 0 {
		return [][]Word{nil}
	}
	return out
}

// argLists returns the argument lists that the words of a command may stand for.
func (w *walker) argLists(args []*syntax.Word, s *scope) [][]Word {
	if words, ok := w.plainArgs(args); ok {
		return [][]Word{words}
	}
	return w.fieldLists(args, s)
}

func (w *walker) plainArgs(args []*syntax.Word) ([]Word, bool) {
	words := w.wordsFor(len(args))
	for i, arg := range args {
		f, ok := w.plainWord(arg)
		if !ok {
			return nil, false
		}
		words[i] = f
	}
	return words, true
}

// wordsFor returns space for the words of a command, from the space of the line if
// there is some left. Its capacity is its length.
func (w *walker) wordsFor(n int) []Word {
	if len(w.room) < n {
		return make([]Word, n)
	}
	words := w.room[:n:n]
	w.room = w.room[n:]
	return words
}

// fieldLists is argLists for words that are not all literal.
func (w *walker) fieldLists(args []*syntax.Word, s *scope) [][]Word {
	var lists [][]Word
	for _, arg := range args {
		next := w.fields(arg, s)
		if len(next) != 1 || lists == nil {
			lists = product(lists, next)
			continue
		}
		for i := range lists {
			if i > 0 {
				w.step()
			}
			lists[i] = append(lists[i], next[0]...)
		}
	}
	return lists
}

// place is the context of a word, which determines the expansions that bash performs.
type place struct {
	quoted bool // inside double quotes or a here-document
	assign bool // value of an assignment: no splitting, no globs, no braces
}

// plainWord is the fast path for a literal word, bare or in quotes.
func (w *walker) plainWord(word *syntax.Word) (Word, bool) {
	if len(word.Parts) != 1 {
		return Word{}, false
	}
	text, ok := w.plainText(word.Parts[0])
	if !ok {
		return Word{}, false
	}
	f := Word{Text: text}
	w.spot(&f, word)
	return f, true
}

// plainText returns the text of a part that stands for itself.
func (w *walker) plainText(part syntax.WordPart) (string, bool) {
	switch p := part.(type) {
	case *syntax.Lit:
		return p.Value, !holds(p.Value, &specialBare)
	case *syntax.SglQuoted:
		return p.Value, !p.Dollar && w.backquotes == 0
	case *syntax.DblQuoted:
		if p.Dollar || w.backquotes > 0 || len(p.Parts) > 1 {
			return "", false
		}
		if len(p.Parts) == 0 {
			return "", true
		}
		lit, ok := p.Parts[0].(*syntax.Lit)
		if !ok || holds(lit.Value, &specialQuoted) {
			return "", false
		}
		return lit.Value, true
	}
	return "", false
}

// specialBare and specialQuoted are the characters of a literal, outside and inside
// double quotes, that are not text or that may hide a command from the parser.
var (
	specialBare   = bytesOf("\\*?[{~`<>")
	specialQuoted = bytesOf("\\`")
)

func (w *walker) place(list []Word, word *syntax.Word) {
	for i := range list {
		w.spot(&list[i], word)
	}
}

// product appends each of the next lists to each of the lists; nil lists are the
// start. Too many become one list of unknown words.
func product(lists, next [][]Word) [][]Word {
	if lists == nil {
		if len(next) > 1 { // each is appended to
			for i := range next {
				next[i] = slices.Clip(next[i])
			}
		}
		return next
	}
	if len(lists)*len(next) > maxAlts {
		secret := unrelated
		for _, words := range slices.Concat(lists, next) {
			secret = max(secret, secrecyOf(words))
		}
		return [][]Word{{{Holes: []Hole{{Kind: AnyText, Secret: secret}}, Split: true}}}
	}
	out := make([][]Word, 0, len(lists)*len(next))
	for _, a := range lists {
		for _, b := range next {
			out = append(out, append(slices.Clip(slices.Clone(a)), b...))
		}
	}
	return out
}

// lists expands word parts after brace expansion.
func (w *walker) lists(parts []syntax.WordPart, s *scope) [][]Word {
	var out [][]Word
	if bracketAcross(parts) {
		w.odd(causeBracketPattern)
	}
	for _, seq := range w.pieces(parts, s, place{}) {
		words := assemble(tilde(seq, w.opt.Home))
		for i := range words {
			w.widen(&words[i])
		}
		out = append(out, words)
	}
	return out
}

// widen lets the wildcards of a word mean hidden names, and names in any case, if the line
// may set such an option.
func (w *walker) widen(word *Word) {
	if !word.hasHole(Glob) {
		return
	}
	options := w.globOptions()
	if options.dots {
		for i := range word.Holes {
			if word.Holes[i].Kind == Glob {
				word.Holes[i].Kind = Pattern
			}
		}
	}
	if options.folds {
		*word = anyCase(*word)
	}
}

// anyCase returns a word without the letters from its first name with a hole on: each may be
// another one.
func anyCase(word Word) Word {
	from := strings.LastIndexByte(word.Text[:word.Holes[0].At], '/') + 1
	out := word
	out.Text, out.Holes = word.Text[:from], nil
	for i, next := from, 0; i <= len(word.Text); i++ {
		for ; next < len(word.Holes) && word.Holes[next].At == i; next++ {
			h := word.Holes[next]
			h.At = len(out.Text)
			out.Holes = append(out.Holes, h)
		}
		switch {
		case i == len(word.Text):
		case isLetter(word.Text[i]) || word.Text[i] >= 0x80:
			out.Holes = append(out.Holes, Hole{At: len(out.Text), Kind: word.Holes[0].Kind})
		default:
			out.Text += word.Text[i : i+1]
		}
	}
	return out
}

// value expands a word where bash does not split: assignments, here-strings, case
// words and redirections of known text.
func (w *walker) value(word *syntax.Word, s *scope) []Word {
	if word == nil || len(word.Parts) == 0 {
		return []Word{{}}
	}
	var out []Word
	for _, seq := range w.pieces(word.Parts, s, place{assign: true}) {
		v := single(tilde(seq, w.opt.Home))
		w.spot(&v, word)
		out = append(out, v)
	}
	return out
}

// document walks the body of a here-document for its substitutions, and returns the
// texts that it may be.
func (w *walker) document(body *syntax.Word, s *scope) []Word {
	if body == nil {
		return nil
	}
	var out []Word
	for _, seq := range w.pieces(body.Parts, s, place{quoted: true}) {
		out = append(out, single(seq))
	}
	return out
}
