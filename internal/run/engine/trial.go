package engine

import (
	"errors"
	"fmt"

	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Trial compares the rules with what they would be with one rule more in a trusted
// policy. It changes, asks and records nothing.
type Trial struct {
	Rule string // as it is written in a policy
	// Findings are those of policy.Lint about the rule, among the rules in force.
	Findings []policy.Finding

	before, after *Rules
}

// triedSource is the name of the source of the rule of a Trial.
const triedSource = "the rule that is tried"

// Try returns the Trial of a rule for one of the lists of a policy: allow, ask or deny.
// What counts in the session of r counts on both sides. The error says why a policy with
// the rule would not load.
func (r *Rules) Try(list, rule string) (*Trial, error) {
	at := patterns.Source{Name: triedSource, Line: 1}
	more := &policy.Spec{}
	kinds := map[string]struct {
		list  patterns.List
		items *[]policy.Item
	}{"allow": {patterns.Allow, &more.Allow}, "ask": {patterns.Ask, &more.Ask}, "deny": {patterns.Deny, &more.Deny}}
	kind, known := kinds[list]
	if !known {
		return nil, fmt.Errorf("list %q: use allow, ask or deny", list)
	}
	parsed, warnings, err := r.Spec.ParseRule(rule, kind.list, patterns.Source{})
	if err != nil {
		return nil, err
	}
	for _, w := range warnings {
		if w.Kind == patterns.Dead {
			return nil, errors.New(w.Text)
		}
	}
	*kind.items = []policy.Item{{Text: parsed.String(), Source: at}}
	after, err := r.with(policy.Source{Kind: policy.Flags, Name: triedSource, Spec: more, Trusted: true})
	if err != nil {
		return nil, err
	}
	findings, err := policy.LintOf(after.Spec, triedSource)
	return &Trial{parsed.String(), findings, r, after}, err
}

// with returns the rules with a further source, in the same session.
func (r *Rules) with(src policy.Source) (*Rules, error) {
	after, err := compose(r.Place, append(r.Sources[:len(r.Sources):len(r.Sources)], src))
	if err != nil {
		return nil, err
	}
	p := after.Policy
	p.Guarded, p.Credentials, p.Protect = r.Policy.Guarded, r.Policy.Credentials, r.Policy.Protect
	after.options, after.lists, after.gates, after.look, after.Session = r.options, r.lists, r.gates, r.look, r.Session
	return after, nil
}

// Decide returns the decision about a tool use without the rule, with the question if it
// is one, and the decision with the rule.
func (t *Trial) Decide(use permission.ToolUse) (without permission.Request, with permission.Decision) {
	return t.before.Evaluator().Request(use), t.after.Explain(use, nil)
}
