package permission

import (
	"slices"

	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// Trace records an evaluation in order to explain the decision: every action
// with the answer of every layer, including those that were not needed because
// an earlier one had answered.
type Trace struct {
	Decision Decision
	// Whole is the answer to the tool use as a whole that decides it, if any.
	Whole   Step
	Actions []TracedAction
}

// TracedAction is one action of the tool use.
type TracedAction struct {
	Action   string // "run npm install"
	Pos, End int    // its place in the command line, in bytes
	// Free reports that the action needs no answer; only ask and deny rules apply
	// to it.
	Free bool
	Risk risk.Class
	Why  string // the reason for the risk
	// Override is the policy's override that determines the risk, "" if none does.
	Override       string
	OverrideSource patterns.Source
	Steps          []Step // the layers with an answer, in order
	// Decides is the index in Steps of the step that decides the action, -1 if
	// none.
	Decides int
	// NearMiss is the allow rule that comes nearest to matching the action, "" if
	// one matches or none is near; Missed is why it does not match.
	NearMiss       string
	NearMissSource patterns.Source
	Missed         string
}

// Step is the answer of one layer.
type Step struct {
	Layer  Layer
	Rule   string
	Source patterns.Source
	// Behavior is the answer; 0 if the layer has none.
	Behavior Behavior
	Held     bool
	Reason   string
}

// stepOf returns a layer's answer to act i as a step.
func (e *evaluation) stepOf(a answer, i int) Step {
	return Step{
		Layer: a.layer, Rule: a.rule.text(), Source: a.rule.source(),
		Behavior: a.behavior, Held: a.held(), Reason: e.why(a, i),
	}
}

// fill adds the answers of every layer to every action. It does nothing for a
// nil trace.
func (tr *Trace) fill(e *evaluation) {
	if tr == nil {
		return
	}
	for l := 0; l < len(layers) && tr.Whole.Layer == 0; l++ {
		if a := layers[l].whole(e, 0); a.given() {
			tr.Whole = e.stepOf(a, 0)
		}
	}
	if a, i := e.verdict(); a.reason == forced {
		tr.Whole = e.stepOf(a, i)
	}
	tr.Actions = slices.Grow(tr.Actions, len(e.acts))
	for i := range e.acts {
		tr.Actions = append(tr.Actions, e.traced(i))
	}
}

// another returns a trace for a further judgement, nil for a nil trace.
func (tr *Trace) another() *Trace {
	if tr == nil {
		return nil
	}
	return new(Trace)
}

// become makes the trace that of the judgement that decides.
func (tr *Trace) become(by *Trace) {
	if tr != nil {
		*tr = *by
	}
}

func (e *evaluation) traced(i int) TracedAction {
	a := &e.acts[i]
	t := TracedAction{Action: a.describe(), Free: a.free, Risk: a.class, Why: a.why, Decides: -1}
	if a.does != nil {
		t.Pos, t.End = a.does.Pos, a.does.End
	}
	if o := a.override; o != nil {
		t.Override, t.OverrideSource = o.Text, o.Source
	}
	for l := range layers {
		if s := e.step(l, i); s.Layer != 0 {
			t.Steps = append(t.Steps, s)
		}
	}
	t.Decides = t.decides()
	if l := e.listing(i); !l.yes || e.miss(i).given() {
		e.nearMiss(a, &t)
	}
	return t
}

// decides returns the index of the step that decides an action: a hard deny if
// there is one; otherwise the first answer, unless a held ask takes precedence
// because the answer is no stricter.
func (t *TracedAction) decides() int {
	first, held := -1, -1
	for i := range t.Steps {
		switch s := &t.Steps[i]; {
		case s.Behavior == Deny && s.hard():
			return i
		case s.Held && held < 0:
			held = i
		case s.Behavior != 0 && !s.Held && first < 0:
			first = i
		}
	}
	if held >= 0 && (first < 0 || t.Steps[first].Behavior.yields()) {
		return held
	}
	return first
}

// decided returns the step that decides the action, nil if none does.
func (t *TracedAction) decided() *Step {
	if t.Decides < 0 {
		return nil
	}
	return &t.Steps[t.Decides]
}

// hard reports whether the step is a deny that counts whatever the other layers
// answer.
func (s *Step) hard() bool {
	switch s.Layer {
	case LayerAllowList, LayerDefault:
		return false
	}
	return true
}

// step returns the answer of one layer to an action, preferring hard answers.
func (e *evaluation) step(l, i int) Step {
	if a := layers[l].hard(e, i); a.given() {
		return e.stepOf(a, i)
	}
	layer := layers[l].name
	if e.asksPerson() {
		if layer == LayerDefault {
			return e.stepOf(personal, i)
		}
		return Step{}
	}
	switch layer {
	case LayerSessionDeny:
		return e.heldStep(layer, e.session.deny, i)
	case LayerDenyList:
		return e.heldStep(layer, e.policy.Deny, i)
	case LayerSessionAllow:
		return e.sessionStep(i)
	case LayerAllowList:
		return e.gateStep(i)
	case LayerDefault:
		return e.lastStep(i)
	}
	return e.stepOf(layers[l].soft(e, i), i)
}

// sessionStep returns the step of the session's allow rules. It names a rule
// that matches an action of tier 3, or of a higher risk than it is remembered for,
// although that is not an answer.
func (e *evaluation) sessionStep(i int) Step {
	if a := e.sessionAllow(i); a.given() {
		return e.stepOf(a, i)
	}
	if rule := because(e.cover(e.session.upTo[risk.Safe], i)); rule.given() {
		return Step{Layer: LayerSessionAllow, Rule: rule.text(), Source: rule.source(), Reason: "it was remembered for a lower risk"}
	}
	for _, b := range e.session.bounds {
		if rule := because(e.cover(b.rules, i)); rule.given() && !e.strict(i) {
			return Step{Layer: LayerSessionAllow, Rule: rule.text(), Source: rule.source(), Reason: "it was kept for no higher risk than that of the use it answered"}
		}
	}
	rule := because(e.cover(e.session.allow, i))
	if !rule.given() {
		return Step{}
	}
	what := "tier 3"
	if !e.tier3(i) {
		what = e.acts[i].class.Word() + " risk"
	}
	return Step{Layer: LayerSessionAllow, Rule: rule.text(), Source: rule.source(), Reason: what + ": rules of the session do not cover it"}
}

// gateStep returns the step of the allow list. It names a match although that
// is not an answer, and says of a miss that a later rule answers for it.
func (e *evaluation) gateStep(i int) Step {
	if a := e.first(i); a.reason == refusedByGate {
		return e.stepOf(a, i)
	}
	a, listed := e.miss(i), because(e.listing(i).rule)
	if !a.given() && listed.given() {
		return Step{Layer: LayerAllowList, Rule: listed.text(), Source: listed.source(), Reason: "it is on the allow list"}
	}
	s := e.stepOf(a, i)
	if !e.gate(i).given() {
		s.Behavior = 0
	}
	return s
}

// lastStep returns the step of the default layer. If an allow list stops the
// action, nothing counts as listed.
func (e *evaluation) lastStep(i int) Step {
	switch {
	case e.acts[i].free:
		return Step{Layer: LayerDefault, Reason: "it needs no permission"}
	case e.miss(i).given():
		return e.stepOf(e.fallback(i, listing{}), i)
	}
	return e.stepOf(e.fallback(i, e.listing(i)), i)
}

// nearMiss finds the allow rule that comes nearest to matching an action.
func (e *evaluation) nearMiss(a *act, t *TracedAction) {
	best := patterns.Nearest(e.policy.Allow.Rules(), &a.sub)
	if best == nil {
		return
	}
	t.NearMiss, t.NearMissSource = best.String(), best.Source()
	t.Missed = patterns.Explain(best, &a.sub)
}
