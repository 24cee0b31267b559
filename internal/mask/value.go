package mask

import (
	"slices"
	"strings"
)

// quoting is the state of a shell's quotes at some place.
type quoting struct {
	at   int
	open []byte // ' or " or (, outermost first
}

// quote returns the innermost open quote, 0 if there is none.
func (q *quoting) quote() byte {
	if n := len(q.open); n > 0 && q.open[n-1] != '(' {
		return q.open[n-1]
	}
	return 0
}

// state returns the quote that is open at p, for a command line.
func (c *scanner) state(p int) byte {
	if c.mode != commandLine {
		return 0
	}
	q := &c.in
	for q.at < p {
		q.at += q.step(c.s, q.at)
	}
	return q.quote()
}

// step advances by one character, or by several that form a unit.
func (q *quoting) step(s string, p int) int {
	b, quote := s[p], q.quote()
	switch {
	case quote == '\'':
		if b == '\'' {
			q.pop()
		}
	case b == '\\':
		return 2
	case b == '$' && strings.HasPrefix(s[p:], "$("):
		q.open = append(q.open, '(')
		return 2
	case b == '"' && quote == '"':
		q.pop()
	case quote == '"':
	case b == '\'' || b == '"':
		q.open = append(q.open, b)
	case b == ')' && len(q.open) > 0:
		q.pop()
	case b == '#' && (p == 0 || strings.IndexByte(" \t\n;&|(", s[p-1]) >= 0):
		if end := strings.IndexByte(s[p:], '\n'); end >= 0 {
			return end
		}
		return len(s) - p
	}
	return 1
}

func (q *quoting) pop() { q.open = q.open[:len(q.open)-1] }

// assigned hides the value of a name that begins at p; open is the quote around
// both.
func (c *scanner) assigned(name string, p int, open byte) {
	if isAuthorization(name) {
		p = c.scheme(p)
	}
	if strings.HasPrefix(c.s[p:], "pass:") {
		p += len("pass:")
	} else if isSource(c.s[p:]) {
		return
	}
	if counts(name) && isNumber(c.s[p:]) {
		return
	}
	c.value(p, open)
}

// isNumber reports whether a text begins with a number.
func isNumber(s string) bool {
	rest := strings.TrimLeft(s[:min(len(s), 20)], "0123456789")
	return len(rest) < min(len(s), 20) && (rest == "" || !isName(rest[0]))
}

// isSource reports whether a value says where the secret is read from.
func isSource(value string) bool {
	for _, prefix := range []string{"file:", "env:", "fd:", "stdin"} {
		if strings.HasPrefix(value, prefix) {
			return true
		}
	}
	return false
}

// isAuthorization reports whether a name is that of a header whose value begins
// with a scheme.
func isAuthorization(name string) bool {
	return len(name) >= len("authorization") && strings.EqualFold(name[len(name)-len("authorization"):], "authorization")
}

// schemes are the authentication schemes of headers.
var schemes = []string{"bearer", "basic", "token", "digest", "negotiate", "apikey", "key", "aws4-hmac-sha256", "hawk", "ntlm"}

// scheme skips a known scheme and the quote before it.
func (c *scanner) scheme(p int) int {
	from := p
	for from < len(c.s) && strings.IndexByte(`\"'`, c.s[from]) >= 0 {
		from++
	}
	to := from
	for to < len(c.s) && isName(c.s[to]) {
		to++
	}
	if slices.Contains(schemes, strings.ToLower(c.s[from:to])) && c.blanks(to) > to {
		return c.blanks(to)
	}
	return p
}

// special are the characters that end an unquoted value.
const special = " \t\r\n;&|<>()'\"`$\\"

// value hides the value at p piece by piece, as a shell concatenates a word;
// open is the quote around it.
func (c *scanner) value(p int, open byte) {
	if c.mode == wordsOnly {
		c.firstPiece(p)
		return
	}
	joins := open == 0 && c.mode == commandLine // quoted pieces may follow
	for first := true; p < len(c.s); first = false {
		if strings.HasPrefix(c.s[p:], `\"`) || strings.HasPrefix(c.s[p:], `\'`) {
			c.escaped(p)
			return
		}
		q, quoted := c.piece(p, open, first)
		if q <= p || quoted && !joins {
			return
		}
		p = q
		if p == len(c.s) || c.s[p] != '$' && (!joins || strings.IndexByte(special, c.s[p]) < 0 && !quoted) {
			return
		}
	}
}

// piece hides one piece of a value and returns its end, p if there is none;
// quoted says whether it had quotes of its own.
func (c *scanner) piece(p int, open byte, first bool) (end int, quoted bool) {
	b := c.s[p]
	switch {
	case b == open && open != 0:
		return p, false
	case b == '\'' || b == '"':
		return c.quoted(p, p+1, b, open), true
	case strings.HasPrefix(c.s[p:], "$'") && open == 0:
		return c.quoted(p, p+2, '\'', open), true
	case b == '$':
		return c.variable(p), false
	}
	return c.bare(p, first), false
}

