package shell

import (
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
)

// sed derives what its scripts write, read and run.
func (e *effector) sed() {
	e.edits = true
	e.sedBackup()
	e.edits = false
	scripts := e.sedScripts()
	e.empties = e.has("--quiet")
	for _, s := range scripts {
		if !s.Known() {
			e.odd(causeSedUnknown)
			continue
		}
		e.sedScript(s.Text)
	}
}

// sedBackup writes the backup that a suffix of -i asks for, beside the file. A star
// in the suffix stands for the name, and a suffix with a slash names a file in
// another directory.
func (e *effector) sedBackup() {
	for _, a := range e.scan.Args {
		switch {
		case a.Kind != ArgOption || a.Option.Effect != program.EffInPlace:
		case !a.Value.Known() || strings.Contains(a.Value.Text, "/"):
			e.odd(causeSedSuffix)
		case a.Value.Text != "":
			for _, r := range behind(e.operandWords(0), e.pattern) {
				if strings.Contains(a.Value.Text, "*") {
					r = beside(r)
				} else {
					r.Text += a.Value.Text
				}
				e.write(r, NeedCover, false, "backup by sed -i")
			}
		}
	}
}

func (e *effector) sedScripts() []Word {
	var out []Word
	for _, a := range e.scan.Args {
		if a.Kind == ArgOption && a.Option.Effect == program.EffPattern && a.ValueAt >= 0 {
			out = append(out, a.Value)
		}
	}
	if !e.pattern && len(e.operands) > 0 {
		out = append(out, e.words[e.operands[0]])
	}
	return out
}

func (e *effector) sedScript(text string) {
	p := sedParser{text: text, e: e, extended: e.has("--regexp-extended"), whole: e.has("--null-data")}
	if !p.script() {
		e.odd(causeSedUnread)
	}
}

// sedParser parses a script of GNU sed (info sed). It knows the syntax of every
// command, so that the text of one is never taken for another.
type sedParser struct {
	text     string
	at       int
	e        *effector
	extended bool // regular expressions are extended ones
	whole    bool // a line may be the whole file
}

func (p *sedParser) more() bool { return p.at < len(p.text) }

func (p *sedParser) peek() byte {
	if p.more() {
		return p.text[p.at]
	}
	return 0
}

func (p *sedParser) skip(chars string) {
	for p.more() && strings.IndexByte(chars, p.text[p.at]) >= 0 {
		p.at++
	}
}

func (p *sedParser) script() bool {
	for {
		p.skip(" \t\n;")
		if !p.more() {
			return true
		}
		from := p.at
		if !p.address() {
			return false
		}
		at := strings.TrimRight(p.text[from:p.at], " \t")
		from = p.at
		p.skip(" \t!")
		few := p.fewLines(at) && !strings.Contains(p.text[from:p.at], "!")
		from = p.at
		if !p.command() {
			return false
		}
		p.e.empties = p.e.empties || !p.keeps(p.text[from:p.at], few)
	}
}

// fewLines reports whether an address of sed is that of one line, or of lines with a text.
func (p *sedParser) fewLines(address string) bool {
	if address != "" && strings.Trim(address, "0123456789") == "" || address == "$" {
		return true
	}
	pattern, found := strings.CutPrefix(address, "/")
	inner := sedParser{text: pattern}
	return found && inner.delimited('/') && strings.Trim(pattern[inner.at:], "IM") == "" &&
		readSedPattern(pattern[:inner.at-1], p.extended).texts > 0
}

// keeps reports whether most of a file certainly remains after a command. few says that it
// is for few lines only.
func (p *sedParser) keeps(command string, few bool) bool {
	few = few && !p.whole
	switch command[0] {
	case 'i', 'a', 'r', 'R', 'w', 'W', 'p', 'P', 'l', 'F', 'n', 'e', '=', '{', '}':
		return true
	case '#': // "#n" is the option -n
		return command != "#n"
	case 's':
		return few || p.keepsText(command)
	case 'y': // no blanks in the place of characters
		return !strings.ContainsAny(command[1:], " \t\\")
	case 'd', 'c', 'z':
		return few
	}
	return false
}

// keepsText reports whether s removes little of a line, or puts something in its place.
func (p *sedParser) keepsText(command string) bool {
	d := command[1]
	parts := sedParser{text: command, at: 2}
	parts.delimited(d)
	text, from := command[2:parts.at-1], parts.at
	parts.replacement(d)
	filled := fillsLine(command[from : parts.at-1])
	pattern := readSedPattern(text, p.extended)
	switch {
	case text == "": // the last one again
		return false
	case pattern.texts > 0:
		return !pattern.wide || filled && !p.whole
	case pattern.blank, filled && pattern.digits:
		return true
	case strings.Contains(command[parts.at:], "g"), pattern.wide:
		return false
	}
	return filled && !pattern.repeats || pattern.loose == 0
}

// fillsLine reports whether a replacement is certainly more than blanks.
func fillsLine(text string) bool {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++ // a group, which may be empty, or a blank
		case c > ' ':
			return true
		}
	}
	return false
}

