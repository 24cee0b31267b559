// Package tomlfmt writes TOML in one form. Only blanks, line ends and the comma at the
// end of an array change: keys, values and comments stay, as they are written and in
// their order.
//
//   - one blank around =, none around the dots of a key or within the brackets of a table
//   - a blank line before a table, one at most elsewhere, no blanks at the ends of lines
//   - an array stays in one line if it is in one and fits, else each element has a line,
//     with a comma
//
// The text has to be valid TOML; whoever reads it strictly tells what is wrong with it.
package tomlfmt

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"
)

// width is how long a line with an array may be, in runes.
const width = 80

// errForm is the error for a text that this package does not read. One that it reads in
// another way than it writes it is of that kind too: then nothing is written.
var errForm = errors.New("it has a form that cannot be formatted")

// Format returns a text in the one form.
func Format(src string) (string, error) {
	tokens, ok := lex(src)
	if !ok {
		return "", errForm
	}
	p := &parser{tokens: tokens}
	lines, ok := p.statements()
	if !ok {
		return "", errForm
	}
	out := join(lines)
	after, ok := lex(out)
	if !ok || strings.Join(content(tokens, false), "") != strings.Join(content(after, false), "") || !slices.Equal(content(tokens, true), content(after, true)) {
		return "", errForm
	}
	return out, nil
}

type kind uint8

const (
	word    kind = iota + 1 // a bare key, a number, a date
	text                    // a string, with its quotes
	mark                    // one of = , [ ] { }
	comment                 // without its line end
	newline
)

type token struct {
	kind kind
	text string
}

// lex splits a text into tokens. It reports whether every string ends.
func lex(src string) (tokens []token, ok bool) {
	for len(src) > 0 {
		t := token{word, ""}
		switch c := src[0]; {
		case c == ' ' || c == '\t' || c == '\r':
			src = src[1:]
			continue
		case c == '\n':
			t = token{newline, "\n"}
		case c == '#':
			line, _, _ := strings.Cut(src, "\n")
			tokens = append(tokens, token{comment, strings.TrimRight(line, " \t\r")})
			src = src[len(line):]
			continue
		case strings.IndexByte("=,[]{}", c) >= 0:
			t = token{mark, src[:1]}
		case c == '"' || c == '\'':
			n := stringLen(src)
			if n < 0 {
				return nil, false
			}
			t = token{text, src[:n]}
		default:
			n := strings.IndexAny(src, " \t\r\n#=,[]{}\"'")
			if n < 0 {
				n = len(src)
			}
			t = token{word, src[:n]}
		}
		tokens, src = append(tokens, t), src[len(t.text):]
	}
	return tokens, true
}

// stringLen returns the length of the string at the start of a text, -1 if it does not end.
func stringLen(src string) int {
	quote := src[:1]
	if strings.HasPrefix(src, strings.Repeat(quote, 3)) {
		quote = src[:3]
	}
	for i := len(quote); i < len(src); i++ {
		switch {
		case src[i] == '\\' && quote[0] == '"':
			i++
		case strings.HasPrefix(src[i:], quote):
			i += len(quote)
			for n := 0; len(quote) == 3 && n < 2 && i < len(src) && src[i] == quote[0]; n++ {
				i++ // one or two quotes may stand before the three
			}
			return i
		case src[i] == '\n' && len(quote) == 1:
			return -1
		}
	}
	return -1
}

// content returns what must stay: the comments, or all other tokens without line ends and
// commas.
func content(tokens []token, comments bool) (out []string) {
	for _, t := range tokens {
		if t.kind != newline && t.text != "," && (t.kind == comment) == comments {
			out = append(out, t.text)
		}
	}
	return out
}

// line is a statement or a comment on lines of its own.
type line struct {
	text          string
	blank         bool // a blank line stands before it
	table, remark bool
}

// join writes lines, with a blank line before each table and the comments right above it.
func join(lines []line) string {
	for i := range lines {
		if !lines[i].table {
			continue
		}
		at := i
		for at > 0 && lines[at-1].remark && !lines[at].blank {
			at--
		}
		lines[at].blank = true
	}
	var b strings.Builder
	for i, l := range lines {
		if l.blank && i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(l.text + "\n")
	}
	return b.String()
}

// parser reads tokens.
type parser struct {
	tokens []token
	at     int
}

func (p *parser) peek() token {
	if p.at < len(p.tokens) {
		return p.tokens[p.at]
	}
	return token{}
}

// is consumes the next token if it has a text.
func (p *parser) is(text string) bool {
	if p.peek().text != text || p.peek().kind != mark {
		return false
	}
	p.at++
	return true
}

