package permission

import (
	"fmt"
	"slices"
	"sync"

	"github.com/agent-wrapper/agent-wrapper/modes"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/risk"
)

// evaluation is the decision of one tool use by one policy while it is being
// made.
type evaluation struct {
	*reading
	policy  *Policy
	session *standing // the session, as it was at the beginning
	traits  modes.Traits

	acts     []act
	edits    []edit // for a mode that allows edits: what each command writes
	settings settings
	through  map[through]*patterns.Rule
}

// answer is what a layer says to an action. Without a behavior it says
// nothing. Most answers are looked at once and dropped, so it is small enough
// for registers, and evaluation.why puts into words only the one that decides.
type answer struct {
	behavior Behavior
	layer    Layer
	reason   reason
	rule     cause
}

// reason is why a layer answers as it does.
type reason uint8

const (
	noReason       reason = iota
	agentPaused           // the session is paused
	catastrophic          // evaluation.catastrophe
	refusedByGate         // evaluation.refusal
	guardsFile            // a guarded file would change
	protectsFile          // a protected one would, and no rule spells it
	noSandbox             // it asks to run outside the sandbox
	forPerson             // it is itself a question
	deniedBy              // a rule
	askedBy               // a rule
	allowedBy             // a rule
	allowedForNow         // a rule of the session
	mayCover              // the rule may be about the action
	onlyReading           // mode plan
	allowedByMode         // the mode
	notListed             // the allow list does not name it
	notListedThere        // the one behind it does not
	nothingToAsk          // there is no action
	needsNoRule           // it counts as listed
	neverRun              // tier 3
	isHarmless            // its tier, or a read inside the workspace
	notAllowed            // nothing speaks for it
)

// held reports whether the answer is an ask that no later layer lifts.
func (a answer) held() bool {
	switch a.reason {
	case guardsFile, protectsFile, noSandbox, forPerson:
		return true
	case mayCover:
		return a.rule.list() == patterns.Deny
	}
	return false
}

// whole reports whether the answer is about the tool use as a whole, not about
// one action.
func (a answer) whole() bool {
	return a.reason == agentPaused || a.reason == catastrophic || a.reason == refusedByGate
}

// cause is the rule behind an answer: one of a list, or a granular one.
type cause struct {
	listed   *patterns.Rule
	granular *patterns.Granular
}

func because(r *patterns.Rule) cause      { return cause{listed: r} }
func granular(g *patterns.Granular) cause { return cause{granular: g} }
func (c cause) given() bool               { return c != cause{} }

func (c cause) text() string {
	switch {
	case c.listed != nil:
		return c.listed.String()
	case c.granular != nil:
		return c.granular.String()
	}
	return ""
}

func (c cause) source() patterns.Source {
	switch {
	case c.listed != nil:
		return c.listed.Source()
	case c.granular != nil:
		return c.granular.Source
	}
	return patterns.Source{}
}

// list is the list that the rule stands in, or the answer that it gives.
func (c cause) list() patterns.List {
	if c.granular != nil {
		return c.granular.Action()
	}
	return c.listed.List()
}

// message is the words that the rule has for the model.
func (c cause) message() string {
	if c.granular != nil {
		return c.granular.Message()
	}
	return ""
}

func (a answer) given() bool { return a.behavior != 0 }

// Evaluate decides a tool use. It has no effects and no input but its
// arguments: env has the only calls out. A nil session has no rules; a nil tr
// costs nothing, another one is filled for explaining the decision.
func Evaluate(p *Policy, s *Session, use *ToolUse, env Env, tr *Trace) Decision {
	return decide(p, s.standing(), use, env, nil, tr)
}

// decide is Evaluate with a gate. Whatever goes wrong is a deny.
func decide(p *Policy, session *standing, use *ToolUse, env Env, gate CommandGate, tr *Trace) (d Decision) {
	if tr != nil {
		*tr = Trace{}
	}
	defer denying(&d, tr)
	if use == nil {
		return refused("there is no tool use")
	}
	r := newReading(use, p.knowledge(), env, gate)
	d = judge(r, p, session, tr)
	r.release()
	return d
}

