package claude

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// counting allows everything and counts how often it decides each input.
type counting map[string]int

func (c counting) CanUseTool(_ context.Context, use permission.ToolUse) (permission.Result, error) {
	c[string(use.Input)]++
	return allow(use)
}

// TestHeldAllow checks that what the hook was decided for is not decided again for the
// same use, however its input is written, and that any other use is.
func TestHeldAllow(t *testing.T) {
	const input = `{"command":"x","timeout":1.0}`
	for about, asked := range map[string]struct {
		fields string // of can_use_tool
		anew   bool
	}{
		"the same":          {`"tool_name":"Bash","input":` + input, false},
		"otherwise written": {`"tool_name":"Bash","input":{ "timeout": 1.0, "command": "\u0078" }`, false},
		"another command":   {`"tool_name":"Bash","input":{"command":"y","timeout":1.0}`, true},
		"one field more":    {`"tool_name":"Bash","input":{"command":"x","timeout":1.0,"description":"d"}`, true},
		"another number":    {`"tool_name":"Bash","input":{"command":"x","timeout":1}`, true},
		"another tool":      {`"tool_name":"Monitor","input":` + input, true},
		"another agent":     {`"tool_name":"Bash","agent_id":"a1","input":` + input, true},
	} {
		c := counting{}
		out, events, err := talk(t, c, func(f *fake) {
			f.say(`{"type":"control_request","request_id":"h","request":{"subtype":"hook_callback","callback_id":"` + hookID + `","input":{"hook_event_name":"PreToolUse","cwd":"/w","tool_name":"Bash","tool_use_id":"u1","tool_input":` + input + `}}}`)
			if d := hookDecision(f.hear()); d != "ask" {
				t.Errorf("%s: the hook answers %s", about, d)
			}
			f.say(`{"type":"control_request","request_id":"c","request":{"subtype":"can_use_tool","tool_use_id":"u1",` + asked.fields + `}}`)
			if got := reply(f.hear()); got["behavior"] != "allow" {
				t.Errorf("%s: %v", about, got)
			}
			f.results("u1", true, "user_temporary")
		})
		times := 0
		for _, n := range c {
			times += n
		}
		if want := map[bool]int{false: 1, true: 2}[asked.anew]; times != want || err != nil || out.Allowed != 1 || len(events.of(wrapper.DecisionEvent)) != 1 {
			t.Errorf("%s: decided %d times, want %d; %+v, %v", about, times, want, out, err)
		}
	}
}

// TestHeldOnce checks that a held answer is for one question, and for none once the
// agent is paused.
func TestHeldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := counting{}
		var paused atomic.Bool
		events := &recorder{}
		o := options(agent(t, nil, func(f *fake) {
			f.ready()
			f.use("u1", "Bash", bash("x"))
			f.results("u1", true, "user_temporary")
			f.asks("u1", "Bash", bash("x"))
			f.hear()
			f.results("u1", true, "user_temporary")
			f.hooks("u2", "Bash", bash("y"), "/w")
			f.hear()
			synctest.Wait()
			paused.Store(true)
			f.asks("u2", "Bash", bash("y"))
			f.hear()
			f.results("u2", true, "user_temporary")
			f.ends()
		}), c, events)
		o.Paused = func() string {
			if paused.Load() {
				return "made up too many"
			}
			return ""
		}
		if _, err := drive(t.Context(), o); err != nil || c[`{"command":"x"}`] != 2 || c[`{"command":"y"}`] != 2 {
			t.Errorf("%v, %v", c, err)
		}
	})
}

// TestDecidedInHook checks that the hook is not answered before the Decider has, and
// that a denial is given there.
func TestDecidedInHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		says := make(chan bool)
		d := decider(func(_ context.Context, use permission.ToolUse) (permission.Result, error) {
			if <-says {
				return allow(use)
			}
			return deny("not this one")
		})
		out, events, err := play(t, d, func(f *fake) {
			f.ready()
			f.hooks("u1", "Bash", bash("x"), "/w")
			f.hooks("u2", "Bash", bash("y"), "/w")
			heard := make(chan object, 2)
			go func() {
				heard <- f.hear()
				heard <- f.hear()
			}()
			synctest.Wait()
			if len(heard) > 0 {
				t.Error("a hook is answered before anybody has decided")
			}
			says <- false
			if m := <-heard; hookDecision(m) != "deny" || hookReason(m) != "not this one" {
				t.Errorf("got %v", m)
			}
			says <- false
			<-heard
			f.results("u1", false, "reject")
			f.results("u2", false, "reject")
			f.ends()
		})
		if err != nil || out.Denied != 2 || len(events.of(wrapper.DecisionEvent)) != 2 {
			t.Errorf("%+v, %v", out, err)
		}
	})
}

// TestHookWithdrawn checks that a question of the hook that is withdrawn ends, and that
// what was answered too late does not count.
func TestHookWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := decider(func(ctx context.Context, use permission.ToolUse) (permission.Result, error) {
			<-ctx.Done()
			return allow(use)
		})
		out, _, err := play(t, d, func(f *fake) {
			f.ready()
			f.hooks("u1", "Bash", bash("x"), "/w")
			synctest.Wait()
			f.say(`{"type":"control_cancel_request","request_id":"hook-u1"}`)
			synctest.Wait()
			f.results("u1", false, "reject")
			f.ends()
		})
		if err != nil || out.Denied != 1 || out.Allowed != 0 {
			t.Errorf("%+v, %v", out, err)
		}
	})
}

// TestAskedDuringHook checks that a question beside the open one of the hook is denied.
func TestAskedDuringHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate("u1")
		_, _, err := play(t, g, func(f *fake) {
			f.ready()
			f.hooks("u1", "Bash", bash("x"), "/w")
			f.asks("u1", "Bash", bash("x"))
			if got := reply(f.hear()); got["behavior"] != "deny" {
				t.Errorf("got %v", got)
			}
			close(g.open["u1"])
			f.hear()
			f.ends()
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// TestKeptWithdrawn checks that a run ends although the CLI withdraws a question that
// waits for an answer that is held.
func TestKeptWithdrawn(t *testing.T) {
	out, events, err := talk(t, byWord, func(f *fake) {
		f.hooks("u1", "Bash", bash("ls"), "/w")
		f.hear()
		f.hooks("u2", "Bash", bash("cd a"), "/w")
		f.hear()
		f.asks("u2", "Bash", bash("cd a"))
		f.say(object{"type": "control_cancel_request", "request_id": "can-u2"})
	})
	if err != nil || out.Allowed != 0 || len(events.of(wrapper.DecisionEvent)) != 2 {
		t.Errorf("%+v, %v", out, err)
	}
}
