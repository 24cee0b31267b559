package permission

import (
	"fmt"
	"slices"

	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// orUnread returns a hard ask, or if there is none the guard's ask for a part of the line
// that a limit kept from being read: it may be catastrophic, or change the policy, whatever
// allows it.
func (e *evaluation) orUnread(ask answer, at int) (answer, int) {
	for i := 0; i < len(e.acts) && !ask.given(); i++ {
		if does := e.acts[i].does; e.acts[i].sub.Kind == patterns.Hidden && does != nil && does.Why.Cause.IsLimit() {
			return answer{behavior: Ask, layer: LayerGuard, reason: unread}, i
		}
	}
	return ask, at
}

// personal is the ask for a tool use that is itself a question. Only the
// person's answer lifts it.
var personal = answer{behavior: Ask, layer: LayerDefault, reason: forPerson}

// wished is the ask for a tool use that nothing denies and whose requester wants a
// person asked.
var wished = answer{behavior: Ask, layer: LayerGuard, reason: forced}

// speaksFor reports whether the allow of act i explains a decision better than
// that of act j: a command does, rather than its effects.
func (e *evaluation) speaksFor(i, j int) bool {
	return e.acts[i].sub.Kind == patterns.RunCommand && e.acts[j].sub.Kind != patterns.RunCommand
}

// tellsMore reports whether an allow explains a decision better than another one: what the sandbox
// holds rather than what needs none, or else a command rather than its effects.
func (e *evaluation) tellsMore(a answer, i int, than answer, j int) bool {
	if held := a.reason == isContained; held != (than.reason == isContained) {
		return held
	}
	return e.speaksFor(i, j)
}

// asksPerson reports whether the tool use is itself a question for a person.
func (e *evaluation) asksPerson() bool { return asksPerson(e.use.Tool) }

func asksPerson(tool string) bool { return tool == tools.AskQuestion || tool == tools.ExitPlan }

// silent is the answer of a layer that has none.
func silent(*evaluation, int) answer { return answer{} }

// guardWhole denies a tool use before any rule is considered.
func (e *evaluation) guardWhole(int) answer {
	why := noReason
	switch {
	case e.session.paused:
		why = agentPaused
	case e.limited().behavior == Deny:
		why = limitReached
	case e.catastrophe != "" && !e.policy.NoCatastrophic:
		why = catastrophic
	default:
		return answer{}
	}
	return answer{behavior: Deny, layer: LayerGuard, reason: why}
}

// gateDeny returns the denial of a command line by the gate.
func (e *evaluation) gateDeny(int) answer {
	if b := e.refusal.Behavior; b != 0 && b != Ask {
		return answer{behavior: Deny, layer: LayerAllowList, reason: refusedByGate}
	}
	return answer{}
}

// guardOne returns a held ask for what only a person may permit.
func (e *evaluation) guardOne(i int) answer {
	a := &e.acts[i]
	if e.wards(a) && a.sub.Kind == patterns.WritePath && e.guarded(a) != "" {
		return answer{behavior: Ask, layer: LayerGuard, reason: guardsFile}
	}
	if e.wards(a) && e.takesCredential(a) {
		return answer{behavior: Ask, layer: LayerGuard, reason: readsCredential}
	}
	if i == 0 && e.facts != nil && e.outsideSandbox {
		return answer{behavior: Ask, layer: LayerGuard, reason: noSandbox}
	}
	if a.protected && e.wards(a) && e.held(i) {
		return answer{behavior: Ask, layer: LayerGuard, reason: protectsFile}
	}
	return answer{}
}

func (e *evaluation) sessionDeny(i int) answer {
	return e.denied(LayerSessionDeny, e.session.deny, i)
}

func (e *evaluation) listDeny(i int) answer { return e.denied(LayerDenyList, e.policy.Deny, i) }

// denied matches a list of deny rules against an action.
func (e *evaluation) denied(layer Layer, set *patterns.Set, i int) answer {
	if set.Len() == 0 {
		return answer{}
	}
	rule, m := e.possible(set, i, patterns.Query{})
	switch m {
	case patterns.Yes:
		return answer{behavior: Deny, layer: layer, rule: because(rule), reason: deniedBy}
	case patterns.Maybe:
		if rule = e.unheld(set, i, rule); rule != nil {
			return mayBe(layer, because(rule))
		}
	}
	return answer{}
}

// mayBe returns the ask for an action that a rule possibly matches.
func mayBe(layer Layer, rule cause) answer {
	return answer{behavior: Ask, layer: layer, rule: rule, reason: mayCover}
}

// planDeny denies what mode plan does not permit.
func (e *evaluation) planDeny(i int) answer {
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
	return answer{behavior: Deny, layer: LayerMode, reason: onlyReading}
}

// ruleDeny matches the granular deny rules against an action.
func (e *evaluation) ruleDeny(i int) answer {
	var maybe answer
	for _, g := range e.policy.Rules {
		if g.Action() != patterns.Deny {
			continue
		}
		switch e.meets(g, i) {
		case patterns.Yes:
			return answer{behavior: Deny, layer: LayerRules, rule: granular(g), reason: deniedBy}
		case patterns.Maybe:
			if !maybe.given() && !e.holdsGranular(g, i) {
				maybe = mayBe(LayerRules, granular(g))
			}
		}
	}
	return maybe
}

// capped changes an allow to an ask if the gate demands the approval of a
// person, which a rule of the session and the mode already express.
func (e *evaluation) capped(a answer, i int) answer {
	if a.layer != LayerSessionAllow && a.layer != LayerMode && a.behavior == Allow && e.refusal.Behavior == Ask && e.acts[i].command() {
		return answer{behavior: Ask, layer: LayerAllowList, reason: refusedByGate}
	}
	return a
}

// behind returns the answer of the layers after the allow list. With certain
// set, possible asks do not count.
func (e *evaluation) behind(i int, certain bool) answer {
	if a := e.askList(i, certain); a.given() {
		return a
	}
	if a := e.rules(i, certain); a.given() {
		return a
	}
	return e.byDefault(i)
}

// certainOnly reports whether possible asks do not count: for an action of tier
// 3 a possible ask replaces an allow, but not the default's deny.
func (e *evaluation) certainOnly(i int) bool {
	return e.strict(i) && e.behind(i, true).behavior != Allow
}

// asks reports whether an ask rule possibly matches an action.
func (e *evaluation) asks(i int) bool {
	return e.askList(i, e.strict(i)).given() || e.rules(i, e.strict(i)).behavior == Ask
}

// strict reports whether only rules with a specifier count for an action. One that
// needs no rule is not denied by its risk, so that any rule may ask about it.
func (e *evaluation) strict(i int) bool {
	a := &e.acts[i]
	return e.tier3(i) || a.does != nil && !a.free && !a.chore && e.byRisk(i).Behavior == Deny
}

func (e *evaluation) tier3(i int) bool {
	return !e.policy.RiskOff && e.acts[i].class.Tier() == 3
}

// byRisk returns what the policy answers about an action by its risk.
func (e *evaluation) byRisk(i int) RiskAnswer {
	if class := e.acts[i].class; class < risk.Forbidden {
		return e.policy.ByRisk[class]
	}
	return RiskAnswer{}
}

// sessionAllow returns the answer of the session's rules. They do not count for
// an action of tier 3, whatever their text and origin: a person who keeps a
// rule has seen one use of it, not all that it matches.
func (e *evaluation) sessionAllow(i int) answer {
	if e.strict(i) {
		return e.exactAllow(i)
	}
	rule := e.cover(e.session.allow, i)
	if rule == nil {
		rule = e.cover(e.session.upTo[e.acts[i].class], i)
	}
	if rule == nil {
		rule = e.boundAllow(i)
	}
	if rule == nil {
		return answer{}
	}
	return answer{behavior: Allow, layer: LayerSessionAllow, rule: because(rule), reason: allowedForNow}
}

// boundAllow returns the rule of the session that answers up to a grade, and covers an
// action of no higher one; nil if there is none.
func (e *evaluation) boundAllow(i int) *patterns.Rule {
	for _, b := range e.session.bounds {
		if g := e.grade(i); g != 0 && g <= b.upTo {
			if rule := e.cover(b.rules, i); rule != nil {
				return rule
			}
		}
	}
	return nil
}

// exactAllow returns the answer of the session's rules for exactly the words of a
// command that removes what is made anew.
func (e *evaluation) exactAllow(i int) answer {
	if !e.acts[i].remade {
		return answer{}
	}
	rule := yes(e.session.allow, &e.acts[i].sub, patterns.Query{Specific: true, Reach: exactOnly})
	if rule == nil {
		return answer{}
	}
	return answer{behavior: Allow, layer: LayerSessionAllow, rule: because(rule), reason: allowedForNow}
}

// gate returns the answer of the allow list and the second one. It can only
// stop an action; a match is not an answer, but counts in the default layer. An
// ask for what is not listed is left to a rule that asks about the action for
// certain, which says more.
func (e *evaluation) gate(i int) answer {
	a := e.miss(i)
	if a.behavior == Ask && e.asker(i).given() {
		return answer{}
	}
	return a
}

// asker returns the answer of the rule that asks about an action for certain once
// the allow list has none.
func (e *evaluation) asker(i int) answer {
	certain := e.certainOnly(i)
	a := e.askList(i, certain)
	if !a.given() {
		a = e.rules(i, certain)
	}
	if a.reason != askedBy {
		return answer{}
	}
	return a
}

// miss returns how the allow lists stop an action. An ask for what is not listed
// replaces an allow, but never the default's deny.
func (e *evaluation) miss(i int) answer {
	l, unlisted := e.listing(i), e.unlisted()
	if unlisted == 0 && (e.bounded(i) || l.missed == notListedThere && (e.acts[i].lifted || !e.harmless(i))) {
		unlisted = Ask
	}
	switch {
	case l.missed == noReason || unlisted == 0:
		return answer{}
	case unlisted == Ask && e.strict(i) && e.behind(i, e.certainOnly(i)).behavior != Allow:
		return answer{}
	}
	return answer{behavior: unlisted, layer: LayerAllowList, reason: l.missed}
}

// listing is the result of the allow lists for an action.
type listing struct {
	yes    bool           // the action counts as listed
	rule   *patterns.Rule // the rule that lists it, nil if it needs none
	missed reason         // why it is not listed
}

// listing matches the allow list and the second one against an action. For tier
// 3 a bare rule opens the second list but not the first, which has to name the
// action. If a miss has no answer of its own, it is as if there was no list.
func (e *evaluation) listing(i int) listing {
	a := &e.acts[i]
	if !a.looked {
		a.listed, a.looked = e.look(i), true
	}
	return a.listed
}

func (e *evaluation) look(i int) listing {
	if a := &e.acts[i]; a.free || a.chore {
		return listing{yes: true}
	}
	rule := e.cover(e.policy.Allow, i)
	l := listing{yes: rule != nil, rule: rule}
	missed := !l.yes && e.policy.Allow.Len() > 0 && (!e.strict(i) || e.coverBy(e.policy.Allow, i, false) == nil)
	missedThere := e.policy.Gate.Len() > 0 && e.coverBy(e.policy.Gate, i, false) == nil
	switch {
	case missedThere && (!missed || e.unlisted() == 0): // a miss of the first list has no answer then
		l.missed = notListedThere
	case missed:
		l.missed = notListed
	}
	if l.missed != noReason && e.unlisted() == 0 {
		return listing{missed: l.missed}
	}
	return l
}

// unprovenBy returns why a rule that seems to name the action does not prove
// it.
func (e *evaluation) unprovenBy(a *act) string {
	switch {
	case a.beyond != "":
		return fmt.Sprintf(" (a rule must name %.64q)", a.beyond)
	case a.does == nil:
		return ""
	case a.does.Unproven():
		return " (" + a.does.Why.String() + ")"
	case a.does.Reach > 0 && yes(e.policy.Allow, &a.sub, patterns.Query{}) != nil:
		return " (a rule must name the subcommand)"
	}
	return ""
}

// unlisted returns the behavior for an action that is not listed; 0 means no
// answer.
func (e *evaluation) unlisted() Behavior {
	switch e.policy.Unlisted {
	case UnlistedAsk:
		return Ask
	case UnlistedRisk:
		return 0
	case UnlistedDefault:
		if !e.traits.DeniesUnlisted {
			return 0
		}
	}
	return Deny
}

// bounded reports whether a list has rules with paths in the workspace for an
// access, so that a read or write that none of them names is asked even where
// its risk decides. The session's temporary files lie outside.
func (e *evaluation) bounded(i int) bool {
	kind := e.acts[i].sub.Kind
	return !e.acts[i].scratch && (e.policy.Allow.Bounds(kind) || e.policy.Gate.Bounds(kind))
}

// named reports whether only ask rules with a specifier count for an action, as
// in tier 3. Bare rules still count for an action that the policy itself has put
// there, or denies by its risk: otherwise a rule that names it would allow it where
// a bare one used to ask.
func (e *evaluation) named(i int, certain bool) bool {
	return e.strict(i) && (certain || e.tier3(i) && !e.acts[i].lifted)
}

func (e *evaluation) listAsk(i int) answer { return e.askList(i, e.certainOnly(i)) }

func (e *evaluation) askList(i int, certain bool) answer {
	rule, m := e.possible(e.policy.Ask, i, patterns.Query{Specific: e.named(i, certain)})
	switch {
	case m == patterns.Yes:
		return answer{behavior: Ask, layer: LayerAskList, rule: because(rule), reason: askedBy}
	case m == patterns.Maybe && !certain:
		return mayBe(LayerAskList, because(rule))
	}
	return answer{}
}

func (e *evaluation) ruleAnswer(i int) answer { return e.rules(i, e.certainOnly(i)) }

// rules returns the answer of the granular rules: the first ask or allow that
// matches.
func (e *evaluation) rules(i int, certain bool) answer {
	for _, g := range e.policy.Rules {
		m := e.meets(g, i)
		if m == patterns.No || certain && m != patterns.Yes || !g.Specific() && e.named(i, certain || g.Action() != patterns.Ask) {
			continue
		}
		switch {
		case g.Action() == patterns.Ask && m == patterns.Maybe:
			return mayBe(LayerRules, granular(g))
		case g.Action() == patterns.Ask:
			return answer{behavior: Ask, layer: LayerRules, rule: granular(g), reason: askedBy}
		case g.Action() == patterns.Allow && m == patterns.Yes && e.proves(g, i):
			return answer{behavior: Allow, layer: LayerRules, rule: granular(g), reason: allowedBy}
		}
	}
	return answer{}
}

// proves reports whether a granular allow rule that matches an action also
// proves it.
func (e *evaluation) proves(g *patterns.Granular, i int) bool {
	a := &e.acts[i]
	if a.secret && !a.namedBy(g) {
		return false
	}
	does := a.does
	return does == nil || !does.Unproven() || !g.Specific()
}

func (e *evaluation) byDefault(i int) answer { return e.fallback(i, e.listing(i)) }

// fallback is the last layer: what the allow list names is allowed; if there is
// no allow list the tier decides.
func (e *evaluation) fallback(i int, l listing) answer {
	a := &e.acts[i]
	switch {
	case l.yes && l.rule != nil:
		return answer{behavior: Allow, layer: LayerDefault, rule: because(l.rule), reason: allowedBy}
	case l.yes:
		return answer{behavior: Allow, layer: LayerDefault, reason: needsNoRule}
	case a.remade:
		return answer{behavior: Ask, layer: LayerDefault, reason: removesRemade}
	case e.tier3(i):
		return answer{behavior: Deny, layer: LayerDefault, reason: neverRun}
	case e.byRisk(i).Behavior == Deny:
		return answer{behavior: Deny, layer: LayerDefault, reason: riskDenied}
	case e.harmless(i):
		return answer{behavior: Allow, layer: LayerDefault, reason: isHarmless}
	case e.contained(i):
		return answer{behavior: Allow, layer: LayerDefault, reason: isContained}
	}
	return answer{behavior: Ask, layer: LayerDefault, reason: notAllowed}
}

// harmless reports whether an action that no rule names is allowed: because the policy
// says so of its risk, or as its tier has it.
func (e *evaluation) harmless(i int) bool {
	a, by := &e.acts[i], e.byRisk(i).Behavior
	switch {
	case a.command() && by == Ask && a.class == risk.Safe:
		return false
	case a.command() && by == Allow && e.runsByRisk(a):
		return true
	}
	return a.harmless(e.policy.RiskOff)
}

// runsByRisk reports whether an action of a command line is one that a policy may allow
// because it is moderate: proven, of a program that is known, and none that a rule has to
// name.
func (e *evaluation) runsByRisk(a *act) bool {
	switch {
	case e.policy.RiskOff, a.class != risk.Moderate, a.secret, a.protected, a.does.Unproven() && !a.names:
		return false
	case a.override == nil && slices.Contains(a.factors, risk.FactorUnknown):
		return false
	}
	return a.sub.Kind == patterns.RunCommand || a.sub.Kind == patterns.WritePath || a.sub.Kind == patterns.FetchURL
}

// harmless reports whether an action that no rule names is allowed because of
// its tier or, for a tool without a command, because it only reads in the
// workspace.
func (a *act) harmless(riskOff bool) bool {
	if a.override != nil && a.sub.Kind == patterns.WritePath {
		return !riskOff && a.class.Tier() == 1
	}
	if a.calm {
		return riskOff || a.class.Tier() == 1
	}
	if !a.command() {
		return a.sub.Kind == patterns.ReadPath && (a.inside && a.strays == "" || a.public) && (riskOff || !a.lifted)
	}
	return !riskOff && a.sub.Kind == patterns.RunCommand && (a.class.Tier() == 1 || a.quiet != "") && (a.names || !a.does.Unproven())
}

func (a *act) harmlessBy() string {
	if a.override != nil {
		return "tier 1: " + a.why
	}
	if a.calm || a.scratch {
		return scratchReason
	}
	if !a.command() {
		return "it reads inside the workspace"
	}
	if a.quiet != "" {
		return a.quiet
	}
	return "tier 1: safe"
}

func (a *act) unapproved(riskOff bool) string {
	switch {
	case a.beyond != "":
		return fmt.Sprintf("no rule allows it with %.64q", a.beyond)
	case a.strays != "":
		return a.strays
	case riskOff || !a.command() && !a.lifted:
		return "no rule allows it"
	case a.does.Unproven():
		return "it may not be harmless: " + a.does.Why.String()
	}
	return fmt.Sprintf("tier %d: %s", a.class.Tier(), a.why)
}
