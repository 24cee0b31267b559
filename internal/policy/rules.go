package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/internal/text/strictjson"
	"github.com/agent-wrapper/agent-wrapper/internal/text/stricttoml"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/internal/workspace"
	"github.com/agent-wrapper/agent-wrapper/modes"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// maxRules is the maximum length of granular rules in JSON, in bytes.
const maxRules = 256 << 10

// ParseRules parses granular rules in JSON, an array of objects with the keys
// of [[rules]] in a policy file. src names the origin of the text; each rule
// gets its own line and column.
func ParseRules(jsonText string, src patterns.Source) ([]RuleSpec, error) {
	data, limit := []byte(jsonText), strictjson.MaxSize(maxRules)
	var list []ruleTable
	if err := strictjson.Decode(data, &list, limit); err != nil {
		return nil, fmt.Errorf("%s:%w", src.Name, err)
	}
	places, err := strictjson.Positions(data, limit)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", src.Name, err)
	}
	place := func(path string) patterns.Source {
		p := places[path]
		return patterns.Source{Name: src.Name, Line: p.Line, Col: p.Col}
	}
	var rules []RuleSpec
	for i, r := range list {
		rules = append(rules, r.spec(fmt.Sprintf("[%d]", i), place))
	}
	return rules, nil
}

// compiler collects the errors of a Spec while it is compiled.
type compiler struct {
	spec     *Spec
	place    patterns.Place
	tools    *tools.Table
	warnings []string
	errs     []error
}

func (c *compiler) fail(err error) {
	if err != nil {
		c.errs = append(c.errs, err)
	}
}

// Compile returns the policy and the session by which package permission
// decides. The warnings are about rules that load but are dead or dangerous.
// The error joins all errors; the policy then denies everything.
func (s *Spec) Compile(place patterns.Place) (*permission.Policy, *permission.Session, []string, error) {
	c := &compiler{spec: s, place: place}
	p := c.policy()
	session := permission.NewSession(place)
	session.Tools, session.Limits = p.Tools, c.limits()
	c.approvals()
	for _, more := range s.Further {
		f := &compiler{spec: more, place: place}
		p.Further = append(p.Further, f.policy())
		c.take(f)
	}
	c.fail(session.Add(append(c.list(append(slices.Clip(s.SessionAllow), s.Approved...), patterns.Allow), c.list(s.SessionDeny, patterns.Deny)...)...))
	if err := errors.Join(c.errs...); err != nil {
		// A policy whose mode is invalid denies everything.
		return &permission.Policy{Place: place}, session, c.warnings, err
	}
	return p, session, c.warnings, nil
}

// take adds the errors and warnings of another compiler that c does not have. A
// further policy mostly repeats the first.
func (c *compiler) take(f *compiler) {
	for _, w := range f.warnings {
		if !slices.Contains(c.warnings, w) {
			c.warnings = append(c.warnings, w)
		}
	}
	for _, err := range f.errs {
		known := func(e error) bool { return e.Error() == err.Error() }
		if !slices.ContainsFunc(c.errs, known) {
			c.errs = append(c.errs, err)
		}
	}
}

