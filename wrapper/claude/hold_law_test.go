package claude

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// verdict is one answer of the Decider in a holdWorld.
type verdict struct {
	input, dir string // input is canonical
	allowed    bool   // in time
	spent      bool   // it has let the tool use run
}

// heldUse is a tool use of a holdWorld.
type heldUse struct {
	stage    string // "", "hook open", "hooked", "asked", "started", "ran", "over"
	request  string // the open one
	hookedAs string // canonical input of the hook
	askedAs  string // and of can_use_tool
	moves    bool   // its command may move it
	calm     bool   // nothing else was about to move it then
	verdicts []verdict
	before   int  // verdicts when can_use_tool was sent
	held     bool // the answer of the hook has to do for it
	paused   bool // the agent was, then
	twice    bool // asked again, or cancelled: its decisions are not counted
}

// holdWorld is an agent CLI that runs what it is allowed to, and notes what let it.
type holdWorld struct {
	f      *fake
	mu     sync.Mutex
	uses   map[string]*heldUse
	dir    string // of the shell
	moved  int
	paused bool
	wrong  []string
}

func (w *holdWorld) complain(format string, args ...any) {
	w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
}

// decide answers by what the command says: at once, late or never, and then too late.
func (w *holdWorld) decide(ctx context.Context, use permission.ToolUse) (permission.Result, error) {
	text := string(use.Input)
	switch {
	case strings.Contains(text, "never"):
		<-ctx.Done()
	case strings.Contains(text, "late"):
		select {
		case <-time.After(time.Minute):
		case <-ctx.Done():
		}
	}
	input, err := canonical(use.Input)
	allowed := !strings.Contains(text, "deny") && err == nil && ctx.Err() == nil
	w.mu.Lock()
	u := w.uses[use.ID]
	u.verdicts = append(u.verdicts, verdict{input: input, dir: use.Dir, allowed: allowed})
	w.mu.Unlock()
	if strings.Contains(text, "deny") {
		return deny("no")
	}
	return allow(use)
}

// listen receives the wrapper's answers.
func (w *holdWorld) listen() {
	for m := w.f.hear(); m != nil; m = w.f.hear() {
		id, _ := m["response"].(object)["request_id"].(string)
		w.mu.Lock()
		for name, u := range w.uses {
			if u.request == id && id != "" {
				u.request = ""
				w.answered(name, u, m)
			}
		}
		w.mu.Unlock()
	}
}

// answered holds an answer against what was decided.
func (w *holdWorld) answered(name string, u *heldUse, m object) {
	if u.stage == "hook open" {
		switch d := hookDecision(m); d {
		case "ask":
			u.stage = "hooked"
		case "deny":
			u.stage = "over"
		default:
			w.complain("the hook of %s answers %q", name, d)
		}
		return
	}
	got := reply(m)
	if u.held && len(u.verdicts) != u.before {
		w.complain("%s was decided twice", name)
	}
	if got["behavior"] != "allow" {
		u.stage = "over"
		return
	}
	u.stage = "started"
	input, err := json.Marshal(got["updatedInput"])
	if text, same := canonical(input); err != nil || same != nil || text != u.askedAs {
		w.complain("%s was asked about as %s and is to run as %s", name, u.askedAs, input)
	}
	if !w.spend(u) {
		w.complain("%s runs %s in %s by %+v", name, u.askedAs, w.dir, u.verdicts)
	}
	if u.moves {
		w.moved++
		w.dir = fmt.Sprintf("/w/d%d", w.moved)
	}
}

// moving reports whether a command that may change the directory is in one of these
// stages. Before it is asked about it waits for what is held, and afterwards nothing is
// decided for the directory that a hook tells.
func (w *holdWorld) moving(stages ...string) bool {
	for _, u := range w.uses {
		if u.moves && slices.Contains(stages, u.stage) {
			return true
		}
	}
	return false
}

// spend finds a decision that lets a tool use run, and uses it up.
func (w *holdWorld) spend(u *heldUse) bool {
	for i := range u.verdicts {
		v := &u.verdicts[i]
		fresh := !u.paused || !w.paused || i >= u.before
		if v.allowed && !v.spent && fresh && v.input == u.askedAs && (v.dir == "" || v.dir == w.dir) {
			v.spent = true
			return true
		}
	}
	return false
}

// holdInput writes the input of a command in one of several ways. Another hook may have
// changed it.
func holdInput(command, way string) string {
	switch way {
	case "reordered":
		return `{ "timeout": 7, "command": "` + command + `" }`
	case "escaped":
		return `{"command":"\u00` + fmt.Sprintf("%02x", command[0]) + command[1:] + `","timeout":7}`
	case "changed":
		return `{"command":"` + command + ` changed","timeout":7}`
	case "another number":
		return `{"command":"` + command + `","timeout":8}`
	case "one field more":
		return `{"command":"` + command + `","timeout":7,"description":"d"}`
	}
	return `{"command":"` + command + `","timeout":7}`
}

