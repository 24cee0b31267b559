package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// part expands one part that is not a literal.
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
		if w.muted == 0 { // its commands were walked, or will be
			w.substitution(p, s)
		}
		return [][]piece{{{hole: true, quoted: quoted, many: !quoted && !at.assign, under: w.namesIn(p.Stmts, s), count: w.counts(p.Stmts, s)}}}
	case *syntax.ArithmExp:
		if w.muted == 0 {
			w.arithm(p.X, s)
		}
		if p.Bracket && w.unit.dialect == Sh {
			w.odd(causeShArithmetic)
		}
		if w.numeric(p.X, s) && w.unit.dialect != Zsh { // zsh may print a decimal point
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
	w.quotes++
	out := w.pieces(p.Parts, s, at)
	w.quotes--
	for i := range out {
		if p.Dollar { // translated text is unknown
			many := slices.ContainsFunc(out[i], func(p piece) bool { return p.many })
			out[i] = []piece{{hole: true, quoted: true, many: many}}
		}
		out[i] = append(out[i], piece{quoted: true})
	}
	return out
}

// process walks a process substitution. Bash drops an empty one.
func (w *walker) process(p *syntax.ProcSubst, s *scope) piece {
	defer func() { w.substituted = true }() // behind the commands inside
	if w.unit.dialect == Sh {
		w.odd(causeShProcess)
	}
	if w.muted == 0 {
		defer func(before bool) { w.fed = before }(w.fed)
		w.fed = w.fed || p.Op == syntax.CmdOut
		w.reprinted(p.Stmts)
		w.recurse.stmts(p.Stmts, s.with(func(c *scope) { c.names = nil }))
	}
	if len(p.Stmts) == 0 {
		return piece{hole: true, many: true}
	}
	if w.unit.dialect == Zsh { // either /dev/fd or /proc/self/fd
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
			// The parser ends the word before them, and counts backslashes
			// differently.
			w.odd(causeBackquotesInside)
		}
		if strings.Contains(w.unit.text(p), `\\`+"\n") {
			// Dash joins the lines first, bash pairs the backslashes first.
			w.odd(causeBackquotesBackslash)
		}
		defer func() { w.backquotes-- }()
	} else {
		w.reprinted(p.Stmts)
	}
	w.recurse.stmts(p.Stmts, s)
}

// reprinted adds opaque spots for what bash 5.2 does not print as it was. It prints
// the tree of $(..) and <(..) and parses the result again. Behind a here-document a
// separator is lost, so that "c; d" runs "c d"; only a chain of simple commands is
// printed unchanged. In the elements of an array backslashes are lost.
func (w *walker) reprinted(stmts []*syntax.Stmt) {
	if strings.Contains(w.unit.src, "<<") {
		w.endsAtParenthesis(stmts)
	}
	if strings.Contains(w.unit.src, `\`) {
		w.escapedElements(stmts)
	}
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

// revisit visits the nodes of a statement, which may be visited again with those around it.
func (w *walker) revisit(st *syntax.Stmt, visit func(syntax.Node) bool) {
	seen := 0
	syntax.Walk(st, func(n syntax.Node) bool {
		if seen++; seen%nodeStep == 0 {
			w.step()
		}
		return visit(n)
	})
}

// escapedElements adds an opaque spot for an array with a backslash.
func (w *walker) escapedElements(stmts []*syntax.Stmt) {
	for _, stmt := range stmts {
		w.revisit(stmt, func(n syntax.Node) bool {
			if a, ok := n.(*syntax.ArrayExpr); ok && strings.Contains(w.unit.text(a), `\`) {
				w.odd(causeElementEscaped)
				return false
			}
			return true
		})
	}
}

// endsAtParenthesis adds an opaque spot for a line that begins with the delimiter of
// a here-document: in a substitution bash takes it for the end of the document.
func (w *walker) endsAtParenthesis(stmts []*syntax.Stmt) {
	for _, stmt := range stmts {
		w.revisit(stmt, func(n syntax.Node) bool {
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

// isChain reports whether a statement consists of simple commands joined by |, && and
// ||.
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

// holdsDocument reports whether a statement holds a here-document outside further
// substitutions.
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
