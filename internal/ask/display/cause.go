package display

import (
	"cmp"
	"slices"
	"strings"
)

// Cause is one reason why a person is asked, of one action or of several.
type Cause struct {
	Text   string `json:"text,omitempty"` // the first of the actions; "" for the tool use as a whole
	Times  int    `json:"times"`          // how many actions it is about
	Reason string `json:"reason"`         // why it is asked
	Rule   string `json:"rule,omitempty"`
	Source string `json:"source,omitempty"` // of the rule
	Held   bool   `json:"held,omitempty"`
	Risk   string `json:"risk,omitempty"`
	Why    string `json:"why,omitempty"` // the reason for the risk
}

// causes returns what the question comes from.
func (a *Ask) causes() []Cause {
	var all []Cause
	if a.whole() {
		all = append(all, Cause{Times: 1, Reason: a.Reason, Rule: a.Rule, Source: a.RuleSource, Held: a.Held, Risk: a.Risk})
	}
	type key struct{ reason, rule, source string }
	at := map[key]int{}
	for i := range a.Actions {
		one := &a.Actions[i]
		if !one.asks() {
			continue
		}
		c := Cause{Text: one.Text, Reason: one.Reason, Rule: one.Rule, Source: one.Source, Held: one.Held, Risk: one.Risk, Why: one.Why}
		c.Reason = strings.Replace(c.Reason, ": "+one.Text, "", 1)
		k := key{c.Reason, c.Rule, c.Source}
		if _, known := at[k]; !known {
			at[k] = len(all)
			all = append(all, c)
		}
		all[at[k]].Times += one.Times
	}
	slices.SortStableFunc(all, func(a, b Cause) int { return cmp.Compare(a.rank(), b.rank()) })
	return all
}

// rank orders causes: what is held cannot be settled by a rule, and a rule that asks
// tells more than that no rule allows.
func (c *Cause) rank() int {
	switch {
	case c.Held:
		return 0
	case c.Rule != "":
		return 1
	}
	return 2
}

// hides reports whether something that asks is neither marked in the input nor named
// among the causes that are told.
func (a *Ask) hides(actions []Action) bool {
	told := a.told()
	return slices.ContainsFunc(actions, func(one Action) bool {
		return one.asks() && one.end == 0 && !slices.ContainsFunc(told, func(c *Cause) bool { return c.Text == one.Text })
	})
}

// whole reports whether the question is about the tool use as a whole, not because of
// one of its actions.
func (a *Ask) whole() bool {
	return !slices.ContainsFunc(a.Actions, func(one Action) bool { return one.asks() && (one.Held || !a.Held) })
}
