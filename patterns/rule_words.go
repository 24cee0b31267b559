package patterns

import "strings"

// In the words of a rule, two bytes that UTF-8 text cannot contain represent
// what is not literal.
const (
	wild = '\xff' // "*": any run of characters
	home = '\xfe' // "~" or "$HOME" at the beginning of a word

	wildcard = "\xff"
	homeMark = "\xfe"
)

// ruleText is the text of a Bash specifier, split as a shell would split it.
type ruleText struct {
	words []string
	// stars reports a "*" that is a wildcard; quoted ones are not.
	stars bool
	// operator is the index of the first |, &, ;, <, >, (, ) or newline outside
	// quotes, -1 if there is none. here reports that it begins a here-document.
	operator int
	here     bool
	// dynamic is the index of the first expansion whose value is only known at run
	// time, or -1.
	dynamic int
	// comment is the index of a "#" that begins a comment, or -1.
	comment int
	// open is the index of an unclosed quote, or -1.
	open int
	// assigned is the number of leading words that assign variables.
	assigned int
}

// plain reports whether the text is one simple command of known words.
func (t *ruleText) plain() bool {
	return t.operator < 0 && t.dynamic < 0 && t.comment < 0 && t.open < 0 && t.assigned == 0 && len(t.words) > 0
}

// splitText splits text into words, removing quotes. With literal set, a quoted
// "*" is a literal character; otherwise every "*" is a wildcard.
func splitText(text string, literal bool) *ruleText {
	s := splitter{text: text, literal: literal, out: &ruleText{operator: -1, dynamic: -1, comment: -1, open: -1}}
	for s.at < len(text) {
		s.step()
	}
	s.end()
	return s.out
}

type splitter struct {
	text    string
	at      int
	literal bool
	word    []byte
	begun   bool // a word has begun, possibly with empty quotes only
	quoted  bool // a part of it is quoted
	out     *ruleText
}

// step reads one character, or one quoted stretch, outside quotes.
func (s *splitter) step() {
	c := s.text[s.at]
	switch {
	case isAlnum(c):
		s.run()
		return
	case c == ' ' || c == '\t':
		s.end()
	case strings.IndexByte("|&;<>()\n", c) >= 0:
		s.operator()
		return
	case c == '\'':
		s.single()
		return
	case c == '"':
		s.double()
		return
	case c == '\\':
		s.backslash()
		return
	case c == '#' && !s.begun:
		mark(&s.out.comment, s.at)
		s.add(c)
	case c == '$' || c == '`':
		s.dollar(false)
		return
	case c == '~' && !s.begun:
		s.tilde()
		return
	case c == '*':
		s.star(false)
	default:
		s.add(c)
	}
	s.at++
}

// run reads a run of letters and digits, which make up most text.
func (s *splitter) run() {
	from := s.at
	for s.at < len(s.text) && isAlnum(s.text[s.at]) {
		s.at++
	}
	s.word, s.begun = append(s.word, s.text[from:s.at]...), true
}

func (s *splitter) add(c byte) {
	s.word = append(s.word, c)
	s.begun = true
}

func (s *splitter) star(quoted bool) {
	if quoted && s.literal {
		s.add('*')
		return
	}
	s.out.stars = true
	if n := len(s.word); n == 0 || s.word[n-1] != wild {
		s.add(wild)
	}
}

// end ends the current word.
func (s *splitter) end() {
	if !s.begun {
		return
	}
	w := string(s.word)
	if !s.quoted && len(s.out.words) == s.out.assigned && assigns(w) {
		s.out.assigned++
	}
	s.out.words = append(s.out.words, w)
	s.word, s.begun, s.quoted = s.word[:0], false, false
}

func (s *splitter) operator() {
	s.end()
	if strings.HasPrefix(s.text[s.at:], "<<") && !strings.HasPrefix(s.text[s.at:], "<<<") {
		s.out.here = true
	}
	mark(&s.out.operator, s.at)
	s.at++
}

