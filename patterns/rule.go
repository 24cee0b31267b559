// Package patterns parses rules, Tool or Tool(specifier), and matches them
// against the actions of a tool use. The result of every match is No, Maybe or
// Yes: an allow rule counts only on Yes, an ask or deny rule counts if it may
// match.
//
// A rule that cannot be parsed, or one that can never match in a list where it
// must not fail silently, is an *Error with its place and what to write
// instead.
//
// Commands. Bash(git push:*) and Bash(git push *) match commands that begin
// with these words, Bash(git push) matches exactly these. Elsewhere "*" is any
// run of characters inside one command, and nothing else is special. A quoted
// "*" is a literal character in an allow rule. A specifier that is not a simple
// command of known words matches the whole line. An allow rule compares the
// words as written; ask and deny rules compare the last path segment of the
// program, options in any position and spelling, and operands as paths.
//
// Paths. src/** and ./x are in the workspace, *.md matches there at any depth,
// /x and //x are absolute, ~/x is in the home directory. "*" and "?" match
// inside one name, "**" matches any number of names, at the end at least one. A
// name in a pattern also matches itself literally. In ask and deny rules a
// pattern that ends in a literal name includes everything below it.
//
// Hosts. WebFetch(d) allows exactly that host, *.d its subdomains; in ask and
// deny rules both match the host and its subdomains.
//
// Names. Skill(x), Task(x), mcp__server and mcp__server__tool may contain "*"
// for any characters; x:* is x, or x followed by ":" or a space and more.
//
// The package does not access files, processes, the clock or the environment:
// what is known of the machine comes from Place, symbolic links from the
// function passed to NewPath.
package patterns

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agent-wrapper/agent-wrapper/internal/tools"
)

// Rule is one rule of a list. It is read-only.
type Rule struct {
	list   List
	source Source
	tool   string // the name of the tool, "*" for every tool
	text   string // as printed
	bare   bool   // without a specifier, or with one that means everything
	family family

	command *commandRule // of a rule for Bash with a specifier
	paths   []pathRule   // of a rule with a path pattern, one for each expansion of braces
	host    *hostRule    // of a rule with a host
	name    *nameRule    // of a rule with a name, or for an MCP server

	// Set when the rule is added to a set.
	place   Place
	globs   []pathGlob // of each path, and for the other name of the home
	unbound bool       // of one it is not known where it starts
	order   int
}

// String returns the rule in a form that parses as the same rule.
func (r *Rule) String() string { return r.text }

// Tool returns the name of the tool in the rule, "*" for all tools.
func (r *Rule) Tool() string { return r.tool }

// Bare reports whether the rule matches everything that its tool does.
func (r *Rule) Bare() bool { return r.bare }

// List returns the list as whose rule the rule was parsed.
func (r *Rule) List() List { return r.list }

// Source returns the origin of the rule.
func (r *Rule) Source() Source { return r.source }

func (l List) String() string {
	switch l {
	case Allow:
		return "allow"
	case Ask:
		return "ask"
	case Deny:
		return "deny"
	}
	return fmt.Sprintf("list %d", l)
}

func (m Match) String() string { return [...]string{"no", "maybe", "yes"}[min(m, Yes)] }

// maxRule is the maximum length of a rule in bytes: that of a command line.
const maxRule = 64 << 10

// Parse parses one rule of a list. The warnings are about rules that are loaded
// but never match, allow more than they seem to, or may differ from what was
// meant. The error is an *Error.
func Parse(text string, list List, src Source) (*Rule, []Warning, error) {
	return ParseWith(nil, text, list, src)
}

// ParseWith is like Parse, but also accepts the names of tools that are not
// built in.
func ParseWith(known *tools.Table, text string, list List, src Source) (*Rule, []Warning, error) {
	p := &parser{text: strings.TrimSpace(text), list: list, src: src, known: known}
	rule, err := p.parse()
	if err != nil {
		return nil, nil, err
	}
	return rule, p.warnings, nil
}

