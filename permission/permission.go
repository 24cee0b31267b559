// Package permission decides tool uses: a tool use and a policy give a
// decision with its reasons. Nothing else in the project decides.
package permission

import (
	"context"
	"encoding/json"

	"github.com/agent-wrapper/agent-wrapper/modes"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/program"
	"github.com/agent-wrapper/agent-wrapper/risk"
	"github.com/agent-wrapper/agent-wrapper/shell"
	"github.com/agent-wrapper/agent-wrapper/tools"
)

// Behavior is what a decision comes to. The zero value is invalid and counts
// as Deny wherever it is read.
type Behavior uint8

// The behaviors, in order of strength.
const (
	Allow Behavior = iota + 1
	Ask
	Deny
)

// Layer is one step of the evaluator.
type Layer uint8

// The layers, in the order in which they answer; the zero value is invalid.
// Their names (String) are guard, session-deny, deny-list, session-allow,
// mode, allow-list, ask-list, rules, default.
const (
	LayerGuard Layer = iota + 1
	LayerSessionDeny
	LayerDenyList
	LayerSessionAllow
	LayerMode
	LayerAllowList
	LayerAskList
	LayerRules
	LayerDefault
)

// ToolUse is what the agent wants.
type ToolUse struct {
	ID    string          // the agent's id of this tool use
	Tool  string          // "Bash", "Edit", "mcp__server__tool"
	Input json.RawMessage // one JSON object, as the agent sent it
	// Dir is the directory that the agent's shell is in now, absolute. Empty
	// is unknown: relative paths then prove nothing.
	Dir     string
	Agent   string // id of the subagent, "" for the main one
	Session string
	Dialect shell.Dialect
}

// Policy is what a tool use is decided by. It is read-only once built.
type Policy struct {
	Mode     modes.Mode
	Allow    *patterns.Set // nil or empty: no allow list
	Ask      *patterns.Set
	Deny     *patterns.Set
	Rules    []*patterns.Granular
	Unlisted Unlisted
	// Risk off: no tiers. NoCatastrophic lifts the catastrophic guard.
	RiskOff        bool
	NoCatastrophic bool
	Profile        risk.Profile
	// Overrides change the risk of single actions.
	Overrides []Override
	// SensitiveAsks: a read of a sensitive path is moderate, no longer safe.
	SensitiveAsks bool
	Place         patterns.Place
	Catalog       *program.Catalog
	// Tools tells what the fields of tools mean that are not built in; nil:
	// nothing.
	Tools *tools.Table
	// Guarded are files that decide what the agent may do (policy files, the
	// record, the agent CLI's settings): absolute paths; writes to them or
	// below them are held asks in every mode.
	Guarded []string
	// Protect are paths that are protected beside those of the table.
	Protect []Protected
	Version string // digest of the sources, for the record
	// Gate is an allow list behind Allow that has to name an action as well, nil
	// or empty for none.
	Gate *patterns.Set
	// Further are policies that are asked as well; the strictest decision
	// counts. One that holds what is said by a source that nobody trusts, over
	// all that the trusted ones say, can therefore loosen nothing. Their own
	// Further does not count.
	Further []*Policy
}

// Unlisted is the answer for an action that a non-empty allow list does not
// name.
type Unlisted uint8

// The answers; UnlistedDefault is ask in mode default, deny in all others.
const (
	UnlistedDefault Unlisted = iota
	UnlistedAsk
	UnlistedDeny
	UnlistedRisk
)

// Env has the only calls out of Evaluate.
type Env interface {
	// Resolve follows symbolic links. A path that does not exist resolves
	// through its nearest existing parent. Not ok: unknown.
	Resolve(path string) (real string, ok bool)
	// Below reports whether a path that the rule covers exists under dir;
	// hidden says whether names beginning with a dot count.
	Below(dir string, rule *patterns.Rule, hidden bool) bool
	// Links reports whether a name at most depth levels below dir may be a
	// symbolic link: pathname expansion may then lead anywhere.
	Links(dir string, depth int) bool
}

