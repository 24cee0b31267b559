package risk

import "strings"

// windowsScanner cuts a line of cmd or PowerShell into commands and words. It
// understands quotes and operators. Anything else it records, and treats as a
// separator of commands, so that the text inside is still examined.
type windowsScanner struct {
	text string
	cmd  bool

	commands [][]string
	writes   []string // targets of redirections
	odd      string   // why the line is not simple, or ""
	factor   string

	words  []string
	word   strings.Builder
	inWord bool
	target redirection // of the next word
	at     int
}

// redirection is the role of the next word in a redirection.
type redirection uint8

const (
	noTarget redirection = iota
	readsTarget
	writesTarget
)

// likeASCII replaces characters that PowerShell treats as quotes, dashes and
// blanks.
var likeASCII = strings.NewReplacer(
	"‘", "'", "’", "'", "‚", "'", "‛", "'", "“", `"`, "”", `"`, "„", `"`, "–", "-", "—", "-", "―", "-",
	"\u00a0", " ", "\u0085", " ", "\r", "\n",
)

func (s *windowsScanner) scan() {
	if plain := likeASCII.Replace(s.text); plain != s.text {
		s.note("a character that a shell may take for another", FactorDynamic)
		s.text = plain
	}
	for s.at < len(s.text) {
		c := s.text[s.at]
		s.at++
		switch {
		case c == ' ' || c == '\t':
			s.endWord()
		case c == '\n' || c == '|' || c == '&' || c == ';' && !s.cmd:
			s.endCommand()
		case c < ' ' || c == 0x7f:
			s.note("a control character", FactorDynamic)
		case c == '"' || c == '\'' && !s.cmd:
			if s.cmd && len(s.words) == 0 {
				s.endWord() // a built-in command needs no blank behind it
			}
			s.quoted(c)
		case c == '>' || c == '<':
			s.redirect(c)
		case s.special(c):
		default:
			s.add(c)
		}
	}
	s.endCommand()
}

func (s *windowsScanner) add(c byte) {
	s.word.WriteByte(c)
	s.inWord = true
}

func (s *windowsScanner) note(reason, factor string) {
	if s.odd == "" {
		s.odd, s.factor = reason, factor
	}
}

// special consumes what makes a line not simple, and reports whether c was
// that.
func (s *windowsScanner) special(c byte) bool {
	switch {
	case c == '(' || c == ')':
		s.note("a part in parentheses", FactorSubstitution)
		s.endCommand()
		return true
	case s.cmd:
		return s.cmdSpecial(c)
	}
	return s.powerShellSpecial(c)
}

func (s *windowsScanner) cmdSpecial(c byte) bool {
	switch c {
	case '^': // it escapes the next character, or continues the line
		s.note("an escape", FactorDynamic)
		if s.at < len(s.text) {
			if s.text[s.at] != '\n' {
				s.add(s.text[s.at])
			}
			s.at++
		}
		return true
	case '%', '!':
		s.note("a variable", FactorDynamic)
	}
	return false
}

func (s *windowsScanner) powerShellSpecial(c byte) bool {
	begins := !s.inWord
	switch {
	case c == '`':
		s.note("an escape", FactorDynamic)
		if s.at < len(s.text) {
			if s.text[s.at] != '\n' {
				s.add(s.text[s.at])
			}
			s.at++
		}
		return true
	case c == '{' || c == '}':
		s.note("a script block", FactorDynamic)
		s.endCommand()
		return true
	case c == '$' && begins && (len(s.words) > 0 || s.target != noTarget) && s.constant():
	case c == '$':
		s.note("a variable", FactorDynamic)
	case begins && c == '@':
		s.note("an array, a table or a here-string", FactorDynamic)
	case begins && c == '#':
		s.note("a comment", FactorDynamic)
	case begins && c == '[' && len(s.words) == 0, begins && c == ',' && len(s.words) == 0:
		s.note("an expression", FactorDynamic)
	case begins && strings.HasPrefix(s.text[s.at-1:], "--%"):
		s.note("words that are passed on as they are", FactorDynamic)
	}
	return false
}

// constant reports whether $null, $true or $false begins before s.at.
func (s *windowsScanner) constant() bool {
	rest := s.text[s.at:]
	if end := strings.IndexAny(rest, " \t\n|;&<>(){}"); end >= 0 {
		rest = rest[:end]
	}
	switch strings.ToLower(rest) {
	case "null", "true", "false":
		return true
	}
	return false
}

// quoted consumes the text up to the closing quote.
func (s *windowsScanner) quoted(quote byte) {
	s.inWord = true
	for s.at < len(s.text) {
		c := s.text[s.at]
		s.at++
		switch {
		case c == quote && !s.cmd && s.at < len(s.text) && s.text[s.at] == quote:
			s.add(quote)
			s.at++
		case c == quote:
			return
		case c == '\n':
			s.note("a quote over several lines", FactorDynamic)
			if s.cmd {
				s.endCommand()
				return
			}
			s.add(' ')
		default:
			s.inQuotes(quote, c)
		}
	}
	s.note("a quote without end", FactorDynamic)
}

func (s *windowsScanner) inQuotes(quote, c byte) {
	switch {
	case s.cmd && (c == '%' || c == '!' || c == '^'):
		s.note("a variable", FactorDynamic)
	case !s.cmd && quote == '"' && c == '$':
		s.note("a variable", FactorDynamic)
	case !s.cmd && quote == '"' && c == '`':
		s.note("an escape", FactorDynamic)
	}
	s.add(c)
}

// redirect consumes a redirection operator: N>, >>, >&N, <.
func (s *windowsScanner) redirect(c byte) {
	if s.inWord && strings.Contains("0123456789*", s.word.String()) {
		s.word.Reset() // the number of a stream
		s.inWord = false
	}
	s.endWord()
	if c == '<' {
		s.target = readsTarget
		if !s.cmd {
			s.note("an operator that has no meaning", FactorDynamic)
		}
		return
	}
	rest := strings.TrimPrefix(s.text[s.at:], ">")
	if stream := strings.TrimPrefix(rest, "&"); stream != rest && stream != "" && stream[0] >= '0' && stream[0] <= '9' {
		s.at = len(s.text) - len(stream) + 1
		return
	}
	s.at = len(s.text) - len(rest)
	s.target = writesTarget
}

func (s *windowsScanner) endWord() {
	if !s.inWord {
		return
	}
	text := s.word.String()
	s.word.Reset()
	s.inWord = false
	switch s.target {
	case noTarget:
		s.words = append(s.words, text)
	case writesTarget:
		s.writes = append(s.writes, text)
	}
	s.target = noTarget
}

func (s *windowsScanner) endCommand() {
	s.endWord()
	if s.target != noTarget {
		s.note("a redirection without a target", FactorDynamic)
		s.target = noTarget
	}
	if len(s.words) > 0 {
		s.commands = append(s.commands, s.words)
		s.words = nil
	}
}
