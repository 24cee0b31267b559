package claude

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// world plays an agent CLI at random and tracks what the run must do.
type world struct {
	f      *fake
	mu     sync.Mutex
	open   map[string]string // request ID of a question → tool use ID
	stand  map[string]bool   // tool use IDs with an approval that was received and not used
	breach bool              // a tool ran without one
	wrong  []string
}

// decide allows some inputs: at once, late, or never.
func (w *world) decide(ctx context.Context, use permission.ToolUse) (permission.Result, error) {
	in := string(use.Input)
	switch {
	case strings.Contains(in, "never"):
		<-ctx.Done()
	case strings.Contains(in, "late"):
		select {
		case <-time.After(time.Minute):
		case <-ctx.Done():
		}
	}
	if strings.Contains(in, "deny") {
		return deny("no")
	}
	return allow(use)
}

// listen receives the wrapper's answers.
func (w *world) listen() {
	for m := w.f.hear(); m != nil; m = w.f.hear() {
		w.answer(m)
	}
}

// answer handles one answer.
func (w *world) answer(m object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	id, _ := m["response"].(object)["request_id"].(string)
	use, asked := w.open[id]
	if !asked {
		return
	}
	delete(w.open, id)
	got := reply(m)
	if got["behavior"] != "allow" {
		return
	}
	in := fmt.Sprint(got["updatedInput"].(object)["command"])
	if strings.Contains(in, "deny") || strings.Contains(in, "never") || w.stand[use] {
		w.wrong = append(w.wrong, fmt.Sprintf("%s was allowed with %s", use, in))
	}
	w.stand[use] = true
}

// asked records a question.
func (w *world) asked(id, use string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open[id] = use
}

// forget removes the questions about a tool use.
func (w *world) forget(use string) (ids []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, of := range w.open {
		if of == use {
			ids = append(ids, id)
			delete(w.open, id)
		}
	}
	return ids
}

// used uses up an approval, and reports whether there was one.
func (w *world) used(use string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	stood := w.stand[use]
	delete(w.stand, use)
	return stood
}

// step does one thing that an agent CLI may do, or must not do.
func (w *world) step(op, use, input string, n int) {
	f := w.f
	switch op {
	case "hook":
		id := fmt.Sprintf("hook-%s-%d", use, n)
		w.asked(id, use)
		f.say(object{"type": "control_request", "request_id": id, "request": object{
			"subtype": "hook_callback", "callback_id": hookID, "input": object{
				"hook_event_name": hookEvent, "cwd": "/w", "tool_name": "Bash", "tool_input": bash(input), "tool_use_id": use,
			}}})
	case "ask":
		id := fmt.Sprintf("%s-%d", use, n)
		w.asked(id, use)
		f.say(object{"type": "control_request", "request_id": id, "request": object{
			"subtype": "can_use_tool", "tool_name": "Bash", "input": bash(input), "tool_use_id": use,
		}})
	case "cancel":
		for _, id := range w.forget(use) {
			f.say(object{"type": "control_cancel_request", "request_id": id})
		}
	case "ran":
		w.breach = !w.used(use) || w.breach
		f.results(use, true, "user_temporary")
	case "ran for others":
		// An old CLI does not report who allowed it.
		w.breach = !w.used(use) || w.breach || !f.noMeta
		f.results(use, true, "config")
	case "failed":
		w.used(use)
		f.results(use, false, "")
	case "wait":
		time.Sleep(2 * time.Minute)
	case "noise":
		f.say(input)
	}
}

// TestLaw: whatever an agent CLI does, in whatever order, nothing is allowed that
// the Decider did not allow, each approval covers one result, a tool that ran
// without one ends the run, and the run ends.
func TestLaw(t *testing.T) {
	ops := rapid.SampledFrom([]string{"hook", "ask", "ask", "ask", "cancel", "ran", "ran", "ran for others", "failed", "wait", "noise"})
	uses := rapid.SampledFrom([]string{"u1", "u2", "u3"})
	inputs := rapid.SampledFrom([]string{"allow", "allow", "allow late", "deny", "deny late", "never"})
	rapid.Check(t, func(rt *rapid.T) {
		type move struct{ op, use, input string }
		moves := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) move {
			return move{ops.Draw(rt, "op"), uses.Draw(rt, "use"), inputs.Draw(rt, "input")}
		}), 1, 20).Draw(rt, "moves")
		old := rapid.Bool().Draw(rt, "old")
		var w *world
		var err error
		synctest.Test(t, func(t *testing.T) {
			w = &world{open: map[string]string{}, stand: map[string]bool{}}
			_, err = drive(t.Context(), options(agent(t, nil, func(f *fake) {
				w.f = f
				if old {
					f.readyOld()
				} else {
					f.ready()
				}
				listening := make(chan struct{})
				go func() {
					defer close(listening)
					defer func() { recover() }()
					w.listen()
				}()
				defer func() { <-listening }()
				for n, m := range moves {
					synctest.Wait()
					if w.breach {
						return
					}
					w.step(m.op, m.use, m.input, n)
				}
				synctest.Wait()
				for _, use := range []string{"u1", "u2", "u3"} {
					w.step("cancel", use, "", 0)
				}
				f.concludes("done")
				f.state("idle")
			}), decider(w.decide), &recorder{}))
		})
		for _, text := range w.wrong {
			rt.Error(text)
		}
		var breach *wrapper.Breach
		if errors.As(err, &breach) != w.breach || err != nil && breach == nil && !errors.Is(err, errBrokeOff) {
			rt.Errorf("breach %v, got %v", w.breach, err)
		}
	})
}
