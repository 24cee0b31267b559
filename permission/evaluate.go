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
	policy *Policy
	said   *standing // the session, as it was at the beginning
	traits modes.Traits

	acts     []act
	edits    []edit   // for a mode that allows edits: what each command writes
	guards   []string // the policy's guarded files, links followed
	files    []string // those that it protects, likewise
	settings settings
	through  map[through]*patterns.Rule
}

// answer is what a layer says to an action. Without a behavior it says
// nothing. Most answers are looked at once and dropped, so it is small enough
// for registers, and evaluation.why puts into words only the one that decides.
type answer struct {
	behavior Behavior
	layer    Layer
	grounds  grounds
	rule     cause
}

// grounds is why a layer answers as it does.
type grounds uint8

const (
	noGrounds      grounds = iota
	agentPaused            // the session is paused
	catastrophic           // evaluation.catastrophe
	overCeiling            // evaluation.objection
	guardsFile             // a guarded file would change
	protectsFile           // a protected one would, and no rule spells it
	noSandbox              // it asks to run outside the sandbox
	forPerson              // it is itself a question
	deniedBy               // a rule
	askedBy                // a rule
	allowedBy              // a rule
	allowedForNow          // a rule of the session
	mayCover               // the rule may be about the action
	onlyReading            // mode plan
	allowedByMode          // the mode
	notListed              // the allow list does not name it
	notListedThere         // the one behind it does not
	nothingToAsk           // there is no action
	needsNoRule            // it counts as listed
	neverRun               // tier 3
	isHarmless             // its tier, or a read inside the workspace
	notAllowed             // nothing speaks for it
)

