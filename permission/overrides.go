package permission

import (
	"errors"
	"fmt"
	"slices"

	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// Override is the policy's risk of some actions. It raises what may be one of
// them, as a deny rule would match, and lowers only what is proven to be one,
// as an allow rule would match. If several apply to an action, the highest
// class counts. A catastrophic command and an opaque spot are never lowered.
type Override struct {
	// Commands and Paths match the actions. With both, the override applies to
	// commands that read and write only such paths.
	Commands, Paths Matched
	Class           risk.Class
	Reason          string // for a person, "" if none is given
	Text            string // as the policy states it
	Source          patterns.Source
	// Narrow reports that it only raises, including what another override lowers.
	// Kept reports that it may lower, but also raises what another one lowers.
	Narrow, Kept bool
}

// Matched matches actions in the two ways in which rules do; nil sets match
// none.
type Matched struct {
	Possible *patterns.Set // deny rules
	Proven   *patterns.Set // allow rules; nil: nothing is proven
}

// Risks returns the effects of a command line and the risk of each of its
// actions, as used by a decision. For a policy with further ones these are the
// risks by the policy that finds the highest class.
func (p *Policy) Risks(use *ToolUse, env Env) (facts *shell.Facts, found []risk.Finding, err error) {
	defer caught("the evaluator", &err)
	r := newReading(use, p.knowledge(), env, nil)
	for _, one := range append([]*Policy{p}, p.Further...) {
		f, risks, err := one.risks(r.as(one))
		if err != nil {
			return nil, nil, err
		}
		if facts == nil || highest(risks) > highest(found) {
			facts, found = f, risks
		}
	}
	r.release()
	return facts, found, nil
}

func highest(found []risk.Finding) (class risk.Class) {
	for i := range found {
		class = max(class, found[i].Class)
	}
	return class
}

func (p *Policy) risks(r *reading) (*shell.Facts, []risk.Finding, error) {
	switch {
	case r.err != nil:
		return nil, nil, r.err
	case r.facts == nil:
		return nil, nil, errors.New("a use of " + r.use.Tool + " runs no command line")
	}
	e := begin(r, p, &noStanding)
	found := slices.Clone(e.found)
	for i := range found {
		a := &e.acts[i]
		found[i].Class = a.class
		if a.reworded {
			found[i].Say(a.class, a.why)
		}
		if a.override != nil {
			found[i].Factors = append(slices.Clip(found[i].Factors), risk.FactorOverride)
		}
	}
	e.end()
	return r.facts, found, nil
}

// overlay applies the policy's overrides to the classes of the actions.
func (e *evaluation) overlay() {
	if len(e.policy.Overrides) == 0 && !e.policy.SensitiveAsks {
		return
	}
	for i := range e.acts {
		if e.acts[i].does != nil {
			e.overrideOne(i)
			e.sensitive(&e.acts[i])
		}
	}
}

func (e *evaluation) overrideOne(i int) {
	var up *Override
	down := e.inherited(i)
	for n := range e.policy.Overrides {
		o := &e.policy.Overrides[n]
		switch {
		case o.Narrow:
		case o.Class > e.acts[i].class:
			if (up == nil || o.Class > up.Class) && e.concerns(o, i) {
				up = o
			}
		case (down == nil || o.Class > down.Class) && e.lowers(o, i):
			down = o
		}
	}
	a := &e.acts[i]
	switch {
	case up != nil:
		a.raise(up, e.policy.RiskOff)
	case down != nil:
		a.say(down, down.Class)
	}
	for n := range e.policy.Overrides {
		if o := &e.policy.Overrides[n]; (o.Narrow || o.Kept) && o.Class > a.class && e.concerns(o, i) {
			a.raise(o, e.policy.RiskOff)
		}
	}
}

// inherited returns the override that lowered the command whose purpose is a
// write in the workspace, since it includes what the command is meant to write.
// It excludes protected paths, which then need an answer of their own.
func (e *evaluation) inherited(i int) *Override {
	a := &e.acts[i]
	if a.parent < 0 || !a.inside || a.sub.Kind != patterns.WritePath || !a.does.Purpose {
		return nil
	}
	by := &e.acts[a.parent]
	if by.override == nil || by.lifted || by.override.Class >= a.class {
		return nil
	}
	if e.protects(a) {
		a.free = a.free && e.policy.RiskOff
		return nil
	}
	return by.override
}

// sensitive raises the class of reading a sensitive path, and of a command that
// prints variables, for which then only rules that name them count.
func (e *evaluation) sensitive(a *act) {
	if !e.policy.SensitiveAsks {
		return
	}
	why := "reads a sensitive path"
	switch {
	case a.does.Kind == shell.Read:
		if a.secrets = e.secrets(a); len(a.secrets) == 0 {
			if a.secrets = e.secretsBelow(a); len(a.secrets) == 0 {
				return
			}
			verb := "searches "
			if a.does.Found || !a.does.Recursive {
				verb = "reads "
			}
			why = verb + a.secrets[0].Names[0] + " as well"
		}
	case a.does.Environment && (a.class < risk.Moderate || a.override != nil || holdsSecret(a.does.Words)):
		why, a.looks = "shows variables that may hold secrets", true
	default:
		return
	}
	a.secret = !e.policy.RiskOff
	if a.class < risk.Moderate || a.class == risk.Moderate && a.does.Kind == shell.Command {
		a.class, a.why, a.reworded = risk.Moderate, why, true
		a.lift(e.policy.RiskOff)
	}
}

// raise gives the action a higher class. Only a person can tell whether an
// override applies to what cannot be read.
func (a *act) raise(o *Override, riskOff bool) {
	class := o.Class
	if a.sub.Kind == patterns.Hidden {
		class = min(class, risk.High)
	}
	if class > a.class {
		a.say(o, class)
		a.lift(riskOff)
	}
}

// lift makes an action require an answer although its kind does not, since its
// tier would otherwise have no effect.
func (a *act) lift(riskOff bool) {
	a.lifted = true
	a.free = a.free && (riskOff || a.sub.Kind == patterns.Hidden)
}

func (a *act) say(o *Override, class risk.Class) {
	a.class, a.override, a.reworded = class, o, true
	a.why = fmt.Sprintf("risk_overrides %s", o.Text)
	if o.Reason != "" {
		a.why = fmt.Sprintf("%s (risk_overrides %s)", o.Reason, o.Text)
	}
}

// concerns reports whether an override may apply to an action.
func (e *evaluation) concerns(o *Override, i int) bool {
	commands, paths := o.Commands.Possible, o.Paths.Possible
	switch e.acts[i].sub.Kind {
	case patterns.RunCommand:
		if commands != nil {
			return e.may(commands, i) && (paths == nil || e.reaches(paths, i))
		}
	case patterns.Hidden:
		if commands != nil {
			return e.may(commands, i)
		}
	case patterns.ReadPath, patterns.WritePath:
		if commands != nil {
			return false
		}
	default:
		return false
	}
	return e.may(paths, i)
}

func (e *evaluation) may(set *patterns.Set, i int) bool {
	_, m := e.stated(set, i, patterns.Query{})
	return m != patterns.No
}

// reaches reports whether a command may read or write one of the paths.
func (e *evaluation) reaches(paths *patterns.Set, i int) bool {
	if e.may(paths, i) {
		return true
	}
	for j := range e.acts {
		if e.acts[j].touches(i) && e.may(paths, j) {
			return true
		}
	}
	return false
}

// touches reports whether a is a read or a write of the command i.
func (a *action) touches(i int) bool {
	return a.parent == i && (a.sub.Kind == patterns.ReadPath || a.sub.Kind == patterns.WritePath)
}

// lowers reports whether an override is proven to apply to an action whose
// class it may lower. Mode plan uses the tables alone.
func (e *evaluation) lowers(o *Override, i int) bool {
	a := &e.acts[i]
	if e.traits.ReadOnly || slices.Contains(a.factors, risk.FactorCatastrophic) {
		return false
	}
	commands, paths := o.Commands.Proven, o.Paths.Proven
	switch a.sub.Kind {
	case patterns.RunCommand:
		return a.proven(commands) && (o.Paths.Possible == nil || e.staysIn(paths, i))
	case patterns.WritePath:
		return o.Commands.Possible == nil && a.proven(paths) && !e.protects(a)
	case patterns.ReadPath:
		return o.Commands.Possible == nil && a.proven(paths)
	}
	return false
}

// proven reports whether a rule of the set matches this very action; a rule for
// its whole line does not count, nor a bare rule for an action of tier 3.
func (a *act) proven(set *patterns.Set) bool {
	sub := a.sub
	sub.Line = ""
	return yes(set, &sub, patterns.Query{Specific: a.class.Tier() == 3, Reach: a.reach()}) != nil
}

// staysIn reports whether all that a command reads and writes is known and
// among the paths.
func (e *evaluation) staysIn(paths *patterns.Set, i int) bool {
	any := false
	for j := range e.acts {
		if !e.acts[j].touches(i) {
			continue
		}
		if any = e.acts[j].proven(paths); !any {
			return false
		}
	}
	return any
}
