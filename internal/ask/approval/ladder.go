package approval

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/internal/text/subpath"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Rung is one step of the ladder: the rules that would be kept, at most one for
// each part of the tool use that caused the ask, and a label. The label says
// exactly what the rules match.
type Rung struct {
	Label string
	Rules []string
	// UpTo is the highest grade of risk for which the rules answer; 0 is no limit. It is
	// one that Bounded returns.
	UpTo risk.Grade
}

// maxParts is the maximum number of parts of a ladder; a person would not read
// more rules at once.
const maxParts = 12

// Ladder returns what may be kept for the session, or always, with an answer to
// the request, from narrow to wide. Every rung makes the evaluator allow what
// caused the ask. The error tells a person why there is none: a part is of tier
// 3, is opaque, may only be approved for this once, or would store a secret, or
// no rule that may be kept would answer.
func Ladder(r *permission.Request) ([]Rung, error) {
	parts := r.Decision.Unapproved()
	switch {
	case r.Decision.Held:
		return nil, fmt.Errorf("this can only be approved once")
	case len(parts) == 0:
		return nil, fmt.Errorf("there is nothing to keep")
	case len(parts) > maxParts:
		return nil, fmt.Errorf("it has %d parts, and rules can be kept for at most %d at once", len(parts), maxParts)
	}
	height := 0
	ladders := make([][]step, len(parts))
	for i := range parts {
		steps, err := climb(r, &parts[i])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", parts[i].Action, err)
		}
		ladders[i], height = steps, max(height, len(steps))
	}
	var rungs []Rung
	for at := range height {
		rung := narrowed(r, across(ladders, at)).rung()
		if len(rung.Rules) > 0 && !slices.ContainsFunc(rungs, func(o Rung) bool { return slices.Equal(o.Rules, rung.Rules) }) {
			rungs = append(rungs, rung)
		}
	}
	if len(rungs) == 0 {
		return nil, fmt.Errorf("no rules that can be kept would cover it")
	}
	return rungs, nil
}

// Bounded returns the rung for the commands that begin as the one that is asked about, and
// are certain to be no riskier: "any git push without --force". It has one rule, which
// only a session can keep; the answer has the UpTo of the rung. The error says why there
// is none: no option makes such a command riskier, or several parts are asked about.
func Bounded(r *permission.Request) (Rung, error) {
	parts := r.Decision.Unapproved()
	if len(parts) != 1 || r.Decision.Held || parts[0].Kind != patterns.RunCommand || parts[0].Sealed != "" || parts[0].Grade == 0 || inline(&parts[0]) {
		return Rung{}, errNoBound
	}
	p := &parts[0]
	for _, n := range prefixes(p) {
		rule := patterns.CommandRule(p.Words[:n], true)
		options, more, ok := r.Graver(p, n, p.Grade)
		if rule == "" || !ok || len(options) == 0 || r.CanKeepUpTo(rule, p.Grade) != nil || !r.Answers(rule) {
			continue
		}
		return Rung{Label: "any " + ticked(spec(rule)) + " without " + listed(options, more), Rules: []string{rule}, UpTo: p.Grade}, nil
	}
	return Rung{}, errNoBound
}

var errNoBound = errors.New("no rule up to a risk would answer")

// maxOptions is how many options a label names, so that it fits a line of a terminal.
const maxOptions = 2

// listed returns options for a label.
func listed(options []string, more bool) string {
	text := strings.Join(options[:min(len(options), maxOptions)], ", ")
	if more || len(options) > maxOptions {
		text += " or the like"
	}
	return text
}

// Again returns the rung for exactly this tool use, whenever it comes again in the
// session: for what no rule can name, such as a line with code in it, or what a deny
// rule may be about. It keeps no rule; the answer has permission.ScopeUse. The error
// says why there is none.
func Again(r *permission.Request) (Rung, error) {
	if err := r.CanComeAgain(); err != nil {
		return Rung{}, err
	}
	return Rung{Label: "exactly this again, in the same directory"}, nil
}

// Denials returns what may be denied for the session, one rule each, from
// narrow to wide. A deny matches all spellings, so these rules name the words
// however options are written and wherever the program lies.
func Denials(r *permission.Request) []Rung {
	var rungs []Rung
	parts := r.Decision.Unapproved()
	for i := range parts[:min(len(parts), maxParts)] {
		for _, s := range denials(&parts[i]) {
			if r.CanKeep(patterns.Deny, s.rule) == nil {
				rungs = append(rungs, Rung{Label: s.label, Rules: []string{s.rule}})
			}
		}
	}
	return rungs
}

// step is one rule and its label.
type step struct {
	rule, label string
	// line is a command line for everything that the rule leaves open, below
	// the directory whose contents it leaves open; "" if there is none.
	line, below string
}

// reaches reports whether what the rule leaves open may be of tier 3, for which
// no rule of a session answers.
func (s *step) reaches(r *permission.Request) bool {
	return s.line != "" && r.Reaches(s.line) || s.below != "" && r.ReachesBelow(s.below)
}

type steps []step

func (s steps) rules() []string {
	var rules []string
	for _, one := range s {
		rules = append(rules, one.rule)
	}
	return rules
}

func (s steps) rung() Rung {
	var labels []string
	for _, one := range s {
		labels = append(labels, one.label)
	}
	return Rung{Label: strings.Join(labels, "; "), Rules: s.rules()}
}

