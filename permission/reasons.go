package permission

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// maxShown is the number of bytes of a command or path that a reason shows.
const maxShown = 400

// usual is the initial capacity of a reason, which suffices for most.
const usual = 160

// describe returns a description of an action: "run npm install".
func (a *action) describe() string {
	if a.words == "" {
		var room [usual]byte
		a.words = string(a.appendTo(room[:0]))
	}
	return a.words
}

// appendTo appends the description of an action.
func (a *action) appendTo(b []byte) []byte {
	switch a.sub.Kind {
	case patterns.RunCommand:
		if a.inline {
			b = append(b, "run inline code as "...)
			return appendShown(b, a.does.Words)
		}
		return appendShown(append(b, "run "...), a.does.Words)
	case patterns.ReadPath:
		return appendShown(append(b, "read "...), []shell.Word{a.does.Path})
	case patterns.WritePath:
		return appendShown(append(b, "write "...), []shell.Word{a.does.Path})
	case patterns.FetchURL:
		return appendShown(append(b, "fetch "...), []shell.Word{a.does.Path})
	case patterns.Hidden:
		if a.does != nil {
			return append(append(b, "do something that cannot be analysed: "...), a.does.Why.String()...)
		}
	case patterns.UseTool:
		if a.sub.Name != "" {
			b = append(append(append(b, "use "...), a.sub.Tool...), '(')
			return append(cut(append(b, a.sub.Name...), len(b)), ')')
		}
	}
	return append(append(b, "use "...), a.sub.Tool...)
}

// appendShown appends words for a person, with an ellipsis for unknown text. It
// says how much is left out.
func appendShown(b []byte, words []shell.Word) []byte {
	from := len(b)
	for i := range words {
		if i > 0 {
			b = append(b, ' ')
		}
		b = append(b, words[i].Filled("…")...)
	}
	return cut(b, from)
}

// cut shortens the text of b that begins at from.
func cut(b []byte, from int) []byte {
	if len(b)-from <= maxShown {
		return b
	}
	at := from + maxShown
	for !utf8.RuneStart(b[at]) {
		at--
	}
	return fmt.Appendf(b[:at], "… (%d bytes more)", len(b)-at)
}

// doubt returns why a rule only possibly matches an action.
func (a *action) doubt() shell.Why {
	switch a.sub.Kind {
	case patterns.RunCommand:
		if !known(a.does.Words) {
			return shell.Why{Cause: shell.CauseWordUnknown}
		}
		return shell.Why{Cause: shell.CauseMayDo}
	case patterns.ReadPath, patterns.WritePath:
		if a.does.Recursive {
			return shell.Why{Cause: shell.CauseDirectory}
		}
		return shell.Why{Cause: shell.CausePathUnknown}
	case patterns.FetchURL:
		return shell.Why{Cause: shell.CauseHostUnknown}
	case patterns.Hidden:
		if a.does != nil {
			return a.does.Why
		}
	}
	return shell.Why{Cause: shell.CauseUnclear}
}

// appendMay appends why a rule may match the action, and may not.
func (a *action) appendMay(b []byte, rule cause) []byte {
	why := a.doubt()
	if why.Cause == shell.CauseDirectory {
		return fmt.Appendf(b, "it includes a directory that may contain files matched by %s rule %s", rule.list(), rule.text())
	}
	return fmt.Appendf(b, "it may match %s rule %s: %s", rule.list(), rule.text(), why)
}

// decision returns the decision for an answer to act i.
func (e *evaluation) decision(a answer, i int) Decision {
	d := Decision{
		Behavior:   a.behavior,
		Layer:      a.layer,
		Rule:       a.rule.text(),
		RuleSource: a.rule.source(),
		Reason:     e.reason(a, i),
		Held:       a.behavior == Ask && a.held(),
		Interrupt:  e.session.paused || a.reason == limitReached && a.behavior == Deny,
		Risk:       e.class(),
		Question:   e.use.Tool == tools.AskQuestion,
		Refusal:    e.refusal,
		asker:      a.behavior == Ask && a.reason == askedBy,
	}
	d.Tier = d.Risk.Tier()
	if a.behavior == Ask && !e.wordless {
		d.cause = e.cause(a, i)
	}
	if !a.rule.given() && i < len(e.acts) && (a.reason == isHarmless || a.reason == notAllowed || a.reason == riskDenied) {
		d.RuleSource = e.byRisk(i).Source
	}
	if a.reason == limitReached {
		d.RuleSource = e.session.reached.source
	}
	switch {
	case a.behavior == Allow || e.wordless:
	case a.behavior == Ask:
		d.Message = "Not approved: " + d.Reason + e.rewrites(a, i)
	default:
		d.Message = "Denied: " + d.Reason + e.rewrites(a, i)
	}
	if message := a.rule.message(); message != "" && a.behavior != Allow {
		d.Message = message
	}
	return d
}

