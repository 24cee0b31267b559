package desk

import (
	"slices"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/display"
	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// The names of the choices.
const (
	Once        = "once"         // allow this tool use
	Session     = "session"      // and keep rules for the session
	While       = "while"        // and keep rules for a time or for some tool uses
	Always      = "always"       // and write rules to a policy
	AcceptEdits = "accept-edits" // and accept edits in the workspace for the session
	Edit        = "edit"         // decide another input in place of this one
	Answers     = "answers"      // answer the agent's questions
	Deny        = "deny"         // deny this tool use
	Words       = "words"        // and tell the agent why
	Never       = "never"        // and keep a deny rule for the session
)

// Menu says what is offered beside an answer to one tool use. The zero value offers
// no choice that depends on a field.
type Menu struct {
	// Keep writes a rule to a policy and returns its place, for Always, as
	// engine.Rules.Keep does.
	Keep func(rule string) (patterns.Source, error)
	// Into returns the name of the file that Keep would write a rule to, as
	// engine.Rules.KeepsIn does; nil: it is not told.
	Into func(rule string) string
	// Session is the session that the evaluator decides with, for While and for
	// answers about exactly one tool use.
	Session *permission.Session
	// Edit says that the person can edit the tool use.
	Edit bool
	// Once leaves only choices about this one tool use as it is: for questions that
	// several people answer.
	Once bool
}

// Choices returns the choices about a tool use, in the order in which they are shown.
// Their keys are letters, one for each choice.
func (m Menu) Choices(ask *permission.Request) []display.Choice {
	if ask.Decision.Question {
		return []display.Choice{{Key: "a", Name: Answers, Label: "answer"}, {Key: "d", Name: Deny, Label: "deny"}, {Key: "w", Name: Words, Label: "deny, say why"}}
	}
	out := []display.Choice{{Key: "o", Name: Once, Label: "once"}}
	if m.Once {
		return append(out, display.Choice{Key: "d", Name: Deny, Label: "deny"}, display.Choice{Key: "w", Name: Words, Label: "deny, say why"})
	}
	out = append(out, m.lasting(ask)...)
	if m.Edit {
		out = append(out, display.Choice{Key: "e", Name: Edit, Label: "edit"})
	}
	out = append(out, display.Choice{Key: "d", Name: Deny, Label: "deny"}, display.Choice{Key: "w", Name: Words, Label: "deny, say why"})
	if rungs := shown(approval.Denials(ask)); len(rungs) > 0 {
		out = append(out, display.Choice{Key: "n", Name: Never, Label: "never this session", Rungs: rungs})
	}
	return out
}

// lasting returns the choices that allow more than this tool use.
func (m Menu) lasting(ask *permission.Request) (out []display.Choice) {
	rungs := ladder(ask)
	always := len(rungs) > 0 && m.Keep != nil
	if len(rungs) == 0 && m.Session != nil {
		rungs = again(ask)
	}
	if len(rungs) == 0 {
		return m.edits(ask)
	}
	session := rungs
	if m.Session != nil {
		session = bounded(ask, rungs)
	}
	out = append(out, display.Choice{Key: "s", Name: Session, Label: "this session", Rungs: session, Keeps: true})
	if m.Session != nil {
		out = append(out, display.Choice{Key: "t", Name: While, Label: "for a while", Rungs: session, Keeps: true})
	}
	if always {
		out = append(out, display.Choice{Key: "a", Name: Always, Label: "always", Rungs: rungs, Keeps: true, Into: m.into(rungs)})
	}
	return append(out, m.edits(ask)...)
}

// edits returns the choice to accept edits, where that would allow the tool use.
func (m Menu) edits(ask *permission.Request) []display.Choice {
	if m.Session == nil || ask.CanAcceptEdits() != nil {
		return nil
	}
	return []display.Choice{{Key: "A", Name: AcceptEdits, Label: "accept edits", Keeps: true}}
}

// into returns the name of the file that the rules of the rungs would be written to, ""
// if it is not the same for all.
func (m Menu) into(rungs []display.Rung) string {
	if m.Into == nil {
		return ""
	}
	var files []string
	for _, r := range rungs {
		for _, rule := range r.Rules {
			files = append(files, m.Into(rule))
		}
	}
	if files = slices.Compact(files); len(files) != 1 {
		return ""
	}
	return files[0]
}

// A Limit ends what is kept for a while: after a time, or a number of tool uses with
// this one included; 0 is no limit.
type Limit struct {
	Label string // "for 30 minutes"
	For   time.Duration
	Times int
}

// Limits returns the limits that are offered for While, the usual one first.
func Limits() []Limit {
	return []Limit{{"for 30 minutes", 30 * time.Minute, 0}, {"for 5 times, this one included", 0, 5}}
}

// Says returns what a choice says to the evaluator, with the rung that was picked;
// without rules, a choice that allows for longer is about exactly this
// tool use. Limits, messages and inputs are left to the caller. A name that is none
// denies, and so does a highest risk that is none.
func Says(choice string, rung display.Rung) permission.Answer {
	var upTo risk.Grade
	if upTo.UnmarshalText([]byte(rung.UpTo)) != nil {
		return permission.Answer{Behavior: permission.Deny}
	}
	rules := rung.Rules
	switch choice {
	case Once, Edit, Answers:
		return permission.Answer{Behavior: permission.Allow}
	case Session, While, Always:
		scope := permission.ScopeSession
		switch {
		case len(rules) == 0:
			scope = permission.ScopeUse
		case choice == Always:
			scope = permission.ScopeAlways
		}
		return permission.Answer{Behavior: permission.Allow, Scope: scope, Rules: rules, UpTo: upTo}
	case AcceptEdits:
		return permission.Answer{Behavior: permission.Allow, Scope: permission.ScopeEdits}
	case Never:
		return permission.Answer{Behavior: permission.Deny, Scope: permission.ScopeSession, Rules: rules}
	}
	return permission.Answer{Behavior: permission.Deny}
}

// ChoiceOf returns the name of the choice that says an answer.
func ChoiceOf(a permission.Answer) string {
	switch {
	case allows(a) && a.Input != nil:
		return Edit
	case allows(a) && a.Scope == permission.ScopeOnce:
		return Once
	case allows(a) && a.Scope == permission.ScopeAlways:
		return Always
	case allows(a) && a.Scope == permission.ScopeEdits:
		return AcceptEdits
	case allows(a) && (a.For > 0 || a.Times > 0):
		return While
	case allows(a):
		return Session
	case len(a.Rules) > 0:
		return Never
	case a.Message != "":
		return Words
	}
	return Deny
}

// allows reports whether an answer allows.
func allows(a permission.Answer) bool { return a.Behavior == permission.Allow }

// list returns the list for the rules of an answer.
func list(a permission.Answer) patterns.List {
	if allows(a) {
		return patterns.Allow
	}
	return patterns.Deny
}

// ladder returns the rules that an allow may keep, the narrowest first.
func ladder(ask *permission.Request) []display.Rung {
	rungs, err := approval.Ladder(ask)
	if err != nil {
		return nil
	}
	return shown(rungs)
}

// bounded returns rungs with the one that answers up to a risk before the one that has
// its rule without that.
func bounded(ask *permission.Request, rungs []display.Rung) []display.Rung {
	rung, err := approval.Bounded(ask)
	if err != nil {
		return rungs
	}
	at := slices.IndexFunc(rungs, func(r display.Rung) bool { return slices.Equal(r.Rules, rung.Rules) })
	if at < 0 {
		at = len(rungs)
	}
	return slices.Insert(slices.Clone(rungs), at, shown([]approval.Rung{rung})...)
}

// again returns the rung for exactly this tool use, if it may come again.
func again(ask *permission.Request) []display.Rung {
	rung, err := approval.Again(ask)
	if err != nil {
		return nil
	}
	return shown([]approval.Rung{rung})
}

func shown(rungs []approval.Rung) []display.Rung {
	var out []display.Rung
	for _, r := range rungs {
		upTo, _ := r.UpTo.MarshalText() // a grade of the tables has a name
		out = append(out, display.Rung{Label: r.Label, Rules: r.Rules, UpTo: string(upTo)})
	}
	return out
}
