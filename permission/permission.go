// Package permission decides tool uses: from a tool use and a policy it derives
// a decision with its reasons. Nothing else in the project decides.
package permission

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/modes"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// Behavior is the outcome of a decision. The zero value is invalid and treated
// as Deny.
type Behavior uint8

// The behaviors in order of strictness.
const (
	Allow Behavior = iota + 1
	Ask
	Deny
)

// Layer is one step of an evaluation.
type Layer uint8

// The layers in the order in which they answer. The zero value is invalid.
// Their names (String) are guard, session-deny, deny-list, session-allow, mode,
// allow-list, ask-list, rules and default.
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

// ToolUse is the use of a tool that the agent requests.
type ToolUse struct {
	ID    string          // the agent's id of this tool use
	Tool  string          // "Bash", "Edit", "mcp__server__tool"
	Input json.RawMessage // one JSON object, as the agent sent it
	// Dir is the current directory of the agent's shell, absolute and without "..".
	// Any other, and "", is unknown: relative paths then prove nothing.
	Dir     string
	Agent   string // id of the subagent, "" for the main one
	Session string
	Dialect shell.Dialect
	// OwnShell reports that a command line runs in a shell that ends with it. Otherwise a
	// variable, function or option that it leaves behind may change what the next one does,
	// and is asked about.
	OwnShell bool
	// ForceAsk has a person asked whatever allows the tool use: whoever requests it
	// wants that. It lifts no denial, and no answer to the question is kept.
	ForceAsk bool
}

// Policy holds the rules and settings that decide tool uses. It is read-only
// once built.
type Policy struct {
	Mode modes.Mode
	// OwnMode says that no session replaces Mode: see Session.SetMode.
	OwnMode  bool
	Allow    *patterns.Set // nil or empty: no allow list
	Ask      *patterns.Set
	Deny     *patterns.Set
	Rules    []*patterns.Granular
	Unlisted Unlisted
	// RiskOff disables the tiers, NoCatastrophic the catastrophic guard.
	RiskOff        bool
	NoCatastrophic bool
	// NoRemoval refuses all of tier 3. Otherwise a person is asked about the
	// removal of directories in the workspace that a tool makes anew (rm -rf
	// node_modules), and may keep the answer for the session.
	NoRemoval bool
	Profile   risk.Profile
	// ByRisk says, by class, what is answered about an action that no rule names, where
	// that is not what its tier says.
	ByRisk [risk.Forbidden]RiskAnswer
	// Overrides change the risk of single actions.
	Overrides []Override
	// SensitiveAsks makes reading a sensitive path, or printing a variable that
	// may hold a secret, moderate instead of safe, and requires a rule that names
	// it.
	SensitiveAsks bool
	// InlineAsFiles makes code that stands in a command line (python3 -c, node -e, a
	// here-document) count as a file of the workspace that the interpreter runs.
	InlineAsFiles bool
	// Public returns rules for what everybody may read; nil: nothing. A command
	// that only its tier lets through may otherwise read what is inside the
	// workspace. It is called by several goroutines.
	Public  func() *patterns.Set
	Place   patterns.Place
	Catalog *program.Catalog
	// Tools describes the fields of tools that are not built in; nil describes
	// none.
	Tools *tools.Table
	// Guarded lists the files that determine what the agent may do (policy files,
	// the record, the agent CLI's settings), as absolute paths. Writes to them or
	// below them are held asks in every mode.
	Guarded []string
	// Credentials lists files, as absolute paths, with which whoever has read them can
	// answer in a person's name. Reading one is a held ask in every mode.
	Credentials []string
	// Protect lists paths that are protected in addition to those of the table.
	Protect []Protected
	Version string // digest of the sources, for the record
	// Gate is a second allow list, which must name an action in addition to Allow.
	// If it is nil or empty there is none.
	Gate *patterns.Set
	// Further lists policies that are evaluated as well; the strictest decision
	// counts. A policy that adds the settings of an untrusted source to all
	// trusted ones can therefore loosen nothing. Their own Further is ignored.
	Further []*Policy
}

// Unlisted is the answer to an action that a non-empty allow list does not
// name.
type Unlisted uint8

// The answers. UnlistedDefault is deny in mode dontAsk and risk in all others.
// With UnlistedRisk only paths are gated: a read or write is asked about if the
// list has rules with paths in the workspace for such an access, and none names
// it.
const (
	UnlistedDefault Unlisted = iota
	UnlistedAsk
	UnlistedDeny
	UnlistedRisk
)