func (c *compiler) policy() *permission.Policy {
	s := c.spec
	var err error
	c.tools, err = s.toolTable() // first, since rules may name mapped tools
	c.fail(err)
	c.fail(s.oneOf("unlisted", "ask", "deny", "risk"))
	c.fail(s.oneOf("risk", "on", "off"))
	c.fail(s.oneOf("catastrophic", "on", "off"))
	c.fail(s.oneOf("whitelist_bypass", "on", "off"))
	c.fail(s.oneOf("advice", "on", "off"))
	c.fail(s.oneOf("sandbox", "off", "on", "require"))
	c.fail(s.oneOf("profile", "default", "terminal"))
	c.fail(s.oneOf("sensitive_paths", "note", "ask"))
	c.fail(s.oneOf("inline_code", "off", "as-files"))
	profile, _ := risk.ParseProfile(s.Profile)
	c.fail(s.namesWhitelists())
	c.fail(s.Escalation.check())
	c.fail(s.Notify.check())
	return &permission.Policy{
		Mode:           c.mode(),
		OwnMode:        s.ownMode,
		Allow:          c.set(packAllow, s.Allow, patterns.Allow),
		Ask:            c.set(packAsk, s.Ask, patterns.Ask),
		Deny:           c.set(packDeny, s.Deny, patterns.Deny),
		Rules:          c.rules(),
		Gate:           c.set(packGate, s.Gate, patterns.Allow),
		Catalog:        c.catalog(),
		Tools:          c.tools,
		Unlisted:       unlisted[s.Unlisted],
		RiskOff:        s.Risk == "off",
		NoCatastrophic: s.Catastrophic == "off",
		Profile:        profile,
		ByRisk:         c.byRisk(),
		Overrides:      c.overrides(),
		SensitiveAsks:  s.SensitivePaths == "ask" || s.SensitivePaths == "" && profile != risk.Terminal,
		InlineAsFiles:  s.InlineCode == "as-files",
		Public:         c.publicReads(),
		Protect:        c.protected(),
		Place:          c.place,
		Version:        s.Digest(),
	}
}

// protected returns the paths that the policy protects in addition to the
// built-in table.
func (c *compiler) protected() []permission.Protected {
	var list []permission.Protected
	for _, item := range c.spec.Protect {
		p, err := permission.ParseProtected(item.Text, c.place)
		if err != nil {
			c.fail(at(item.Source, fmt.Errorf("protect %q: %w", item.Text, err)))
			continue
		}
		list = append(list, p)
	}
	return list
}

// catalog returns the catalogue with the programs of the policy, nil if it has
// none.
func (c *compiler) catalog() *program.Catalog {
	if len(c.spec.Programs) == 0 {
		return nil
	}
	tables, places := map[string]any{}, map[string]patterns.Source{}
	for _, p := range c.spec.Programs {
		tables[p.Name] = p.table
		maps.Copy(places, p.places)
	}
	catalog, err := program.NewCatalog(tables, func(table []string, key string) string {
		path := stricttoml.Path(append([]string{"programs"}, table...)...)
		if at, ok := places[path+"."+key]; ok {
			return placed(at)
		}
		return placed(places[path])
	})
	c.fail(err)
	return catalog
}

var unlisted = map[string]permission.Unlisted{
	"ask": permission.UnlistedAsk, "deny": permission.UnlistedDeny, "risk": permission.UnlistedRisk,
}

func (c *compiler) mode() modes.Mode {
	if c.spec.Mode == "" && c.spec.places["mode"].Line == 0 {
		return modes.Default
	}
	mode, err := modes.Parse(c.spec.Mode)
	if err != nil {
		c.fail(c.spec.fault("mode", err))
	}
	return mode
}

func (c *compiler) set(which int, items []Item, list patterns.List) *patterns.Set {
	if c.spec.packed != nil {
		return c.spec.packed.set(which, list, c)
	}
	return patterns.NewSet(c.place, c.list(items, list)...)
}

// list parses the rules of a list. A duplicate rule is kept once.
func (c *compiler) list(items []Item, list patterns.List) []*patterns.Rule {
	var rules []*patterns.Rule
	seen := map[string]bool{}
	for _, item := range items {
		rule, warnings, err := patterns.ParseWith(c.tools, item.Text, list, item.Source)
		if err != nil {
			c.fail(err)
			continue
		}
		for _, w := range warnings {
			c.warnings = append(c.warnings, w.String())
		}
		if key := rule.String() + "\n" + item.Source.Dir; !seen[key] {
			seen[key] = true
			rules = append(rules, rule)
		}
	}
	return rules
}

func (c *compiler) rules() []*patterns.Granular {
	var rules []*patterns.Granular
	for _, r := range c.spec.Rules {
		place := c.place.For(r.Source)
		g, err := r.compile(place, c.tools)
		if err != nil {
			c.fail(err)
			continue
		}
		rules = append(rules, g)
		c.fail(r.examples(g, place, c.tools))
	}
	return rules
}

