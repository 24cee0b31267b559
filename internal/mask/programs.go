package mask

import (
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
)

// word is a word of a command line: its position, without enclosing quotes.
type word struct {
	from, to int
	text     string
}

// seen is a program, and how far its arguments were examined.
type seen struct {
	program string
	to      int
}

// program examines the words after a program whose name ends at p.
func (c *scanner) program(name string, p int) {
	if len(name) > 16 {
		return
	}
	name = strings.ToLower(name)
	secrets := program.SecretsOf(name)
	if secrets == nil {
		return
	}
	at := slices.IndexFunc(c.seen, func(s seen) bool { return s.program == name })
	if at >= 0 && c.seen[at].to > p {
		return
	}
	args := c.words(p)
	if len(args) == 0 {
		return
	}
	if at < 0 {
		at, c.seen = len(c.seen), append(c.seen, seen{program: name})
	}
	c.seen[at].to = args[len(args)-1].to
	for i := range secrets {
		c.secret(&secrets[i], args)
	}
}

// words returns the words from p up to an operator or the end of the line. Only
// quotes around whole words are understood.
func (c *scanner) words(p int) []word {
	var all []word
	for p < len(c.s) && len(all) < maxWords {
		p = c.blanks(p)
		for strings.HasPrefix(c.s[p:], "\\\n") {
			p = c.blanks(p + 2)
		}
		if p >= len(c.s) || strings.IndexByte("\r\n;&|<>()`", c.s[p]) >= 0 {
			break
		}
		w := c.word(p)
		if w.to <= p {
			break
		}
		all = append(all, w)
		p = w.to
		if p < len(c.s) && (c.s[p] == '\'' || c.s[p] == '"') {
			p++
		}
	}
	return all
}

// maxWords is how many arguments of a program are examined.
const maxWords = 64

// word returns the word at p.
func (c *scanner) word(p int) word {
	quote := c.s[p]
	if (quote == '\'' || quote == '"') && c.mode != wordsOnly {
		if end := strings.IndexByte(c.near(p+1), quote); end >= 0 {
			return word{p + 1, p + 1 + end, c.s[p+1 : p+1+end]}
		}
	}
	q := p
	for q < min(len(c.s), p+far) && strings.IndexByte(" \t\r\n;&|<>()`", c.s[q]) < 0 {
		if c.s[q] == '\\' {
			q++
		}
		q++
	}
	q = min(q, len(c.s))
	return word{p, q, c.s[p:q]}
}

// secret hides a secret of one form.
func (c *scanner) secret(s *program.Secret, args []word) {
	if s.Command != "" && !slices.ContainsFunc(args, func(w word) bool { return w.text == s.Command }) {
		return
	}
	switch s.Form {
	case program.Value:
		c.either(args, s.Names[0])
	case program.Attached:
		c.attached(args, s.Names[0])
	case program.Operand:
		c.behind(args, s.Skip, s.Names)
	case program.Last:
		c.lastWord(args)
	case program.Named:
		c.named(args, s.Names[0])
	case program.User:
		c.userOf(args, s.Sign, s.Names)
	case program.Cookies:
		c.cookieOf(args, s.Names)
	case program.Reader:
		readers[s.Names[0]](c, args)
	}
}

// readers handle programs whose secrets have no common form.
var readers = map[string]func(c *scanner, args []word){
	"openssl": openssl, "htpasswd": htpasswd, "literals": literals, "login": loginWith, "settings": settings, "pair": pair, "body": secretBody,
}

// hideWord hides a word from its byte n on, unless it is a path or an
// expansion.
func (c *scanner) hideWord(w word, n int) {
	if n >= len(w.text) || keeps(w.text[n:]) {
		return
	}
	from, to := w.from+n, w.to
	if c.mode == wordsOnly {
		c.firstPiece(from)
		return
	}
	if quote := c.s[from]; n > 0 && (quote == '\'' || quote == '"' || quote == '$') {
		c.value(from, 0) // -p'secret'
		return
	}
	switch around := c.around(w); {
	case around == '\'' || !strings.ContainsAny(c.s[from:to], "$`"):
	case around == '"':
		c.expanding(from, to)
		return
	default:
		c.value(from, 0)
		return
	}
	c.add(from, to)
}

// around returns the quote around a word, 0 if there is none.
func (c *scanner) around(w word) byte {
	if w.from > 0 && w.to < len(c.s) && c.s[w.from-1] == c.s[w.to] && (c.s[w.to] == '\'' || c.s[w.to] == '"') {
		return c.s[w.to]
	}
	return 0
}

// attached handles an option whose value is in the same word.
func (c *scanner) attached(args []word, option string) {
	for _, w := range args {
		if strings.HasPrefix(w.text, option) {
			c.hideWord(w, len(option))
		}
	}
}

// either handles an option whose value is in the same word or the next.
func (c *scanner) either(args []word, option string) {
	for i, w := range args {
		switch {
		case w.text == option && i+1 < len(args):
			c.hideWord(args[i+1], 0)
		case len(option) == 2 && strings.HasPrefix(w.text, option) && !strings.HasPrefix(w.text, "--"):
			c.hideWord(w, len(option))
		case len(option) > 2 && strings.HasPrefix(w.text, option+"="):
			c.hideWord(w, len(option)+1)
		}
	}
}

// behind hides the word after one of names, or after the program if there are
// none, skipping n more operands. A name also stands for NAME.x.
func (c *scanner) behind(args []word, n int, names []string) {
	at := slices.IndexFunc(args, func(w word) bool {
		name, _, _ := strings.Cut(w.text, ".")
		return slices.Contains(names, name)
	})
	if at < 0 && len(names) > 0 {
		return
	}
	left := n
	for _, w := range args[at+1:] {
		if strings.HasPrefix(w.text, "-") {
			continue
		}
		if left == 0 {
			c.hideWord(w, 0)
			return
		}
		left--
	}
}

