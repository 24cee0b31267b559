package patterns

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
)

// GranularSpec is a granular rule as written in a policy: tools, conditions,
// and the answer. A rule without conditions applies to all uses of its tools;
// one with conditions applies to uses that meet any of them.
type GranularSpec struct {
	Tools    []string // names of tools, as in a bare rule; at least one
	Paths    []string // path patterns, as in Read(...)
	Commands []string // prefixes of commands: "rm", "git push"
	Patterns []string // RE2, matched against the words of each simple command joined by spaces
	Domains  []string // hosts, as in WebFetch(...)
	Action   List
	Message  string // for the model if the rule denies
	Source   Source
	Known    *tools.Table // describes tools that are not built in
}

// Granular is a granular rule, compiled. It is read-only.
type Granular struct {
	// Source is the origin of the rule.
	Source Source

	spec     GranularSpec
	tools    []*Rule
	paths    []*Rule
	commands []*Rule
	patterns []*pattern
	domains  []*Rule
}

// pattern is a regular expression, and the literal prefix of all that it
// matches.
type pattern struct {
	re    *regexp.Regexp
	begin string
}

// maxRegexp is the maximum length of a regular expression in bytes.
const maxRegexp = 1000

// CompileGranular compiles a granular rule for a place.
func CompileGranular(spec GranularSpec, place Place) (*Granular, error) {
	g := &Granular{Source: spec.Source, spec: spec}
	if spec.Action < Allow || spec.Action > Deny {
		return nil, g.fail("the rule has no action", "write allow, ask or deny")
	}
	if len(spec.Tools) == 0 {
		return nil, g.fail("the rule names no tools", `write tools = ["Bash"]`)
	}
	var err error
	if g.tools, err = g.parse(place, "tools", "%s", spec.Tools); err != nil {
		return nil, err
	}
	for _, t := range g.tools {
		if !t.bare && (t.name == nil || !t.name.server) {
			return nil, g.fail(fmt.Sprintf("tools: %s is more than a tool name", t), "write "+t.tool+", and put the rest in paths, commands or domains")
		}
	}
	if g.paths, err = g.parse(place, "paths", "Edit(%s)", spec.Paths); err != nil {
		return nil, err
	}
	if g.commands, err = g.parse(place, "commands", "Bash(%s:*)", spec.Commands); err != nil {
		return nil, err
	}
	if g.domains, err = g.parse(place, "domains", "WebFetch(%s)", spec.Domains); err != nil {
		return nil, err
	}
	for _, text := range spec.Patterns {
		p, err := compilePattern(text, spec.Action)
		if err != nil {
			return nil, g.fail(fmt.Sprintf("patterns: %q: %v", text, err), "write a regular expression in RE2 syntax")
		}
		g.patterns = append(g.patterns, p)
	}
	if err := g.dead(); err != nil {
		return nil, err
	}
	return g, nil
}

// condition is one kind of condition, and what a tool must do for it to match.
type condition struct {
	field string
	set   bool
	kinds []tools.Kind
	lacks string // said of a tool that does none of it
}

func (s *GranularSpec) conditions() []condition {
	return slices.DeleteFunc([]condition{
		{"paths", len(s.Paths) > 0, []tools.Kind{tools.Read, tools.Write}, "reads and writes no paths"},
		{"commands", len(s.Commands) > 0, []tools.Kind{tools.Command}, "runs no commands"},
		{"patterns", len(s.Patterns) > 0, []tools.Kind{tools.Command}, "runs no commands"},
		{"domains", len(s.Domains) > 0, []tools.Kind{tools.Fetch}, "fetches no URLs"},
	}, func(c condition) bool { return !c.set })
}

// dead returns an error if a tool of the rule can meet none of its conditions, or if none
// of its tools can meet a condition.
func (g *Granular) dead() error {
	conditions := g.spec.conditions()
	meets := func(t *Rule, c condition) bool {
		return t.family == ofAll || slices.ContainsFunc(c.kinds, func(k tools.Kind) bool { return g.spec.Known.Does(t.toolName(), k) })
	}
	for _, c := range conditions {
		if !slices.ContainsFunc(g.tools, func(t *Rule) bool { return meets(t, c) }) {
			return g.deadAt(g.tools[0], c)
		}
	}
	for _, t := range g.tools {
		if len(conditions) > 0 && !slices.ContainsFunc(conditions, func(c condition) bool { return meets(t, c) }) {
			return g.deadAt(t, conditions[0])
		}
	}
	return nil
}

