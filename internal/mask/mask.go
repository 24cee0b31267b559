// Package mask hides secrets in text that is stored or displayed: tokens of
// known formats, private keys, and values in the place of a secret: after a
// name (PASSWORD=…, --token …, "api_key": …), in a header, in a URL, after an
// option of a program that takes one (mysql -p…, curl -u user:…).
//
// Only the value is replaced, by Mark. Names, options, quotes, operators,
// paths, hosts and expansions ($TOKEN, $(cat x)) are kept. A value that looks
// like a path (/run/x, ./x, ~/x) is not considered a secret.
//
// Secrets are recognized by form, not by meaning: one without a name (echo
// hunter2 | login) is not found. Masking is idempotent.
package mask

import (
	"slices"
	"strings"
)

// Mark replaces what was hidden. It has no special meaning to a shell.
const Mark = "REDACTED"

// Text hides the secrets in any text and returns their number. Quotes are
// paired in the order in which they occur.
func Text(s string) (string, int) { return hide(s, anyText) }

// Command hides the secrets in a command line of a shell. A quoted value is
// hidden as a whole, including operators in it. If quoting is more complex than
// this package understands, that could hide words that run: compare how a
// parser reads both lines, and use Words if they differ.
func Command(line string) (string, int) { return hide(line, commandLine) }

// Words hides secrets within single words, and of a quoted value only the part
// before the first character that could be special to a shell. It hides less
// than Command, and never more than part of a word.
func Words(line string) (string, int) { return hide(line, wordsOnly) }

type mode uint8

const (
	anyText mode = iota
	commandLine
	wordsOnly
)

// span is a part of the text to hide.
type span struct{ from, to int }

// scanner searches s for secrets.
type scanner struct {
	s     string
	mode  mode
	spans []span
	in    quoting
	query bool // the value is in the query of a URL
	done  int  // everything before it is done
	baked int  // all cookies before it are done
	seen  []seen
}

// far limits the search for a closing character, which keeps the scan linear.
const far = 4096

// near returns the text from p on, up to the limit far.
func (c *scanner) near(p int) string { return c.s[p:min(len(c.s), p+far)] }

func hide(s string, m mode) (string, int) {
	if s == "" {
		return "", 0
	}
	c := scanner{s: s, mode: m}
	c.scan()
	if strings.Contains(s, "PRIVATE KEY") {
		c.keys()
	}
	return c.cut()
}

// cut replaces every span with Mark.
func (c *scanner) cut() (string, int) {
	if len(c.spans) == 0 {
		return c.s, 0
	}
	slices.SortFunc(c.spans, func(a, b span) int { return a.from - b.from })
	var out strings.Builder
	at, n := 0, 0
	for i := 0; i < len(c.spans); {
		from, to := c.spans[i].from, c.spans[i].to
		for i++; i < len(c.spans) && c.spans[i].from <= to; i++ {
			to = max(to, c.spans[i].to)
		}
		out.WriteString(c.s[at:from])
		out.WriteString(Mark)
		if c.s[from:to] != Mark {
			n++
		}
		at = to
	}
	out.WriteString(c.s[at:])
	return out.String(), n
}

// add marks a part of the text to be hidden.
func (c *scanner) add(from, to int) {
	if from < to {
		c.spans = append(c.spans, span{from, to})
	}
}

// isName reports whether a byte can be part of a name.
func isName(b byte) bool { return isAlnum(b) || b == '_' || b == '-' || b == '.' }

func isAlnum(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9'
}

// scan proceeds from name to name.
func (c *scanner) scan() {
	for i := 0; i < len(c.s); {
		if !isName(c.s[i]) {
			if c.s[i] == ':' && strings.HasPrefix(c.s[i:], "://") {
				c.address(i + 3)
			}
			i++
			continue
		}
		j := i + 1
		for j < len(c.s) && isName(c.s[j]) {
			j++
		}
		c.name(i, j)
		i = max(j, c.done)
	}
}