// RiskAnswer is an answer by risk. The zero value is that of the tier: safe runs,
// moderate and high are asked about.
//
// Allow is for commands, with what they write and fetch, that are proven to be of the
// class; it is none for what is high. With Deny only a rule of the policy that names the
// action lets it run, as in tier 3.
type RiskAnswer struct {
	Behavior Behavior // 0: that of the tier
	By       string   // who says so, for a person: "role chat"
	Source   patterns.Source
}

// Env holds the only functions outside the package that Evaluate calls.
type Env interface {
	// Resolve resolves symbolic links. A path that does not exist is resolved
	// through its nearest existing parent. If it is not ok, the target is unknown.
	Resolve(path string) (real string, ok bool)
	// Below reports whether a path that the rule matches exists below dir; hidden
	// reports whether names that begin with a dot count.
	Below(dir string, rule *patterns.Rule, hidden bool) bool
	// Links returns the symbolic links at most depth levels below dir, by their
	// absolute paths, since pathname expansion and searches may lead anywhere
	// through them. Not all: they cannot be told, or are too many.
	Links(dir string, depth int) (links []string, all bool)
	// Files returns the paths that the wildcards of the shell in an absolute path mean, a
	// directory with a slash behind it. Not all: they cannot be told, or are too many.
	Files(path shell.Word) (found []string, all bool)
	// Entry reports whether something is at an absolute path, without following a
	// link there, and whether that is a file or directory of the user's own. What
	// cannot be told exists and is not his own.
	Entry(path string) (exists, own bool)
	// Ignored reports whether git ignores the directory at an absolute path. What
	// cannot be told is not ignored.
	Ignored(dir string) bool
	// Unkept reports whether a file at an absolute path has contents that git cannot bring
	// back, because its repository ignores it and does not have it. A hole stands for any
	// text without a slash. Outside of repositories there are none.
	Unkept(file shell.Word) bool
	// Compiled reports whether a file at an absolute path is what a compiler made: a program,
	// a library or an object.
	Compiled(file shell.Word) bool
	// Settings returns the settings of the git repository that dir lies in, those
	// that only the repository's own configuration has. Not ok: they cannot be
	// read, and may be any.
	Settings(dir string) (settings []shell.Setting, ok bool)
	// Hosts returns the hosts that the files of a registry in dir and above it name, and
	// files relative to dir, and that nobody has accepted. Not ok: the file that it returns
	// cannot be read, and may name any.
	Hosts(r *program.Registry, dir string, files []string) (named []shell.Named, ok bool)
}

// Decision is the result of Evaluate.
type Decision struct {
	Behavior Behavior
	Layer    Layer
	// Rule is the deciding rule, "" if none; RuleSource is its origin.
	Rule       string
	RuleSource patterns.Source
	Reason     string // for a person
	Message    string // for the model, unless the tool use is allowed
	Held       bool   // an ask that only a person's answer to this very use lifts
	Interrupt  bool   // end the agent's turn
	Risk       risk.Class
	Tier       int
	// Parts lists the actions of a tool use that is asked about, in order,
	// including allowed ones. It is nil for other decisions.
	Parts []Part
	// Question reports that the tool use is itself a question for a person
	// (AskUserQuestion).
	Question bool
	// Grants are the lasting answers of a person by which it is allowed; of a result,
	// as they are afterwards.
	Grants []Grant
	// Refusal is the gate's objection to the command line, even if another layer
	// decided or the objection had no effect.
	Refusal Refusal
	// Advice tells the agent how to say the tool use so that it is allowed, one for
	// each cause and program. It is empty unless the tool use is asked about, or
	// denied only because the mode never asks, and everything that is asked about
	// could be said so.
	Advice []Advice
	// Sandbox says where a command line runs, if it does; SandboxWhy says why it has to run
	// outside.
	Sandbox    Sandboxed
	SandboxWhy string
	// OnlyReads says of a line inside the sandbox that it runs nothing but programs that look, and
	// changes nothing.
	OnlyReads bool
	// Programs are the names of programs that a line starts by their names, sorted, if it
	// runs outside or OnlyReads.
	Programs []string

	never bool   // a deny in place of a question that the mode never asks
	asker bool   // an ask by a rule that asks for certain
	cause string // what an ask is by, without the action: "asked by Bash(git push:*)"
}

