package claude

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// converse has a conversation with a scripted agent.
func converse(t *testing.T, d wrapper.Decider, log io.Writer, script func(f *fake), person func(t *testing.T, c *wrapper.Conversation, turn func(ctx context.Context, prompt string) (wrapper.Outcome, error))) *recorder {
	t.Helper()
	events := &recorder{}
	synctest.Test(t, func(t *testing.T) {
		o := options(agent(t, nil, script), d, events)
		o.Log = log
		c := wrapper.NewConversation(t.Context(), func(ctx context.Context, task wrapper.Task) (wrapper.Outcome, error) {
			return drive(ctx, launch{Agent: o.Agent, Task: task})
		})
		person(t, c, func(ctx context.Context, prompt string) (wrapper.Outcome, error) {
			task := o.Task
			task.Prompt = prompt
			return c.Turn(ctx, task)
		})
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return events
}

// says returns the text of a prompt line.
func says(m object) string {
	message, _ := m["message"].(object)
	text, _ := message["content"].(string)
	return text
}

// expect hears an interrupt and answers it.
func (f *fake) interrupted() {
	m := f.hear()
	if q, _ := m["request"].(object); q["subtype"] != "interrupt" {
		f.t.Errorf("heard %v, not an interrupt", m)
	}
	f.answer(m, object{"still_queued": []any{}})
}

func (f *fake) failsInterrupted() {
	f.say(object{"type": "result", "subtype": "error_during_execution", "is_error": true, "result": "", "session_id": "s-1"})
	f.state("idle")
}

// TestTurns: one agent takes prompt after prompt.
func TestTurns(t *testing.T) {
	heard := []string{}
	events := converse(t, byWord, nil, func(f *fake) {
		heard = append(heard, says(f.ready()))
		f.use("u1", "Bash", bash("git status"))
		f.results("u1", true, "user_temporary")
		f.concludes("first")
		f.state("idle")
		heard = append(heard, says(f.hear()))
		f.begin("2.1.329")
		f.use("u2", "Bash", bash("deny me"))
		f.results("u2", false, "reject")
		f.ends()
	}, func(t *testing.T, c *wrapper.Conversation, turn func(context.Context, string) (wrapper.Outcome, error)) {
		out, err := turn(t.Context(), "one")
		if out.Text != "first" || out.Allowed != 1 || err != nil {
			t.Errorf("first turn: %+v, %v", out, err)
		}
		time.Sleep(time.Hour) // the agent waits
		out, err = turn(t.Context(), "two")
		if out.Text != "done" || out.Denied != 1 || err != nil || c.Session() != "s-1" {
			t.Errorf("second turn: %+v, %v", out, err)
		}
	})
	if got := strings.Join(heard, " "); got != "one two" {
		t.Errorf("the agent heard %s", got)
	}
	if n := len(events.of(wrapper.SessionEvent)); n != 1 {
		t.Errorf("%d sessions", n)
	}
}

// waiting decides once the question is over, and then allows: too late.
var waiting = decider(func(ctx context.Context, use permission.ToolUse) (permission.Result, error) {
	<-ctx.Done()
	return allow(use)
})

// TestInterruptedTurn: an interrupt ends a turn and what is asked in it, and not the agent.
func TestInterruptedTurn(t *testing.T) {
	for _, at := range []string{"hook", "work", "late"} {
		t.Run(at, func(t *testing.T) {
			var second string
			var log bytes.Buffer
			events := converse(t, waiting, &log, func(f *fake) {
				f.ready()
				if at == "hook" {
					f.wants("u1", "Bash", bash("git status"))
					f.hooks("u1", "Bash", bash("git status"), "/w")
				}
				if at == "late" { // the turn ends by itself at the same time
					m := f.hear()
					f.concludes("done")
					time.Sleep(time.Second)
					f.answer(m, object{"still_queued": []any{}})
				} else {
					f.interrupted()
				}
				if at == "hook" {
					if d := hookDecision(f.hear()); d != "deny" {
						t.Errorf("the hook was answered %q", d)
					}
					// A tool use that comes before the turn has ended does not run.
					f.wants("u2", "Bash", bash("git diff"))
					f.hooks("u2", "Bash", bash("git diff"), "/w")
					if d := hookDecision(f.hear()); d != "deny" {
						t.Errorf("the hook after the interrupt was answered %q", d)
					}
				}
				if at != "late" {
					f.failsInterrupted()
				}
				second = says(f.hear())
				f.begin("2.1.329")
				f.ends()
			}, func(t *testing.T, c *wrapper.Conversation, turn func(context.Context, string) (wrapper.Outcome, error)) {
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Second, func() { cancel(wrapper.ErrInterrupted) })
				out, err := turn(ctx, "one")
				if !errors.Is(err, wrapper.ErrInterrupted) || out.Failed != "" {
					t.Errorf("interrupted turn: %+v, %v", out, err)
				}
				if out, err := turn(t.Context(), "two"); out.Text != "done" || err != nil {
					t.Errorf("second turn: %+v, %v", out, err)
				}
			})
			answered, prompted := strings.Index(log.String(), `"still_queued"`), strings.Index(log.String(), `"content":"two"`)
			if answered < 0 || prompted < answered {
				t.Errorf("the next prompt came before the interrupt was answered:\n%s", &log)
			}
			if second != "two" || len(events.of(wrapper.ErrorEvent)) != 0 {
				t.Errorf("the agent heard %q; events %s", second, events.types())
			}
			for _, e := range events.of(wrapper.DecisionEvent) {
				if e.Behavior != "deny" {
					t.Errorf("%s was allowed", e.ToolUseID)
				}
			}
		})
	}
}

// TestAllowOfAnInterruptedTurn: an allow that was given before the interrupt, and is not
// passed on yet, is none, also once the turn is over.
func TestAllowOfAnInterruptedTurn(t *testing.T) {
	for _, hook := range []bool{true, false} {
		events := &recorder{}
		heard, in := io.Pipe()
		go io.Copy(io.Discard, heard)
		o := options(nil, byWord, events)
		r := &run{
			o: &o, phase: working, deciding: t.Context(), timer: time.NewTimer(time.Hour), pending: map[string]*question{},
			writer: newWriter(in, &protocolLog{}),
		}
		r.begin("q", &question{hook: hook, use: permission.ToolUse{ID: "u1", Tool: "Bash", Input: []byte("{}")}})
		r.interrupt()
		r.turned()
		res, _ := allow(permission.ToolUse{Input: []byte("{}")})
		if err := r.answered(answer{id: "q", allowed: true, result: res}); err != nil {
			t.Error(err)
		}
		if e := events.of(wrapper.DecisionEvent); len(e) != 1 || e[0].Behavior != "deny" || r.uses.get("u1").held != nil || r.uses.get("u1").stand == approved {
			t.Errorf("hook %v: %+v", hook, e)
		}
		r.writer.close()
	}
}

// TestDeafToInterrupt: an agent that does not end its turn is killed, and the next turn
// goes on with its session in a new one.
func TestDeafToInterrupt(t *testing.T) {
	starts := 0
	var at *fake
	synctest.Test(t, func(t *testing.T) {
		events := &recorder{}
		o := options(agent(t, &at, func(f *fake) {
			starts++
			f.ready()
			if starts == 1 {
				f.hear()
				f.hear() // nothing is answered
				return
			}
			f.ends()
		}), byWord, events)
		c := wrapper.NewConversation(t.Context(), func(ctx context.Context, task wrapper.Task) (wrapper.Outcome, error) {
			return drive(ctx, launch{Agent: o.Agent, Task: task})
		})
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, wrapper.ErrInterrupted)
		defer cancel()
		o.Task.Prompt = "one"
		if _, err := c.Turn(ctx, o.Task); !errors.Is(err, wrapper.ErrInterrupted) {
			t.Errorf("interrupted turn: %v", err)
		}
		first := at
		o.Task.Prompt = "two"
		if out, err := c.Turn(t.Context(), o.Task); out.Text != "done" || err != nil {
			t.Errorf("second turn: %+v, %v", out, err)
		}
		if !first.wasKilled() || !strings.Contains(strings.Join(at.args, " "), "--resume=s-1") {
			t.Errorf("killed %v; %q", first.wasKilled(), at.args)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestItsOwnTurn: what is said while the agent works by itself waits until it has ended,
// and its end is not taken for that of the prompt.
func TestItsOwnTurn(t *testing.T) {
	converse(t, byWord, nil, func(f *fake) {
		f.ready()
		f.concludes("first")
		f.begin("2.1.329") // a task in the background has ended
		time.Sleep(2 * time.Second)
		f.concludes("own")
		if got := says(f.hear()); got != "two" {
			t.Errorf("heard %q", got)
		}
		f.begin("2.1.329")
		f.ends()
	}, func(t *testing.T, c *wrapper.Conversation, turn func(context.Context, string) (wrapper.Outcome, error)) {
		turn(t.Context(), "one")
		time.Sleep(time.Second)
		if out, err := turn(t.Context(), "two"); out.Text != "done" || err != nil {
			t.Errorf("second turn: %+v, %v", out, err)
		}
	})
}

// TestNothingToInterrupt: while the agent waits, an interrupt does nothing.
func TestNothingToInterrupt(t *testing.T) {
	converse(t, byWord, nil, func(f *fake) {
		f.ready()
		f.concludes("first")
		if got := says(f.hear()); got != "two" {
			t.Errorf("heard %q", got)
		}
		f.begin("2.1.329")
		f.ends()
	}, func(t *testing.T, c *wrapper.Conversation, turn func(context.Context, string) (wrapper.Outcome, error)) {
		turn(t.Context(), "one")
		c.Interrupt()
		if out, err := turn(t.Context(), "two"); out.Text != "done" || err != nil {
			t.Errorf("second turn: %+v, %v", out, err)
		}
	})
}

// TestBreachEndsTheAgent: a tool that ran without an approval ends it, in any turn.
func TestBreachEndsTheAgent(t *testing.T) {
	converse(t, byWord, nil, func(f *fake) {
		f.ready()
		f.concludes("first")
		f.hear()
		f.begin("2.1.329")
		f.wants("u1", "Bash", bash("git status"))
		f.results("u1", true, "config")
		for f.hear() != nil {
		}
	}, func(t *testing.T, c *wrapper.Conversation, turn func(context.Context, string) (wrapper.Outcome, error)) {
		turn(t.Context(), "one")
		_, err := turn(t.Context(), "two")
		if breach := new(wrapper.Breach); !errors.As(err, &breach) {
			t.Errorf("error %v", err)
		}
	})
}

// TestDeltas: pieces of the main agent's text come before it as a whole.
func TestDeltas(t *testing.T) {
	piece := func(text string, parent any) object {
		return object{"type": "stream_event", "parent_tool_use_id": parent, "event": object{"type": "content_block_delta", "index": 0, "delta": object{"type": "text_delta", "text": text}}}
	}
	_, events, err := talk(t, byWord, func(f *fake) {
		f.say(object{"type": "stream_event", "event": object{"type": "message_start"}})
		f.say(piece("All ", nil))
		f.say(piece("not mine", "toolu_1"))
		f.say(`{"type":"stream_event","event":"broken"}`)
		f.say(piece("done.", nil))
		f.say(`{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"All done."}]},"parent_tool_use_id":null}`)
	})
	var got []string
	for _, e := range events.events {
		if e.Type == wrapper.DeltaEvent || e.Type == wrapper.ChunkEvent {
			got = append(got, e.Type+" "+e.Text)
		}
	}
	if want := "delta All |delta done.|chunk All done."; strings.Join(got, "|") != want || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// TestTypedTurns: what a person types in a conversation stands for as much as a first
// prompt does; what cannot be sent ends the turn and not the agent; an interrupt ends the
// reading too.
func TestTypedTurns(t *testing.T) {
	heard := []string{}
	reading := make(chan struct{})
	o, events := toBrief(t, "", map[string]string{
		"repo/.claude/commands/c.md": "text for $ARGUMENTS", "repo/.claude/commands/bad.md": "!`echo deny me`", "repo/x.txt": "text of x",
	}, agent(t, nil, func(f *fake) {
		heard = append(heard, said(f.ready()))
		for range 3 {
			f.concludes("done")
			f.state("idle")
			heard = append(heard, said(f.hear()))
			f.begin("2.1.329")
		}
		f.ends()
	}))
	o.Decider = decider(func(ctx context.Context, use permission.ToolUse) (permission.Result, error) {
		if use.Tool == "Read" && strings.Contains(string(use.Input), "x.txt") {
			reading <- struct{}{}
			<-ctx.Done()
			return permission.Result{}, context.Cause(ctx)
		}
		return byWord.CanUseTool(ctx, use)
	})
	c := wrapper.NewConversation(t.Context(), func(ctx context.Context, task wrapper.Task) (wrapper.Outcome, error) {
		return drive(ctx, launch{Agent: o.Agent, Task: task})
	})
	turn := func(ctx context.Context, prompt string) (wrapper.Outcome, error) {
		task := o.Task
		task.Prompt = prompt
		return c.Turn(ctx, task)
	}
	for _, prompt := range []string{"one", "/c words"} {
		if out, err := turn(t.Context(), prompt); err != nil || out.Failed != "" {
			t.Fatalf("%s: %+v %v", prompt, out, err)
		}
	}
	if out, err := turn(t.Context(), "/bad"); err != nil || !strings.Contains(out.Failed, "echo deny me") || out.Denied != 1 {
		t.Errorf("/bad: %+v %v", out, err)
	}
	if len(events.of(wrapper.ErrorEvent)) != 1 {
		t.Errorf("%+v", events.of(wrapper.ErrorEvent))
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-reading
		cancel(wrapper.ErrInterrupted)
	}()
	if _, err := turn(ctx, "see @x.txt"); !errors.Is(err, wrapper.ErrInterrupted) {
		t.Errorf("interrupted: %v", err)
	}
	for _, prompt := range []string{" /c literally", "last"} {
		if out, err := turn(t.Context(), prompt); err != nil || out.Failed != "" {
			t.Fatalf("%s: %+v %v", prompt, out, err)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if got := strings.Join(heard, "|"); got != "one|text for words| /c literally|last" {
		t.Errorf("the agent heard %q", got)
	}
}

// said returns the text of a prompt line, which is a text or blocks.
func said(m object) string {
	if text := says(m); text != "" {
		return text
	}
	message, _ := m["message"].(object)
	blocks, _ := message["content"].([]any)
	for _, b := range blocks {
		if block, _ := b.(object); block["type"] == "text" {
			text, _ := block["text"].(string)
			return text
		}
	}
	return ""
}

// TestKilledInATurn: an agent that ends in the midst of a turn is an error of the turn,
// whichever turn it is; one that ends between two is told of, and the next begins another.
func TestKilledInATurn(t *testing.T) {
	for _, x := range []struct {
		name   string
		last   func(f *fake) // what the agent does in the second turn, and ends
		fails  bool
		warned bool
	}{
		{"at the prompt", func(f *fake) { f.hear() }, true, false},
		{"as it begins", func(f *fake) { f.hear(); f.begin("2.1.329") }, true, false},
		{"as it writes", func(f *fake) {
			f.hear()
			f.begin("2.1.329")
			f.say(`{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"All"}]},"parent_tool_use_id":null}`)
		}, true, false},
		{"as it waits for an answer", func(f *fake) {
			f.hear()
			f.begin("2.1.329")
			f.use("u1", "Bash", bash("git status"))
		}, true, false},
		{"before", func(f *fake) { time.Sleep(time.Minute) }, false, true},
		{"in a turn of its own", func(f *fake) { f.begin("2.1.329"); time.Sleep(time.Minute) }, false, true},
	} {
		t.Run(x.name, func(t *testing.T) {
			starts := 0
			events := converse(t, byWord, nil, func(f *fake) {
				starts++
				f.ready()
				if starts == 2 {
					f.ends()
					return
				}
				f.concludes("first")
				x.last(f)
			}, func(t *testing.T, c *wrapper.Conversation, turn func(context.Context, string) (wrapper.Outcome, error)) {
				if out, err := turn(t.Context(), "one"); out.Text != "first" || err != nil {
					t.Errorf("first turn: %+v, %v", out, err)
				}
				if x.warned {
					time.Sleep(time.Hour)
				}
				out, err := turn(t.Context(), "two")
				if x.fails && !errors.Is(err, errBrokeOff) || !x.fails && (err != nil || out.Text != "done") {
					t.Errorf("second turn: %+v, %v", out, err)
				}
				if !x.fails {
					return
				}
				if out, err := turn(t.Context(), "three"); err != nil || out.Text != "done" {
					t.Errorf("third turn: %+v, %v", out, err)
				}
			})
			if n := len(events.of(wrapper.WarningEvent)); n != map[bool]int{true: 1}[x.warned] {
				t.Errorf("%d warnings", n)
			}
			if n := len(events.of(wrapper.ErrorEvent)); n != map[bool]int{true: 1}[x.fails] {
				t.Errorf("%d errors", n)
			}
		})
	}
}

// TestFailedBetweenTurns: a breach in a turn that the agent has begun itself, when nobody
// waits for it, is the error of the next turn.
func TestFailedBetweenTurns(t *testing.T) {
	converse(t, byWord, nil, func(f *fake) {
		f.ready()
		f.concludes("first")
		f.begin("2.1.329")
		f.wants("u1", "Bash", bash("git status"))
		f.results("u1", true, "config")
		for f.hear() != nil {
		}
	}, func(t *testing.T, c *wrapper.Conversation, turn func(context.Context, string) (wrapper.Outcome, error)) {
		turn(t.Context(), "one")
		time.Sleep(time.Hour)
		_, err := turn(t.Context(), "two")
		if breach := new(wrapper.Breach); !errors.As(err, &breach) {
			t.Errorf("error %v", err)
		}
	})
}