// across takes one step of each ladder, the last of those that are shorter.
func across(ladders [][]step, at int) steps {
	var all steps
	for _, l := range ladders {
		if s := l[min(at, len(l)-1)]; !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// narrowed drops steps whose parts the others answer too. It returns nil if the
// steps together do not answer.
func narrowed(r *permission.Request, all steps) steps {
	for i := len(all) - 1; i >= 0 && len(all) > 1; i-- {
		if fewer := slices.Delete(slices.Clone(all), i, i+1); fewer.answer(r) {
			all = fewer
		}
	}
	if !r.Answers(all.rules()...) {
		return nil
	}
	return all
}

// answer reports whether one of the steps answers for each part.
func (s steps) answer(r *permission.Request) bool {
	left := r.Left(s[0].rule)
	for _, one := range s[1:] {
		more := r.Left(one.rule)
		left = slices.DeleteFunc(left, func(i int) bool { return !slices.Contains(more, i) })
	}
	return len(left) == 0
}

// climb returns the steps for one part that may be kept.
func climb(r *permission.Request, p *permission.Part) ([]step, error) {
	if p.Sealed != "" {
		return nil, fmt.Errorf("%s", p.Sealed)
	}
	var kept []step
	why := fmt.Errorf("no rule can name it")
	for _, s := range candidates(r, p) {
		switch err := r.CanKeep(patterns.Allow, s.rule); {
		case err != nil:
			why = err
		case s.reaches(r):
			why = fmt.Errorf("%s may be tier 3", s.label)
		default:
			kept = append(kept, s)
		}
	}
	if len(kept) == 0 {
		return nil, why
	}
	return kept, nil
}

// candidates returns the steps for one part, from narrow to wide.
func candidates(r *permission.Request, p *permission.Part) []step {
	switch p.Kind {
	case patterns.RunCommand:
		return commands(r, p)
	case patterns.ReadPath:
		return paths(r, p, "reading")
	case patterns.WritePath:
		return append(paths(r, p, "changing"), everyFile(r, p)...)
	case patterns.FetchURL:
		return one(p.Exact, "fetching from "+ticked(p.Host))
	}
	return uses(p)
}

// one returns the step of a rule, or none for an empty rule.
func one(rule, label string) []step {
	if rule == "" {
		return nil
	}
	return []step{{rule: rule, label: label}}
}

// ticked quotes what a label names.
func ticked(text string) string { return "`" + text + "`" }

// spec returns what stands in the parentheses of a command rule.
func spec(rule string) string {
	return strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(rule, "Bash("), ")"), ":*")
}

// paths returns the steps for a path and its directory.
func paths(r *permission.Request, p *permission.Part, doing string) []step {
	name := p.Target.Text
	all := one(p.Exact, doing+" "+ticked(name))
	if dir := path.Dir(name); p.Exact != "" && mayOpen(r.Place, dir) {
		rule := p.Exact[:strings.LastIndexByte(p.Exact, '/')] + "/**)"
		all = append(all, step{rule: rule, label: doing + " anything below " + ticked(dir), below: dir})
	}
	return all
}

// everyFile returns the step for all files of the workspace, for a tool that edits one of
// them. A rule of the session, which it is, leaves protected files held.
func everyFile(r *permission.Request, p *permission.Part) []step {
	root := r.Place.Workspace
	rest, inside := subpath.Below(p.Target.Text, root)
	if p.Exact == "" || p.Tool == tools.Bash || !inside || root == "" || subpath.Within(r.Place.Home, root) {
		return nil
	}
	rule := p.Exact
	for range strings.Count(rest, "/") + 1 {
		rule = rule[:strings.LastIndexByte(rule, '/')]
	}
	return []step{{rule: rule + "/**)", label: "changing any file in this workspace, except protected ones", below: root}}
}

// mayOpen reports whether a rule for everything below a directory may be
// offered: not if the workspace, the home or most of the machine lies below it,
// nor if it holds settings of a program.
func mayOpen(place patterns.Place, dir string) bool {
	if strings.Count(dir, "/") < 2 || strings.Contains(dir, "/.") {
		return false
	}
	for _, root := range append([]string{place.Workspace, place.Home}, place.Roots...) {
		if root == "" || subpath.Within(root, dir) {
			return false
		}
	}
	return true
}

// runners are tools that run what they are given; a rule for the whole tool
// would allow everything.
var runners = []string{"PowerShell", "REPL", "Workflow", "CronCreate", "RemoteTrigger", "Config", "SlashCommand"}

// uses returns the steps for a tool with a named operand (such as a skill), and for
// the tool itself.
func uses(p *permission.Part) []step {
	whole := one(p.Tool, "any use of the tool "+ticked(p.Tool))
	server, tool, mcp := serverOf(p.Tool)
	switch {
	case p.Exact == "":
		return nil
	case mcp:
		all := one(p.Exact, "the tool "+ticked(p.Tool))
		if !strings.Contains(tool, "__") {
			all = append(all, one("mcp__"+server+"__*", "any tool of the MCP server "+ticked(server))...)
		}
		return all
	case p.Exact == p.Tool && slices.Contains(runners, p.Tool):
		return nil
	case p.Exact == p.Tool:
		return whole
	case slices.Contains(runners, p.Tool):
		return one(p.Exact, "the tool "+ticked(p.Tool)+" for "+ticked(p.Name))
	}
	return append(one(p.Exact, "the tool "+ticked(p.Tool)+" for "+ticked(p.Name)), whole...)
}

// serverOf splits mcp__SERVER__TOOL.
func serverOf(name string) (server, tool string, ok bool) {
	rest, ok := strings.CutPrefix(name, "mcp__")
	if !ok {
		return "", "", false
	}
	server, tool, ok = strings.Cut(rest, "__")
	return server, tool, ok && server != "" && tool != ""
}
