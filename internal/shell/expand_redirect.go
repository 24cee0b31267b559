package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// redirects walks the redirections of a statement, and returns the text of the line
// that they put on an input, nil if there is none.
func (w *walker) redirects(list []*syntax.Redirect, s *scope) *input {
	var given *input
	for _, r := range list {
		from := len(w.facts.Actions)
		texts := w.redirect(r, s)
		var printed *input // by a process substitution
		if r.Op == syntax.RdrIn {
			if printed = w.printed(from); printed == nil && w.wrote(from) {
				printed = &input{changed: true}
			}
		}
		if given == nil && (len(texts) > 0 || printed != nil) {
			given = new(input)
		}
		for i := range texts {
			given.add(texts[i])
			given.secret = given.secret || texts[i].secret()
		}
		if printed != nil {
			given.pass(printed)
		}
	}
	if given != nil {
		given.document = onlyDocument(list)
	}
	return given
}

// onlyDocument reports whether a here-document or a here-string is all that a list of
// redirections puts on standard input.
func onlyDocument(list []*syntax.Redirect) bool {
	inputs := 0
	for _, r := range list {
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
			if r.N != nil && r.N.Value != "0" {
				return false
			}
			inputs++
		case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn:
			return false
		}
	}
	return inputs == 1
}

// redirect walks one redirection, and returns the texts that its input may be.
func (w *walker) redirect(r *syntax.Redirect, s *scope) []Word {
	if r.N != nil && strings.HasPrefix(r.N.Value, "{") {
		name := strings.Trim(r.N.Value, "{}")
		if !syntax.ValidName(name) {
			w.odd(causeRedirectName)
		}
		w.keeps(name, &Word{Holes: []Hole{{Kind: Digits}}}, w.parent)
	}
	if r.N != nil && len(r.N.Value) > 1 {
		w.bashOnly("a descriptor of several digits")
	}
	if r.Op == syntax.DplIn || r.Op == syntax.DplOut {
		// Bash ends the operator at the dash; the parser reads on to the blank.
		if text := partText(r.Word); len(text) > 1 && text[0] == '-' {
			w.odd(causeNoBlank, r.Op.String())
		}
	}
	if r.Op != syntax.Hdoc && r.Op != syntax.DashHdoc && r.Op != syntax.WordHdoc && w.mentionsSecret(r.Word) {
		w.secretShown("the error of a redirection")
	}
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		w.delimiter(r)
		if !quotedDelimiter(r.Word) {
			return w.document(r.Hdoc, s)
		}
		return quotedDocument(r.Hdoc)
	case syntax.WordHdoc:
		w.bashOnly("<<<")
		return w.value(r.Word, s)
	case syntax.RdrIn:
		w.redirectTo(r, s, Read)
	case syntax.RdrInOut:
		w.redirectTo(r, s, Read)
		w.redirectTo(r, s, Write)
	case syntax.DplIn:
		w.value(r.Word, s)
	case syntax.DplOut:
		w.duplicate(r, s)
	case syntax.RdrAll, syntax.AppAll:
		w.bashOnly("&>")
		w.redirectTo(r, s, Write)
	default:
		w.redirectTo(r, s, Write)
	}
	return nil
}

// quotedDocument is the body of a here-document that nothing in is expanded.
func quotedDocument(body *syntax.Word) []Word {
	if body == nil {
		return nil
	}
	return []Word{{Text: partText(body)}}
}

// delimiter adds an opaque spot where bash ends a here-document at another place than
// the parser: after empty quotes in the delimiter, and at a line of the body that
// becomes the delimiter by a line continuation.
func (w *walker) delimiter(r *syntax.Redirect) {
	text, plain := literal(r.Word)
	if !plain || len(r.Word.Parts) != 1 {
		w.odd(causeDelimiter)
		return
	}
	from := min(int(r.Word.End().Offset()), len(w.unit.src))
	inBackquotes := w.backquotes > 0 && strings.Contains(w.unit.src[from:], "\\\n")
	if inBackquotes || !quotedDelimiter(r.Word) && w.joinsDelimiter(w.unit.src[from:], text) {
		w.odd(causeDocumentEnd)
	}
}