// toolName returns the tool of a rule without a specifier, or its pattern for a server.
func (r *Rule) toolName() string {
	if r.name != nil && r.name.server {
		return strings.Join(r.name.chunks, "*")
	}
	return r.tool
}

func (g *Granular) deadAt(t *Rule, c condition) error {
	known, name := g.spec.Known, t.toolName()
	shown := t.String()
	fix := "remove " + shown + ` from the tools, or map what its fields mean under [tools]`
	switch {
	case known.Does(name, tools.Command):
	case known.Does(name, tools.Fetch):
		fix = "use domains for " + shown
	case known.Does(name, tools.Read):
		fix = "use paths for " + shown
	case known.Does(name, tools.Write):
		fix = "use paths for " + shown + "; rules cannot match what is written yet"
	}
	return g.fail(fmt.Sprintf("%s: %s %s, so the rule could never match it", c.field, shown, c.lacks), fix)
}

func (g *Granular) fail(what, fix string) error {
	return &Error{Source: g.spec.Source, Rule: g.String(), Col: 1, What: what, Fix: fix}
}

// parse parses the items of a field as rules of one form.
func (g *Granular) parse(place Place, field, form string, items []string) ([]*Rule, error) {
	var rules []*Rule
	for i, item := range items {
		if item = strings.TrimSpace(item); item == "" {
			return nil, g.fail(fmt.Sprintf("%s: item %d is empty", field, i+1), "remove it")
		}
		text := item
		if form != "%s" {
			text = fmt.Sprintf(form, strings.TrimSuffix(item, ":*"))
		}
		r, _, err := ParseWith(g.spec.Known, text, g.list(field), g.spec.Source)
		if err != nil {
			var e *Error
			if errors.As(err, &e) {
				return nil, g.fail(fmt.Sprintf("%s: %q: %s", field, item, e.What), e.Fix)
			}
			return nil, err
		}
		rules = append(rules, r.bound(place, i))
	}
	return rules, nil
}

// list returns the list as whose rules the items of a field are parsed. Names
// of tools are the exception, since they must parse alike for all actions.
func (g *Granular) list(field string) List {
	if field == "tools" && g.spec.Action != Allow {
		return Ask
	}
	return g.spec.Action
}

// compilePattern compiles a regular expression. In ask and deny "." also meets a line break
// in a quoted word; for allow it does not.
func compilePattern(text string, list List) (*pattern, error) {
	if len(text) > maxRegexp {
		return nil, fmt.Errorf("longer than %d bytes", maxRegexp)
	}
	if text == "" {
		return nil, errors.New("it is empty, so it would match everything")
	}
	re, err := regexp.Compile(text)
	if err != nil {
		var e *syntax.Error
		if errors.As(err, &e) {
			return nil, fmt.Errorf("%s: %q", e.Code, e.Expr)
		}
		return nil, err
	}
	if list != Allow {
		re = regexp.MustCompile("(?s)" + text)
	}
	p := &pattern{re: re}
	if strings.HasPrefix(text, "^") && !strings.Contains(text, "|") {
		if rest, err := regexp.Compile(text[1:]); err == nil {
			p.begin, _ = rest.LiteralPrefix()
		}
	}
	return p, nil
}

// Action returns the answer of the rule.
func (g *Granular) Action() List { return g.spec.Action }

// Message returns the message of the rule for the model, "" if it has none.
func (g *Granular) Message() string { return g.spec.Message }

// Specific reports whether the rule has conditions.
func (g *Granular) Specific() bool {
	s := &g.spec
	return len(s.Paths)+len(s.Commands)+len(s.Patterns)+len(s.Domains) > 0
}

// Paths reports whether the rule is an ask or a deny with paths.
func (g *Granular) Paths() bool { return len(g.paths) > 0 && g.spec.Action != Allow }

// String returns the rule on one line, for messages.
func (g *Granular) String() string {
	s := &g.spec
	text := strings.Join(s.Tools, ",")
	for _, field := range []struct {
		name  string
		items []string
	}{{"paths", s.Paths}, {"commands", s.Commands}, {"patterns", s.Patterns}, {"domains", s.Domains}} {
		if len(field.items) > 0 {
			text += " " + field.name + "=" + strings.Join(field.items, ",")
		}
	}
	return shown(s.Action.String() + " " + text)
}

