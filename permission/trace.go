package permission

import (
	"slices"

	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/risk"
)

// Trace is what Evaluate found on its way, for explaining a decision: every
// action with every layer's answer, also of the layers that were not asked
// because an earlier one had answered.
type Trace struct {
	Decision Decision
	// Whole is the answer about the tool use as a whole that ends it, if any.
	Whole   Step
	Actions []TracedAction
}

// TracedAction is one action of the tool use.
type TracedAction struct {
	Action   string // "run npm install"
	Pos, End int    // its place in the command line, in bytes
	// Free: it needs no answer, only ask and deny rules see it.
	Free bool
	Risk risk.Class
	Why  string // the reason for the risk
	// Override is the entry of the policy that says the risk, "" if none does.
	Override       string
	OverrideSource patterns.Source
	Steps          []Step // the layers that said something, in order
	// Decides is the index in Steps of the step that this action comes to,
	// -1 if none.
	Decides int
	// NearMiss is the allow rule that came nearest to covering the action,
	// "" if it is covered or none is near; Missed is why it does not.
	NearMiss       string
	NearMissSource patterns.Source
	Missed         string
}

// Step is what one layer said.
type Step struct {
	Layer  Layer
	Rule   string
	Source patterns.Source
	// Behavior is the answer; 0 if the layer looked and let it go on.
	Behavior Behavior
	Held     bool
	Reason   string
}

// stepOf is what a layer said to act i.
func (e *evaluation) stepOf(a answer, i int) Step {
	return Step{
		Layer: a.layer, Rule: a.rule.text(), Source: a.rule.source(),
		Behavior: a.behavior, Held: a.held(), Reason: e.why(a, i),
	}
}

// fill asks every layer about every action, and adds them to those that are
// there. A nil trace asks nothing.
func (tr *Trace) fill(e *evaluation) {
	if tr == nil {
		return
	}
	for layer := LayerGuard; layer <= LayerDefault && tr.Whole.Layer == 0; layer++ {
		if a := e.denyWhole(layer); a.given() {
			tr.Whole = e.stepOf(a, 0)
		}
	}
	tr.Actions = slices.Grow(tr.Actions, len(e.acts))
	for i := range e.acts {
		tr.Actions = append(tr.Actions, e.traced(i))
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
	for layer := LayerGuard; layer <= LayerDefault; layer++ {
		if s := e.step(layer, i); s.Layer != 0 {
			t.Steps = append(t.Steps, s)
		}
	}
	t.Decides = t.decides()
	if l := e.listing(i); !l.yes || e.gate(i).given() {
		e.nearMiss(a, &t)
	}
	return t
}

// decides returns the index of the step that an action comes to: a hard deny
// wherever it stands; else the first answer, unless an ask is held and the
// answer is no stricter.
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
	if held >= 0 && (first < 0 || t.Steps[first].Behavior <= Ask) {
		return held
	}
	return first
}

// hard reports whether the step's deny stands wherever it is found.
func (s *Step) hard() bool {
	switch s.Layer {
	case LayerAllowList, LayerDefault:
		return false
	}
	return true
}

// step returns what one layer says to an action, hard answers first.
func (e *evaluation) step(layer Layer, i int) Step {
	if a := e.hard(layer, i); a.given() {
		return e.stepOf(a, i)
	}
	if e.asksPerson() {
		if layer == LayerDefault {
			return e.stepOf(personal, i)
		}
		return Step{}
	}
	switch layer {
	case LayerSessionAllow:
		return e.sessionStep(i)
	case LayerAllowList:
		return e.gateStep(i)
	case LayerDefault:
		return e.lastStep(i)
	}
	return e.stepOf(e.soft(layer, i), i)
}

// sessionStep is the step of the session's allows; one that is about an action
// of tier 3 is named although it is no answer.
func (e *evaluation) sessionStep(i int) Step {
	if a := e.sessionAllow(i); a.given() {
		return e.stepOf(a, i)
	}
	rule := because(e.cover(e.session.allow, i))
	if !rule.given() {
		return Step{}
	}
	return Step{Layer: LayerSessionAllow, Rule: rule.text(), Source: rule.source(), Reason: "tier 3: a rule of the session does not answer for it"}
}

// gateStep is the allow list's step; a match is named although it is no
// answer.
func (e *evaluation) gateStep(i int) Step {
	if a := e.first(i); a.reason == refusedByGate {
		return e.stepOf(a, i)
	}
	a, listed := e.gate(i), because(e.listing(i).rule)
	if !a.given() && listed.given() {
		return Step{Layer: LayerAllowList, Rule: listed.text(), Source: listed.source(), Reason: "it is on the allow list"}
	}
	return e.stepOf(a, i)
}

// lastStep is the default's step: behind an allow list that stops the action
// nothing counts as named.
func (e *evaluation) lastStep(i int) Step {
	switch {
	case e.acts[i].free:
		return Step{Layer: LayerDefault, Reason: "it needs no answer"}
	case e.gate(i).given():
		return e.stepOf(e.fallback(i, listing{}), i)
	}
	return e.stepOf(e.fallback(i, e.listing(i)), i)
}

// nearMiss finds the allow rule that came nearest to covering an action.
func (e *evaluation) nearMiss(a *act, t *TracedAction) {
	best := patterns.Nearest(e.policy.Allow.Rules(), &a.sub)
	if best == nil {
		return
	}
	t.NearMiss, t.NearMissSource = best.String(), best.Source()
	t.Missed = patterns.Explain(best, &a.sub)
}