// joinsDelimiter reports whether a continued line of text ends in a line that is the
// delimiter, or becomes the delimiter.
func (w *walker) joinsDelimiter(text, delimiter string) bool {
	if !strings.Contains(text, "\\\n") && !strings.HasSuffix(text, "\\") {
		return false // no line is continued
	}
	w.steps += len(text) / textStep
	w.step()
	before, joined := "", false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if trailing(line)%2 == 1 {
			before, joined = before+strings.TrimSuffix(line, "\\"), true
			continue
		}
		if joined && (strings.TrimLeft(line, "\t") == delimiter || strings.TrimLeft(before+line, "\t") == delimiter) {
			return true
		}
		before, joined = "", false
	}
	return joined
}

// duplicate walks >&word, which names a descriptor or a file.
func (w *walker) duplicate(r *syntax.Redirect, s *scope) {
	if text, ok := literal(r.Word); ok {
		t := strings.TrimSuffix(text, "-")
		if text != "" && strings.Trim(t, "0123456789") == "" {
			return
		}
	}
	for _, target := range w.target(r.Word, s) {
		if target.hasHole(AnyText) || target.hasHole(Glob) || target.hasHole(Pattern) || strings.ContainsAny(target.Text, "$`") {
			w.odd(causeTwiceExpanded)
		}
		w.file(target, r, s, Write)
	}
}

// redirectTo records the file of a redirection under each name that it may have.
func (w *walker) redirectTo(r *syntax.Redirect, s *scope, kind Kind) {
	for _, target := range w.target(r.Word, s) {
		w.file(target, r, s, kind)
	}
}

// target expands the word of a redirection. If it is not exactly one word, that is an
// error in bash and unknown here; zsh opens each of several.
func (w *walker) target(word *syntax.Word, s *scope) []Word {
	var out []Word
	for _, list := range w.fields(word, s) {
		if len(list) != 1 {
			u := unknown()
			w.spot(&u, word)
			out = append(out, u)
		}
		for _, one := range list {
			one.Split = false
			out = append(out, one)
		}
	}
	return out
}

func (w *walker) file(target Word, r *syntax.Redirect, s *scope, kind Kind) {
	if target.Known() && free.has(target.Text) || target.hasHole(Pipe) {
		return
	}
	if strings.HasPrefix(target.Text, "/dev/tcp/") || strings.HasPrefix(target.Text, "/dev/udp/") {
		w.network(target)
		return
	}
	if d := devFD(&target); d && kind == Read {
		return
	}
	reason := "redirection " + r.Op.String()
	need := NeedCover
	if kind == Read {
		need = NeedNone
	}
	for _, p := range beneath(s.dirs, target) {
		w.add(Action{
			Kind: kind, Need: need, Path: p, Redirect: true,
			Append: r.Op == syntax.AppOut || r.Op == syntax.AppAll,
			Reason: reason, Parent: w.parent, From: -1, Pos: target.Pos, End: target.End,
		})
	}
}

// network records a redirection to /dev/tcp/HOST/PORT, for which bash opens a
// connection.
func (w *walker) network(target Word) {
	rest := target.Text[len("/dev/tcp/"):]
	host, port, _ := strings.Cut(rest, "/")
	url := Word{Text: "http://" + host + ":" + port + "/", Pos: target.Pos, End: target.End}
	if !target.Known() {
		url = unknown()
	}
	w.add(Action{Kind: Fetch, Need: NeedNone, Path: url, Reason: "redirection to a network connection", Parent: w.parent, From: -1})
	w.opaque(w.parent, MayRun, causeNetwork)
}