// address skips the addresses before a command.
func (p *sedParser) address() bool {
	for {
		switch c := p.peek(); {
		case c >= '0' && c <= '9' || c == '$' || c == '+' || c == '~':
			p.at++
		case c == '/':
			p.at++
			if !p.delimited('/') {
				return false
			}
			p.skip("IM")
		case c == '\\':
			if p.at+1 >= len(p.text) {
				return false
			}
			d := p.text[p.at+1]
			p.at += 2
			if !p.delimited(d) {
				return false
			}
			p.skip("IM")
		case c == ',' || c == ' ' || c == '\t':
			p.at++
		default:
			return true
		}
	}
}

// delimited skips text up to an unescaped delimiter that is not in brackets.
func (p *sedParser) delimited(d byte) bool {
	for p.more() {
		c := p.text[p.at]
		p.at++
		switch {
		case c == d:
			return true
		case c == '\\':
			p.at++
		case c == '[' && !p.bracket(d):
			return false
		}
	}
	return false
}

// bracket skips a bracket expression, in which sed takes a delimiter for text. It
// fails where seds differ.
func (p *sedParser) bracket(d byte) bool {
	end := strings.IndexByte(p.text[p.at:], ']')
	if end == 0 || end == 1 && p.peek() == '^' {
		next := strings.IndexByte(p.text[p.at+end+1:], ']')
		if next < 0 {
			return false
		}
		end += next + 1
	}
	if end < 0 {
		return strings.IndexByte(p.text[p.at:], d) >= 0 // an unclosed bracket is literal
	}
	inner := p.text[p.at : p.at+end]
	if strings.IndexByte(inner, d) >= 0 || strings.Contains(inner, "[:") && !strings.Contains(inner, ":") {
		return false
	}
	if strings.HasPrefix(inner, "[:") || strings.Contains(inner, "[:") {
		close := strings.Index(p.text[p.at:], ":]")
		if close < 0 {
			return false
		}
		rest := strings.IndexByte(p.text[p.at+close+2:], ']')
		if rest < 0 {
			return false
		}
		end = close + 2 + rest
	}
	p.at += end + 1
	return true
}

func (p *sedParser) command() bool {
	c := p.peek()
	p.at++
	switch c {
	case '{', '}', '=', 'd', 'D', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', 'z', 'F':
		return p.end(c)
	case 'q', 'Q', 'l', 'L':
		p.skip(" \t0123456789")
		return p.end(c)
	case ':', 'b', 't', 'T':
		p.label()
		return true
	case 's':
		return p.substitute()
	case 'y':
		return p.translate()
	case 'a', 'i', 'c':
		return p.insert()
	case 'r', 'R':
		return p.file(Read)
	case 'w', 'W':
		return p.file(Write)
	case '#':
		p.line()
		return true
	case 'e':
		return p.execute()
	case 'v':
		p.label() // a version; commands may follow
		return true
	}
	return false
}

// end reports whether only a separator follows a command.
func (p *sedParser) end(c byte) bool {
	if c == '{' {
		return true
	}
	p.skip(" \t")
	switch p.peek() {
	case 0, '\n', ';', '}', '#':
		return true
	}
	return false
}

func (p *sedParser) line() string {
	rest := p.text[p.at:]
	if i := strings.IndexByte(rest, '\n'); i >= 0 {
		rest = rest[:i]
	}
	p.at += len(rest)
	return rest
}

func (p *sedParser) label() {
	p.skip(" \t")
	for p.more() && strings.IndexByte(" \t\n;}", p.peek()) < 0 {
		p.at++
	}
}

func (p *sedParser) substitute() bool {
	d := p.peek()
	p.at++
	if d == 0 || d == '\n' || d == '\\' || !p.delimited(d) || !p.replacement(d) {
		return false
	}
	for p.more() {
		switch c := p.peek(); {
		case c == 'g' || c == 'p' || c == 'i' || c == 'I' || c == 'm' || c == 'M' || c >= '0' && c <= '9':
			p.at++
		case c == 'e':
			p.at++
			p.e.odd(causeSedFlag)
		case c == 'w':
			p.at++
			return p.file(Write)
		default:
			return p.end('s')
		}
	}
	return true
}

// replacement skips the second part of s and y, in which brackets are literal.
func (p *sedParser) replacement(d byte) bool {
	for p.more() {
		c := p.text[p.at]
		p.at++
		if c == d {
			return true
		}
		if c == '\\' {
			p.at++
		}
	}
	return false
}

func (p *sedParser) translate() bool {
	d := p.peek()
	p.at++
	return d != 0 && d != '\n' && d != '\\' && p.replacement(d) && p.replacement(d) && p.end('y')
}

// insert skips the text of a, i and c up to the end of the line, which a backslash
// continues.
func (p *sedParser) insert() bool {
	for {
		text := p.line()
		// Two backslashes are a literal one.
		backslashes := len(text) - len(strings.TrimRight(text, "\\"))
		if backslashes%2 == 0 || !p.more() {
			return true
		}
		p.at++
	}
}

// file reads or writes the name behind r or w, up to the end of the line.
func (p *sedParser) file(kind Kind) bool {
	p.skip(" \t")
	name := Word{Text: p.line()}
	if name.Text == "" {
		return false
	}
	if kind == Write {
		p.e.write(name, NeedCover, false, "command w of the sed script")
	} else {
		p.e.read(name, NeedOutside, "command r of the sed script")
	}
	return true
}

func (p *sedParser) execute() bool {
	p.skip(" \t")
	text := p.line()
	if text == "" {
		p.e.odd(causeSedExecutes)
		return true
	}
	p.e.runText(Word{Text: text}, "command e of the sed script", false)
	return true
}
