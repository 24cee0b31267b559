package policy

import (
	"encoding/json"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/text/shellword"
	"github.com/agent-wrapper/agent-wrapper/internal/workspace"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// commandShape is a Bash rule about one simple command, parsed as a line of the
// shell.
type commandShape struct {
	action *shell.Action // its words have holes where the rule has wildcards
	// prefix is set if any words may follow the known ones, which are then given
	// as shell text.
	prefix bool
	known  string
	count  int // of known words
	// entry is the catalogue's entry for the innermost subcommand among the words,
	// nil if the program is unknown. operands are those that the rule names.
	entry    *program.Program
	operands int
}

// anyWords replaces a wildcard in a line that is parsed but never run.
const anyWords = "$agent_wrapper_any"

func newCommandShape(r *patterns.Rule, catalog *program.Catalog) *commandShape {
	spec, found := strings.CutPrefix(r.String(), "Bash(")
	if !found || r.Bare() {
		return nil
	}
	line, ok := lineOf(strings.TrimSuffix(spec, ")"))
	if !ok {
		return nil
	}
	facts := analyze(line, catalog)
	if len(facts.Actions) == 0 {
		return nil
	}
	c := &commandShape{action: &facts.Actions[0]}
	if c.action.Kind != shell.Command || len(c.action.Assigns) > 0 || !simple(facts) {
		return nil
	}
	c.readWords()
	return c
}

// simple reports whether a line is a single command that does everything
// itself.
func simple(facts *shell.Facts) bool {
	for i := range facts.Actions[1:] {
		if facts.Actions[i+1].Parent < 0 {
			return false
		}
	}
	return facts.Failed == nil
}

// lineOf returns the text of a rule as a line of the shell, with an expansion
// for each wildcard. It is not ok unless the text is one simple command.
func lineOf(spec string) (line string, ok bool) {
	if body, prefix := strings.CutSuffix(spec, ":*"); prefix {
		spec = strings.TrimRight(body, " \t\n") + " *"
	}
	var b strings.Builder
	quote := byte(0)
	for i := 0; i < len(spec); i++ {
		switch c := spec[i]; {
		case c == '\\' && quote != '\'' && i+1 < len(spec):
			b.WriteString(spec[i : i+2])
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
			if c == '*' || c == '$' && quote == '"' {
				return "", false
			}
			b.WriteByte(c)
		case c == '\'' || c == '"':
			quote = c
			b.WriteByte(c)
		case c == '*':
			b.WriteString(anyWords)
		case strings.IndexByte("$`\n<>|&;()#", c) >= 0:
			return "", false
		case strings.IndexByte("?[]{}!", c) >= 0:
			b.WriteString(`\` + string(c))
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), quote == 0
}

func analyze(line string, catalog *program.Catalog) *shell.Facts {
	return shell.Analyze(line, shell.Options{Dir: lintPlace.Workspace, Home: lintPlace.Home, Catalog: catalog})
}

// readWords counts the known words and finds the catalogue's entry for them.
func (c *commandShape) readWords() {
	words := c.action.Words
	for c.count < len(words) && words[c.count].Known() {
		c.count++
	}
	known := words[:c.count:c.count]
	if c.count == len(words)-1 {
		last := words[c.count]
		c.prefix = len(last.Holes) == 1 && last.Holes[0].At == len(last.Text)
		if c.prefix && last.Text != "" { // for example python*
			known = append(known, shell.Word{Text: last.Text})
		}
	}
	var texts []string
	for _, w := range known {
		texts = append(texts, shellword.Quote(w.Text))
	}
	c.known = strings.Join(texts, " ")
	if c.action.Program == nil || c.count == 0 {
		return
	}
	scan := shell.ScanWords(c.action.Program, known)
	c.entry = scan.Prog
	for _, arg := range scan.Args {
		if arg.Kind == shell.ArgOperand || arg.Kind == shell.ArgUnlisted || arg.Kind == shell.ArgOption && arg.Option.Pattern {
			c.operands++
		}
	}
}

// program returns the name of the rule's program.
func (c *commandShape) program() string { return c.action.Words[0].Text }

// lastKnown returns the last known word.
func (c *commandShape) lastKnown() string {
	if c.count == 0 {
		return ""
	}
	return c.action.Words[c.count-1].Text
}

// subject returns the commands of the rule as one subject for the matcher: if
// another rule matches it for certain, it matches all that this rule matches.
func (c *commandShape) subject() *patterns.Subject {
	return &patterns.Subject{Kind: patterns.RunCommand, Tool: "Bash", Command: c.action}
}

// trialPolicy is a policy with a single allow rule and all the ask and deny
// rules.
type trialPolicy struct {
	policy  *permission.Policy
	session *permission.Session
}

// trialOf returns the policy in which an allow rule is tried.
func (l *linter) trialOf(r *linted) *trialPolicy { return l.compiled(l.trialSpec(r)) }

// trialSpec returns what trialOf compiles. An approved rule is tried with the risk
// tiers, since it does not apply to tier 3.
func (l *linter) trialSpec(r *linted) *Spec {
	s := &Spec{Allow: []Item{r.item}, Ask: l.spec.Ask, Deny: l.spec.Deny, Risk: "off", Unlisted: "ask"}
	if r.key == approvedList {
		s.Allow, s.Approved = []Item{{Text: "Bash(no-program)"}}, s.Allow
		s.Risk, s.Profile, s.RiskOverrides = l.spec.Risk, l.spec.Profile, l.spec.RiskOverrides
	}
	for _, g := range l.spec.Rules {
		if g.Action != "allow" {
			s.Rules = append(s.Rules, g)
		}
	}
	return s
}

func (l *linter) compiled(s *Spec) *trialPolicy {
	p, session, _, err := s.Compile(lintPlace)
	if err != nil {
		return nil // cannot happen: the whole policy loads
	}
	p.Catalog = l.catalog
	return &trialPolicy{p, session}
}

// decide returns the decision on a tool use.
func (t *trialPolicy) decide(tool, field, text string) permission.Decision {
	input, err := json.Marshal(map[string]string{field: text})
	if err != nil || t == nil {
		return permission.Decision{Behavior: permission.Deny}
	}
	use := permission.ToolUse{Tool: tool, Input: input, Dir: lintPlace.Workspace, OwnShell: true}
	return permission.Evaluate(t.policy, t.session, &use, workspace.Fake{Dir: lintPlace.Workspace}, nil)
}

// allows reports whether a rule, beside the ask and deny rules of the policy,
// makes a command line run without a question.
func (l *linter) allows(r *linted, line string) bool {
	return l.allowsUse(r, "Bash", "command", line)
}

func (l *linter) allowsUse(r *linted, tool, field, text string) bool {
	if r.policy == nil {
		r.policy = l.trialOf(r)
	}
	return r.policy.decide(tool, field, text).Behavior == permission.Allow
}

// surely reports whether the rule certainly matches all that a subject stands
// for.
func (r *linted) surely(sub *patterns.Subject, reach int) bool {
	_, m := r.set.Match(sub, patterns.Query{Reach: reach})
	return m == patterns.Yes
}

// riskOf returns the risk of the command of a line, and whether it changes
// something or is destructive.
func (l *linter) riskOf(line string) (finding risk.Finding, changes, ruins bool) {
	facts := analyze(line, l.catalog)
	if len(facts.Actions) == 0 {
		return finding, false, false
	}
	finding = risk.Each(facts, risk.Default)[0]
	return finding, finding.Class > risk.Safe, finding.Class > risk.Moderate
}
