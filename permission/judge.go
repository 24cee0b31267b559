package permission

// judge decides what a tool use may do under a policy, given the state of the session:
//
//  1. What cannot be read, and everything under an invalid policy, is denied.
//  2. A hard deny by any layer denies the whole tool use.
//  3. A tool use that is itself a question for a person is an ask.
//  4. Otherwise each action takes the answer of the first layer that has a soft one, and
//     the strictest of these decides. If there is none, nothing needs permission.
//  5. What only a person can lift makes it an ask: a limit, a hard ask, the caller's wish.
//  6. In a mode that never asks, an ask is a deny.
//  7. Of several policies, and of several uses in one input, the strictest decision counts.
//  8. An ask about a line inside the sandbox is judged again, as what it can do there.
//  9. An ask that a person has answered for exactly this tool use takes that answer.
//
// Only this file orders the layers and compares how strict answers are.
func judge(r *reading, p *Policy, session *standing, tr *Trace) Decision {
	r.forgetDoubts()
	p = session.inMode(p)
	d := r.sandboxed(p, session, judgeAll(r, p, session, tr), tr)
	d.Advice = r.advise(p, session, &d)
	return session.answeredBefore(&r.use, d)
}

// layers answer in this order: a deny of the whole tool use; a hard answer to an action,
// which counts whatever the others are; a soft one, if no earlier layer has one.
var layers = [...]struct {
	name              Layer
	whole, hard, soft func(e *evaluation, i int) answer
}{
	{LayerGuard, (*evaluation).guardWhole, (*evaluation).guardOne, silent},
	{LayerSessionDeny, silent, (*evaluation).sessionDeny, silent},
	{LayerDenyList, silent, (*evaluation).listDeny, silent},
	{LayerSessionAllow, silent, silent, (*evaluation).sessionAllow},
	{LayerMode, silent, (*evaluation).planDeny, (*evaluation).modeAllow},
	{LayerAllowList, (*evaluation).gateDeny, silent, (*evaluation).gate},
	{LayerAskList, silent, silent, (*evaluation).listAsk},
	{LayerRules, silent, (*evaluation).ruleDeny, (*evaluation).ruleAnswer},
	{LayerDefault, silent, silent, (*evaluation).byDefault},
}

// verdict returns the deciding answer of the layers and the action that it is about.
func (e *evaluation) verdict() (worst answer, where int) {
	hard, at := e.hardest()
	switch {
	case hard.behavior == Deny:
		return hard, at
	case e.asksPerson():
		return personal, 0
	}
	for i := range e.acts {
		a := e.first(i)
		if a.behavior > worst.behavior || a.behavior == Allow && worst.behavior == Allow && e.tellsMore(a, i, worst, where) {
			worst, where = a, i
		}
	}
	switch limit := e.limited(); {
	case !worst.behavior.yields():
	case limit.given():
		return limit, 0
	case hard.given():
		return hard, at
	case e.use.ForceAsk:
		return wished, 0
	}
	return worst, where
}

// yields reports whether a soft answer gives way to a hard ask.
func (b Behavior) yields() bool { return b <= Ask }

// hardest returns the first hard deny, or else the first hard ask, if any.
func (e *evaluation) hardest() (ask answer, at int) {
	for l := range layers {
		if a := layers[l].whole(e, 0); a.given() {
			return a, 0
		}
		for i := range e.acts {
			switch a := layers[l].hard(e, i); {
			case a.behavior == Deny:
				return a, i
			case a.given() && !ask.given():
				ask, at = a, i
			}
		}
	}
	return e.orUnread(ask, at)
}

// first returns the answer of the first layer that has a soft one to action i. A free
// action has none unless it is asked about.
func (e *evaluation) first(i int) answer {
	if e.acts[i].free && !e.asks(i) {
		return answer{}
	}
	for l := range layers {
		if a := layers[l].soft(e, i); a.given() {
			return e.capped(a, i)
		}
	}
	return answer{}
}

// answerTo returns the answer to action i in a tool use that is asked about.
func (e *evaluation) answerTo(i int) answer {
	for l := range layers {
		if a := layers[l].hard(e, i); a.given() {
			return a
		}
	}
	if e.asksPerson() {
		return personal
	}
	return e.first(i)
}

// judgeAll decides by a policy and its further policies.
func judgeAll(r *reading, p *Policy, session *standing, tr *Trace) Decision {
	d := judgeOne(r, p, session, tr)
	for i := 0; p != nil && i < len(p.Further); i++ {
		more, steps := p.Further[i], tr.another()
		now := judgeOne(r.as(more), more, session, steps)
		if named := d.nameRule(&now); d.join(&now) || named {
			tr.become(steps)
		}
		d.insideToo(&now)
		d.askToo(now.Parts)
	}
	return d
}

// join makes d the stricter of two decisions on the same tool use, with the higher risk
// and the grants of both, and reports whether that is the other one.
func (d *Decision) join(other *Decision) (taken bool) {
	class := max(d.Risk, other.Risk)
	if taken = other.stricter(d); taken {
		*d, *other = *other, *d
	}
	d.allowedToo(other.Grants)
	d.Risk, d.Tier = class, class.Tier()
	return taken
}

// stricter reports whether d permits less; an ask that no rule lifts does than other asks.
func (d *Decision) stricter(than *Decision) bool {
	if now, was := d.Behavior.strength(), than.Behavior.strength(); now != was {
		return now > was
	}
	return d.Held && !than.Held
}
