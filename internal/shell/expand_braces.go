package shell

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// braces returns the sequences of parts that brace expansion makes of a word.
func (w *walker) braces(word *syntax.Word, s *scope) [][]syntax.WordPart {
	clone := &syntax.Word{Parts: append([]syntax.WordPart(nil), word.Parts...)}
	if !syntax.SplitBraces(clone) || !slices.ContainsFunc(clone.Parts, isBraceExp) {
		if w.bracesInQuotes(word) {
			w.odd(causeBracesInQuotes)
		}
		if mayHoldBraces(word) {
			w.odd(causeBraces)
		}
		return [][]syntax.WordPart{word.Parts}
	}
	if w.unit.dialect == Sh {
		w.odd(causeShBraces)
	}
	if w.bracesInside(word.Parts) || bracesLeft(clone.Parts) || longerName(clone.Parts, false) {
		// Bash matches braces lexically, including those of an expansion.
		w.odd(causeBracesInside)
	}
	out, ok := braceList(clone.Parts)
	if !ok || len(out) > maxAlts*4 {
		w.odd(causeManyWords)
		return [][]syntax.WordPart{{&syntax.ParamExp{Short: true, Param: &syntax.Lit{Value: "@"}}}}
	}
	return out
}

// bracesInQuotes reports whether bash may see braces inside double quotes. Bash finds
// braces lexically, and takes a quote in ${..} or backquotes for the closing one.
func (w *walker) bracesInQuotes(word *syntax.Word) bool {
	for _, part := range word.Parts {
		q, ok := part.(*syntax.DblQuoted)
		if !ok {
			continue
		}
		for _, inner := range q.Parts {
			if c, ok := inner.(*syntax.CmdSubst); ok && !c.Backquotes {
				continue
			}
			from, to := int(inner.Pos().Offset()), int(inner.End().Offset())
			if from < to && to <= len(w.unit.src) && bracesQuoted(w.unit.src[from+1:to]) {
				return true
			}
		}
	}
	return false
}

func bracesQuoted(text string) bool {
	_, rest, found := strings.Cut(text, "\"")
	return found && strings.Contains(rest, "{") && (strings.Contains(rest, ",") || strings.Contains(rest, ".."))
}

// longerName reports whether brace expansion may extend the name of a variable, or
// make one: $x{a,b} is $xa and $xb, and {$,}m is $m and m.
func longerName(parts []syntax.WordPart, more bool) bool {
	for i, part := range parts {
		more := more || i+1 < len(parts)
		switch p := part.(type) {
		case *syntax.Lit:
			if more && endsInDollar(p.Value) {
				return true
			}
		case *syntax.ParamExp:
			_, lit := next(parts, i).(*syntax.Lit)
			if p.Short && more && !lit {
				return true
			}
		case *syntax.BraceExp:
			for _, elem := range p.Elems {
				if longerName(elem.Parts, more) {
					return true
				}
			}
		}
	}
	return false
}

// endsInDollar reports whether a literal ends in a $ that is not escaped.
func endsInDollar(text string) bool {
	before, found := strings.CutSuffix(text, "$")
	return found && (len(before)-len(strings.TrimRight(before, "\\")))%2 == 0
}

func next(parts []syntax.WordPart, i int) syntax.WordPart {
	if i+1 < len(parts) {
		return parts[i+1]
	}
	return nil
}

// bracesLeft reports whether a brace is left beside those that are expanded.
func bracesLeft(parts []syntax.WordPart) bool {
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(p.Value, "{}") {
				return true
			}
		case *syntax.BraceExp:
			for _, elem := range p.Elems {
				if bracesLeft(elem.Parts) {
					return true
				}
			}
		}
	}
	return false
}

// bracesInside reports whether an expansion among the parts holds braces, commas or
// quotes that bash may match with those around it.
func (w *walker) bracesInside(parts []syntax.WordPart) bool {
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.DblQuoted:
			if w.bracesInside(p.Parts) || slices.ContainsFunc(p.Parts, w.quotesInBackquotes) {
				return true
			}
		case *syntax.ParamExp:
			from, to := p.Pos().Offset(), p.End().Offset()
			if !p.Short && int(to) <= len(w.unit.src) && from+2 < to && strings.ContainsAny(w.unit.src[from+2:to-1], "{},\"'`\\") {
				return true
			}
		}
	}
	return false
}

// quotesInBackquotes reports whether a part of a quoted text is a command
// substitution in backquotes with a double quote, which bash takes for the closing
// one when it looks for braces.
func (w *walker) quotesInBackquotes(part syntax.WordPart) bool {
	c, ok := part.(*syntax.CmdSubst)
	if !ok || !c.Backquotes {
		return false
	}
	from, to := int(c.Pos().Offset()), int(c.End().Offset())
	return to > len(w.unit.src) || strings.Contains(w.unit.src[from:to], "\"")
}

func braceList(parts []syntax.WordPart) ([][]syntax.WordPart, bool) {
	out := [][]syntax.WordPart{nil}
	for _, part := range parts {
		next := [][]syntax.WordPart{{part}}
		if br, ok := part.(*syntax.BraceExp); ok {
			next, ok = braceElems(br)
			if !ok {
				return nil, false
			}
		}
		if len(out)*len(next) > maxAlts*4 {
			return nil, false
		}
		var grown [][]syntax.WordPart
		for _, a := range out {
			for _, b := range next {
				grown = append(grown, append(append([]syntax.WordPart(nil), a...), b...))
			}
		}
		out = grown
	}
	return out, true
}

func braceElems(br *syntax.BraceExp) ([][]syntax.WordPart, bool) {
	if br.Sequence {
		return braceSequence(br)
	}
	var out [][]syntax.WordPart
	for _, e := range br.Elems {
		sub, ok := braceList(e.Parts)
		if !ok {
			return nil, false
		}
		out = append(out, sub...)
	}
	return out, true
}

// braceSequence expands {1..5}. Other sequences are rare and unknown.
func braceSequence(br *syntax.BraceExp) ([][]syntax.WordPart, bool) {
	if len(br.Elems) != 2 {
		return nil, false
	}
	from, err1 := strconv.Atoi(br.Elems[0].Lit())
	to, err2 := strconv.Atoi(br.Elems[1].Lit())
	plain := func(s string) bool { return s == "0" || s != "" && s[0] >= '1' && s[0] <= '9' }
	if err1 != nil || err2 != nil || !plain(br.Elems[0].Lit()) || !plain(br.Elems[1].Lit()) || to < from || to-from >= maxAlts {
		return nil, false
	}
	var out [][]syntax.WordPart
	for i := from; i <= to; i++ {
		out = append(out, []syntax.WordPart{&syntax.Lit{Value: strconv.Itoa(i)}})
	}
	return out, true
}
