package shell

import "strings"

// sedPattern is what a regular expression of sed certainly matches.
type sedPattern struct {
	texts   int  // characters that must be there, without blanks
	wide    bool // it may take in a text of any length
	repeats bool // something of it may be there several times
	blank   bool // there are only blanks and anchors in it
	digits  bool // there are only digits, blanks and anchors in it
	loose   int  // atoms that match more than one character
}

// sedReader reads a basic or extended regular expression.
type sedReader struct {
	text     string
	extended bool
	at       int
	out      sedPattern
}

func readSedPattern(pattern string, extended bool) sedPattern {
	r := sedReader{text: pattern, extended: extended, out: sedPattern{blank: true, digits: true}}
	r.out.texts = r.alternatives(0)
	r.out.wide = r.out.wide || r.out.loose > maxSedLoose
	return r.out
}

const (
	maxSedGroups = 20 // how deep groups may be nested in a pattern that is understood
	maxSedLoose  = 8  // how many characters of any kind are few
)

// alternatives returns how many characters each of several alternatives must have.
func (r *sedReader) alternatives(depth int) int {
	least, texts := len(r.text), 0
	for r.at < len(r.text) {
		atom := r.next()
		n := 0
		switch op := r.operator(atom); {
		case op == '(' && depth == maxSedGroups:
			r.at, r.out.wide = len(r.text), true
			return 0
		case op == '(':
			n = r.alternatives(depth + 1)
		case op == ')' && depth > 0:
			return min(least, texts)
		case op == '|':
			least, texts = min(least, texts), 0
			continue
		case op == 0:
			n = r.note(atom)
		}
		texts += r.repeated(atom, n)
	}
	return min(least, texts)
}

// operator returns the operator that an atom is, 0 if it is none.
func (r *sedReader) operator(atom string) byte {
	if atom == "*" {
		return '*'
	}
	if last := atom[len(atom)-1]; (len(atom) == 1) == r.extended && len(atom) <= 2 && strings.IndexByte("()|?+{", last) >= 0 {
		return last
	}
	return 0
}

// next returns an atom: a character, an escaped one or a bracket expression.
func (r *sedReader) next() string {
	from := r.at
	r.at++
	switch r.text[from] {
	case '\\':
		r.at = min(r.at+1, len(r.text))
	case '[':
		if p := (sedParser{text: r.text, at: r.at}); p.bracket('/') {
			r.at = max(p.at, r.at)
		} else {
			r.at = len(r.text)
		}
	}
	return r.text[from:r.at]
}

// note records what an atom may match, and returns 1 for a character that must be there.
func (r *sedReader) note(atom string) int {
	switch atom {
	case "^", "$", `\b`, `\B`, `\<`, `\>`, "\\`", `\'`, " ", "\t", `\t`, `\r`, `\s`, "[ \t]", `[ \t]`, "[[:space:]]", "[[:blank:]]":
		return 0
	}
	r.out.blank = false
	switch atom {
	case "[0-9]", "[[:digit:]]", "[0-9.]":
		r.out.loose++
		return 0
	}
	r.out.digits = false
	escaped := len(atom) == 2 && atom[0] == '\\'
	switch last := atom[len(atom)-1]; {
	case len(atom) == 1 && last != '.' && last != '*' && last != '\n':
		return 1
	case escaped && last > ' ' && last < 0x7f && !isLetter(last) && (last < '0' || last > '9'):
		return 1
	}
	r.out.loose++
	return 0
}

// repeated returns how many characters of an atom must be there, by what stands behind it.
func (r *sedReader) repeated(atom string, texts int) int {
	for r.at < len(r.text) {
		from := r.at
		switch r.operator(r.next()) {
		case '*', '?':
			texts = 0
		case '+':
		case '{':
			texts = 0
			end := strings.IndexByte(r.text[r.at:], '}')
			if end < 0 {
				end = len(r.text) - r.at - 1
			}
			r.at += end + 1
		default:
			r.at = from
			return texts
		}
		r.out.repeats = true
		r.out.wide = r.out.wide || !narrow(atom)
	}
	return texts
}

// narrow reports whether repetitions of an atom take in little: a character, digits, blanks.
func narrow(atom string) bool {
	switch atom {
	case `\t`, `\r`, `\s`, "[ \t]", `[ \t]`, "[[:space:]]", "[[:blank:]]", "[0-9]", "[[:digit:]]", "[0-9.]":
		return true
	}
	return len(atom) == 1 && atom != "." && atom != ")"
}
