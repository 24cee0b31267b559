package hostrules

import (
	"strings"

	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// Hosts whose rules have an order let one rule override another. Ours have none: deny, ask,
// allow. So of each tool's rules
//
//   - one that a stronger rule for everything overrides is left out;
//   - an ask or a deny that is overridden in part, and that overrides no allow itself, is
//     left out: what no rule allows is asked about here anyway;
//   - every other ask or deny stays, and then still counts where it is overridden there.
//
// What ours allows then matches an allow and no ask or deny that stayed. Were the rule that
// decides there an ask or deny, it would have been left out; then no weaker allow overlaps
// with it, and a stronger one would decide there.

// ordered is a rule about one tool of a host whose rules have an order.
type ordered struct {
	e     *entry
	tool  string
	all   bool   // it is about everything that the tool does
	fixed string // what everything that it matches begins with
	exact bool   // it matches nothing else
	take  func() // takes the rule
}

// overlaps reports whether two rules may be about the same use of a tool.
func (r *ordered) overlaps(s *ordered) bool {
	switch {
	case r.tool != s.tool:
		return false
	case r.all || s.all:
		return true
	case r.exact && s.exact:
		return r.fixed == s.fixed
	case r.exact:
		return strings.HasPrefix(r.fixed, s.fixed)
	case s.exact:
		return strings.HasPrefix(s.fixed, r.fixed)
	}
	return strings.HasPrefix(r.fixed, s.fixed) || strings.HasPrefix(s.fixed, r.fixed)
}

// takeOrdered takes rules, from the weakest to the strongest.
func (c *collector) takeOrdered(rules []ordered) {
	dead := make([]bool, len(rules))
	for i := range rules {
		for j := i + 1; j < len(rules); j++ {
			dead[i] = dead[i] || rules[j].all && rules[j].tool == rules[i].tool
		}
	}
	some := func(from, to, i int) bool {
		for j := from; j < to; j++ {
			if !dead[j] && rules[j].e.list == patterns.Allow && rules[j].overlaps(&rules[i]) {
				return true
			}
		}
		return false
	}
	for i := range rules {
		r := &rules[i]
		later, earlier := some(i+1, len(rules), i), some(0, i, i)
		switch {
		case dead[i]:
			if r.e.at.Name != "" { // one of the file
				c.leave(r.e, whyOverridden, "")
			}
		case r.e.list == patterns.Allow || !later:
			r.take()
		case earlier || r.e.at.Name == "":
			before := len(c.out.Rules)
			r.take()
			if len(c.out.Rules) == before || c.out.Rules[before].Outcome == LeftOut {
				continue
			}
			kept := &c.out.Rules[before]
			kept.Outcome, kept.Reason, kept.Note = Tightened, whyOverruled, ""
		case r.e.list == patterns.Ask:
			c.leave(r.e, whyIsDefault, "what no rule allows is asked about")
		default:
			c.leave(r.e, whyIsDefault, "but it is asked about, not denied: rules that override it there allow some of it")
		}
	}
}