// step does one thing that an agent CLI does.
func (w *holdWorld) step(n int, op, name, command, way string) {
	w.mu.Lock()
	u, dir := w.uses[name], w.dir
	stage := u.stage
	w.mu.Unlock()
	send := func(id, kind, input string, more string) {
		text, err := canonical(json.RawMessage(input))
		if err != nil {
			w.complain("%s: %v", input, err)
		}
		w.mu.Lock()
		u.request = id
		if kind == "hook" {
			u.calm = !w.moving("hook open", "asked", "started")
			u.stage, u.hookedAs = "hook open", text
		} else {
			u.held = stage == "hooked" && text == u.hookedAs && !w.paused && u.calm && !w.moving("hook open") && !u.moves
			u.twice = u.twice || stage == "ran" || stage == "over"
			u.stage, u.askedAs, u.before, u.paused = "asked", text, len(u.verdicts), w.paused
		}
		w.mu.Unlock()
		w.f.say(`{"type":"control_request","request_id":"` + id + `","request":{` + more + `}}`)
	}
	switch {
	case op == "go" && stage == "" && way != "unhooked":
		input := holdInput(command, "")
		send(fmt.Sprint("h", n), "hook", input, `"subtype":"hook_callback","callback_id":"`+hookID+`","input":{"hook_event_name":"PreToolUse","cwd":"`+dir+`","tool_name":"Bash","tool_use_id":"`+name+`","tool_input":`+input+`}`)
	case op == "go" && stage != "started" && u.request == "":
		input := holdInput(command, way)
		send(fmt.Sprint("c", n), "ask", input, `"subtype":"can_use_tool","tool_name":"Bash","tool_use_id":"`+name+`","input":`+input)
	case op == "cancel" && (stage == "hook open" || stage == "asked"):
		w.mu.Lock()
		id := u.request
		u.stage, u.request, u.twice = "over", "", true
		w.mu.Unlock()
		w.f.say(object{"type": "control_cancel_request", "request_id": id})
	case op == "go" && stage == "started":
		w.mu.Lock()
		u.stage = "ran"
		w.mu.Unlock()
		w.f.results(name, true, "user_temporary")
	case op == "wait":
		time.Sleep(2 * time.Minute)
	case op == "pause":
		w.mu.Lock()
		w.paused = !w.paused
		w.mu.Unlock()
	}
}

// isPaused is the launch's Paused.
func (w *holdWorld) isPaused() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.paused {
		return "made up too many"
	}
	return ""
}

// TestHoldLaw: in whatever order hooks, answers, questions, other hooks' changes of the
// input, cancellations, pauses and changes of the directory come, no hook is answered
// with allow, and nothing runs whose very input was not decided allow in time, in the
// directory in which it runs, once for each run. What the hook was decided for is
// decided and recorded once.
func TestHoldLaw(t *testing.T) {
	slow.Test(t)
	ops := rapid.SampledFrom([]string{"go", "go", "go", "go", "go", "go", "wait", "wait", "cancel", "pause"})
	names := rapid.SampledFrom([]string{"u1", "u2", "u3"})
	commands := rapid.SampledFrom([]string{"ls", "ls", "ls late", "ls deny", "ls late deny", "ls never", "cd a", "cd a", "cd late"})
	ways := rapid.SampledFrom([]string{"", "", "", "unhooked", "reordered", "escaped", "changed", "another number", "one field more"})
	type move struct{ op, name, way string }
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue { // a hundred are too few for what takes four moves in order
		f.Value.Set("1000")
		defer f.Value.Set(f.DefValue)
	}
	started := 0
	rapid.Check(t, func(rt *rapid.T) {
		w := &holdWorld{dir: "/w", uses: map[string]*heldUse{}}
		command := map[string]string{}
		for _, name := range []string{"u1", "u2", "u3"} {
			command[name] = commands.Draw(rt, "command")
			w.uses[name] = &heldUse{moves: strings.HasPrefix(command[name], "cd")}
		}
		moves := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) move {
			return move{ops.Draw(rt, "op"), names.Draw(rt, "use"), ways.Draw(rt, "way")}
		}), 4, 40).Draw(rt, "moves")
		events := &recorder{}
		var err error
		synctest.Test(t, func(t *testing.T) {
			o := options(agent(t, nil, func(f *fake) {
				w.f = f
				f.ready()
				listening := make(chan struct{})
				go func() {
					defer close(listening)
					defer func() { recover() }()
					w.listen()
				}()
				defer func() { <-listening }()
				for n, m := range moves {
					synctest.Wait()
					w.step(n, m.op, m.name, command[m.name], m.way)
				}
				for n, op := range []string{"wait", "cancel"} {
					for name := range w.uses {
						synctest.Wait()
						w.step(100+n, op, name, "", "")
					}
				}
				f.concludes("done")
				f.state("idle")
			}), decider(w.decide), events)
			o.Paused = w.isPaused
			_, err = drive(t.Context(), o)
		})
		if err != nil && !errors.Is(err, errBrokeOff) {
			rt.Errorf("got %v", err)
		}
		recorded := map[string]int{}
		for _, e := range events.of(wrapper.DecisionEvent) {
			recorded[e.ToolUseID]++
		}
		for name, u := range w.uses {
			for i := range u.verdicts {
				if u.verdicts[i].spent {
					started++
				}
			}
			if u.stage != "" && recorded[name] != 1 && !u.twice {
				w.complain("%s has %d records: %+v", name, recorded[name], u)
			}
		}
		for _, text := range w.wrong {
			rt.Error(text)
		}
	})
	if started < 20 {
		t.Errorf("only %d tool uses ran", started)
	}
	t.Logf("%d tool uses ran", started)
}