// lastWord hides the last word.
func (c *scanner) lastWord(args []word) {
	if w := args[len(args)-1]; !strings.HasPrefix(w.text, "-") {
		c.hideWord(w, 0)
	}
}

// named hides the value of an option that has a name before its value: --arg
// NAME VALUE.
func (c *scanner) named(args []word, option string) {
	for i, w := range args {
		if w.text == option && i+2 < len(args) && isSecretName(args[i+1].text) {
			c.hideWord(args[i+2], 0)
		}
	}
}

// pair hides the password of NAME:PASSWORD in the last word of a setting.
func pair(c *scanner, args []word) {
	last := args[len(args)-1]
	if at := strings.IndexByte(last.text, ':'); args[0].text == "config" && at > 0 && !strings.Contains(last.text, "://") {
		c.hideWord(last, at+1)
	}
}

// cookieOf handles options whose value is cookies; without an equals sign it is
// a file.
func (c *scanner) cookieOf(args []word, options []string) {
	for i := range args {
		for _, o := range options {
			if value, at, ok := optionValue(args, i, o); ok {
				c.cookiesIn(value.from+at, value.to)
			}
		}
	}
}

// cookiesIn hides the values of the cookies from p to the end of a word, which
// is the closing quote if one opens at p.
func (c *scanner) cookiesIn(p, to int) {
	if p < to && (c.s[p] == '\'' || c.s[p] == '"') {
		end := strings.IndexByte(c.near(p+1), c.s[p])
		if p++; end >= 0 {
			to = p + end
		}
	}
	c.cookies(p, to)
}

// userOf handles options whose value is a name, a separator and a password.
func (c *scanner) userOf(args []word, sign string, options []string) {
	for i, w := range args {
		for _, o := range options {
			value, at, ok := optionValue(args, i, o)
			if !ok {
				continue
			}
			if _, _, found := strings.Cut(w.text, sign); at > 0 && !found {
				continue
			}
			if k := strings.Index(value.text[at:], sign); k >= 0 {
				c.hideWord(value, at+k+len(sign))
			}
		}
	}
}

// optionValue returns the value of the option o in the word args[i] or the
// next; at is its offset in that word. A short option may be part of a cluster.
func optionValue(args []word, i int, o string) (w word, at int, ok bool) {
	text := args[i].text
	if strings.HasPrefix(o, "--") {
		if strings.HasPrefix(text, o+"=") {
			return args[i], len(o) + 1, true
		}
		return next(args, i, text == o)
	}
	o = o[1:]
	if !strings.HasPrefix(text, "-") || strings.HasPrefix(text, "--") {
		return word{}, 0, false
	}
	if strings.HasSuffix(text, o) && strings.Trim(text[1:len(text)-1], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789#") == "" {
		return next(args, i, true)
	}
	if k := strings.Index(text, o); k > 0 && strings.Trim(text[1:k], "fsSLkgiIvNjlO#") == "" {
		return args[i], k + 1, true
	}
	return word{}, 0, false
}

func next(args []word, i int, ok bool) (word, int, bool) {
	if !ok || i+1 >= len(args) {
		return word{}, 0, false
	}
	return args[i+1], 0, true
}

// openssl takes a password or a key behind -k and -K.
func openssl(c *scanner, args []word) {
	for k, w := range args {
		switch w.text {
		case "-k", "-K":
			if k+1 < len(args) {
				c.hideWord(args[k+1], 0)
			}
		case "-pass", "-passin", "-passout":
			if k+1 < len(args) && strings.HasPrefix(args[k+1].text, "pass:") {
				c.hideWord(args[k+1], len("pass:"))
			}
		}
	}
}

// htpasswd takes the password as its last word, with -b.
func htpasswd(c *scanner, args []word) {
	for _, w := range args {
		if strings.HasPrefix(w.text, "-") && strings.Contains(w.text, "b") {
			c.hideWord(args[len(args)-1], 0)
			return
		}
	}
}

// literals are --from-literal=name=value of kubectl create secret.
func literals(c *scanner, args []word) {
	for i := range args {
		value, at, ok := optionValue(args, i, "--from-literal")
		if ok {
			if k := strings.IndexByte(value.text[at:], '='); k >= 0 {
				c.hideWord(value, at+k+1)
			}
		}
	}
}

// loginWith takes a token as the word behind login.
func loginWith(c *scanner, args []word) {
	for i, w := range args {
		if w.text != "login" {
			continue
		}
		for _, v := range args[i+1:] {
			if !strings.HasPrefix(v.text, "-") && !strings.Contains(v.text, "=") {
				c.hideWord(v, 0)
			}
		}
		return
	}
}

// settings takes the value of a setting as the word behind its name.
func settings(c *scanner, args []word) {
	config := false
	for i, w := range args {
		if w.text == "config" || w.text == "configure" {
			config = true
		}
		_, name, _ := strings.Cut(w.text, ":") // //registry.example.com/:_authToken
		if config && i+1 < len(args) && !strings.HasPrefix(w.text, "-") && (isSecretName(w.text) || isSecretName(name)) {
			c.hideWord(args[i+1], 0)
		}
	}
}

// secretBody is the value of gh secret set.
func secretBody(c *scanner, args []word) {
	if len(args) > 0 && args[0].text == "secret" {
		for _, o := range []string{"-b", "--body"} {
			c.either(args, o)
		}
		for _, w := range args {
			if strings.HasPrefix(w.text, "--body=") {
				c.hideWord(w, len("--body="))
			}
		}
	}
}
