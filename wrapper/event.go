package wrapper

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/lazyregexp"
	"github.com/agent-wrapper/agent-wrapper/internal/strictjson"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/tools"
)

// The types of events.
const (
	// Session: the agent's session has begun. Field session_id.
	SessionEvent = "session"
	// Status: state is thinking, responding, or tool_use (with tool,
	// input_summary, tool_use_id, agent).
	StatusEvent = "status"
	// Chunk: text that the agent said.
	ChunkEvent = "chunk"
	// ToolUse: the agent wants to run a command: tool (Bash), command,
	// tool_use_id, agent. Whether it may is a decision event.
	ToolUseEvent = "tool_use"
	// VCSOperation: a command that changes branches or history: operation
	// ("git rebase"), command.
	VCSOperationEvent = "vcs_operation"
	// InsertChoices: the agent asks the person: questions, tool_use_id.
	InsertChoicesEvent = "insert_choices"
	// ApprovalRequired: a person has to decide: tool, input, options, reason,
	// tool_use_id, agent.
	ApprovalRequiredEvent = "approval_required"
	// SessionCorrupted: the session cannot be resumed: old_session_id, reason
	// (sdk_session_not_found or stream_timeout).
	SessionCorruptedEvent = "session_corrupted"
	// Error: message.
	ErrorEvent = "error"
	// Done: the agent has finished, also after an error of its own.
	DoneEvent = "done"

	// Decision: a tool use was decided: tool, tool_use_id, agent,
	// input_summary, behavior (allow or deny), layer, rule, source, reason,
	// by, tier, risk.
	DecisionEvent = "decision"
	// ToolResult: what a tool gave back: tool, tool_use_id, agent, text,
	// is_error.
	ToolResultEvent = "tool_result"
	// Warning: message.
	WarningEvent = "warning"
)

// Event is something that happened in a run; as JSON, one line of the event
// stream. Which fields are set, the constants say.
type Event struct {
	Type         string          `json:"type"`
	SessionID    string          `json:"session_id,omitempty"`
	State        string          `json:"state,omitempty"`
	Tool         string          `json:"tool,omitempty"`
	ToolUseID    string          `json:"tool_use_id,omitempty"`
	Agent        string          `json:"agent,omitempty"`
	InputSummary string          `json:"input_summary,omitempty"`
	Text         string          `json:"text,omitempty"`
	Command      string          `json:"command,omitempty"`
	Operation    string          `json:"operation,omitempty"`
	Questions    json.RawMessage `json:"questions,omitempty"`
	Input        json.RawMessage `json:"input,omitempty"`
	Options      []Choice        `json:"options,omitempty"`
	OldSessionID string          `json:"old_session_id,omitempty"`
	Behavior     string          `json:"behavior,omitempty"`
	Layer        string          `json:"layer,omitempty"`
	Rule         string          `json:"rule,omitempty"`
	Source       string          `json:"source,omitempty"`
	Reason       string          `json:"reason,omitempty"`
	By           string          `json:"by,omitempty"`
	Tier         int             `json:"tier,omitempty"`
	Risk         string          `json:"risk,omitempty"`
	IsError      bool            `json:"is_error,omitempty"`
	Message      string          `json:"message,omitempty"`
}

// Choice is one answer that a person may give.
type Choice struct {
	Value string `json:"value"`
	Label string `json:"label"`
}

// choices are the answers to an approval_required event.
var choices = []Choice{
	{"allow_once", "allow_once - Allow this execution only"},
	{"deny_once", "deny_once - Deny this execution only"},
	{"allow_for_session", "allow_for_session - Allow for this session"},
	{"deny_for_session", "deny_for_session - Deny for this session"},
}

// Announce returns an approver that first tells the event stream what a person
// is asked, insert_choices or approval_required, and then asks next. If next
// is nil there is nobody to ask.
func Announce(events func(Event), next permission.Approver) permission.Approver {
	return announcer{events, next}
}

type announcer struct {
	events func(Event)
	next   permission.Approver
}

func (a announcer) Approve(ctx context.Context, ask permission.Request) (permission.Answer, error) {
	if err := ctx.Err(); err != nil {
		return permission.Answer{}, err
	}
	a.events(asked(ask))
	if a.next == nil {
		return permission.Answer{}, errors.New("there is nobody to ask")
	}
	return a.next.Approve(ctx, ask)
}

