package policy

import (
	"errors"
	"fmt"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// OverrideSpec sets the risk of some actions: of commands, of what is read and
// written, or, with both, of commands that read and write nothing else.
type OverrideSpec struct {
	Pattern, Path string // as in Bash(...) and Edit(...); "" if it has none
	Risk          string // safe, moderate, high or forbidden
	Reason        string
	Source        patterns.Source

	places map[string]patterns.Source // of the keys that are given
	// narrow: it can only raise. kept: its risk cannot be lowered.
	narrow, kept bool
}

func (o overrideTable) spec(path string, place func(string) patterns.Source) OverrideSpec {
	s := OverrideSpec{Pattern: o.Pattern, Path: o.Path, Risk: o.Risk, Reason: o.Reason, Source: place(path), places: map[string]patterns.Source{}}
	for _, key := range []string{"pattern", "path", "risk"} {
		if at := place(path + "." + key); at.Line > 0 {
			s.places[key] = at
		}
	}
	return s
}

// at returns the place of a key, or else that of the override.
func (o *OverrideSpec) at(key string) patterns.Source {
	if at, ok := o.places[key]; ok {
		return at
	}
	return o.Source
}

func (o *OverrideSpec) given(key, value string) bool {
	_, there := o.places[key]
	return there || value != ""
}

// name returns the name of the override in messages.
func (o *OverrideSpec) name() string {
	if o.Pattern == "" || o.Path == "" {
		return o.Pattern + o.Path
	}
	return o.Pattern + " in " + o.Path
}

// String returns the override on one line: "forbidden kubectl delete:*".
func (o *OverrideSpec) String() string {
	if o.Reason == "" {
		return o.Risk + " " + o.name()
	}
	return fmt.Sprintf("%s %s reason=%q", o.Risk, o.name(), o.Reason)
}

func (o *OverrideSpec) same(other OverrideSpec) bool {
	return o.Source == other.Source && o.String() == other.String()
}

func (c *compiler) overrides() []permission.Override {
	var list []permission.Override
	for i := range c.spec.RiskOverrides {
		list = append(list, c.override(&c.spec.RiskOverrides[i]))
	}
	return list
}

func (c *compiler) override(o *OverrideSpec) permission.Override {
	class, ok := risk.ParseClass(o.Risk)
	pattern, path := o.given("pattern", o.Pattern), o.given("path", o.Path)
	if !ok {
		c.fail(at(o.at("risk"), fmt.Errorf("risk is %q: write safe, moderate, high or forbidden", o.Risk)))
	}
	if !pattern && !path {
		c.fail(at(o.Source, errors.New("risk_overrides names nothing: give it a pattern, a path or both")))
	}
	out := permission.Override{Class: class, Reason: o.Reason, Text: o.name(), Source: o.Source, Narrow: o.narrow, Kept: o.kept}
	if pattern {
		c.fail(o.checkPattern())
		out.Commands = c.matched(o, "pattern", o.Pattern, "Bash")
	}
	if path {
		out.Paths = c.matched(o, "path", o.Path, "Edit", "Read")
	}
	return out
}

// checkPattern reports a pattern that is more than one command. An override
// must not lower the risk of a command because of the line it is in.
func (o *OverrideSpec) checkPattern() error {
	if strings.Contains(o.Pattern, "*") || strings.TrimSpace(o.Pattern) == "" {
		return nil // parsing the rule reports it
	}
	if shell.Analyze(o.Pattern, shell.Options{}).Simple {
		return nil
	}
	return at(o.at("pattern"), fmt.Errorf("pattern %q is not a single command: write one override for each command", o.Pattern))
}

// matched parses the text of an override as rules of the tools. The text need not
// be valid as an allow rule, which one that begins with a wildcard is not: such
// an override only raises risks. For "safe" it must be, since "safe" only lowers.
func (c *compiler) matched(o *OverrideSpec, key, text string, tools ...string) permission.Matched {
	var possible, proven []*patterns.Rule
	for _, tool := range tools {
		rule, err := o.rule(key, tool, text, patterns.Deny)
		if err != nil {
			c.fail(err)
			return permission.Matched{}
		}
		possible = append(possible, rule)
		switch rule, err := o.rule(key, tool, text, patterns.Allow); {
		case err == nil:
			proven = append(proven, rule)
		case o.Risk == "safe":
			c.fail(err) // it would have no effect
			return permission.Matched{}
		}
	}
	return permission.Matched{Possible: patterns.NewSet(c.place, possible...), Proven: patterns.NewSet(c.place, proven...)}
}

// rule parses the text of a key as a rule of a tool. An error has the place of
// the text.
func (o *OverrideSpec) rule(key, tool, text string, list patterns.List) (*patterns.Rule, error) {
	rule, warnings, err := patterns.Parse(tool+"("+text+")", list, patterns.Source{Dir: o.Source.Dir})
	for _, w := range warnings {
		if w.Kind == patterns.Dead {
			return nil, at(o.at(key), fmt.Errorf("%s of risk_overrides: %s: %s", key, w.Rule, w.Text))
		}
	}
	var fault *patterns.Error
	if !errors.As(err, &fault) {
		return rule, err
	}
	place := o.at(key)
	if place.Col > 0 {
		place.Col += 1 + max(fault.Col-len(tool)-2, 0)
	}
	return nil, at(place, fmt.Errorf("%s of risk_overrides: %w", key, fault))
}
