package workspace

import (
	"errors"
	"fmt"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// parseGitConfig reads a configuration file of git, by the grammar of git-config(1)
// under Syntax. Keys are in lower case but for their subsection; a key without a value
// is true. An error means that git would not read the file either, or that it is not
// certain how.
func parseGitConfig(text string) ([]shell.Setting, error) {
	p := configParser{text: strings.TrimPrefix(text, "\ufeff"), line: 1}
	if strings.IndexByte(p.text, 0) >= 0 {
		return nil, errors.New("it holds a NUL byte")
	}
	for p.more() {
		if err := p.item(); err != nil {
			return nil, fmt.Errorf("line %d: %w", p.line, err)
		}
	}
	return p.found, nil
}

type configParser struct {
	text    string
	at      int
	line    int
	section string // with its subsection and a final dot; "" before the first
	found   []shell.Setting
}

// more skips blanks and reports whether anything is left.
func (p *configParser) more() bool {
	for p.at < len(p.text) && isConfigBlank(p.text[p.at]) {
		p.next()
	}
	return p.at < len(p.text)
}

func isConfigBlank(b byte) bool { return strings.IndexByte(" \t\n\r", b) >= 0 }

// peek returns the current character, a newline at the end and for CR LF.
func (p *configParser) peek() byte {
	switch {
	case p.at >= len(p.text), strings.HasPrefix(p.text[p.at:], "\r\n"):
		return '\n'
	}
	return p.text[p.at]
}

// next returns the current character and goes on.
func (p *configParser) next() byte {
	b := p.peek()
	if p.at < len(p.text) && p.text[p.at] == '\r' && b == '\n' {
		p.at++
	}
	if b == '\n' {
		p.line++
	}
	p.at++
	return b
}

// item reads a comment, the head of a section or a setting.
func (p *configParser) item() error {
	switch b := p.peek(); {
	case b == '#' || b == ';':
		p.comment()
		return nil
	case b == '[':
		p.next()
		return p.head()
	case isLetter(b) && p.section != "":
		return p.setting()
	case isLetter(b):
		return errors.New("a setting before the first section")
	}
	return errors.New("no section and no setting")
}

func (p *configParser) comment() {
	for p.at < len(p.text) && p.next() != '\n' {
	}
}

func isLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }

func isNameByte(b byte) bool { return isLetter(b) || '0' <= b && b <= '9' || b == '-' }

// head reads the head of a section behind its bracket.
func (p *configParser) head() error {
	var name strings.Builder
	for {
		switch b := p.next(); {
		case b == ']' && name.Len() > 0:
			p.section = name.String() + "."
			return nil
		case b == ' ' || b == '\t':
			return p.subsection(name.String())
		case isNameByte(b) || b == '.':
			name.WriteByte(lower(b))
		default:
			return errors.New("a section that is not closed, or has no name")
		}
	}
}

func lower(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b | 0x20
	}
	return b
}

// subsection reads the rest of [name "sub"].
func (p *configParser) subsection(name string) error {
	for p.peek() == ' ' || p.peek() == '\t' {
		p.next()
	}
	if name == "" || p.next() != '"' {
		return errors.New("a subsection without quotes")
	}
	var sub strings.Builder
	for {
		b := p.next()
		switch {
		case b == '\n':
			return errors.New("a subsection that is not closed")
		case b == '"':
			if p.next() != ']' {
				return errors.New("a section that is not closed")
			}
			p.section = name + "." + sub.String() + "."
			return nil
		case b == '\\':
			if b = p.next(); b == '\n' {
				return errors.New("a subsection that is not closed")
			}
		}
		sub.WriteByte(b)
	}
}

// setting reads a name, and its value if it has one.
func (p *configParser) setting() error {
	var name strings.Builder
	for isNameByte(p.peek()) {
		name.WriteByte(lower(p.next()))
	}
	for p.peek() == ' ' || p.peek() == '\t' {
		p.next()
	}
	value := "true"
	switch p.peek() {
	case '=':
		p.next()
		var err error
		if value, err = p.value(); err != nil {
			return err
		}
	case '\n':
		p.next()
	default:
		return errors.New("a setting without =")
	}
	p.found = append(p.found, shell.Setting{Key: p.section + name.String(), Value: value})
	return nil
}

// value reads a value up to the end of its line. Blanks at its ends do not belong to
// it, nor does a comment; quotes keep both.
func (p *configParser) value() (string, error) {
	var value strings.Builder
	quoted, kept := false, 0 // kept is the length without blanks at the end
	for {
		b := p.next()
		switch {
		case b == '\n' && quoted:
			return "", errors.New("a value whose quotes are not closed")
		case b == '\n':
			return value.String()[:kept], nil
		case quoted && b != '"' && b != '\\':
		case b == ' ' || b == '\t' || b == '\r':
			if value.Len() > 0 {
				value.WriteByte(b)
			}
			continue
		case b == '#' || b == ';':
			p.comment()
			return value.String()[:kept], nil
		case b == '"':
			quoted = !quoted
			kept = value.Len()
			continue
		case b == '\\':
			esc := p.next()
			if esc == '\n' {
				if p.at > len(p.text) {
					return "", errors.New("a backslash at the end")
				}
				continue
			}
			at := strings.IndexByte(`\"ntb`, esc)
			if at < 0 {
				return "", errors.New("an escape that git does not know")
			}
			b = "\\\"\n\t\b"[at]
		}
		value.WriteByte(b)
		kept = value.Len()
	}
}