// Match matches the rule against a subject. For an allow rule the result is Yes
// or No.
func (g *Granular) Match(sub *Subject) Match {
	best := No
	for _, t := range g.tools {
		best = max(best, g.tool(t, sub))
	}
	if best == No || !g.Specific() {
		return best
	}
	best = min(best, g.condition(sub))
	if g.spec.Action == Allow && best == Maybe {
		return No
	}
	return best
}

// tool matches the tools of the rule against the subject. The names Read, Edit
// and WebFetch include other tools that do the same.
func (g *Granular) tool(t *Rule, sub *Subject) Match {
	if sub.Tool == t.tool && sub.Tool != "" {
		return Yes
	}
	return t.match(sub, Query{})
}

// condition matches the conditions about the subject's kind.
func (g *Granular) condition(sub *Subject) Match {
	best := No
	switch sub.Kind {
	case RunCommand:
		q := Query{}
		if g.spec.Action == Allow && sub.Command != nil {
			q.Reach = sub.Command.Reach
		}
		for _, r := range g.commands {
			best = max(best, r.match(sub, q))
		}
		for _, p := range g.patterns {
			best = max(best, p.match(sub, g.spec.Action))
		}
	case ReadPath, WritePath:
		for _, r := range g.paths {
			best = max(best, r.matchPath(sub.Path, sub.Recursive))
		}
	case FetchURL:
		for _, r := range g.domains {
			best = max(best, r.match(sub, Query{}))
		}
	case Hidden:
		return g.hides(sub.May)
	}
	return best
}

// hides returns whether an opaque spot may meet a condition.
func (g *Granular) hides(may shell.Effects) Match {
	s := &g.spec
	var about shell.Effects
	if len(s.Commands)+len(s.Patterns) > 0 {
		about |= shell.MayRun
	}
	if len(s.Paths) > 0 {
		about |= shell.MayRun | shell.MayRead | shell.MayWrite
	}
	if len(s.Domains) > 0 {
		about |= shell.MayRun | shell.MayFetch
	}
	return maybeIf(s.Action != Allow && may&about != 0)
}

// match matches the words of a command joined by spaces. For ask and deny the
// program is also matched by its last path segment; for allow every word must
// be known.
func (p *pattern) match(sub *Subject, list List) Match {
	if sub.Command == nil || len(sub.Command.Words) == 0 {
		return No
	}
	words := sub.Command.Words
	text, known := plainText(words)
	if list == Allow {
		return yesIf(known && harmless(sub.Command.Assigns) && p.reaches(sub.Command) && p.re.MatchString(text))
	}
	name := lastSegment(words[0].Text) + text[len(words[0].Text):]
	if p.re.MatchString(text) || p.re.MatchString(name) {
		if known {
			return Yes
		}
		return Maybe
	}
	if known {
		return No
	}
	head := unknownFrom(words)
	return maybeIf(p.mayBegin(text[:head]) || len(name) < len(text) && head >= len(words[0].Text) && p.mayBegin(name[:head-len(text)+len(name)]))
}

// reaches reports whether the literal prefix of the expression includes the
// words that an allow rule for the command must name (shell.Action.Reach).
func (p *pattern) reaches(a *shell.Action) bool {
	if a.Reach == 0 || a.Reach >= len(a.Words) {
		return a.Reach == 0
	}
	named, _ := plainText(a.Words[:a.Reach+1])
	return len(p.begin) > len(named)
}

// mayBegin reports whether a text with this prefix may match.
func (p *pattern) mayBegin(known string) bool {
	n := min(len(known), len(p.begin))
	return known[:n] == p.begin[:n]
}

// plainText joins words by spaces, omitting unknown text.
func plainText(words []shell.Word) (text string, known bool) {
	known = true
	parts := make([]string, len(words))
	for i := range words {
		parts[i] = words[i].Text
		known = known && words[i].Known()
	}
	return strings.Join(parts, " "), known
}

// unknownFrom returns the length of the known prefix of the joined words.
func unknownFrom(words []shell.Word) int {
	n := 0
	for i := range words {
		if w := &words[i]; !w.Known() {
			if len(w.Holes) > 0 {
				return n + w.Holes[0].At
			}
			return n
		}
		n += len(words[i].Text) + 1
	}
	return n
}

// Roots returns directories or paths that include everything that the paths of the rule
// may match, as those of a Rule.
func (g *Granular) Roots() []string {
	var roots []string
	for _, r := range g.paths {
		roots = append(roots, r.Roots()...)
	}
	return roots
}

// Hosts reports whether the rule is about hosts.
func (g *Granular) Hosts() bool { return len(g.domains) > 0 }