type parser struct {
	text     string
	list     List
	src      Source
	known    *tools.Table
	from     int // where the specifier begins in text
	warnings []Warning
}

func (p *parser) fail(at int, what, fix string) error {
	return &Error{Source: p.src, Rule: p.text, Col: column(p.text, at), What: what, Fix: fix}
}

func (p *parser) warn(kind WarningKind, at int, text string) {
	p.warnings = append(p.warnings, Warning{Kind: kind, Source: p.src, Rule: p.text, Col: column(p.text, at), Text: text})
}

// dead reports a rule that can never match. In an allow list it is loaded with
// a warning, in ask and deny lists it is an error.
func (p *parser) dead(at int, what, fix string) error {
	if p.list != Allow {
		return p.fail(at, what+", so it would never match", fix)
	}
	p.warn(Dead, at, what+", so it never matches: "+fix)
	return nil
}

func (p *parser) parse() (*Rule, error) {
	if err := p.checkText(); err != nil {
		return nil, err
	}
	name, spec, hasSpec, err := p.cut()
	if err != nil {
		return nil, err
	}
	r := &Rule{list: p.list, source: p.src, tool: name, bare: !hasSpec}
	if err := p.checkTool(r); err != nil {
		return nil, err
	}
	if hasSpec {
		if spec, err = p.specifier(r, spec); err != nil {
			return nil, err
		}
	}
	r.text = name
	if hasSpec {
		r.text = name + "(" + spec + ")"
	}
	if r.bare && p.list == Allow && r.family == ofLines {
		p.warn(Danger, 0, "this allows every command line that no ask or deny rule stops")
	}
	return r, nil
}

func (p *parser) checkText() error {
	switch {
	case p.list < Allow || p.list > Deny:
		return errors.New("patterns: rule without a list")
	case p.text == "":
		return p.fail(0, "the rule is empty", "write Tool or Tool(specifier)")
	case len(p.text) > maxRule:
		return p.fail(0, fmt.Sprintf("the rule is longer than %d bytes", maxRule), "write a shorter pattern")
	case !utf8.ValidString(p.text):
		return p.fail(invalidAt(p.text), "the rule is not UTF-8", "write the rule as UTF-8 text")
	}
	if at := strings.IndexFunc(p.text, forbiddenRune); at >= 0 {
		return p.fail(at, "the rule contains a control character", "remove it")
	}
	if at := strings.IndexFunc(p.text, unseen); at >= 0 {
		what := fmt.Sprintf("the rule contains %U, which is invisible or looks like a space", []rune(p.text[at:])[0])
		if p.list != Allow {
			return p.fail(at, what, "remove it, or write a space")
		}
		p.warn(Note, at, what)
	}
	return nil
}

// unseen reports whether a character is invisible or looks like a space.
func unseen(r rune) bool {
	return unicode.Is(unicode.Cf, r) || r > unicode.MaxASCII && unicode.IsSpace(r)
}

// invalidAt returns the index of the first byte that is not UTF-8.
func invalidAt(text string) int {
	for i, r := range text {
		if r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)) {
			return i
		}
	}
	return len(text)
}

func forbiddenRune(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }

// cut splits the rule at its first "(" and its last ")".
func (p *parser) cut() (name, spec string, hasSpec bool, err error) {
	open := strings.IndexByte(p.text, '(')
	colon := strings.IndexByte(p.text, ':')
	if colon >= 0 && (open < 0 || colon < open) {
		return "", "", false, p.colonForm(colon)
	}
	if open < 0 {
		if at := strings.IndexByte(p.text, ')'); at >= 0 {
			return "", "", false, p.fail(at, `")" without "("`, "write Tool(specifier)")
		}
		return p.text, "", false, nil
	}
	end := strings.LastIndexByte(p.text, ')')
	switch {
	case end < open:
		return "", "", false, p.fail(open, `"(" is not closed`, "write "+p.text+")")
	case end != len(p.text)-1:
		return "", "", false, p.fail(end+1, fmt.Sprintf("text after the closing %q", ")"), "write "+p.text[:end+1])
	}
	p.from = open + 1
	return strings.TrimSpace(p.text[:open]), p.text[open+1 : end], true, nil
}