// Decision is what Evaluate comes to.
type Decision struct {
	Behavior Behavior
	Layer    Layer
	// Rule is the deciding rule, "" if none; RuleSource where it comes from.
	Rule       string
	RuleSource patterns.Source
	Reason     string // for a person
	Message    string // for the model, when not allowed
	Held       bool   // an ask that only a person's answer to this very use lifts
	Interrupt  bool   // end the agent's turn
	Risk       risk.Class
	Tier       int
	// Parts are the actions of a tool use that is asked about, in order, also
	// those that are allowed; nil for other decisions.
	Parts []Part
	// Question: the tool use is a question for the person (AskUserQuestion).
	Question bool
	// Refusal is what the gate has against the command line, also where
	// another layer decided or nothing came of it.
	Refusal Refusal
}

// String returns the behavior's name: allow, ask, deny; what is none of them
// reads as deny.
func (b Behavior) String() string {
	switch b {
	case Allow:
		return "allow"
	case Ask:
		return "ask"
	}
	return "deny"
}

// strength is the behavior that b counts as: what is none is a deny.
func (b Behavior) strength() Behavior {
	if b == Allow || b == Ask {
		return b
	}
	return Deny
}

var layerNames = [...]string{
	"invalid", "guard", "session-deny", "deny-list", "session-allow",
	"mode", "allow-list", "ask-list", "rules", "default",
}

// String returns the layer's name, "invalid" for what is no layer.
func (l Layer) String() string {
	if int(l) >= len(layerNames) {
		l = 0
	}
	return layerNames[l]
}

// Result is what CanUseTool answers.
type Result struct {
	Decision
	// UpdatedInput is the input that the tool is to run with: the original,
	// an edited one, or one with a person's answers. Never nil on allow.
	UpdatedInput json.RawMessage
	// By is who decided: "rule", "person", "timeout".
	By string
}

// Approver asks a person. It returns an answer, or an error when there is
// nobody to ask or the question was cancelled; both deny.
type Approver interface {
	Approve(ctx context.Context, ask Request) (Answer, error)
}

// Answer is what a person said.
type Answer struct {
	Behavior Behavior // Allow or Deny; anything else denies
	// Scope is how long it counts. ScopeSession keeps Rules, those for which
	// Request.CanKeep has no objection, as allow or deny rules of the session.
	Scope   Scope
	Rules   []string
	Message string          // words for the model
	Input   json.RawMessage // answers to a question, or an edit; nil: the input as it was
}

// Recorder keeps the record. A decision that it cannot record is a deny.
type Recorder interface {
	Record(ctx context.Context, r Record) error
}

// Record is one decision as it is kept.
type Record struct {
	Use    ToolUse
	Result Result
	// Edited is what a person made of the input, which is what was decided; nil
	// if it was decided as it came.
	Edited json.RawMessage
	// Facts is what the command line that was decided would do, as it was read
	// for that; nil for what is none. Knowledge is what it was read with.
	Facts     *shell.Facts
	Knowledge Knowledge
	// Mapped is what the input of a mapped tool asks for, as it was read.
	Mapped []MappedUse
}

// CommandGate is a further gate for command lines, such as a whitelist. It can
// only take away.
type CommandGate interface {
	// Forbid says what is against a command line. It may be asked several times
	// about one tool use and must not count.
	Forbid(line string, facts *shell.Facts) Refusal
}

// Refusal is what a gate has against a command line. The zero value is nothing.
type Refusal struct {
	// Behavior is Deny, or Ask where a person's word lifts it: for this tool use,
	// or for the session. Zero lets the line go on: Kind and Reason then say what
	// would have been refused (dry run).
	Behavior Behavior
	Kind     string // a name for programs, "" if there is no refusal
	Reason   string // for a person and the model
}

// CommandGates are several gates, of which each binds: the strictest refusal
// counts, and of those that are alike the first.
type CommandGates []CommandGate

// Forbid returns the strictest refusal.
func (c CommandGates) Forbid(line string, facts *shell.Facts) Refusal {
	var worst Refusal
	for _, one := range c {
		if o := one.Forbid(line, facts); o.Behavior > worst.Behavior || worst.Kind == "" && o.Behavior == worst.Behavior {
			worst = o
		}
	}
	return worst
}

// Pauser says whether the agent is paused: by what outlasts a session, which
// only a person ends.
type Pauser interface {
	// Paused returns why, "" if it is not. An error counts as paused.
	Paused() (why string, err error)
}
