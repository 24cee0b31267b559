package editor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/desk"
	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// talking is a conversation within the test: the editor's end of it.
type talking struct {
	*testing.T
	in     *io.PipeWriter
	events chan wrapper.Event
	over   chan error
}

// begin begins a conversation whose turns are run by turn.
func begin(t *testing.T, ctx context.Context, prompt string, turn func(ctx context.Context, e *Editor, task wrapper.Task) error) *talking {
	t.Helper()
	r, w := io.Pipe()
	c := &talking{T: t, in: w, events: make(chan wrapper.Event, 10_000), over: make(chan error, 1)}
	var e *Editor
	e = New(Options{
		In: r, Events: func(e wrapper.Event) { c.events <- e }, Desk: desk.Options{Menu: desk.Menu{Edit: true}},
		Turn:    func(ctx context.Context, task wrapper.Task) error { return turn(ctx, e, task) },
		SetMode: func(mode string) error { return errors.New("no mode " + mode) },
		Modes:   func() []string { return []string{"default"} },
	})
	go func() { c.over <- e.Serve(ctx, wrapper.Task{Prompt: prompt, Session: "s", Fork: true}) }()
	t.Cleanup(func() { w.Close() })
	return c
}

func (c *talking) send(v any) {
	line, err := json.Marshal(v)
	if err == nil {
		_, err = c.in.Write(append(line, '\n'))
	}
	if err != nil {
		c.Error(err)
	}
}

func (c *talking) until(kind string) wrapper.Event {
	c.Helper()
	for e := range c.events {
		if e.Type == kind {
			return e
		}
	}
	return wrapper.Event{}
}

// object is a JSON object.
type object = map[string]any

// evaluator returns an evaluator that asks about npm.
func evaluator(t *testing.T, e *Editor) *permission.Evaluator {
	t.Helper()
	spec, err := policy.Parse([]byte(`ask = ["Bash(npm:*)"]`), "p.toml")
	if err != nil {
		t.Fatal(err)
	}
	p, session, _, err := spec.Compile(patterns.Place{Workspace: "/proj"})
	if err != nil {
		t.Fatal(err)
	}
	session.Now = time.Now
	return &permission.Evaluator{Policy: p, Session: session, Approver: e.Announce(nil), Recorder: calm{}}
}

type calm struct{}

func (calm) Record(context.Context, permission.Record) error { return nil }

// TestServe: many questions of a turn at once are answered in another order; each answer
// reaches its tool use.
func TestServe(t *testing.T) {
	const n = 50
	c := begin(t, t.Context(), "go", func(ctx context.Context, e *Editor, task wrapper.Task) error {
		v := evaluator(t, e)
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() {
				input, _ := json.Marshal(object{"command": fmt.Sprint("npm ", i)})
				res, err := v.CanUseTool(ctx, permission.ToolUse{ID: fmt.Sprint(i), Tool: "Bash", Input: input, Dir: "/proj"})
				if even := i%2 == 0; err != nil || (res.Behavior == permission.Allow) != even {
					t.Errorf("npm %d: %v, %v", i, res.Behavior, err)
				}
			})
		}
		all.Wait()
		task.Events(wrapper.Event{Type: wrapper.DoneEvent})
		return nil
	})
	var asked []wrapper.Event
	for len(asked) < n {
		asked = append(asked, c.until(wrapper.ApprovalRequiredEvent))
	}
	for i := range asked {
		e := asked[(i*7+3)%n]
		var command struct{ Command string }
		if err := json.Unmarshal(e.Input, &command); err != nil {
			t.Fatal(err)
		}
		choice := desk.Deny
		if last := command.Command[len(command.Command)-1]; (last-'0')%2 == 0 {
			choice = desk.Once
		}
		c.send(object{"type": approvalResponse, "approval_id": e.ApprovalID, "digest": e.Digest, "choice": choice})
	}
	c.until(wrapper.DoneEvent)
	c.in.Close()
	if err := <-c.over; err != nil {
		t.Error(err)
	}
	if len(c.events) != 0 {
		t.Errorf("after done: %+v", <-c.events)
	}
}