func (s *splitter) single() {
	from := s.at + 1
	s.begun, s.quoted = true, true
	end := strings.IndexByte(s.text[from:], '\'')
	body := s.text[from:]
	if end >= 0 {
		body = body[:end]
	} else {
		mark(&s.out.open, s.at)
	}
	for i := 0; i < len(body); i++ {
		if body[i] == '*' {
			s.star(end >= 0)
		} else {
			s.add(body[i])
		}
	}
	s.at = from + len(body) + 1
}

func (s *splitter) double() {
	from := s.at
	s.begun, s.quoted = true, true
	closed := closing(s.text, from+1)
	for s.at = from + 1; s.at < len(s.text); {
		switch c := s.text[s.at]; {
		case c == '"':
			s.at++
			return
		case c == '\\' && s.at+1 < len(s.text) && strings.IndexByte("$`\"\\\n", s.text[s.at+1]) >= 0:
			if s.text[s.at+1] != '\n' {
				s.add(s.text[s.at+1])
			}
			s.at += 2
		case c == '$' || c == '`':
			s.dollar(true)
		case c == '*':
			s.star(closed)
			s.at++
		default:
			s.add(c)
			s.at++
		}
	}
	mark(&s.out.open, from)
}

// closing reports whether a double quote is closed.
func closing(text string, from int) bool {
	for i := from; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return true
		}
	}
	return false
}

func (s *splitter) backslash() {
	s.begun, s.quoted = true, true
	s.at++
	if s.at == len(s.text) {
		s.add('\\')
		return
	}
	switch c := s.text[s.at]; c {
	case '\n':
	case '*':
		s.star(true)
	default:
		s.add(c)
	}
	s.at++
}

// dollar reads a "$" or "`". $HOME at the beginning of a word is the home
// directory; every other expansion is dynamic.
func (s *splitter) dollar(quoted bool) {
	rest := s.text[s.at:]
	if len(s.word) == 0 {
		for _, name := range []string{"$HOME", "${HOME}"} {
			after := strings.TrimPrefix(rest, name)
			if len(after) != len(rest) && (after == "" || strings.IndexByte("/ \t\"*", after[0]) >= 0) {
				s.add(home)
				s.at += len(name)
				return
			}
		}
	}
	if expands(rest, quoted) {
		mark(&s.out.dynamic, s.at)
	}
	s.add(rest[0])
	s.at++
}

// expands reports whether text, which begins with "$" or "`", begins an
// expansion.
func expands(text string, quoted bool) bool {
	if text[0] == '`' {
		return true
	}
	if len(text) == 1 {
		return false
	}
	c := text[1]
	return c == '_' || isAlnum(c) || strings.IndexByte("({[?!#@*$-", c) >= 0 || !quoted && (c == '\'' || c == '"')
}

// tilde reads a "~" at the beginning of a word.
func (s *splitter) tilde() {
	rest := s.text[s.at+1:]
	if rest == "" || strings.IndexByte("/ \t\n*|&;<>()", rest[0]) >= 0 {
		s.add(home)
	} else {
		s.add('~')
	}
	s.at++
}

// mark records the first index of something.
func mark(place *int, at int) {
	if *place < 0 {
		*place = at
	}
}

func isAlnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// assigns reports whether a word assigns a variable: NAME=value.
func assigns(word string) bool {
	for i := 0; i < len(word); i++ {
		c := word[i]
		switch {
		case c == '=':
			return i > 0
		case c == '+' && i > 0 && i+1 < len(word) && word[i+1] == '=':
		case c == '_' || isAlnum(c) && (i > 0 || c > '9'):
		default:
			return false
		}
	}
	return false
}

// unescape reverts the changes of the agent CLI to a command that it saves as a
// rule: it writes "\(" and "\)" for parentheses and "”" for "'".
func unescape(text string) string {
	if !strings.ContainsAny(text, `\'`) {
		return text
	}
	return savedEscapes.Replace(text)
}

var savedEscapes = strings.NewReplacer(`\(`, "(", `\)`, ")", "''", "'")