// denying makes a deny of a panic, and tells the trace of the decision.
func denying(d *Decision, tr *Trace) {
	if r := recover(); r != nil {
		*d = refused(fmt.Sprintf("the evaluator failed: %v", r))
	}
	if tr != nil {
		tr.Decision = *d
	}
}

// knowledge is what tool uses are read with that the policy decides.
func (p *Policy) knowledge() Knowledge {
	if p == nil {
		return Knowledge{}
	}
	return Knowledge{Place: p.Place, Catalog: p.Catalog, Tools: p.Tools}
}

// judge decides by a policy and those that are asked beside it; r is a reading
// with the policy's knowledge.
func judge(r *reading, p *Policy, session *standing, tr *Trace) Decision {
	d := judgeOne(r, p, session, tr)
	if p == nil {
		return d
	}
	for _, more := range p.Further {
		var steps *Trace
		if tr != nil {
			steps = new(Trace)
		}
		now := judgeOne(r.as(more), more, session, steps)
		class := max(d.Risk, now.Risk)
		if now.stricter(&d) {
			if d, now = now, d; tr != nil {
				*tr = *steps
			}
		}
		d.askToo(now.Parts)
		d.Risk, d.Tier = class, class.Tier() // whichever of them says so
	}
	return d
}

// as returns the tool use as it is read with a policy's knowledge.
func (r *reading) as(p *Policy) *reading {
	know := p.knowledge()
	if know == r.know {
		return r
	}
	at := slices.IndexFunc(r.others, func(o *reading) bool { return o.know == know })
	if at < 0 {
		at = len(r.others)
		r.others = append(r.others, newReading(&r.use, know, r.env, r.commandGate))
	}
	r.others[at].wordless = r.wordless
	return r.others[at]
}

// judgeOne decides by one policy.
func judgeOne(r *reading, p *Policy, session *standing, tr *Trace) Decision {
	if p == nil || !p.Mode.Valid() {
		return refused("there is no valid policy")
	}
	if r.err != nil {
		return refused(r.err.Error())
	}
	if len(r.mapped) > 0 {
		return judgeMapped(r, p, session, tr)
	}
	e := begin(r, p, session)
	tr.fill(e)
	d := e.decide()
	e.end()
	return d
}

// stricter reports whether a decision lets less through than another: a held
// ask is one that no rule lifts.
func (d *Decision) stricter(than *Decision) bool {
	if now, was := d.Behavior.strength(), than.Behavior.strength(); now != was {
		return now > was
	}
	return d.Held && !than.Held
}

// evaluations are kept from one decision to the next for their lists. What
// leaves the package is copied from them: no decision and no trace has a
// pointer to an act.
var evaluations = sync.Pool{New: func() any { return new(evaluation) }}

func begin(r *reading, p *Policy, session *standing) *evaluation {
	e := evaluations.Get().(*evaluation)
	e.reading, e.policy, e.session, e.traits = r, p, session, p.Mode.Traits()
	if r.watched.by != p {
		r.watched = watched{by: p}
	}
	e.weigh()
	return e
}

// end gives e back, emptied. What failed, or panicked, is not given back.
func (e *evaluation) end() {
	acts := e.acts
	if cap(acts) > maxKept {
		acts = nil
	}
	clear(acts)
	*e = evaluation{acts: acts[:0], settings: e.settings}
	evaluations.Put(e)
}

// refused is the guard's decision about a tool use that cannot be read.
func refused(why string) Decision {
	return Decision{
		Behavior: Deny,
		Layer:    LayerGuard,
		Reason:   why,
		Message:  "Denied: " + why,
		Risk:     risk.Forbidden,
		Tier:     risk.Forbidden.Tier(),
	}
}

// decide puts what the layers come to into words.
func (e *evaluation) decide() Decision {
	a, i := e.verdict()
	switch a.behavior {
	case 0:
		return e.idle()
	case Ask:
		return e.asked(a, i)
	}
	return e.decision(a, i)
}

// idle is the decision about a line that runs, writes and fetches nothing:
// every one of its actions is free.
func (e *evaluation) idle() Decision {
	return e.decision(answer{behavior: Allow, layer: LayerDefault, reason: nothingToAsk}, 0)
}
