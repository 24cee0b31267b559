// Package mask hides secrets in text that is kept or shown: tokens of known
// forms, private keys, and values that stand where a secret does: behind a name
// (PASSWORD=…, --token …, "api_key": …), in a header, in a URL, behind an option
// of a program that takes one (mysql -p…, curl -u user:…).
//
// What is hidden is the value alone; Mark stands in its place. Names, options,
// quotes, operators, paths, hosts and expansions ($TOKEN, $(cat x)) stay. A
// value that reads as a path (/run/x, ./x, ~/x) is not taken for a secret.
//
// It knows forms, no meanings: a secret that stands bare (echo hunter2 | login)
// is not found. What is masked once stays as it is when masked again.
package mask

import (
	"slices"
	"strings"
)

// Mark stands for what was hidden. It means nothing to a shell.
const Mark = "REDACTED"

// Text hides the secrets in any text and returns how many there were. Quotes
// are taken to belong together as they come.
func Text(s string) (string, int) { return hide(s, anyText) }

// Command hides the secrets in a shell's command line; a quoted value is hidden
// whole, also the operators that it quotes. Where quoting is more involved than
// this package can tell, that could hide words which are run: compare what a
// parser says of both lines, and take Words if it is not the same.
func Command(line string) (string, int) { return hide(line, commandLine) }

// Words hides secrets inside single words, and of a quoted value only what
// stands before the first character that could mean something to a shell. It
// hides less than Command, and never more than part of a word.
func Words(line string) (string, int) { return hide(line, wordsOnly) }

type mode uint8

const (
	anyText mode = iota
	commandLine
	wordsOnly
)

// span is a part of the text that is to be hidden.
type span struct{ from, to int }

// scanner looks for secrets in s.
type scanner struct {
	s     string
	mode  mode
	spans []span
	in    quoting
	query bool // the value stands in the query of a URL
	done  int  // all before it is hidden
	baked int  // all cookies before it are
	seen  []seen
}

// far is how far is looked for what closes something, so that no text takes
// more time than its length is worth.
const far = 4096

// near is the text from p on, as far as is looked.
func (c *scanner) near(p int) string { return c.s[p:min(len(c.s), p+far)] }

func hide(s string, m mode) (string, int) {
	c := scanner{s: s, mode: m}
	c.scan()
	if strings.Contains(s, "PRIVATE KEY") {
		c.keys()
	}
	return c.cut()
}

// cut puts Mark in the place of every span.
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

// add hides a part of the text.
func (c *scanner) add(from, to int) {
	if from < to {
		c.spans = append(c.spans, span{from, to})
	}
}

// isName reports whether a byte may stand in a name.
func isName(b byte) bool { return isAlnum(b) || b == '_' || b == '-' || b == '.' }

func isAlnum(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9'
}

// scan goes from name to name.
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

// name looks at the run of name characters from i to j.
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

// spoken reports whether a value follows the name from i to j with nothing but
// blanks between them, as in texts that are nearly spoken: of a netrc file (login
// x password y) and in SQL (user x password 'y', identified by 'y').
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

// maxSpoken is how far before a name is looked for what it is said of.
const maxSpoken = 200

// kind is how a value follows its name.
type kind uint8

const (
	noValue  kind = iota
	equals        // NAME=VALUE
	colon         // NAME: VALUE
	separate      // --NAME VALUE
)

// delimiter finds where the value behind a name may begin.
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

// spaced is where a value begins behind an equals sign that ends at end: only
// if blanks stand before the sign may they stand behind it.
func (c *scanner) spaced(name, sign, end int) int {
	if sign > name {
		return c.blanks(end)
	}
	if next := c.blanks(end); next > end && next < len(c.s) && (c.s[next] == '"' || c.s[next] == '\'') && c.mode == anyText {
		return next
	}
	return end
}

// blanks skips blanks and tabs.
func (c *scanner) blanks(p int) int {
	for p < len(c.s) && (c.s[p] == ' ' || c.s[p] == '\t') {
		p++
	}
	return p
}

// isSecret reports whether the name from i to j is one of a secret's.
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

// rawAddress hides a password that has unescaped slashes or other characters
// which end an authority: what stands behind the colon is no port.
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

// hidePlain hides what is no expansion.
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

// variable returns the end of a plain variable, $NAME or ${NAME}, at p; p if
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

// bearer hides a token behind the word.
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

// cookies hides the values of cookies up to a place, the end of the line or a
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