// asked is the event for a question to a person.
func asked(ask permission.Request) Event {
	if ask.Decision.Question {
		var input struct {
			Questions json.RawMessage `json:"questions"`
		}
		if strictjson.Decode(ask.Use.Input, &input, strictjson.IgnoreUnknown, strictjson.NullAbsent, strictjson.MaxSize(maxInput)) == nil && input.Questions != nil {
			return Event{Type: InsertChoicesEvent, ToolUseID: ask.Use.ID, Questions: input.Questions}
		}
	}
	return Event{
		Type: ApprovalRequiredEvent, Tool: ask.Use.Tool, ToolUseID: ask.Use.ID, Agent: ask.Use.Agent,
		Input: ask.Use.Input, Options: choices, Reason: ask.Decision.Reason,
	}
}

// Decided is the event for a decision.
func Decided(use permission.ToolUse, res permission.Result) Event {
	e := Event{
		Type: DecisionEvent, Tool: use.Tool, ToolUseID: use.ID, Agent: use.Agent,
		InputSummary: Summary(use.Tool, decidedInput(use, res)), Behavior: res.Behavior.String(), Layer: res.Layer.String(),
		Rule: res.Rule, Source: res.RuleSource.String(), Reason: res.Reason, By: res.By, Tier: res.Tier,
	}
	if res.Tier != 0 {
		e.Risk = res.Risk.String()
	}
	return e
}

// decidedInput is the input that a tool runs with, or would have.
func decidedInput(use permission.ToolUse, res permission.Result) json.RawMessage {
	if len(res.UpdatedInput) > 0 {
		return res.UpdatedInput
	}
	return use.Input
}

// maxSummary is the longest summary in characters.
const maxSummary = 200

// lineBreaks end a line somewhere.
const lineBreaks = "\n\r\v\f\u0085\u2028\u2029"

// maxInput is the longest input that is summed up, in bytes.
const maxInput = 64 << 20

// Summary says in one line what a tool is asked to do: of a tool that is not
// known, its whole input.
func Summary(tool string, input json.RawMessage) string {
	members, err := strictjson.Object(input, strictjson.MaxSize(maxInput))
	if err != nil {
		return ""
	}
	if text := tools.Asked(tool, members); text != "" {
		return OneLine(text)
	}
	if text := firstQuestion(members); tool == "AskUserQuestion" || tools.Builtin(tool) != nil && tool != "Bash" {
		return OneLine(text)
	}
	return OneLine(string(input))
}

// firstQuestion is what AskUserQuestion asks first, "" for other tools.
func firstQuestion(members map[string]any) string {
	questions, _ := members["questions"].([]any)
	if len(questions) == 0 {
		return ""
	}
	first, _ := questions[0].(map[string]any)
	text, _ := first["question"].(string)
	return text
}

// OneLine puts a sign in the place of line breaks, since the next line of a script
// is no argument of the one before, and cuts what is long.
func OneLine(text string) string {
	lines := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(lineBreaks, r) })
	for i := range lines {
		lines[i] = strings.Join(strings.Fields(lines[i]), " ")
	}
	text = strings.Join(slices.DeleteFunc(lines, func(line string) bool { return line == "" }), " ⏎ ")
	if runes := []rune(text); len(runes) > maxSummary {
		return string(runes[:maxSummary]) + "…"
	}
	return text
}

var vcs = lazyregexp.New(`^(git (?:checkout|switch|merge|rebase|pull|stash|reset)|jj (?:edit|new|abandon|rebase|squash|restore|undo))(?:\s|$)`)

// Wanted returns the events for a tool use that the agent has asked for.
func Wanted(id, tool, agent string, input json.RawMessage) []Event {
	events := []Event{{
		Type: StatusEvent, State: "tool_use", Tool: tool, ToolUseID: id, Agent: agent,
		InputSummary: Summary(tool, input),
	}}
	command := commandOf(tool, input)
	if command == "" {
		return events
	}
	events = append(events, Event{Type: ToolUseEvent, Tool: tool, ToolUseID: id, Agent: agent, Command: command})
	if found := vcs.FindStringSubmatch(command); found != nil {
		events = append(events, Event{Type: VCSOperationEvent, Operation: found[1], Command: command})
	}
	return events
}

// commandOf is the command line of Bash, "" of another tool.
func commandOf(tool string, input json.RawMessage) string {
	members, err := strictjson.Object(input, strictjson.MaxSize(maxInput))
	if err != nil || tool != "Bash" {
		return ""
	}
	command, _ := members["command"].(string)
	return command
}