// name handles the run of name characters from i to j.
func (c *scanner) name(i, j int) {
	c.tokens(i, j)
	name := c.s[i:j]
	c.program(name, j)
	switch {
	case strings.EqualFold(name, "bearer"):
		c.bearer(j)
	case isCookie(name) && j < len(c.s) && c.s[j] == ':':
		c.cookies(j+1, len(c.s))
	case c.spoken(name, i, j):
		c.value(c.blanks(j), c.state(c.blanks(j)))
	default:
		if p, kind := c.delimiter(i, j); kind != noValue && c.isSecret(i, j, kind) {
			c.query = i > 0 && (c.s[i-1] == '?' || c.s[i-1] == '&')
			c.assigned(strings.TrimLeft(name, "-"), p, c.state(p))
		}
	}
}

// spoken reports whether the name from i to j is separated from its value only
// by blanks, as in a netrc file (login x password y) and in SQL (user x
// password 'y', identified by 'y').
func (c *scanner) spoken(name string, i, j int) bool {
	isPassword := strings.EqualFold(name, "password")
	if !isPassword && !strings.EqualFold(name, "by") {
		return false
	}
	p := c.blanks(j)
	if p == j || p == len(c.s) {
		return false
	}
	before := strings.ToLower(c.s[max(0, i-maxSpoken):i])
	quoted := c.s[p] == '\'' || c.s[p] == '"' || c.s[p] == '\\'
	if isPassword {
		words := strings.Fields(before)
		login := len(words) > 1 && words[len(words)-2] == "login"
		return login || quoted && (strings.Contains(before, "user ") || strings.Contains(before, "role "))
	}
	return quoted && strings.Contains(before, "identified ")
}

// maxSpoken is how many bytes before a name are searched for its context.
const maxSpoken = 200

// kind is how a value is attached to its name.
type kind uint8

const (
	noValue  kind = iota
	equals        // NAME=VALUE
	colon         // NAME: VALUE
	separate      // --NAME VALUE
)

// delimiter returns where the value after a name may begin.
func (c *scanner) delimiter(i, j int) (at int, k kind) {
	p := j
	if p < len(c.s) && c.s[p] == ' ' && c.s[i] == '-' && p+1 < len(c.s) && c.s[p+1] != '-' && c.s[p+1] != '=' {
		return c.blanks(p), separate
	}
	for _, end := range []string{`\"`, `\'`, `"`, `'`} { // the name was quoted
		if rest, ok := strings.CutPrefix(c.s[p:], end); ok && i > 0 && strings.HasSuffix(c.s[:i], end) {
			p = len(c.s) - len(rest)
			break
		}
	}
	if p < len(c.s) && c.s[p] == ']' { // environ["NAME"] = VALUE
		p++
	}
	q := c.blanks(p)
	rest := c.s[q:]
	switch {
	case strings.HasPrefix(rest, "=="), strings.HasPrefix(rest, "::"), strings.HasPrefix(rest, "://"):
		return 0, noValue
	case strings.HasPrefix(rest, ":-"), strings.HasPrefix(rest, ":="), strings.HasPrefix(rest, "=>"), strings.HasPrefix(rest, "+="):
		return c.spaced(p, q, q+2), equals
	case strings.HasPrefix(rest, "="):
		return c.spaced(p, q, q+1), equals
	case strings.HasPrefix(rest, ":"):
		return c.blanks(q + 1), colon
	case strings.HasPrefix(rest, ">") && i > 0 && c.s[i-1] == '<' && strings.Contains(c.near(q), "</"+c.s[i:j]):
		return q + 1, equals
	}
	return 0, noValue
}

// spaced returns where a value begins after an equals sign that ends at end:
// blanks may follow the sign only if blanks precede it.
func (c *scanner) spaced(name, sign, end int) int {
	if sign > name {
		return c.blanks(end)
	}
	if next := c.blanks(end); next > end && next < len(c.s) && (c.s[next] == '"' || c.s[next] == '\'') && c.mode == anyText {
		return next
	}
	return end
}

// blanks skips spaces and tabs.
func (c *scanner) blanks(p int) int {
	for p < len(c.s) && (c.s[p] == ' ' || c.s[p] == '\t') {
		p++
	}
	return p
}

