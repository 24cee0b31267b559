package shell

import (
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
)

// awk derives what the program text writes, reads and runs.
func (e *effector) awk() {
	e.done = true
	rest := e.operandWords(0)
	if !e.pattern {
		if len(rest) == 0 {
			return
		}
		if !rest[0].Known() {
			e.odd(causeAwkUnknown)
		} else {
			e.awkProgram(rest[0].Text)
		}
		rest = rest[1:]
	}
	for _, a := range e.scan.Args {
		if a.Kind == ArgOption && a.Option.Effect == program.EffPattern && a.ValueAt >= 0 {
			if a.Value.Known() {
				e.awkProgram(a.Value.Text)
			} else {
				e.odd(causeAwkUnknown)
			}
		}
	}
	for _, r := range rest {
		if name, _, found := strings.Cut(r.Text, "="); found && !strings.Contains(name, "/") && r.Known() {
			continue
		}
		e.read(r, NeedNone, "operand of awk")
		if e.awkInPlace() {
			e.write(r, NeedCover, false, "operand of awk -i inplace")
		}
	}
}

// awkInPlace reports whether the library inplace of gawk is included, which changes
// the files read.
func (e *effector) awkInPlace() bool {
	return slices.ContainsFunc(e.scan.Args, func(a Arg) bool {
		return a.Kind == ArgOption && slices.Contains(a.Option.Names, "--include") &&
			(!a.Value.Known() || strings.Contains(a.Value.Text, "inplace"))
	})
}

// awkProgram derives effects from the tokens of an awk program. What is not proven
// harmless is opaque.
func (e *effector) awkProgram(text string) {
	toks, ok := awkTokens(text)
	if !ok {
		e.odd(causeAwkUnread)
		return
	}
	printing, depth := false, 0
	for i, t := range toks {
		switch {
		case t.str:
		case t.text == "print" || t.text == "printf":
			printing, depth = true, 0
		case t.text == "\n" && awkGoesOn(toks, i):
		case t.text == ";" || t.text == "\n" || t.text == "{" || t.text == "}":
			printing = false
		case t.text == "(" || t.text == "[":
			depth++
		case t.text == ")" || t.text == "]":
			depth--
		case t.text == "|" || t.text == "|&":
			e.odd(causeAwkPipe)
		case (t.text == ">" || t.text == ">>") && printing && depth <= 0:
			e.awkOutput(toks, i)
		case t.text == "getline":
			e.awkInput(toks, i)
		case t.text == "ENVIRON" || t.text == "SYMTAB":
			if awkEnviron(toks, i) {
				e.shows()
			}
		case t.text == "ARGV" || t.text == "ARGC":
			e.w.opaque(e.index, MayRead, causeAwkArguments)
		case t.text == "system":
			e.awkSystem(toks, i)
		case t.text == "@":
			e.odd(causeAwkAt)
		}
	}
}

// awkGoesOn reports whether a newline does not end the statement.
func awkGoesOn(toks []awkToken, i int) bool {
	if i == 0 || toks[i-1].str {
		return false
	}
	switch toks[i-1].text {
	case ",", "&&", "||", "?", ":":
		return true
	}
	return false
}

func (e *effector) awkOutput(toks []awkToken, i int) {
	if i+1 < len(toks) && toks[i+1].str && awkEnds(toks, i+2) {
		if name := toks[i+1].text; !free.has(name) {
			e.write(Word{Text: name}, NeedCover, false, "output of the awk program")
		}
		return
	}
	e.w.opaque(e.index, MayWrite, causeAwkWrites)
}

func (e *effector) awkInput(toks []awkToken, i int) {
	for j := i + 1; j < len(toks); j++ {
		if !toks[j].str && (strings.Contains(";\n{}", toks[j].text) || toks[j].text == "getline") {
			return
		}
		if toks[j].text != "<" || toks[j].str {
			continue
		}
		if j+1 < len(toks) && toks[j+1].str && awkEnds(toks, j+2) {
			e.read(Word{Text: toks[j+1].text}, NeedOutside, "getline of the awk program")
		} else {
			e.w.opaque(e.index, MayRead, causeAwkReads)
		}
		return
	}
}

func (e *effector) awkSystem(toks []awkToken, i int) {
	if i+3 < len(toks) && toks[i+1].text == "(" && toks[i+2].str && toks[i+3].text == ")" {
		e.runText(Word{Text: toks[i+2].text}, "system of the awk program", false)
		return
	}
	e.odd(causeAwkSystem)
}

