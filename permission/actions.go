package permission

import (
	"slices"

	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/risk"
	"github.com/agent-wrapper/agent-wrapper/shell"
)

// act is one action of a tool use, as the layers of a policy see it.
type act struct {
	*action
	// free: it needs no answer, only ask and deny rules are asked about it.
	free bool
	// protected: a mode does not answer for the path, and it may be held.
	protected bool
	class     risk.Class
	why       string // the reason for the class
	reworded  bool   // it is not that of the tables
	factors   []string
	// override is what the policy says of the class, nil if that is the tables'.
	override *Override
	// lifted: the class is higher than that of the tables. looks: all the same it
	// only looks at something.
	lifted, looks bool
	// listed is what the allow lists say, once they were looked at.
	listed listing
	looked bool
}

// weigh makes acts of the actions that were read.
func (e *evaluation) weigh() {
	found := e.risks(e.policy.Profile)
	e.acts = slices.Grow(e.acts, len(e.actions))
	for i := range e.actions {
		e.acts = append(e.acts, act{action: &e.actions[i]})
		a := &e.acts[i]
		switch {
		case a.does != nil && i < len(found):
			a.class, a.why, a.factors = found[i].Class, found[i].Reason, found[i].Factors
		case a.does != nil: // nothing is known of its risk
		case a.chore || a.beside:
			a.class = risk.Safe
		default:
			a.class = risk.Moderate
		}
		if a.class < risk.Safe || a.class > risk.Forbidden {
			a.class = risk.Forbidden // no class at all
		}
		a.protected = a.sub.Kind == patterns.WritePath && e.protects(a)
		a.free = a.beside || a.does != nil && (a.does.Need == shell.NeedNone || a.does.Need == shell.NeedOutside && a.inside && !a.protected)
	}
	if e.does() {
		e.overlay()
	}
}

// does reports whether the tool use is more than a tool's name.
func (e *evaluation) does() bool { return e.actions[0].does != nil }

// risks are the risks of the actions by the tables of a profile, in their
// order; none for those that are beside, which stand behind, and for a tool
// that is used as a whole.
func (r *reading) risks(profile risk.Profile) []risk.Finding {
	if r.weighed && r.profile == profile {
		return r.found
	}
	r.weighed, r.profile, r.found = true, profile, r.found[:0]
	switch {
	case r.facts != nil:
		r.found = risk.AppendEach(r.found, r.facts, profile, r.riskPlace())
	case r.actions[0].does != nil:
		r.found = append(r.found, risk.Action(r.actions[0].does, profile))
	}
	return r.found
}
