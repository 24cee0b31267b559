package editor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/desk"
	"github.com/agent-wrapper/agent-wrapper/internal/text/lines"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// Options say whom an Editor speaks with and what it leads.
type Options struct {
	In io.Reader // what the editor sends
	// Finish has what was said before the end of In done; otherwise it ends the turn.
	Finish bool
	// Events gets what the editor is told. It is called concurrently.
	Events func(wrapper.Event)
	// Desk says what the questions offer. Asked and Withdrawn are the Editor's.
	Desk desk.Options
	// Turn drives one turn of the agent, with the Editor as its approver, and sends its
	// events to Task.Events; see engine.Engine.Drive.
	Turn func(ctx context.Context, task wrapper.Task) error
	// SetMode changes the permission mode. The error says why it does not.
	SetMode func(mode string) error
	// Modes returns the modes in force, one at least: a policy may have one that SetMode
	// does not replace.
	Modes func() []string
}

// Editor leads a conversation. It is the approver of its turns.
type Editor struct {
	options Options
	desk    *desk.Desk

	mu      sync.Mutex
	digests map[string]string // of the questions that wait, by ID
	session string            // of the agent
}

// New returns an Editor.
func New(o Options) *Editor {
	e := &Editor{options: o, digests: map[string]string{}}
	o.Desk.Asked, o.Desk.Withdrawn = e.asked, e.withdrawn
	e.desk = desk.New(o.Desk)
	return e
}

// Approve puts a question to the editor.
func (e *Editor) Approve(ctx context.Context, ask permission.Request) (permission.Answer, error) {
	return e.desk.Approve(ctx, ask)
}

// Announce returns the Editor: it tells of its questions itself.
func (e *Editor) Announce(func(wrapper.Event)) permission.Approver { return e }

// asked tells the editor of a question.
func (e *Editor) asked(q desk.Question) {
	e.mu.Lock()
	e.digests[q.ID] = q.Digest
	e.mu.Unlock()
	e.options.Events(required(&q))
}

// required returns the event for a question.
func required(q *desk.Question) wrapper.Event {
	var choices struct {
		Questions json.RawMessage `json:"questions"`
	}
	if len(q.Choices) > 0 && q.Choices[0].Name == desk.Answers && json.Unmarshal(q.Input, &choices) == nil && choices.Questions != nil {
		return wrapper.Event{Type: wrapper.InsertChoicesEvent, ApprovalID: q.ID, Digest: q.Digest, ToolUseID: q.ToolUseID, Agent: q.Agent, Questions: choices.Questions}
	}
	shown, err := json.Marshal(q)
	if err != nil {
		shown = nil // the other fields are enough to answer
	}
	event := wrapper.Event{
		Type: wrapper.ApprovalRequiredEvent, ApprovalID: q.ID, Digest: q.Digest, ToolUseID: q.ToolUseID, Tool: q.Tool, Agent: q.Agent,
		Input: q.Input, Options: wrapper.Choices, Reason: q.Reason, Rule: q.Rule, Source: q.RuleSource,
		Tier: q.Tier, Factors: q.Factors, Question: shown,
	}
	if q.Tier != 0 {
		event.Risk = q.Risk
	}
	return event
}

// withdrawn tells the editor that a question has ended.
func (e *Editor) withdrawn(id, reason string) {
	e.forget(id)
	e.options.Events(wrapper.Event{Type: wrapper.ApprovalWithdrawnEvent, ApprovalID: id, Reason: reason})
}

func (e *Editor) forget(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.digests, id)
}

// digest returns the digest of a question that waits.
func (e *Editor) digest(id string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.digests[id]
}

// The limits on messages that wait for their turn.
const (
	maxQueue     = 100
	maxQueueSize = lines.Max
)

// talk is the conversation of Serve.
type talk struct {
	*Editor
	queue []string
	task  wrapper.Task            // of the next turn
	stop  context.CancelCauseFunc // ends the turn that runs; nil: none does
	over  chan error
	leave bool // no further turn begins
	done  bool // nothing more will be said
	last  error
}

// Serve drives the agent until the editor ends the conversation or ctx ends. The first
// turn is that of task, unless its Prompt is empty; later ones go on with the agent's
// session. The error is that of the last turn, or a *wrapper.Breach, after which there
// is no further one.
func (e *Editor) Serve(ctx context.Context, task wrapper.Task) error {
	quit := make(chan struct{})
	defer close(quit)
	inputs := e.inputs(quit)
	e.session = task.Session
	t := &talk{Editor: e, task: task, over: make(chan error)}
	e.tellMode("")
	if task.Prompt != "" {
		t.queue = append(t.queue, task.Prompt)
	}
	cancelled := ctx.Done()
	for {
		if t.stop == nil && (t.leave || ctx.Err() != nil || t.done && len(t.queue) == 0) {
			return t.last
		}
		if t.stop == nil && len(t.queue) > 0 {
			t.begin(ctx)
		}
		select {
		case in, more := <-inputs:
			if !more {
				inputs, t.done = nil, true
				if !e.options.Finish {
					t.end("the editor has gone")
				}
				continue
			}
			in(t)
		case err := <-t.over:
			t.ended(err)
		case <-cancelled:
			cancelled = nil
			e.desk.Close("the conversation was ended")
		}
	}
}