// TestServeTurns: turns go on with the session that the agent tells, forked only once;
// messages wait for their turn, and are limited.
func TestServeTurns(t *testing.T) {
	var tasks []wrapper.Task
	gate := make(chan bool)
	c := begin(t, t.Context(), "", func(ctx context.Context, e *Editor, task wrapper.Task) error {
		tasks = append(tasks, task)
		task.Events(wrapper.Event{Type: wrapper.SessionEvent, SessionID: fmt.Sprint("s", len(tasks))})
		select {
		case <-gate:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if len(tasks) == 2 {
			task.Events(wrapper.Event{Type: wrapper.SessionCorruptedEvent})
			return errors.New("corrupted")
		}
		return nil
	})
	c.send(object{"type": userMessage, "text": "a"})
	c.until(wrapper.SessionEvent)
	for range maxQueue + 1 {
		c.send(object{"type": userMessage, "text": "b"})
	}
	if e := c.until(wrapper.ErrorEvent); !strings.Contains(e.Message, "too many messages") {
		t.Error(e)
	}
	for range 3 {
		gate <- true
		c.until(wrapper.DoneEvent)
	}
	c.until(wrapper.SessionEvent)
	c.send(object{"type": shutdown})
	if err := <-c.over; err != nil {
		t.Error(err)
	}
	var got []string
	for _, task := range tasks {
		got = append(got, fmt.Sprint(task.Prompt, " ", task.Session, " ", task.Fork))
	}
	if want := "[a s true b s1 false b  false b s3 false]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestServeEnds: the end of the context, and a breach, end the conversation; the error
// is theirs.
func TestServeEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	begun := make(chan bool)
	c := begin(t, ctx, "go", func(ctx context.Context, e *Editor, task wrapper.Task) error {
		close(begun)
		<-ctx.Done()
		return ctx.Err()
	})
	<-begun
	cancel()
	if err := <-c.over; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	c = begin(t, t.Context(), "go", func(context.Context, *Editor, wrapper.Task) error { return &wrapper.Breach{Tool: "Bash"} })
	var breach *wrapper.Breach
	if err := <-c.over; !errors.As(err, &breach) {
		t.Error(err)
	}
	c = begin(t, t.Context(), "go", func(ctx context.Context, _ *Editor, _ wrapper.Task) error {
		<-ctx.Done()
		return fmt.Errorf("interrupted: %w", context.Cause(ctx))
	})
	c.in.Close()
	if err := <-c.over; err != nil {
		t.Error(err)
	}
}

// TestTellMode: the event says which mode is in force, not which was set.
func TestTellMode(t *testing.T) {
	const stays, too = "mode plan stays in force: a policy that is not yours sets it", "in force too, by a policy that is not yours: mode plan"
	for _, tt := range []struct {
		set  string
		now  []string
		want wrapper.Event
	}{
		{"", []string{"default"}, wrapper.Event{Mode: "default"}},
		{"plan", []string{"plan"}, wrapper.Event{Mode: "plan"}},
		{"acceptEdits", []string{"plan"}, wrapper.Event{Mode: "plan", Message: stays}},
		{"dontAsk", []string{"dontAsk", "plan"}, wrapper.Event{Mode: "dontAsk", Message: too}},
		{"", []string{"dontAsk", "plan"}, wrapper.Event{Mode: "dontAsk", Message: too}},
	} {
		var got wrapper.Event
		e := New(Options{Events: func(e wrapper.Event) { got = e }, Modes: func() []string { return tt.now }})
		e.tellMode(tt.set)
		if got.Type != wrapper.ModeEvent || got.Mode != tt.want.Mode || got.Message != tt.want.Message {
			t.Errorf("set %q, in force %q: %+v", tt.set, tt.now, got)
		}
	}
}