// Factors returns the factors of the risk of all parts, sorted, each once.
func (d *Decision) Factors() []string {
	var all []string
	for i := range d.Parts {
		all = append(all, d.Parts[i].Factors...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// String returns the name of the behavior: allow, ask or deny. For an invalid
// value it is deny.
func (b Behavior) String() string {
	switch b {
	case Allow:
		return "allow"
	case Ask:
		return "ask"
	}
	return "deny"
}

// strength returns b, or Deny if b is invalid.
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

// String returns the name of the layer, or "invalid".
func (l Layer) String() string {
	if int(l) >= len(layerNames) {
		l = 0
	}
	return layerNames[l]
}

// Result is the answer of CanUseTool.
type Result struct {
	Decision
	// UpdatedInput is the input with which the tool is to run: the original, an
	// edited one, or one with a person's answers. It is never nil on allow.
	UpdatedInput json.RawMessage
	// By tells who decided: "rule", "person" or "timeout". It is ByAdvice for a denial
	// in place of a question, and ByHost for a question that is asked elsewhere.
	By string
	// Approval is that of the answer by which it was decided, see Answer.
	Approval *Approval
}

// Approver asks a person. It returns an answer, or an error if there is nobody
// to ask or the question was cancelled; an error denies.
type Approver interface {
	Approve(ctx context.Context, ask Request) (Answer, error)
}

// Answer is the answer of a person.
type Answer struct {
	Behavior Behavior // Allow or Deny; anything else denies
	// Scope is how long the answer applies. ScopeSession and ScopeAlways keep Rules, except those
	// to which Request.CanKeep objects, as allow or deny rules of the session.
	// ScopeUse keeps an allow for exactly this tool use, if Request.CanComeAgain does
	// not object.
	Scope Scope
	Rules []string
	// For and Times limit what is kept: to a time, and to a number of tool uses,
	// this one included. 0 is no limit.
	For   time.Duration
	Times int
	// UpTo lets the rules of an allow with ScopeSession count only for commands that are
	// certain to be of no higher grade; 0 is no limit. See Request.CanKeepUpTo.
	UpTo    risk.Grade
	Message string // for the model
	// Interrupt, with a denial, ends the agent's turn.
	Interrupt bool
	Input     json.RawMessage // answers to a question, or an edit; nil: the original input
	// Approval says, for the record, who answered a question that was put to others
	// than the person at the agent. It may be nil, and decides nothing.
	Approval *Approval
}

// Approval is the answer to a question that has an ID of its own, since it may be
// answered from elsewhere or by several people.
type Approval struct {
	ID      string
	People  []Answerer // in the order in which they answered
	Comment string     // of the last of them
}

// Answerer is a person who answered a question.
type Answerer struct {
	Name string
	// Credential is the id of the credential by which the person was known, "" for the
	// user of this machine.
	Credential string
}

// Adviser keeps account of the advice that an agent was told.
type Adviser interface {
	// Advise reports whether the agent is to be told this advice about a tool use in
	// place of a question, and takes note that it was. Of two calls at the same time
	// with the same advice, only one may return true.
	Advise(use ToolUse, advice []Advice) bool
}

// Recorder keeps the record. A decision that cannot be recorded becomes a deny.
type Recorder interface {
	Record(ctx context.Context, r Record) error
}

// Record is one decision in the form in which it is recorded.
type Record struct {
	Use    ToolUse
	Result Result
	// Edited is the input as edited by a person, which was decided; nil if the
	// original input was.
	Edited json.RawMessage
	// Facts holds the effects of the command line on which the decision is based,
	// nil if there is none. Knowledge is that with which it was read.
	Facts     *shell.Facts
	Knowledge Knowledge
	// Mapped holds the interpretation of a mapped tool's input.
	Mapped []MappedUse
}

// CommandGate is a further check of command lines, such as a whitelist. It can
// only narrow.
type CommandGate interface {
	// Forbid returns the objection to a command line. It may be called several
	// times for one tool use, so it must not count its calls.
	Forbid(line string, facts *shell.Facts) Refusal
}

// Refusal is a gate's objection to a command line. The zero value is none.
type Refusal struct {
	// Behavior is Deny, or Ask if a person may override the objection, for this
	// tool use or for the session. Zero means a dry run: the line may run, and
	// Kind and Reason say what would have been refused.
	Behavior Behavior
	Kind     string // an identifier for programs, "" if there is no refusal
	Reason   string // for a person and the model
	// Lenient says that the gate does not count a command of tier 1 as made up.
	Lenient bool
}

// CommandGates is several gates, all of which apply: the strictest refusal
// counts, the first of equally strict ones.
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

// Pauser reports whether the agent is paused beyond the end of a session, which
// only a person can undo.
type Pauser interface {
	// Paused returns the reason, "" if the agent is not paused. An error counts as
	// paused.
	Paused() (why string, err error)
}