// reason returns why answer a to act i decides, for a person.
func (e *evaluation) reason(a answer, i int) string {
	if a.whole() || i >= len(e.acts) || a.layer == LayerAllowList {
		return e.why(a, i)
	}
	var room [usual]byte
	b := append(e.appendWhy(room[:0], a, i), ": "...)
	return string(e.acts[i].appendTo(b))
}

// cause returns what an ask is by, for the reason of what a person has allowed.
func (e *evaluation) cause(a answer, i int) string {
	switch a.reason {
	case askedBy:
		return "asked by " + a.rule.text()
	case notListed:
		return "not in the allow list" + e.unprovenBy(&e.acts[i])
	case notListedThere:
		return "not in the allow list of " + e.policy.Gate.Rules()[0].Source().Name + e.unprovenBy(&e.acts[i])
	}
	return "asked: " + e.why(a, i)
}

// why returns the reason of an answer to act i.
func (e *evaluation) why(a answer, i int) string {
	var room [usual]byte
	return string(e.appendWhy(room[:0], a, i))
}

// appendWhy appends the reason of an answer to act i.
func (e *evaluation) appendWhy(b []byte, a answer, i int) []byte {
	b = append(b, fixedWords[a.reason]...)
	switch a.reason {
	case agentPaused:
		return append(b, e.session.reason...)
	case limitReached:
		return append(b, e.session.reached.words...)
	case catastrophic:
		return append(b, e.catastrophe...)
	case refusedByGate:
		return append(b, e.refusal.Reason...)
	case allowedByMode:
		return append(b, e.policy.Mode.String()...)
	case deniedBy, askedBy, allowedBy:
		return append(b, a.rule.text()...)
	case allowedForNow:
		return e.appendKept(b, a.rule)
	case mayCover:
		return e.acts[i].appendMay(b, a.rule)
	case guardsFile:
		return fmt.Appendf(b, "%s%s, which decides what the agent may do", e.acts[i].changes(), e.guarded(&e.acts[i]))
	case readsCredential:
		return append(append(b, e.shown(&e.acts[i])...), ", which may hold a person's credentials"...)
	case unread:
		return append(b, e.acts[i].does.Why.String()...)
	case protectsFile:
		return e.appendLifting(append(b, e.acts[i].changes()...), i)
	case notListedThere:
		b = fmt.Appendf(b, "%s (untrusted: it can only restrict): ", e.policy.Gate.Rules()[0].Source().Name)
		return append(e.acts[i].appendTo(b), e.unprovenBy(&e.acts[i])...)
	case notListed:
		b = append(e.acts[i].appendTo(b), e.unprovenBy(&e.acts[i])...)
		return append(b, e.boundedBy(i)...)
	case neverRun:
		b = fmt.Appendf(b, "%s; it runs only if a rule of the policy names it", e.acts[i].why)
		return append(b, e.forNothing(i)...)
	case isHarmless:
		return e.appendBy(append(b, e.harmlessBy(i)...), i)
	case notAllowed, isContained:
		return e.appendBy(append(b, e.acts[i].unapproved(e.policy.RiskOff)...), i)
	case riskDenied:
		return fmt.Appendf(b, "%s denies %s risk: %s; it runs only if a rule of the policy names it", e.byRisk(i).By, e.acts[i].class.Word(), e.acts[i].why)
	}
	return b
}

// changes says whether a write certainly changes its file. One of an unknown name, such as
// those that unzip writes, may be another file, and so may those that a search or git clean
// finds.
func (a *action) changes() string {
	if a.does != nil && a.does.Sweep && !a.does.Purpose {
		return "it may change "
	}
	if a.does != nil && len(a.does.Chosen) > 0 || slices.ContainsFunc(a.forms, func(w shell.Word) bool { return len(w.Holes) > 0 }) {
		return "it may change "
	}
	return "it changes "
}

// boundedBy says why the allow list is asked where risk decides what it does not name: see
// bounded.
func (e *evaluation) boundedBy(i int) string {
	switch {
	case e.unlisted() != 0:
		return ""
	case e.acts[i].sub.Kind == patterns.WritePath:
		return "; allow rules with a path are all that may be written here"
	}
	return "; allow rules with a path are all that may be read here"
}

// appendKept appends which rule of the session allows, and how long it applies. One of a
// file, as those are that a person always allows, applies beyond the session.
func (e *evaluation) appendKept(b []byte, rule cause) []byte {
	g := e.session.grantOf(rule.source())
	switch {
	case g != nil && g.From != "":
		b = append(b, "allowed by "...)
	case g != nil && g.Always, g == nil && rule.source().Line > 0:
		b = append(b, "always allowed by "...)
	default:
		b = append(b, "allowed for this session by "...)
	}
	b = append(b, rule.text()...)
	if g != nil {
		b = append(b, g.limits()...)
	}
	return b
}

