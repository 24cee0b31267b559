package shell

import (
	"errors"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// stopped records where the parser stopped.
func (f *Failure) stopped(text string, err error) {
	var at syntax.Pos
	var wrong syntax.ParseError
	var foreign syntax.LangError
	switch {
	case errors.As(err, &wrong):
		at = wrong.Pos
	case errors.As(err, &foreign):
		at = foreign.Pos
	}
	if at.IsValid() {
		f.Line, f.Document = int(at.Line()), documentAt(text[min(int(at.Offset()), len(text)):])
	}
}

// documentAt returns the delimiter of the here-document at the start of text, after
// an optional descriptor, or "".
func documentAt(text string) string {
	text = strings.TrimLeft(text, "0123456789")
	if strings.HasPrefix(text, "{") {
		_, text, _ = strings.Cut(text, "}")
	}
	text, found := strings.CutPrefix(text, "<<")
	if !found || strings.HasPrefix(text, "<") {
		return ""
	}
	text = strings.TrimLeft(strings.TrimPrefix(text, "-"), " \t")
	var delimiter strings.Builder
	for word, err := range borrow().WordsSeq(strings.NewReader(text)) {
		if err == nil {
			unquote(&delimiter, word.Parts, false)
		}
		break // only the first word matters
	}
	return delimiter.String()
}

// unquote writes the text of a delimiter, in which only quotes and backslashes are
// special. The parser takes a # behind quotes for a comment.
func unquote(out *strings.Builder, parts []syntax.WordPart, quoted bool) {
	for i, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			if i > 0 && !quoted && strings.HasPrefix(p.Value, "#") {
				return
			}
			out.WriteString(unescape(p.Value, quoted))
		case *syntax.SglQuoted:
			out.WriteString(p.Value)
		case *syntax.DblQuoted:
			unquote(out, p.Parts, true)
		}
	}
}