// inputs returns what the editor sends, as what it does, until it ends the stream.
func (e *Editor) inputs(quit chan struct{}) chan func(*talk) {
	inputs := make(chan func(*talk))
	go func() {
		defer close(inputs)
		for in := lines.NewReader(e.options.In); ; {
			line, err := in.Next()
			if err != nil && !errors.Is(err, lines.ErrLong) {
				return
			}
			select {
			case inputs <- meaning(line, err):
			case <-quit:
				return
			}
		}
	}()
	return inputs
}

// meaning returns what a line of the editor does.
func meaning(line []byte, err error) func(*talk) {
	var in input
	if err == nil {
		in, err = decode(line)
	}
	if err != nil {
		return func(t *talk) { t.complain(err) }
	}
	return func(t *talk) { t.take(&in) }
}

func (e *Editor) tell(event wrapper.Event) { e.options.Events(event) }

// complain reports a line that does nothing.
func (e *Editor) complain(err error) {
	e.tell(wrapper.Event{Type: wrapper.ErrorEvent, Message: err.Error()})
}

// take does what a line says.
func (t *talk) take(in *input) {
	switch in.Type {
	case approvalResponse, choicesResponse:
		t.answer(in)
	case userMessage:
		t.message(in.Text)
	case interrupt:
		if t.stop == nil {
			t.complain(errors.New("interrupt: the agent does nothing now"))
			return
		}
		t.stop(wrapper.ErrInterrupted)
	case setMode:
		t.setMode(in.Mode)
	case shutdown:
		t.end("the editor has ended the conversation")
	default:
		t.complain(fmt.Errorf("there is no input of type %.100q", in.Type))
	}
}

// answer answers a question.
func (t *talk) answer(in *input) {
	reply := in.reply()
	if in.Type == choicesResponse && reply.Digest == "" {
		reply.Digest = t.digest(reply.ID)
	}
	if _, err := t.desk.Answer(reply); err != nil {
		t.tell(wrapper.Event{Type: wrapper.AnswerRefusedEvent, ApprovalID: in.ApprovalID, Message: err.Error()})
		return
	}
	t.forget(reply.ID)
}

// message takes what the person says to the agent.
func (t *talk) message(text string) {
	size := len(text)
	for _, waiting := range t.queue {
		size += len(waiting)
	}
	switch {
	case t.leave:
		t.complain(errors.New("user_message: the conversation has been ended"))
	case strings.TrimSpace(text) == "":
		t.complain(errors.New("user_message: text is empty"))
	case len(t.queue) >= maxQueue || size > maxQueueSize:
		t.complain(errors.New("user_message: too many messages wait for their turn"))
	default:
		t.queue = append(t.queue, text)
	}
}

func (t *talk) setMode(mode string) {
	if err := t.options.SetMode(mode); err != nil {
		t.complain(fmt.Errorf("set_mode: %w", err))
		return
	}
	t.tellMode(mode)
}

// tellMode tells of the mode that is in force once one, or "", was set.
func (e *Editor) tellMode(set string) {
	now := e.options.Modes()
	event := wrapper.Event{Type: wrapper.ModeEvent, Mode: now[0]}
	switch {
	case set != "" && now[0] != set:
		event.Message = "mode " + now[0] + " stays in force: a policy that is not yours sets it"
	case len(now) > 1:
		event.Message = "in force too, by a policy that is not yours: mode " + strings.Join(now[1:], ", ")
	}
	e.tell(event)
}

// end ends the conversation: what waits is denied, and so is the rest of the turn.
func (t *talk) end(why string) {
	t.leave, t.queue = true, nil
	t.desk.Close(why)
	if t.stop != nil {
		t.stop(wrapper.ErrInterrupted)
	}
}

// begin begins a turn with the next message.
func (t *talk) begin(ctx context.Context) {
	ctx, t.stop = context.WithCancelCause(ctx)
	task := t.task
	task.Prompt, task.Events = t.queue[0], t.heard
	task.Session = t.at()
	t.queue = t.queue[1:]
	t.task.Fork = false
	go func() {
		t.over <- t.options.Turn(ctx, task)
	}()
}

// at returns the agent's session.
func (e *Editor) at() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.session
}

// heard passes an event on. The end of a turn is told when it is over.
func (e *Editor) heard(event wrapper.Event) {
	switch event.Type {
	case wrapper.DoneEvent:
		return
	case wrapper.SessionEvent:
		e.goOn(event.SessionID)
	case wrapper.SessionCorruptedEvent:
		e.goOn("")
	}
	e.tell(event)
}

func (e *Editor) goOn(session string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.session = session
}

// ended takes the end of a turn.
func (t *talk) ended(err error) {
	t.stop(nil)
	t.stop, t.last = nil, err
	if errors.Is(err, wrapper.ErrInterrupted) {
		t.last = nil
	}
	if breach := new(wrapper.Breach); errors.As(err, &breach) {
		t.end("a tool ran without an approval")
	}
	t.tell(wrapper.Event{Type: wrapper.DoneEvent})
}