var actions = map[string]patterns.List{"allow": patterns.Allow, "ask": patterns.Ask, "deny": patterns.Deny}

func (r *RuleSpec) compile(place patterns.Place, known *tools.Table) (*patterns.Granular, error) {
	action, ok := actions[r.Action]
	if !ok {
		return nil, at(r.Source, fmt.Errorf("action is %q: write allow, ask or deny", r.Action))
	}
	g, err := patterns.CompileGranular(patterns.GranularSpec{
		Tools: r.Tools, Paths: r.Paths, Commands: r.Commands, Patterns: r.Patterns, Domains: r.Domains,
		Action: action, Message: r.Message, Source: r.Source,
		Known: known,
	}, place)
	return g, err
}

// examples checks the rule's match and not_match.
func (r *RuleSpec) examples(g *patterns.Granular, place patterns.Place, known *tools.Table) error {
	var errs []error
	for _, example := range r.Match {
		switch d, answers, err := r.try(g, example.Text, place, known); {
		case err != nil:
			errs = append(errs, at(example.Source, fmt.Errorf("match: %w", err)))
		case !answers || d.Behavior.String() != r.Action:
			errs = append(errs, at(example.Source, fmt.Errorf("match: the rule does not %s %s", r.Action, example.Text)))
		}
	}
	for _, example := range r.NotMatch {
		switch d, answers, err := r.try(g, example.Text, place, known); {
		case err != nil:
			errs = append(errs, at(example.Source, fmt.Errorf("not_match: %w", err)))
		case answers:
			errs = append(errs, at(example.Source, fmt.Errorf("not_match: the rule matches %s, or may match it (%s)", example.Text, d.Reason)))
		}
	}
	return errors.Join(errs...)
}

// try decides an example by a policy that holds only this rule. If the rule
// asks or denies, everything else is allowed, so that the rule decides wherever
// it answers. Where the guard of a protected path asks first, the trace shows
// whether the rule answers.
func (r *RuleSpec) try(g *patterns.Granular, example string, place patterns.Place, known *tools.Table) (d permission.Decision, answers bool, err error) {
	use, err := r.use(example, place)
	if err != nil {
		return d, false, err
	}
	p := &permission.Policy{
		Mode: modes.Default, Rules: []*patterns.Granular{g},
		RiskOff: true, NoCatastrophic: true, Place: place, Tools: known,
	}
	if r.Action != "allow" {
		all, _, err := patterns.ParseWith(known, use.Tool, patterns.Allow, r.Source)
		if err != nil {
			return d, false, err
		}
		p.Allow = patterns.NewSet(place, all)
	}
	var tr permission.Trace
	d = permission.Evaluate(p, permission.NewSession(place), &use, workspace.Fake{Dir: place.Workspace}, &tr)
	return d, d.Layer == permission.LayerRules || d.Held && r.answersIn(&tr), nil
}

// answersIn reports whether a granular rule answers an action with its own
// behavior.
func (r *RuleSpec) answersIn(tr *permission.Trace) bool {
	return slices.ContainsFunc(tr.Actions, func(a permission.TracedAction) bool {
		return slices.ContainsFunc(a.Steps, func(s permission.Step) bool {
			return s.Layer == permission.LayerRules && s.Behavior.String() == r.Action
		})
	})
}

// use parses an example as a tool use: "Tool(text)", or only the text if the
// rule names a single tool.
func (r *RuleSpec) use(example string, place patterns.Place) (permission.ToolUse, error) {
	name, _, call := strings.Cut(example, "(")
	call = call && strings.HasSuffix(example, ")") && name != "" && !strings.ContainsFunc(name, notName)
	read := parseUse
	if !call && len(r.Tools) == 1 {
		read = func(text string) (string, json.RawMessage, error) { return textUse(r.Tools[0], text) }
	}
	tool, input, err := read(example)
	return permission.ToolUse{Tool: tool, Input: input, Dir: place.Workspace}, err
}