func (p *parser) statements() (lines []line, ok bool) {
	for {
		breaks := 0
		for ; p.peek().kind == newline; p.at++ {
			breaks++
		}
		l := line{blank: breaks > 1}
		switch t := p.peek(); {
		case t.kind == 0:
			return lines, true
		case t.kind == comment:
			p.at++
			l.text, l.remark = t.text, true
		default:
			var ok bool
			if l.text, ok = p.statement(); !ok {
				return nil, false
			}
			l.table = t.text == "["
		}
		lines = append(lines, l)
	}
}

// statement reads a table's head or a key with its value, and the comment behind it.
func (p *parser) statement() (string, bool) {
	out, ok := "", true
	if p.peek().text == "[" && p.peek().kind == mark {
		for t := p.peek(); t.kind == mark || t.kind == word || t.kind == text; t = p.peek() {
			out += t.text
			p.at++
		}
	} else if out, ok = p.pair(""); !ok {
		return "", false
	}
	if t := p.peek(); t.kind == comment {
		out += " " + t.text
		p.at++
	}
	return out, p.peek().kind == newline || p.peek().kind == 0
}

// pair reads a key and its value.
func (p *parser) pair(indent string) (string, bool) {
	key := ""
	for t := p.peek(); t.kind == word || t.kind == text; t = p.peek() {
		key += t.text
		p.at++
	}
	if key == "" || !p.is("=") {
		return "", false
	}
	out, ok := p.value(indent, len(key)+3)
	return key + " = " + out, ok
}

// value reads a value whose line has an indent and begins with so many other runes.
func (p *parser) value(indent string, used int) (string, bool) {
	switch t := p.peek(); {
	case p.is("["):
		return p.array(indent, used)
	case p.is("{"):
		return p.inline(indent)
	case t.kind == text:
		p.at++
		return t.text, true
	case t.kind == word:
		p.at++
		if next := p.peek(); next.kind == word { // a date and its time
			p.at++
			return t.text + " " + next.text, true
		}
		return t.text, true
	}
	return "", false
}

// inline reads an inline table behind its brace.
func (p *parser) inline(indent string) (string, bool) {
	var pairs []string
	for !p.is("}") {
		pair, ok := p.pair(indent)
		if !ok {
			return "", false
		}
		pairs = append(pairs, pair)
		if !p.is(",") && (p.peek().text != "}" || p.peek().kind != mark) {
			return "", false
		}
	}
	if len(pairs) == 0 {
		return "{}", true
	}
	return "{ " + strings.Join(pairs, ", ") + " }", true
}

// array reads an array behind its bracket.
func (p *parser) array(indent string, used int) (string, bool) {
	start := p.at
	if out, ok := p.flat(); ok && utf8.RuneCountInString(indent+out)+used <= width {
		return out, true
	}
	p.at = start
	inner, out := indent+"  ", "["
	for fresh := false; ; { // fresh: on a line of its own
		switch t := p.peek(); {
		case t.kind == newline:
			p.at++
			fresh = true
		case t.kind == comment:
			p.at++
			if fresh || out == "[" {
				out += "\n" + inner + t.text
			} else {
				out += " " + t.text
			}
		case p.is("]"):
			return out + "\n" + indent + "]", true
		default:
			one, ok := p.value(inner, 1)
			if !ok {
				return "", false
			}
			behind := p.comments(inner)
			if !p.is(",") && (p.peek().text != "]" || p.peek().kind != mark) {
				return "", false
			}
			out, fresh = out+"\n"+inner+one+","+behind, behind != ""
		}
	}
}

// comments reads the comments between an element and its comma, or the end of its array,
// and returns them as they are written behind the comma: the first may be on its line.
func (p *parser) comments(indent string) (out string) {
	for own := false; ; p.at++ {
		switch t := p.peek(); {
		case t.kind == newline:
			own = true
		case t.kind == comment && !own:
			out += " " + t.text
		case t.kind == comment:
			out += "\n" + indent + t.text
		default:
			return out
		}
	}
}

// flat reads an array that is in one line. It reports whether it is.
func (p *parser) flat() (string, bool) {
	var items []string
	for !p.is("]") {
		one, ok := p.value("", -1<<20)
		if !ok || strings.Contains(one, "\n") {
			return "", false
		}
		items = append(items, one)
		if !p.is(",") && (p.peek().text != "]" || p.peek().kind != mark) {
			return "", false
		}
	}
	return "[" + strings.Join(items, ", ") + "]", true
}
