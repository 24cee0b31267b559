package shell

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// braces returns the sequences of parts that brace expansion makes of a word.
// The words are made one after the other and stand side by side.
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
		// bash pairs braces by their spelling, also with those of an expansion.
		w.odd(causeBracesInside)
	}
	out, ok := braceList(clone.Parts)
	if !ok || len(out) > maxAlts*4 {
		w.odd(causeManyWords)
		return [][]syntax.WordPart{{&syntax.ParamExp{Short: true, Param: &syntax.Lit{Value: "@"}}}}
	}
	return out
}

// bracesInQuotes: bash looks for braces by the spelling. It takes a quote in a
// ${..} or in backquotes inside double quotes for their end.
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

func isBraceExp(part syntax.WordPart) bool {
	_, ok := part.(*syntax.BraceExp)
	return ok
}

// longerName reports whether the name of a variable may grow by text beside it
// when the braces are expanded: $x{a,b} is $xa and $xb.
func longerName(parts []syntax.WordPart, more bool) bool {
	for i, part := range parts {
		more := more || i+1 < len(parts)
		switch p := part.(type) {
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

func next(parts []syntax.WordPart, i int) syntax.WordPart {
	if i+1 < len(parts) {
		return parts[i+1]
	}
	return nil
}

// bracesLeft reports whether a brace stands beside those that were expanded.
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

// mayHoldBraces reports whether the unquoted text of a word may make a brace
// expansion.
func mayHoldBraces(word *syntax.Word) bool {
	open := false
	for _, part := range word.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			continue
		}
		for i := 0; i < len(lit.Value); i++ {
			switch lit.Value[i] {
			case '\\':
				i++
			case '{':
				open = true
			case ',', '.':
				if open {
					return true
				}
			}
		}
	}
	return false
}

// bracesInside reports whether an expansion among the parts holds braces,
// commas or quotes that bash may pair with those around it.
func (w *walker) bracesInside(parts []syntax.WordPart) bool {
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.DblQuoted:
			if w.bracesInside(p.Parts) {
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

// braceSequence expands {1..5}; all other sequences are too seldom to know.
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

// part expands one part that is no literal.
func (w *walker) part(part syntax.WordPart, s *scope, at place) [][]piece {
	quoted := at.quoted
	switch p := part.(type) {
	case *syntax.SglQuoted:
		return [][]piece{{w.sglQuoted(p, s)}}
	case *syntax.DblQuoted:
		return w.dblQuoted(p, s, at)
	case *syntax.ParamExp:
		return w.param(p, s, at)
	case *syntax.CmdSubst:
		if w.muted == 0 { // what it runs was walked, or will be
			w.substitution(p, s)
		}
		return [][]piece{{{hole: true, quoted: quoted, many: !quoted && !at.assign, under: w.namesIn(p.Stmts, s)}}}
	case *syntax.ArithmExp:
		if w.muted == 0 {
			w.arithm(p.X, s)
		}
		if p.Bracket && w.unit.dialect == Sh {
			w.odd(causeShArithmetic)
		}
		if w.numeric(p.X, s) && w.unit.dialect != Zsh { // there it may have a point
			return [][]piece{{{hole: true, kind: Number, quoted: true}}}
		}
		return [][]piece{{{hole: true, quoted: true}}}
	case *syntax.ProcSubst:
		return [][]piece{{w.process(p, s), {hole: true, kind: Pipe}}}
	case *syntax.ExtGlob:
		w.odd(causeExtGlob)
		return [][]piece{{{hole: true, many: true}}}
	}
	w.odd(causeOtherPart)
	return [][]piece{{{hole: true, many: true}}}
}

func (w *walker) sglQuoted(p *syntax.SglQuoted, s *scope) piece {
	if w.escaped(p.Value) {
		return piece{hole: true, quoted: true}
	}
	if !p.Dollar {
		return piece{text: p.Value, quoted: true}
	}
	if w.unit.dialect == Sh {
		w.odd(causeShQuotes)
	}
	text, ok := decodeANSI(p.Value)
	if !ok {
		return piece{hole: true, quoted: true}
	}
	return piece{text: text, quoted: true}
}

func (w *walker) dblQuoted(p *syntax.DblQuoted, s *scope, at place) [][]piece {
	at.quoted = true
	out := w.pieces(p.Parts, s, at)
	for i := range out {
		if p.Dollar { // translated: unknown
			many := slices.ContainsFunc(out[i], func(p piece) bool { return p.many })
			out[i] = []piece{{hole: true, quoted: true, many: many}}
		}
		out[i] = append(out[i], piece{quoted: true})
	}
	return out
}

// process walks a process substitution. bash leaves an empty one out.
func (w *walker) process(p *syntax.ProcSubst, s *scope) piece {
	defer func() { w.substituted = true }() // behind the commands inside
	if w.unit.dialect == Sh {
		w.odd(causeShProcess)
	}
	if w.muted == 0 {
		w.reprinted(p.Stmts)
		w.recurse.stmts(p.Stmts, s.with(func(c *scope) { c.names = nil }))
	}
	if len(p.Stmts) == 0 {
		return piece{hole: true, many: true}
	}
	if w.unit.dialect == Zsh { // /dev/fd or /proc/self/fd
		return piece{hole: true, quoted: true}
	}
	return piece{text: "/dev/fd/", quoted: true}
}

func (w *walker) substitution(p *syntax.CmdSubst, s *scope) {
	defer func() { w.substituted = true }() // behind the commands inside
	if p.TempFile || p.ReplyVar {
		w.odd(causeOtherSubstitution)
	}
	if len(p.Stmts) == 1 && p.Stmts[0].Cmd == nil {
		w.redirects(p.Stmts[0].Redirs, s) // $(<file)
		return
	}
	if p.Backquotes {
		if w.backquotes++; w.backquotes > 1 {
			// The parser ends the word before them, and counts backslashes otherwise.
			w.odd(causeBackquotesInside)
		}
		if strings.Contains(w.unit.text(p), `\\`+"\n") {
			// dash joins the lines first, bash takes the backslashes by twos.
			w.odd(causeBackquotesBackslash)
		}
		defer func() { w.backquotes-- }()
	} else {
		w.reprinted(p.Stmts)
	}
	w.recurse.stmts(p.Stmts, s)
}

// reprinted: bash 5.2 prints the tree of $(..) and <(..) and reads the print
// again. Behind a here-document the print loses a separator, so that
// "c; d" runs "c d". Only a chain of simple commands is printed as it stood.
func (w *walker) reprinted(stmts []*syntax.Stmt) {
	w.endsAtParenthesis(stmts)
	if len(stmts) == 1 && isChain(stmts[0]) {
		return
	}
	for _, stmt := range stmts {
		if holdsDocument(stmt) {
			w.odd(causeDocumentAmong)
			return
		}
	}
}

// endsAtParenthesis: in a substitution bash takes a line that begins with the
// delimiter for the end of a here-document.
func (w *walker) endsAtParenthesis(stmts []*syntax.Stmt) {
	for _, stmt := range stmts {
		syntax.Walk(stmt, func(n syntax.Node) bool {
			r, ok := n.(*syntax.Redirect)
			if !ok || r.Hdoc == nil {
				return true
			}
			delimiter, _ := literal(r.Word)
			from, to := int(r.Hdoc.Pos().Offset()), int(r.Hdoc.End().Offset())
			if from > to || to > len(w.unit.src) {
				return true
			}
			for line := range strings.Lines(w.unit.src[from:to]) {
				line = strings.Trim(strings.TrimLeft(line, "\t"), "\n")
				if strings.HasPrefix(line, delimiter) && line != delimiter {
					w.odd(causeDelimiterBegins)
					return false
				}
			}
			return true
		})
	}
}

// isChain reports whether a statement is simple commands joined by |, && and ||.
func isChain(st *syntax.Stmt) bool {
	if st.Negated || st.Background || st.Coprocess || st.Disown {
		return false
	}
	if b, ok := st.Cmd.(*syntax.BinaryCmd); ok {
		return isChain(b.X) && isChain(b.Y)
	}
	_, simple := st.Cmd.(*syntax.CallExpr)
	return simple || st.Cmd == nil
}

// holdsDocument reports whether a statement holds a here-document that is not
// inside a further substitution.
func holdsDocument(st *syntax.Stmt) bool {
	found := false
	syntax.Walk(st, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			return false
		case *syntax.Redirect:
			found = found || n.Op == syntax.Hdoc || n.Op == syntax.DashHdoc
		}
		return !found
	})
	return found
}

// param expands a parameter expansion.
func (w *walker) param(p *syntax.ParamExp, s *scope, at place) [][]piece {
	many := !at.quoted && !at.assign
	hole := [][]piece{{{hole: true, quoted: at.quoted, many: many}}}
	if p.Param == nil || p.NestedParam != nil || p.Flags != nil || len(p.Modifiers) > 0 || p.Width || p.IsSet {
		w.odd(causeOtherParameter)
		return hole
	}
	name := p.Param.Value
	if w.muted == 0 {
		w.paramParts(p, s, at)
	}
	switch {
	case p.Excl && p.Names == 0:
		w.odd(causeIndirect, name)
		return hole
	case p.Length, isNumber(name) && p.Exp == nil && p.Slice == nil && p.Repl == nil && name != "-":
		if p.Length || strings.Contains("?#$", name) {
			return [][]piece{{{hole: true, kind: Digits, quoted: true}}}
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

// maybeMany: "${a[@]}" makes any number of words although it is quoted.
func (w *walker) maybeMany(p *syntax.ParamExp, hole [][]piece) [][]piece {
	if word, ok := p.Index.(*syntax.Word); ok && word.Lit() == "@" || p.Names != 0 {
		hole[0][0].many = true
	}
	return hole
}

func isNumber(name string) bool {
	return name != "" && (name[0] >= '0' && name[0] <= '9' || strings.Contains("?#$!-", name))
}

// paramParts walks what stands inside ${..}: indexes and offsets are evaluated
// as arithmetic, words expand, and an operator may run what a value holds.
func (w *walker) paramParts(p *syntax.ParamExp, s *scope, at place) {
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
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		value := plainWordText(p.Exp.Word)
		w.sets(p.Param.Value, &value, w.parent)
	}
}

// inner walks a word inside ${..}. Between double quotes and in a here-document
// bash takes single quotes there for ordinary characters with some operators,
// so that an expansion inside them runs, also one that an escape of $'..' spells.
// Which operators changed over time.
func (w *walker) inner(word *syntax.Word, s *scope, at place) {
	if word == nil {
		return
	}
	for _, part := range word.Parts {
		if q, ok := part.(*syntax.SglQuoted); ok && at.quoted && (strings.ContainsAny(q.Value, "$`") || q.Dollar && strings.Contains(q.Value, `\`)) {
			w.odd(causeQuotesInside)
		}
		if lit, ok := part.(*syntax.Lit); ok && at.quoted && hidden(lit.Value, false) {
			w.odd(causeProcessInside)
		}
	}
	w.pieces(word.Parts, s, place{quoted: at.quoted, assign: true})
}

// expansion is ${x:-word} and its like: the value, or the word.
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

// variable is a plain $x.
func (w *walker) variable(name string, s *scope, at place, hole [][]piece) [][]piece {
	values, ok := w.valuesOf(name, s)
	if !ok || w.unit.dialect == Zsh && !at.quoted && !at.assign && slices.ContainsFunc(values, splits) {
		return hole
	}
	return valuePieces(values, at)
}

func valuePieces(values []Word, at place) [][]piece {
	var out [][]piece
	for _, v := range values {
		out = append(out, wordPieces(v, at))
	}
	return out
}

// wordPieces takes a value apart again, to stand in another word.
func wordPieces(v Word, at place) []piece {
	var out []piece
	from := 0
	text := func(to int) {
		out = append(out, piece{text: v.Text[from:to], quoted: at.quoted || at.assign, split: true})
		from = to
	}
	for _, h := range v.Holes {
		text(h.At)
		out = append(out, piece{hole: true, kind: h.Kind, quoted: at.quoted, many: !at.quoted && !at.assign, under: v.under})
	}
	text(len(v.Text))
	return out
}

// valuesOf returns the words that a variable may hold here: known only when it
// was assigned for certain, and every assignment in the text is known.
func (w *walker) valuesOf(name string, s *scope) ([]Word, bool) {
	u := w.unit
	if u.poisoned || u.dialect.changes(name) {
		return nil, false
	}
	if u.assigned[name] == nil {
		return w.inherited(name, s)
	}
	if !s.all && !s.set[name] {
		return nil, false
	}
	if u.busy[name] {
		return nil, false
	}
	if u.busy == nil {
		u.busy = map[string]bool{}
	}
	u.busy[name] = true
	v := w.allValues(name)
	delete(u.busy, name)
	return v, v != nil
}

// allValues collects the words of all assignments to a name; nil is unknown.
// An assignment that was walked already has the words that it had there; the
// others are read without any knowledge of other variables.
func (w *walker) allValues(name string) []Word {
	if len(w.unit.assigned[name]) > maxAlts {
		return nil
	}
	var out []Word
	defer w.mute()()
	nowhere := &scope{dirs: []Word{unknown()}}
	// An expression over a variable that was never assigned is opaque where
	// it stands; here only what the text assigns counts.
	anywhere := nowhere.with(func(c *scope) { c.all = true })
	for _, a := range w.unit.assigned[name] {
		switch {
		case a.arith != nil:
			h := Hole{Kind: AnyText}
			if w.numeric(a.arith, anywhere) {
				h.Kind = Number
			}
			out = append(out, Word{Holes: []Hole{h}})
		case a.word == nil:
			return nil
		default:
			values, ok := w.unit.seen[a.word]
			if !ok {
				values = w.valuesAt(a, nowhere)
			}
			out = append(out, values...)
		}
		if len(out) > maxAlts {
			return nil
		}
	}
	return out
}

// valuesAt returns the words that one assignment gives in s.
func (w *walker) valuesAt(a assigned, s *scope) []Word {
	var out []Word
	if a.items {
		for _, list := range w.fields(a.word, s) {
			out = append(out, list...)
		}
	} else {
		out = w.value(a.word, s)
	}
	for i := range out {
		out[i].Split = false
		out[i].Pos, out[i].End = 0, 0
	}
	return out
}

// inherited are the variables whose value is known from outside.
func (w *walker) inherited(name string, s *scope) ([]Word, bool) {
	switch name {
	case "HOME":
		if w.opt.Home != "" {
			return []Word{{Text: w.opt.Home}}, true
		}
	case "PWD":
		if len(s.dirs) == 1 && s.dirs[0].Known() {
			return []Word{{Text: path.Clean(s.dirs[0].Text)}}, true
		}
	}
	return nil, false
}