// firstPiece hides the text up to a character that is special in any context.
func (c *scanner) firstPiece(p int) {
	if strings.HasPrefix(c.s[p:], "$'") {
		p++
	}
	for p < len(c.s) && strings.IndexByte(`\"'`, c.s[p]) >= 0 {
		p++
	}
	q := p
	for q < len(c.s) && strings.IndexByte(special+"{}[]*?~#", c.s[q]) < 0 {
		q++
	}
	value := c.s[p:q]
	if !keeps(value) {
		c.add(p, q)
	}
	if !isURL(value) {
		c.done = q
	}
}

// bare hides a value without quotes and returns its end. If the first piece of
// a value shows that it is not a secret, bare hides nothing and returns p.
func (c *scanner) bare(p int, first bool) int {
	if start := c.bareEnd(p, min(len(c.s), p+64)); first && keeps(c.s[p:start]) {
		return p
	}
	q := c.bareEnd(p, len(c.s))
	c.add(p, q)
	c.done = q
	return q
}

// bareEnd returns the end of a value without quotes, at most limit.
func (c *scanner) bareEnd(p, limit int) int {
	braces := p >= 2 && (c.s[p-2:p] == ":-" || c.s[p-2:p] == ":=") // of ${NAME:-value}
	q := p
	for q < limit {
		b := c.s[q]
		switch {
		case b == '\\' && q+1 < len(c.s) && strings.IndexByte("\"'nrt\n", c.s[q+1]) < 0:
			q += 2 // the shell takes the next character literally
			continue
		case strings.IndexByte(special, b) >= 0, b == '}' && braces, b == '#' && c.query,
			c.mode == anyText && strings.IndexByte(",}]", b) >= 0 && q > p && c.ends(q):
			return q
		}
		q++
	}
	return min(q, len(c.s))
}

// ends reports whether the bracket or comma at q ends a value in a list.
func (c *scanner) ends(q int) bool {
	return q+1 == len(c.s) || strings.IndexByte(" \t\r\n,}];)\"'", c.s[q+1]) >= 0
}

// quoted hides the text between quotes that open at p and whose text begins at
// from; it returns the place after the closing quote. Expansions in double
// quotes are kept; from the first that may run a command, so is the rest.
func (c *scanner) quoted(p, from int, quote, open byte) int {
	end := c.closing(from, quote, open, from > p+1)
	if end < 0 {
		return c.bare(from, true)
	}
	text := c.s[from:end]
	switch {
	case keeps(text):
	case quote == '"' && open == 0:
		c.expanding(from, end)
	default:
		c.add(from, end)
	}
	return end + 1
}

// expanding hides the text in double quotes before anything that may run a
// command.
func (c *scanner) expanding(from, to int) {
	text, _, _ := strings.Cut(c.s[from:to], "`")
	text, _, _ = strings.Cut(text, "$(")
	c.hidePlain(from, from+len(text))
}

// closing returns the position of the quote that ends a value, or -1.
func (c *scanner) closing(from int, quote, open byte, escapes bool) int {
	for q := from; q < min(len(c.s), from+far); q++ {
		switch {
		case c.s[q] == quote:
			return q
		case c.s[q] == open && open != 0:
			return -1
		case c.s[q] == '\n' && c.mode == anyText:
			return -1
		case c.s[q] == '\\' && (quote == '"' || escapes):
			q++
		}
	}
	return -1
}

// escaped hides a value between escaped quotes, as in a string within a string.
func (c *scanner) escaped(p int) int {
	mark := c.s[p : p+2]
	from := p + 2
	for q := from; q < min(len(c.s), from+far) && c.s[q] != '\n'; q++ {
		if c.s[q] != '\\' || q+1 >= len(c.s) {
			continue
		}
		if c.s[q:q+2] == mark {
			if !keeps(c.s[from:q]) {
				c.add(from, q)
			}
			return q + 2
		}
		q++
		for q < len(c.s)-1 && c.s[q] == '\\' {
			q++
		}
	}
	return c.bare(from, true)
}

// plain are values that reveal nothing.
var plain = []string{"", "true", "false", "null", "none", "nil", "None", "True", "False", "-", "string", "str"}

// keeps reports whether a value need not be hidden.
func keeps(value string) bool {
	return slices.Contains(plain, value) || isPath(value) || isURL(value)
}

// isURL reports whether a value is a URL, which is searched for its own
// secrets.
func isURL(value string) bool {
	scheme, _, ok := strings.Cut(value, "://")
	return ok && scheme != "" && strings.Trim(scheme, "abcdefghijklmnopqrstuvwxyz0123456789+-.") == ""
}

// isPath reports whether a value looks like a path. A slash must be followed by
// a name in lower case, since base64 can begin with a slash too.
func isPath(value string) bool {
	value = strings.TrimPrefix(value, "@")
	for _, start := range []string{"./", "../", "~/"} {
		if strings.HasPrefix(value, start) {
			return true
		}
	}
	rest, ok := strings.CutPrefix(value, "/")
	if !ok {
		return value == "." || value == ".." || value == "~"
	}
	name, _, _ := strings.Cut(rest, "/")
	return len(name) <= 24 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_-.") == "" ||
		slices.Contains([]string{"Users", "Volumes", "Library", "Applications", "System"}, name)
}