// held reports whether the answer is an ask that no later layer lifts.
func (a answer) held() bool {
	switch a.grounds {
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
	return a.grounds == agentPaused || a.grounds == catastrophic || a.grounds == overCeiling
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

// decide is Evaluate with a ceiling. Whatever goes wrong is a deny.
func decide(p *Policy, said *standing, use *ToolUse, env Env, ceiling Ceiling, tr *Trace) (d Decision) {
	defer denying(&d, tr)
	if use == nil {
		return refused("there is no tool use")
	}
	r := read(use, p.knowledge(), env, ceiling)
	d = judge(r, p, said, tr)
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
	return Knowledge{Place: p.Place, Catalog: p.Catalog}
}

// judge decides by a policy and those that are asked beside it; r is a reading
// with the policy's knowledge.
func judge(r *reading, p *Policy, said *standing, tr *Trace) Decision {
	d := judgeOne(r, p, said, tr)
	if p == nil {
		return d
	}
	for _, more := range p.Further {
		var steps *Trace
		if tr != nil {
			steps = new(Trace)
		}
		now := judgeOne(r.as(more), more, said, steps)
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
		r.others = append(r.others, read(r.use, know, r.env, r.ceiling))
	}
	r.others[at].wordless = r.wordless
	return r.others[at]
}

// judgeOne decides by one policy.
func judgeOne(r *reading, p *Policy, said *standing, tr *Trace) Decision {
	if p == nil || !p.Mode.Valid() {
		return refused("there is no valid policy")
	}
	if r.err != nil {
		return refused(r.err.Error())
	}
	e := begin(r, p, said)
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

func begin(r *reading, p *Policy, said *standing) *evaluation {
	e := evaluations.Get().(*evaluation)
	e.reading, e.policy, e.said, e.traits = r, p, said, p.Mode.Traits()
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

// verdict asks the layers, and returns the answer that decides with the act
// that it is about. Hard denies stand wherever they are found, so they are
// looked for first, over all actions; then each action takes the answer of the
// first layer that has one, and the strictest action decides.
func (e *evaluation) verdict() (answer, int) {
	held, at, denied := e.hard()
	if denied {
		return held, at
	}
	if e.asksPerson() {
		return personal, 0
	}
	worst, where := answer{}, 0
	for i := range e.acts {
		a := e.first(i)
		if a.behavior > worst.behavior || a.behavior == Allow && e.speaksFor(i, where) && worst.behavior == Allow {
			worst, where = a, i
		}
	}
	if held.given() && worst.behavior <= Ask {
		return held, at
	}
	return worst, where
}

// personal is the ask for a tool use that is itself a question. Nothing but
// the person's answer lifts it.
var personal = answer{behavior: Ask, layer: LayerDefault, grounds: forPerson}

// speaksFor reports whether the allow of act i names a decision better than
// that of act j: a command does, better than what is done beside it.
func (e *evaluation) speaksFor(i, j int) bool {
	return e.acts[i].sub.Kind == patterns.RunCommand && e.acts[j].sub.Kind != patterns.RunCommand
}

// asksPerson reports whether the tool use is itself a question for the person.
func (e *evaluation) asksPerson() bool {
	return e.use.Tool == askQuestion || e.use.Tool == exitPlan
}

// idle is the decision about a line that runs, writes and fetches nothing:
// every one of its actions is free.
func (e *evaluation) idle() Decision {
	return e.decision(answer{behavior: Allow, layer: LayerDefault, grounds: nothingToAsk}, 0)
}

// hardLayers are the layers with hard denies, in order.
var hardLayers = [...]Layer{
	LayerGuard, LayerSessionDeny, LayerDenyList, LayerMode, LayerAllowList, LayerRules,
}

// hard returns the first hard deny, and whether there is one. Without one it
// returns the first held ask, which may be empty.
func (e *evaluation) hard() (held answer, at int, denied bool) {
	for _, layer := range hardLayers {
		if e.silent(layer) {
			continue
		}
		if a := e.wall(layer); a.given() {
			return a, 0, true
		}
		for i := range e.acts {
			switch a := e.hardOne(layer, i); {
			case a.behavior == Deny:
				return a, i, true
			case a.given() && !held.given():
				held, at = a, i
			}
		}
	}
	return held, at, false
}

// silent reports whether a layer has no hard deny for any action, so that it
// need not be asked about each.
func (e *evaluation) silent(layer Layer) bool {
	switch layer {
	case LayerSessionDeny:
		return e.said.deny.Len() == 0
	case LayerDenyList:
		return e.policy.Deny.Len() == 0
	case LayerMode:
		return !e.traits.ReadOnly
	case LayerRules:
		return len(e.policy.Rules) == 0
	}
	return false
}

// wall returns a layer's hard deny of the tool use as a whole.
func (e *evaluation) wall(layer Layer) answer {
	switch layer {
	case LayerGuard:
		if why := e.guard(); why != noGrounds {
			return answer{behavior: Deny, layer: layer, grounds: why}
		}
	case LayerAllowList:
		if b := e.objection.Behavior; b != 0 && b != Ask {
			return answer{behavior: Deny, layer: layer, grounds: overCeiling}
		}
	}
	return answer{}
}

// guard returns why a tool use is refused before any rule is looked at.
func (e *evaluation) guard() grounds {
	switch {
	case e.said.paused:
		return agentPaused
	case e.catastrophe != "" && !e.policy.NoCatastrophic:
		return catastrophic
	}
	return noGrounds
}

// hardOne returns a layer's hard deny of one action, or its held ask.
func (e *evaluation) hardOne(layer Layer, i int) answer {
	switch layer {
	case LayerGuard:
		return e.guardOne(i)
	case LayerSessionDeny:
		return e.denied(layer, e.said.deny, i)
	case LayerDenyList:
		return e.denied(layer, e.policy.Deny, i)
	case LayerMode:
		return e.planned(i)
	case LayerRules:
		return e.ruledOut(i)
	}
	return answer{}
}

// guardOne holds what only a person may let through.
func (e *evaluation) guardOne(i int) answer {
	a := &e.acts[i]
	if a.sub.Kind == patterns.WritePath && e.guarded(a) != "" {
		return answer{behavior: Ask, layer: LayerGuard, grounds: guardsFile}
	}
	if i == 0 && e.facts != nil && e.outsideSandbox {
		return answer{behavior: Ask, layer: LayerGuard, grounds: noSandbox}
	}
	if a.protected && e.held(i) {
		return answer{behavior: Ask, layer: LayerGuard, grounds: protectsFile}
	}
	return answer{}
}

// denied looks for an action in a list of denies.
func (e *evaluation) denied(layer Layer, set *patterns.Set, i int) answer {
	rule, m := e.possible(set, i, patterns.Query{})
	switch m {
	case patterns.Yes:
		return answer{behavior: Deny, layer: layer, rule: because(rule), grounds: deniedBy}
	case patterns.Maybe:
		return mayBe(layer, because(rule))
	}
	return answer{}
}

// mayBe is the ask for an action that a rule may be about.
func mayBe(layer Layer, rule cause) answer {
	return answer{behavior: Ask, layer: layer, rule: rule, grounds: mayCover}
}

// planned denies what mode plan does not let through.
func (e *evaluation) planned(i int) answer {
	a := &e.acts[i]
	if !e.traits.ReadOnly || e.asksPerson() {
		return answer{}
	}
	switch a.sub.Kind {
	case patterns.ReadPath, patterns.FetchURL:
		return answer{}
	case patterns.UseTool:
		if a.chore || a.free {
			return answer{}
		}
	case patterns.RunCommand, patterns.Hidden:
		if a.class.Tier() == 1 || a.looks {
			return answer{}
		}
	}
	return answer{behavior: Deny, layer: LayerMode, grounds: onlyReading}
}

// ruledOut looks for an action among the granular denies.
func (e *evaluation) ruledOut(i int) answer {
	var maybe answer
	for _, g := range e.policy.Rules {
		if g.Action() != patterns.Deny {
			continue
		}
		switch e.meets(g, i) {
		case patterns.Yes:
			return answer{behavior: Deny, layer: LayerRules, rule: granular(g), grounds: deniedBy}
		case patterns.Maybe:
			if !maybe.given() {
				maybe = mayBe(LayerRules, granular(g))
			}
		}
	}
	return maybe
}

// first returns the answer of the first layer that has one for an action, for
// the layers that no hard deny comes from. An action that is free has none
// when nobody asks about it.
func (e *evaluation) first(i int) answer {
	if e.acts[i].free && !e.asks(i) {
		return answer{}
	}
	if a := e.sessionAllow(i); a.given() {
		return a
	}
	if a := e.mode(i); a.given() {
		return a
	}
	a, listed := e.gate(i)
	if !a.given() {
		a = e.last(i, listed, e.firm(i, listed))
	}
	return e.capped(a, i)
}

// capped makes an ask of an allow that the ceiling wants a person's word for.
func (e *evaluation) capped(a answer, i int) answer {
	if a.behavior == Allow && e.objection.Behavior == Ask && e.acts[i].command() {
		return answer{behavior: Ask, layer: LayerAllowList, grounds: overCeiling}
	}
	return a
}

// last asks the layers behind the allow list; firm passes over asks that are
// only possible.
func (e *evaluation) last(i int, l listing, firm bool) answer {
	if a := e.askList(i, firm); a.given() {
		return a
	}
	if a := e.rules(i, firm); a.given() {
		return a
	}
	return e.fallback(i, l)
}

// firm reports whether only an ask that is certain counts: for an action of
// tier 3 a possible one does not take the place of the default's deny, but it
// does that of an allow.
func (e *evaluation) firm(i int, l listing) bool {
	return e.strict(i) && e.last(i, l, true).behavior != Allow
}

// asks reports whether an ask rule may be about an action.
func (e *evaluation) asks(i int) bool {
	return e.askList(i, e.strict(i)).given() || e.rules(i, e.strict(i)).behavior == Ask
}

// strict reports whether only rules with a specifier answer for an action.
func (e *evaluation) strict(i int) bool {
	return !e.policy.RiskOff && e.acts[i].class.Tier() == 3
}

// sessionAllow is the answer of the session's rules. For an action of tier 3
// they have none, whatever they say and wherever they come from: a person who
// keeps a rule has seen one use of it, not all that it matches.
func (e *evaluation) sessionAllow(i int) answer {
	if e.strict(i) {
		return answer{}
	}
	rule := e.cover(e.said.allow, i)
	if rule == nil {
		return answer{}
	}
	return answer{behavior: Allow, layer: LayerSessionAllow, rule: because(rule), grounds: allowedForNow}
}

// gate is the allow list, and the one behind it, which a bare rule opens for
// tier 3 too: what names such an action has to stand in the first. It only ever
// stops an action; a match is no answer, but what it returns counts in the end.
func (e *evaluation) gate(i int) (answer, listing) {
	a := &e.acts[i]
	if a.free || a.chore {
		return answer{}, listing{yes: true}
	}
	l, why := listing{}, noGrounds
	if rule := e.cover(e.policy.Allow, i); rule != nil {
		l = listing{yes: true, rule: rule}
	}
	switch {
	case !l.yes && e.policy.Allow.Len() > 0 && (!e.strict(i) || e.coverBy(e.policy.Allow, i, false) == nil):
		why = notListed
	case e.policy.Gate.Len() > 0 && e.coverBy(e.policy.Gate, i, false) == nil:
		why = notListedThere
	default:
		return answer{}, l
	}
	return e.missed(i, l, why)
}

// missed is the answer to an action that a list does not name. To ask for it
// never takes the place of the default's deny: only that of an allow.
func (e *evaluation) missed(i int, l listing, why grounds) (answer, listing) {
	unlisted := e.unlisted()
	switch {
	case unlisted == 0:
		return answer{}, listing{} // as if there were no list
	case unlisted == Ask && e.strict(i) && e.last(i, l, e.firm(i, l)).behavior != Allow:
		return answer{}, l
	}
	return answer{behavior: unlisted, layer: LayerAllowList, grounds: why}, listing{}
}

// unprovenBy says why a rule that seems to name the action does not prove it.
func (e *evaluation) unprovenBy(a *act) string {
	switch {
	case a.beyond != "":
		return fmt.Sprintf(" (with %.64q it needs a rule)", a.beyond)
	case a.does == nil:
		return ""
	case a.does.Unproven != "":
		return " (" + a.does.Unproven + ")"
	case a.does.Reach > 0 && yes(e.policy.Allow, &a.sub, patterns.Query{}) != nil:
		return " (a rule must name the subcommand)"
	}
	return ""
}

// listing is what the allow list says of an action.
type listing struct {
	yes  bool
	rule *patterns.Rule
}

// unlisted returns the behavior of a gate miss; 0 is none.
func (e *evaluation) unlisted() Behavior {
	switch e.policy.Unlisted {
	case UnlistedAsk:
		return Ask
	case UnlistedRisk:
		return 0
	case UnlistedDefault:
		if e.traits.AsksUnlisted {
			return Ask
		}
	}
	return Deny
}

// named reports whether only an ask with a specifier counts for an action. One
// that the policy itself put into tier 3 would else be allowed by the rule that
// names it where before a bare one asked.
func (e *evaluation) named(i int, firm bool) bool {
	return e.strict(i) && (firm || !e.acts[i].lifted)
}

func (e *evaluation) askList(i int, firm bool) answer {
	rule, m := e.possible(e.policy.Ask, i, patterns.Query{Specific: e.named(i, firm)})
	switch {
	case m == patterns.Yes:
		return answer{behavior: Ask, layer: LayerAskList, rule: because(rule), grounds: askedBy}
	case m == patterns.Maybe && !firm:
		return mayBe(LayerAskList, because(rule))
	}
	return answer{}
}

// rules asks the granular rules: the first ask or allow that matches.
func (e *evaluation) rules(i int, firm bool) answer {
	for _, g := range e.policy.Rules {
		m := e.meets(g, i)
		if m == patterns.No || firm && m != patterns.Yes || !g.Specific() && e.named(i, firm || g.Action() != patterns.Ask) {
			continue
		}
		switch {
		case g.Action() == patterns.Ask && m == patterns.Maybe:
			return mayBe(LayerRules, granular(g))
		case g.Action() == patterns.Ask:
			return answer{behavior: Ask, layer: LayerRules, rule: granular(g), grounds: askedBy}
		case g.Action() == patterns.Allow && m == patterns.Yes && e.proves(g, i):
			return answer{behavior: Allow, layer: LayerRules, rule: granular(g), grounds: allowedBy}
		}
	}
	return answer{}
}

// proves reports whether a granular allow may stand for an action that it
// matches.
func (e *evaluation) proves(g *patterns.Granular, i int) bool {
	does := e.acts[i].does
	return does == nil || does.Unproven == "" || !g.Specific()
}

// fallback is the last layer: what the allow list named is allowed; without an
// allow list the tier decides.
func (e *evaluation) fallback(i int, l listing) answer {
	a := &e.acts[i]
	switch {
	case l.yes && l.rule != nil:
		return answer{behavior: Allow, layer: LayerDefault, rule: because(l.rule), grounds: allowedBy}
	case l.yes:
		return answer{behavior: Allow, layer: LayerDefault, grounds: needsNoRule}
	case e.strict(i):
		return answer{behavior: Deny, layer: LayerDefault, grounds: neverRun}
	case a.harmless(e.policy.RiskOff):
		return answer{behavior: Allow, layer: LayerDefault, grounds: isHarmless}
	}
	return answer{behavior: Ask, layer: LayerDefault, grounds: notAllowed}
}

// harmless reports whether an action that no rule names may go through by its
// tier, or, for a tool without a command, because it reads in the workspace.
func (a *act) harmless(riskOff bool) bool {
	if a.override != nil && a.sub.Kind == patterns.WritePath {
		return !riskOff && a.class.Tier() == 1
	}
	if !a.command() {
		return a.sub.Kind == patterns.ReadPath && a.inside && (riskOff || !a.lifted)
	}
	return !riskOff && a.sub.Kind == patterns.RunCommand && a.class.Tier() == 1 && a.does.Unproven == ""
}

func (a *act) harmlessBy() string {
	if a.override != nil {
		return "tier 1: " + a.why
	}
	if !a.command() {
		return "it reads inside the workspace"
	}
	return "tier 1: safe"
}

func (a *act) unapproved(riskOff bool) string {
	switch {
	case a.beyond != "":
		return fmt.Sprintf("no rule allows it with %.64q", a.beyond)
	case riskOff || !a.command() && !a.lifted:
		return "no rule allows it"
	case a.does.Unproven != "":
		return "it is not proven harmless: " + a.does.Unproven
	}
	return fmt.Sprintf("tier %d: %s", a.class.Tier(), a.why)
}