// colonForm rejects Tool:pattern, the syntax of some other engines.
func (p *parser) colonForm(at int) error {
	name, rest := p.text[:at], p.text[at+1:]
	if strings.HasPrefix(name, "mcp__") && strings.HasPrefix(rest, "*") {
		return p.fail(at, `":*" cannot be part of an MCP name`, "write "+strings.TrimRight(name, "_")+"__*")
	}
	fix := "write Tool(pattern)"
	if t := tools.Builtin(name); t != nil {
		fix = "write " + name + "(pattern); regular expressions are not supported; did you mean " + fromRegexp(name, rest, familyOf(name, t)) + "?"
	} else if near := nearMiss(name); near != "" && !p.known.Has(name) {
		fix = "write Tool(pattern); did you mean " + near + "?"
	}
	return p.fail(at, `a ":" follows the tool's name`, fix)
}

// fromRegexp guesses the rule that a regular expression was meant to be.
func fromRegexp(name, re string, f family) string {
	glob := strings.NewReplacer(`\.`, ".", "^", "", "$", "").Replace(strings.TrimSpace(re))
	if glob == ".*" || glob == "" {
		return name
	}
	if f.path() {
		glob = strings.ReplaceAll(glob, "/.*", "/**")
	}
	if f == ofLines && strings.HasSuffix(glob, ".*") && !strings.HasSuffix(glob, " .*") {
		glob = strings.TrimSuffix(glob, ".*") + " *"
	}
	return name + "(" + strings.ReplaceAll(glob, ".*", "*") + ")"
}

// checkTool determines the family of the rule's tool.
func (p *parser) checkTool(r *Rule) error {
	name := r.tool
	if name == "*" {
		return p.everyTool(r)
	}
	if t := tools.Builtin(name); t != nil {
		r.family = familyOf(name, t)
		return nil
	}
	if strings.HasPrefix(name, "mcp__") {
		return p.mcpRule(r)
	}
	if name == "" {
		return p.fail(0, "the rule names no tool", "write Tool(specifier)")
	}
	if at := strings.IndexFunc(name, notInName); at >= 0 {
		return p.fail(at, fmt.Sprintf("%q in the name of a tool", []rune(name[at:])[0]), "write Tool or Tool(specifier); wildcards are not allowed in a name")
	}
	if near := nearMiss(name); near != "" && !p.known.Has(name) {
		return p.fail(0, "there is no tool "+name, "did you mean "+near+"?")
	}
	return nil
}

func notInName(r rune) bool {
	return !(r == '_' || r == '-' || r == '.' || r == '/' || unicode.IsLetter(r) || unicode.IsDigit(r))
}

func (p *parser) everyTool(r *Rule) error {
	if p.list == Allow {
		return p.fail(0, `"*" would allow every tool`, "write the name of a tool, or use a permission mode")
	}
	r.family = ofAll
	return nil
}

// specifier parses the text in the parentheses, and returns it in printable
// form.
func (p *parser) specifier(r *Rule, spec string) (string, error) {
	p.from += len(spec) - len(strings.TrimLeft(spec, " \t\n"))
	spec = strings.TrimSpace(spec)
	switch {
	case spec == "":
		return "", p.fail(p.from, "the specifier is empty", "write "+r.tool+", or put a pattern in the parentheses")
	case r.family == ofAll:
		return "", p.fail(p.from, `a specifier for all tools at once`, "name the tool")
	case r.family == ofLines:
		return p.commandSpec(r, spec)
	case r.family.path():
		return p.pathSpec(r, spec)
	case r.family == ofFetch:
		return p.hostSpec(r, spec)
	}
	return p.nameSpec(r, spec)
}
