package wrapper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/agent-wrapper/agent-wrapper/internal/text/lazyregexp"
	"github.com/agent-wrapper/agent-wrapper/internal/text/strictjson"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// The values of Event.Type, with the fields that each one sets. The names of the
// fields are those of the JSON form.
const (
	// SessionEvent: the agent's session has begun. session_id.
	SessionEvent = "session"
	// StatusEvent: the agent's state has changed. state is thinking, responding
	// or tool_use, the last with tool, input_summary, tool_use_id and agent.
	StatusEvent = "status"
	// ChunkEvent: the agent wrote text. text.
	ChunkEvent = "chunk"
	// DeltaEvent: a piece of what the next ChunkEvent has whole, as the agent writes it;
	// of a driver that was told to. text.
	DeltaEvent = "delta"
	// ToolUseEvent: the agent wants to run a command; a DecisionEvent says
	// whether it may. tool (Bash), command, tool_use_id, agent.
	ToolUseEvent = "tool_use"
	// VCSOperationEvent: the agent wants to run a command that changes branches
	// or history. operation ("git rebase"), command.
	VCSOperationEvent = "vcs_operation"
	// InsertChoicesEvent: the agent asks the person questions. questions,
	// tool_use_id.
	InsertChoicesEvent = "insert_choices"
	// ApprovalRequiredEvent: a person has to decide a tool use. approval_id, tool,
	// input, options, reason, tier, risk, factors, tool_use_id, agent; where an editor
	// answers, also digest, rule, source and question.
	ApprovalRequiredEvent = "approval_required"
	// SessionCorruptedEvent: the session cannot be resumed. old_session_id,
	// reason (sdk_session_not_found or stream_timeout).
	SessionCorruptedEvent = "session_corrupted"
	// ErrorEvent: something failed. message, and tool_use_id if it is about one.
	ErrorEvent = "error"
	// DoneEvent: the agent has finished, possibly by giving up.
	DoneEvent = "done"

	// DecisionEvent: a tool use was decided. tool, tool_use_id, agent,
	// input_summary, behavior (allow or deny), layer, rule, source, reason, by,
	// tier, risk.
	DecisionEvent = "decision"
	// ToolResultEvent: a tool returned a result. tool, tool_use_id, agent, text,
	// is_error.
	ToolResultEvent = "tool_result"
	// WarningEvent: something that a person should know. message.
	WarningEvent = "warning"
	// ApprovalWithdrawnEvent: a question has ended without an answer to it.
	// approval_id, reason.
	ApprovalWithdrawnEvent = "approval_withdrawn"
	// AnswerRefusedEvent: an answer of the editor does not count. approval_id, message.
	AnswerRefusedEvent = "answer_refused"
	// ModeEvent: the permission mode in force, at first and whenever one is set. mode;
	// message where a policy of somebody else has one that stays.
	ModeEvent = "mode"
)

// Event is one event of a run. Its JSON form is one line of the event stream
// (docs/reference/events.md). The constants say which fields each type sets.
type Event struct {
	Type         string          `json:"type"`
	SessionID    string          `json:"session_id,omitempty"`
	ApprovalID   string          `json:"approval_id,omitempty"` // unique in a run
	Digest       string          `json:"digest,omitempty"`      // of the question that an answer is for
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
	Factors      []string        `json:"factors,omitempty"` // why the risk is what it is, as classify names them
	IsError      bool            `json:"is_error,omitempty"`
	Message      string          `json:"message,omitempty"`
	Mode         string          `json:"mode,omitempty"`
	Question     json.RawMessage `json:"question,omitempty"` // what a person is shown, see package desk
}

// Choice is one of the answers that an ApprovalRequiredEvent offers.
type Choice struct {
	Value string `json:"value"`
	Label string `json:"label"`
}

// Choices are the answers that an approval_required event offers.
var Choices = []Choice{
	{"allow_once", "allow_once - Allow this execution only"},
	{"deny_once", "deny_once - Deny this execution only"},
	{"allow_for_session", "allow_for_session - Allow for this session"},
	{"deny_for_session", "deny_for_session - Deny for this session"},
}

// Announce returns an approver that calls events with an insert_choices or
// approval_required event for each request and then passes the request to next.
// If next is nil, nobody can be asked: the approver returns an error, which
// denies. A next that has a method Announce of the same form, but for next, is asked for
// the approver instead: it tells of its questions itself.
func Announce(events func(Event), next permission.Approver) permission.Approver {
	if speaker, ok := next.(interface {
		Announce(events func(Event)) permission.Approver
	}); ok {
		return speaker.Announce(events)
	}
	return &announcer{events: events, next: next}
}