// isSecret reports whether the name from i to j is that of a secret.
func (c *scanner) isSecret(i, j int, k kind) bool {
	name := c.s[i:j]
	if k == separate {
		return isSecretName(name) && !strings.HasSuffix(name, "secret-id")
	}
	query := i > 0 && (c.s[i-1] == '?' || c.s[i-1] == '&')
	return isSecretName(name) || query && slices.Contains(queryNames, strings.ToLower(name))
}

// address hides the password of a URL whose authority begins at p.
func (c *scanner) address(p int) {
	end := p
	for end < min(len(c.s), p+far) && strings.IndexByte("/?# \t\n\r\"'`<>|\\;&(){}", c.s[end]) < 0 {
		end++
	}
	host := strings.LastIndexByte(c.s[p:end], '@')
	if host < 0 {
		c.rawAddress(p, end)
		return
	}
	user := c.s[p : p+host]
	if name, _, ok := strings.Cut(user, ":"); ok {
		c.hidePlain(p+len(name)+1, p+host)
	} else if len(user) >= 20 && strings.ContainsAny(user, "0123456789") {
		c.hidePlain(p, p+host)
	}
}

// rawAddress hides a password with unescaped slashes or other characters that
// end an authority: what follows the colon is then not a port.
func (c *scanner) rawAddress(p, end int) {
	name, port, ok := strings.Cut(c.s[p:end], ":")
	if !ok || name == "" || strings.Trim(port, "0123456789") == "" {
		return
	}
	stop := end
	for stop < min(len(c.s), p+far) && strings.IndexByte(" \t\n\r\"'`<>|\\;&(){}$", c.s[stop]) < 0 {
		stop++
	}
	if at := strings.LastIndexByte(c.s[end:stop], '@'); at >= 0 {
		c.hidePlain(p+len(name)+1, end+at)
	}
}

// hidePlain hides everything but expansions.
func (c *scanner) hidePlain(from, to int) {
	for p := from; p < to; {
		if end := c.variable(p); end > p {
			p = end
			continue
		}
		q := p + 1
		for q < to && c.s[q] != '$' {
			q++
		}
		if c.s[p] != '$' {
			c.add(p, q)
		}
		p = q
	}
}

// variable returns the end of a plain variable, $NAME or ${NAME}, at p, or p if
// there is none.
func (c *scanner) variable(p int) int {
	rest, ok := strings.CutPrefix(c.s[p:], "$")
	if !ok {
		return p
	}
	rest, braces := strings.CutPrefix(rest, "{")
	n := 0
	for n < len(rest) && (isAlnum(rest[n]) || rest[n] == '_') {
		n++
	}
	q := len(c.s) - len(rest) + n
	switch {
	case n == 0:
		return p
	case !braces:
		return q
	case q < len(c.s) && c.s[q] == '}':
		return q + 1
	}
	return p
}

// bearer hides a token after the word "bearer".
func (c *scanner) bearer(p int) {
	from := c.blanks(p)
	to := from
	for to < len(c.s) && (isName(c.s[to]) || strings.IndexByte("~+/=", c.s[to]) >= 0) {
		to++
	}
	value := c.s[from:to]
	if from > p && len(value) >= 8 && (len(value) >= 20 || strings.ContainsAny(value, "0123456789")) && !isPath(value) {
		c.add(from, to)
	}
}

func isCookie(name string) bool {
	return strings.EqualFold(name, "cookie") || strings.EqualFold(name, "set-cookie")
}

// cookies hides the values of cookies up to limit, the end of the line or a
// quote.
func (c *scanner) cookies(p, limit int) {
	end := p
	for end < min(limit, p+4*far) && strings.IndexByte("\"'`\n\\|&<>()$", c.s[end]) < 0 {
		end++
	}
	p, c.baked = max(p, c.baked), max(end, c.baked)
	for p < end {
		sign := strings.IndexByte(c.s[p:end], '=')
		if sign < 0 {
			return
		}
		from := p + sign + 1
		to := from
		for to < end && strings.IndexByte("; \t", c.s[to]) < 0 {
			to++
		}
		if !isPath(c.s[from:to]) {
			c.add(from, to)
		}
		p = max(to, from)
	}
}