// awkEnds reports whether an expression ends before token i. A string joined with
// something else is not a whole name.
func awkEnds(toks []awkToken, i int) bool {
	if i >= len(toks) {
		return true
	}
	switch toks[i].text {
	case ";", "\n", "}", ")":
		return !toks[i].str
	}
	return false
}

// awkToken is a token of an awk program. str marks a string, whose value is in text.
type awkToken struct {
	text string
	str  bool
	// control marks the parenthesis that closes the condition of an if or a loop.
	control bool
}

// awkTokens splits a program as far as is needed to tell strings, regular expressions
// and comments from code. It is not ok if one of them does not end, or if awks differ
// in whether a slash divides or begins a regular expression.
func awkTokens(text string) ([]awkToken, bool) {
	var out []awkToken
	var open []bool // open parentheses, and whether each is that of a condition
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == ' ' || c == '\t' || c == '\r':
			i++
		case c == '\\' && i+1 < len(text) && text[i+1] == '\n':
			i += 2
		case c == '#':
			for i < len(text) && text[i] != '\n' {
				i++
			}
		case c == '"':
			s, n, ok := awkString(text[i:])
			if !ok {
				return nil, false
			}
			out = append(out, awkToken{text: s, str: true})
			i += n
		case c == '/' && awkUnclear(out):
			return nil, false
		case c == '/' && awkRegexp(out):
			n, ok := awkSlash(text[i:])
			if !ok {
				return nil, false
			}
			out = append(out, awkToken{text: "//"})
			i += n
		case awkLetter(c):
			from := i
			for i < len(text) && awkLetter(text[i]) {
				i++
			}
			out = append(out, awkToken{text: text[from:i]})
		default:
			n := awkOperator(text[i:])
			t := awkToken{text: text[i : i+n]}
			switch last := len(open) - 1; {
			case c == '(':
				open = append(open, awkConditional(out))
			case c == ')' && last >= 0:
				t.control, open = open[last], open[:last]
			}
			out = append(out, t)
			i += n
		}
	}
	return out, true
}

func awkOperator(text string) int {
	for _, op := range []string{"||", "&&", "|&", ">>", ">=", "<=", "==", "++", "--"} {
		if strings.HasPrefix(text, op) {
			return 2
		}
	}
	return 1
}

// awkString returns the value and the length of the string at the start of text.
func awkString(text string) (string, int, bool) {
	var sb strings.Builder
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '"':
			return sb.String(), i + 1, true
		case '\n':
			return "", 0, false
		case '\\':
			i++
			if i >= len(text) {
				return "", 0, false
			}
			sb.WriteString(awkEscape(text[i]))
		default:
			sb.WriteByte(text[i])
		}
	}
	return "", 0, false
}

func awkEscape(c byte) string {
	switch c {
	case 'n':
		return "\n"
	case 't':
		return "\t"
	case '"', '\\', '/':
		return string(c)
	}
	return "\x00" // not decoded; no known name holds NUL
}

// awkUnclear reports whether awks differ in the meaning of a slash after these
// tokens.
func awkUnclear(out []awkToken) bool {
	if len(out) == 0 || out[len(out)-1].str {
		return false
	}
	switch out[len(out)-1].text {
	case "++", "--", "length", "getline":
		return true
	}
	return out[len(out)-1].control
}

// awkConditional reports whether a parenthesis after these tokens holds a condition.
func awkConditional(out []awkToken) bool {
	if len(out) == 0 || out[len(out)-1].str {
		return false
	}
	switch out[len(out)-1].text {
	case "if", "while", "for", "switch":
		return true
	}
	return false
}

// awkRegexp reports whether a slash after these tokens begins a regular expression.
// After a value it divides.
func awkRegexp(out []awkToken) bool {
	if len(out) == 0 {
		return true
	}
	last := out[len(out)-1]
	if last.str || last.text == ")" || last.text == "]" || last.text == "$" || last.text == "//" {
		return false
	}
	switch last.text {
	case "print", "printf", "return", "in", "else", "do", "exit", "case":
		return true
	}
	return !awkLetter(last.text[0])
}

func awkSlash(text string) (int, bool) {
	class := false
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '[':
			class = true
		case ']':
			class = false
		case '\n':
			return 0, false
		case '/':
			if class { // awks differ
				return 0, false
			}
			return i + 1, true
		}
	}
	return 0, false
}

// awkEnviron reports whether the token i, ENVIRON, stands for more than a variable
// that holds no secret.
func awkEnviron(toks []awkToken, i int) bool {
	plain := i+3 < len(toks) && !toks[i+1].str && toks[i+1].text == "[" && toks[i+2].str && toks[i+3].text == "]" && !toks[i+3].str
	return !plain || tells(toks[i+2].text)
}
