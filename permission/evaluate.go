package permission

import (
	"fmt"
	"slices"
	"sync"

	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/modes"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// evaluation is the state of the decision on one tool use by one policy.
type evaluation struct {
	*reading
	policy  *Policy
	session *standing // the session as it was at the beginning
	traits  modes.Traits

	acts     []act
	edits    []edit // what each command writes, for a mode that allows edits
	settings settings
	through  map[through]*patterns.Rule
	// secretRules holds the rules that search for files with secrets, by their patterns.
	secretRules map[string]*patterns.Rule
	// vagueParent caches the doubt about a command for its many paths.
	vagueParent vagueParent
}

// answer is the answer of a layer to an action. The zero value is no answer.
// Most answers are compared once and dropped, so answer is small enough for
// registers, and evaluation.why only formats the one that decides.
type answer struct {
	behavior Behavior
	layer    Layer
	reason   reason
	rule     cause
}

// reason is the reason for the answer of a layer.
type reason uint8

const (
	noReason        reason = iota
	agentPaused            // the session is paused
	limitReached           // a limit of the session is reached
	catastrophic           // evaluation.catastrophe
	refusedByGate          // evaluation.refusal
	guardsFile             // a guarded file would be changed
	readsCredential        // a credential of a person would be read
	protectsFile           // a protected file would be changed, and no rule spells it out
	noSandbox              // the tool use asks to run outside the sandbox
	unread                 // a limit kept a part of the line from being read
	forPerson              // the tool use is a question itself
	forced                 // ToolUse.ForceAsk
	deniedBy               // a rule
	askedBy                // a rule
	allowedBy              // a rule
	allowedForNow          // a rule of the session
	mayCover               // the rule may match the action
	onlyReading            // mode plan
	allowedByMode          // the mode
	notListed              // the allow list does not name it
	notListedThere         // the second list does not name it
	nothingToAsk           // there is no action
	needsNoRule            // it counts as listed
	neverRun               // tier 3
	removesRemade          // tier 3, but what it removes is made anew
	isHarmless             // by its tier, or as a read inside the workspace
	isContained            // by the sandbox around it
	notAllowed             // nothing allows it
	riskDenied             // Policy.ByRisk
)

// held reports whether the answer is an ask that no later layer can lift.
func (a answer) held() bool {
	switch a.reason {
	case limitReached, guardsFile, readsCredential, protectsFile, noSandbox, unread, forPerson, forced:
		return true
	case mayCover:
		return a.rule.list() == patterns.Deny
	}
	return false
}

// whole reports whether the answer is about the tool use as a whole rather than
// one action.
func (a answer) whole() bool {
	switch a.reason {
	case agentPaused, limitReached, forced, catastrophic, refusedByGate:
		return true
	}
	return false
}

// cause is the rule behind an answer: a rule of a list, or a granular one.
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

// list returns the list of the rule, or the action of a granular one.
func (c cause) list() patterns.List {
	if c.granular != nil {
		return c.granular.Action()
	}
	return c.listed.List()
}

// message returns the message of the rule for the model.
func (c cause) message() string {
	if c.granular != nil {
		return c.granular.Message()
	}
	return ""
}

func (a answer) given() bool { return a.behavior != 0 }

// Evaluate decides a tool use. It has no effects and no input but its
// arguments, and calls only the methods of env. A nil session has no rules. A
// nil tr costs nothing; otherwise Evaluate fills tr to explain the decision.
func Evaluate(p *Policy, s *Session, use *ToolUse, env Env, tr *Trace) Decision {
	return decide(p, s.standing(), use, env, nil, tr)
}

// decide is Evaluate with a gate. Any failure results in a deny.
func decide(p *Policy, session *standing, use *ToolUse, env Env, gate CommandGate, tr *Trace) (d Decision) {
	if tr != nil {
		*tr = Trace{}
	}
	defer denying(&d, tr)
	if use == nil {
		return refused("there is no tool use")
	}
	r := newReading(use, p.knowledge().in(session), env, gate)
	d = judge(r, p, session, tr)
	r.release()
	return d
}

// denying converts a panic to a deny, and records the decision in the trace.
func denying(d *Decision, tr *Trace) {
	if r := recover(); r != nil {
		*d = refused(fmt.Sprintf("internal error in the evaluator: %v", r))
	}
	if tr != nil {
		tr.Decision = *d
	}
}

// knowledge returns the parts of the policy with which tool uses are read.
func (p *Policy) knowledge() Knowledge {
	if p == nil {
		return Knowledge{}
	}
	return Knowledge{Place: p.Place, Catalog: p.Catalog, Tools: p.Tools}
}

// as returns the tool use as read with a policy's knowledge.
func (r *reading) as(p *Policy) *reading {
	know := p.knowledge().with(r.know.scratch)
	if know.equal(&r.know) {
		return r
	}
	at := slices.IndexFunc(r.others, func(o *reading) bool { return o.know.equal(&know) })
	if at < 0 {
		at = len(r.others)
		r.others = append(r.others, newReading(&r.use, know, r.env, r.commandGate))
	}
	r.others[at].wordless, r.others[at].holding = r.wordless, r.holding
	return r.others[at]
}

// judgeOne decides by one policy.
func judgeOne(r *reading, p *Policy, session *standing, tr *Trace) Decision {
	if p == nil || !p.Mode.Valid() {
		r.stopped = true
		return refused("there is no valid policy")
	}
	if r.err != nil {
		r.stopped = true
		return refused(r.err.Error())
	}
	if len(r.mapped) > 0 {
		return judgeMapped(r, p, session, tr)
	}
	e := begin(r, p, session)
	tr.fill(e)
	d := e.decide()
	d.Sandbox, d.SandboxWhy = e.where()
	if d.OnlyReads = d.Sandbox == Inside && e.onlyReads(); d.OnlyReads || d.Sandbox == Outside {
		d.Programs = e.lookedFor()
	}
	e.end()
	return d
}

// nameRule makes an ask name the rule by which another one asks, if it has none itself, and
// reports whether it does.
func (d *Decision) nameRule(by *Decision) bool {
	if !by.asker || by.Behavior != Ask || d.asker || d.Behavior != Ask || d.Held {
		return false
	}
	d.said(by)
	return true
}

// said makes an ask name what another one is by.
func (d *Decision) said(by *Decision) {
	d.Layer, d.Rule, d.RuleSource, d.Reason, d.Message = by.Layer, by.Rule, by.RuleSource, by.Reason, by.Message
	d.asker, d.cause = by.asker, by.cause
}

// evaluations are reused between decisions for their lists. Whatever leaves the
// package is copied from them: no decision or trace may have a pointer to an
// act.
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

// end clears e and returns it to the pool. It is not called after a failure or
// a panic.
func (e *evaluation) end() {
	acts := e.acts
	if cap(acts) > maxKept {
		acts = nil
	}
	clear(acts)
	*e = evaluation{acts: acts[:0], settings: e.settings}
	evaluations.Put(e)
}

// refused returns the guard's denial of a tool use that cannot be read.
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

// decide returns the verdict of the layers as a decision.
func (e *evaluation) decide() Decision {
	a, i := e.verdict()
	switch a.behavior {
	case 0:
		return e.idle()
	case Ask:
		return e.asked(a, i)
	}
	e.stopped = e.stopped || a.behavior != Allow
	d := e.decision(a, i)
	if a.behavior == Allow {
		d.Grants = e.grants()
	}
	return d
}

// idle returns the decision about a line that runs, writes and fetches nothing:
// all of its actions are free.
func (e *evaluation) idle() Decision {
	return e.decision(answer{behavior: Allow, layer: LayerDefault, reason: nothingToAsk}, 0)
}