type announcer struct {
	events func(Event)
	next   permission.Approver
	asked  atomic.Int64
}

func (a *announcer) Approve(ctx context.Context, ask permission.Request) (permission.Answer, error) {
	if err := ctx.Err(); err != nil {
		return permission.Answer{}, err
	}
	a.events(Asked(ask, a.asked.Add(1)))
	if a.next == nil {
		return permission.Answer{}, errors.New("there is nobody to ask")
	}
	return a.next.Approve(ctx, ask)
}

// Asked returns the event for the nth request to a person. The agent repeats a
// tool use whose input it was told to change, so the ID of the tool use alone is
// not unique.
func Asked(ask permission.Request, n int64) Event {
	if ask.Decision.Question {
		var input struct {
			Questions json.RawMessage `json:"questions"`
		}
		if strictjson.Decode(ask.Use.Input, &input, strictjson.IgnoreUnknown, strictjson.NullAbsent, strictjson.MaxSize(maxInput)) == nil && input.Questions != nil {
			return Event{Type: InsertChoicesEvent, ToolUseID: ask.Use.ID, Questions: input.Questions}
		}
	}
	e := Event{
		Type: ApprovalRequiredEvent, ApprovalID: fmt.Sprintf("%s/%d", ask.Use.ID, n),
		Tool: ask.Use.Tool, ToolUseID: ask.Use.ID, Agent: ask.Use.Agent,
		Input: ask.Use.Input, Options: Choices, Reason: ask.Decision.Reason,
		Tier: ask.Decision.Tier, Factors: ask.Decision.Factors(),
	}
	if e.Tier != 0 {
		e.Risk = ask.Decision.Risk.String()
	}
	return e
}

// Decided returns the event for a decision.
func Decided(use permission.ToolUse, res permission.Result) Event {
	e := Event{
		Type: DecisionEvent, Tool: use.Tool, ToolUseID: use.ID, Agent: use.Agent,
		InputSummary: summary(use.Tool, decidedInput(use, res)), Behavior: res.Behavior.String(), Layer: res.Layer.String(),
		Rule: res.Rule, Source: res.RuleSource.String(), Reason: res.Reason, By: res.By, Tier: res.Tier,
	}
	if res.Tier != 0 {
		e.Risk = res.Risk.String()
	}
	return e
}

// decidedInput returns the input that the tool runs with, or would have run with.
func decidedInput(use permission.ToolUse, res permission.Result) json.RawMessage {
	if len(res.UpdatedInput) > 0 {
		return res.UpdatedInput
	}
	return use.Input
}

// maxSummary is the length of the longest summary, in characters.
const maxSummary = 200

// lineBreaks are the characters that some terminal or reader takes for the end of
// a line.
const lineBreaks = "\n\r\v\f\u0085\u2028\u2029"

// maxInput is the size of the longest input that is summarized, in bytes.
const maxInput = 64 << 20

// summary returns in one line what a tool use is about: the command, path or URL
// of a known tool, the whole input of any other.
func summary(tool string, input json.RawMessage) string {
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

// firstQuestion returns the first question of an AskUserQuestion input, "" for
// other inputs.
func firstQuestion(members map[string]any) string {
	questions, _ := members["questions"].([]any)
	if len(questions) == 0 {
		return ""
	}
	first, _ := questions[0].(map[string]any)
	text, _ := first["question"].(string)
	return text
}

// OneLine returns text in one line of limited length. A line break becomes a
// visible sign, because the next line of a script is not an argument of the one
// before.
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

// Wanted returns the events for a tool use that the agent has requested.
func Wanted(id, tool, agent string, input json.RawMessage) []Event {
	events := []Event{{
		Type: StatusEvent, State: "tool_use", Tool: tool, ToolUseID: id, Agent: agent,
		InputSummary: summary(tool, input),
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

// commandOf returns the command line of a Bash input, "" for other tools.
func commandOf(tool string, input json.RawMessage) string {
	members, err := strictjson.Object(input, strictjson.MaxSize(maxInput))
	if err != nil || tool != "Bash" {
		return ""
	}
	command, _ := members["command"].(string)
	return command
}