// harmlessBy returns why act i is harmless.
func (e *evaluation) harmlessBy(i int) string {
	a := &e.acts[i]
	if a.class > risk.Safe && e.byRisk(i).Behavior == Allow && !a.harmless(e.policy.RiskOff) {
		return a.class.Word() + ": " + a.why
	}
	return a.harmlessBy()
}

// appendBy appends who answers by risk about act i, if the policy says.
func (e *evaluation) appendBy(b []byte, i int) []byte {
	if by := e.byRisk(i).By; by != "" {
		return append(append(append(b, " ("...), by...), ')')
	}
	return b
}

// forNothing returns a note about a session rule that matches act i but does
// not count for it, because it is of tier 3.
func (e *evaluation) forNothing(i int) string {
	if rule := e.cover(e.session.allow, i); rule != nil {
		return fmt.Sprintf(" (%s is a rule of the session)", rule)
	}
	return ""
}

// appendLifting appends the protected file and the rule that would permit the
// write.
func (e *evaluation) appendLifting(b []byte, i int) []byte {
	a := &e.acts[i]
	does := ", which can change what other commands do ("
	if slices.Contains(a.factors, risk.FactorSensitive) && a.class == risk.Moderate { // what programs run is high
		does = ", which other programs read secrets or settings from ("
	}
	b = append(append(b, e.shown(a)...), does...)
	if rule := e.lifting(i, e.wanted(a)); rule != "" {
		return append(append(b, rule...), " would allow it)"...)
	}
	return append(b, "only a rule that names it can allow it)"...)
}

// fixedWords holds the reasons that are always the same, or their beginnings.
var fixedWords = [...]string{
	agentPaused:     "the agent is paused: ",
	limitReached:    "",
	catastrophic:    "catastrophic command: ",
	readsCredential: "it reads ",
	noSandbox:       "it asks to run outside the sandbox",
	unread:          "a part of the command was not checked: ",
	forPerson:       "only a person can answer this",
	forced:          "the request itself requires a person's decision",
	deniedBy:        "denied by rule ",
	askedBy:         "asked by rule ",
	allowedBy:       "allowed by rule ",
	allowedForNow:   "",
	mayCover:        "",
	onlyReading:     "plan mode allows only reading, fetching and read-only commands",
	allowedByMode:   "allowed by mode ",
	notListed:       "Not in allow list: ",
	notListedThere:  "Not in allow list of ",
	nothingToAsk:    "nothing in it needs permission",
	needsNoRule:     "no rule is needed",
	neverRun:        "tier 3: ",
	removesRemade:   "tier 3: it removes only what a tool can rebuild",
	notAllowed:      "",
	isContained:     "",
	riskDenied:      "",
}

// maxSpots is the maximum number of opaque spots in a message to the model.
const maxSpots = 5

// rewrites tells the model which opaque spots prevent an allow: what each is,
// and how to write it clearly. If a rule certainly denies act i, only spots
// that belong to that act are included.
func (e *evaluation) rewrites(a answer, i int) string {
	if a.whole() {
		return ""
	}
	text := ""
	seen := map[shell.Why]bool{}
	for j := range e.acts {
		if !e.acts[j].hidden() || seen[e.acts[j].does.Why] || !e.inTheWay(a, i, j) {
			continue
		}
		spot := e.acts[j].does.Why
		seen[spot] = true
		if len(seen) > maxSpots {
			return text + ". Other parts cannot be analysed either"
		}
		if !e.acts[i].hidden() || e.acts[i].does.Why != spot { // the reason has it already
			text += ". This cannot be analysed: " + spot.String()
		}
		text += ". Instead: " + spot.Rewrite()
	}
	return text
}

// hidden reports whether the act is an opaque spot.
func (a *act) hidden() bool { return a.does != nil && a.does.Kind == shell.Opaque }

// inTheWay reports whether act j, an opaque spot, prevents the tool use from
// being allowed, when answer a to act i decides.
func (e *evaluation) inTheWay(a answer, i, j int) bool {
	if j == i || e.acts[j].parent == i {
		return true
	}
	if a.behavior == Deny && a.rule.given() {
		return false
	}
	return e.answerTo(j).behavior != Allow
}

// class returns the highest risk of the actions.
func (e *evaluation) class() risk.Class {
	class := risk.Safe
	for i := range e.acts {
		class = max(class, e.acts[i].class)
	}
	return class
}

// asked returns the decision to ask, with the parts that a person has to
// approve. In a mode that never asks it returns a deny that says so.
func (e *evaluation) asked(a answer, i int) Decision {
	d := e.decision(a, i)
	e.noteDoubts()
	e.stopped = e.stopped || a.reason == limitReached || a.reason == forced // advice is about something else
	if e.traits.NeverAsks {
		d.Behavior, d.Held, d.never = Deny, false, true
		d.Reason += fmt.Sprintf(" (mode %s never asks)", e.policy.Mode)
		d.Message = "Denied: " + d.Reason + e.rewrites(a, i)
		return d
	}
	if !d.Question {
		d.Parts = e.parts(d.Held)
	}
	return d
}
