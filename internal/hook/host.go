package hook

import (
	"encoding/json"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/hook/entry"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Host is an agent that runs hooks: what its payloads mean, and how it is answered.
type Host struct {
	Name  string // as in agent-wrapper hook claude
	Title string // as its makers write it
	// Limit is how long it waits for an answer by the configuration that we install. It
	// goes on without one, so an answer comes Margin earlier.
	Limit time.Duration
	// Project names the environment variables with the directory of the project; of
	// those that are set the first counts. Without one it is the directory in which the
	// hook is started.
	Project []string
	// Tools says what its tools are called here.
	Tools Tools
	// MCP says that tools of MCP servers are called as here, mcp__server__tool.
	MCP bool
	// Mapped says what the tools do that Tools names and that are none of ours.
	Mapped map[string]tools.Mapping
	// Events are the kinds of its events by their names. One that is not here is denied.
	Events map[string]Kind
	// Read returns what a payload is about, but for its kind, and but for the tool and
	// its input. An error is answered with a denial.
	Read func(p *Payload, env func(string) string) (*Event, error)
	// Answer returns what the host takes as the verdict on the event.
	Answer func(e *Event, v Verdict) Output
	// Rewrite returns the input with which an allowed tool use is to run, in place of
	// the host's, or nil; nil: none is rewritten. It is for doors that only a rewrite
	// closes.
	Rewrite func(e *Event) json.RawMessage
	// Loosens returns why a change of a settings file of the host, while it runs, is not
	// to count: it takes our hook out, or lets tools run unasked. "" lets it count. Nil:
	// the host does not ask.
	Loosens func(e *Event, project, home string, data []byte) string
	// Inline returns the command lines that a command of the person's runs before the
	// model sees it; nil: the host does not ask. The error is one of a command that
	// cannot be found.
	Inline func(e *Event, project, home string) ([]string, error)
	// Rewrites is the version on which it was measured that the host runs the input of an
	// answer in place of its own, without a sandbox of its own around it, so that a command
	// can be answered with one that runs it inside the sandbox; "": no command is. It needs Ruled.
	Rewrites string
	// Ruled returns why a host that does so must not be answered so now: rules of its own, by
	// its settings, would be matched against what it is answered; "": there are none.
	Ruled func(project, home string, env func(string) string) string
	// OwnShell says that the host runs each command line in a shell of its own, so that no
	// variable, function or option stays for the next one. That must be measured, or be in
	// the documents of its makers; what is not known may stay.
	OwnShell bool
	// NoInput says that the host ignores an answer's input: a tool use that a person has
	// edited is denied.
	NoInput bool
}

// mostReason is the maximum length of a reason in bytes: hosts hand it to the model, and
// one that is too long for a host's pipe has been taken for no answer.
const mostReason = 8 << 10

// A hook ends before the shell around it ends it, which ends before the host goes on
// without an answer.
const (
	// guardMargin is how much earlier than the limit of a host the shell around a hook ends it.
	guardMargin = entry.Limit - entry.Guarded
	// margin is how much earlier than that the hook denies by itself, and how much
	// earlier still it ends a wait for a person.
	margin = 5 * time.Second
)

// Kind is what an event is about.
type Kind uint8

// The kinds of events. The zero value is none.
const (
	// About is any event that needs no decision.
	About Kind = iota + 1
	// Use is a tool use before it runs.
	Use
	// Dialog is a tool use about which the host asks a person at the same time. The
	// first answer counts.
	Dialog
	// Ran and Failed are a tool use that has run.
	Ran
	Failed
	// Refused is a tool use that the host or its person has refused.
	Refused
	// Settings is a change of the host's settings while it runs.
	Settings
	// Expansion is a command of the person's that may run a shell before the model sees
	// it.
	Expansion
	// Turn is the beginning of a turn: the person has sent a message.
	Turn
	// End is the end of a session.
	End
)

// Event is what a payload says.
type Event struct {
	Kind Kind
	Name string // as the host calls it
	// Use is the tool use, with our names of the tool and its fields. Its Dir is the
	// directory of the agent's shell.
	Use permission.ToolUse
	// Asks reports that the host, answered with an ask, puts it to a person and runs
	// nothing without an answer.
	Asks bool
	// Plugin reports that our hook stands in a plugin of the host.
	Plugin bool
	// Plan reports that the host only plans.
	Plan bool
	// Project is the directory of the project, if the payload tells.
	Project string
	// File is the file of a change of settings, Command the command of an expansion.
	// From says where the command comes from, as the host calls it.
	// Words are the arguments that the person gave it.
	File, Command, From, Words string

	// ServerTool is our name of a tool of an MCP server whose own name does not tell
	// which; "" for others.
	ServerTool string

	tool *Tool           // of the host's table, nil for a tool that is not in it
	sent json.RawMessage // the input as the host sent it
}

// Output is what a hook prints, and its exit code.
type Output struct {
	Stdout, Stderr []byte
	Code           int
}

// exitBlock is the exit code that every host takes as a denial if something is on
// standard error and, in some, nothing on standard output.
const exitBlock = 2

// Block returns the denial that every host understands.
func Block(reason string) Output {
	return Output{Stderr: []byte(capped(reason) + "\n"), Code: exitBlock}
}

// JSON returns an answer on standard output.
func JSON(answer any) Output {
	text, err := json.Marshal(answer)
	if err != nil {
		return Block("agent-wrapper: the answer cannot be written: " + err.Error())
	}
	return Output{Stdout: append(text, '\n')}
}

// nested is the answer that Claude Code has made usual. It has no further keys: some
// hosts ignore an answer that has one.
type nested struct {
	Specific nestedDecision `json:"hookSpecificOutput"`
}

// nestedDecision is the inner object of nested.
type nestedDecision struct {
	Event    string          `json:"hookEventName"`
	Decision string          `json:"permissionDecision"`
	Reason   string          `json:"permissionDecisionReason,omitempty"`
	Input    json.RawMessage `json:"updatedInput,omitempty"`
}

// NestedAnswer returns a verdict in that form.
func NestedAnswer(e *Event, v Verdict) Output {
	d := nestedDecision{Event: e.Name, Decision: v.Word(), Input: v.Input}
	if !v.Allows() {
		d.Reason = capped(v.Reason)
	}
	return JSON(nested{d})
}
