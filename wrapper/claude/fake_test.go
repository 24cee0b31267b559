package claude

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// fake is an agent CLI within the test process: a script at the other end of two
// pipes.
type fake struct {
	t      testing.TB
	args   []string
	heard  *bufio.Scanner
	out    *io.PipeWriter
	ours   [2]io.Closer // the wrapper's ends
	in     *io.PipeWriter
	reader *io.PipeReader
	done   chan struct{}
	noMeta bool // tool results do not report decisions
	asked  map[string]int

	mu     sync.Mutex
	killed bool
	dead   chan struct{} // closed by Kill
}

// errGone ends a script whose wrapper has closed its pipes.
var errGone = errors.New("the wrapper has gone")

// agent returns a starter for a scripted CLI. If at is not nil, the fake is
// stored in *at.
func agent(t testing.TB, at **fake, script func(f *fake)) wrapper.Starter {
	return func(args []string) (wrapper.Process, error) {
		f := &fake{t: t, args: args, done: make(chan struct{}), dead: make(chan struct{})}
		if at != nil && args[0] != "--version" {
			*at = f
		}
		heard, in := io.Pipe()
		reader, out := io.Pipe()
		f.heard, f.in, f.reader, f.out = bufio.NewScanner(heard), in, reader, out
		f.heard.Buffer(nil, 8<<20)
		f.ours = [2]io.Closer{heard, reader}
		play := script
		if args[0] == "--version" {
			play = func(f *fake) { fmt.Fprintln(f.out, "2.1.197 (Claude Code)") }
		}
		go f.play(play)
		return f, nil
	}
}

func (f *fake) play(script func(f *fake)) {
	defer f.out.Close()
	defer f.ours[0].Close() // as the pipes of a process are closed when it ends
	defer close(f.done)     // before: who reads the end of its output does not kill it any more
	defer func() {
		if r := recover(); r != nil && r != errGone {
			panic(r)
		}
	}()
	script(f)
}

func (f *fake) Read(p []byte) (int, error)  { return f.reader.Read(p) }
func (f *fake) Write(p []byte) (int, error) { return f.in.Write(p) }
func (f *fake) Close() error                { return f.in.Close() }
func (f *fake) Complaints() string          { return "" }

func (f *fake) Kill() {
	if !f.dies() {
		return
	}
	for _, c := range f.ours {
		c.Close()
	}
	f.in.CloseWithError(errGone)
	f.out.CloseWithError(io.EOF)
}

// dies records a kill; it returns false for a script that has already ended.
func (f *fake) dies() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case <-f.done:
		return false
	default:
	}
	if f.killed {
		return false
	}
	f.killed = true
	close(f.dead)
	return true
}

func (f *fake) Wait() error {
	<-f.done
	return nil
}

func (f *fake) wasKilled() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.killed
}

// object is a JSON object.
type object = map[string]any

// hear returns the wrapper's next message, nil at the end of its input.
func (f *fake) hear() object {
	if !f.heard.Scan() {
		if f.heard.Err() != nil || f.wasKilled() {
			panic(errGone)
		}
		return nil
	}
	var m object
	if err := json.Unmarshal(f.heard.Bytes(), &m); err != nil {
		f.t.Errorf("the wrapper wrote %q: %v", f.heard.Text(), err)
	}
	return m
}

// say writes a line: a string unchanged, anything else as JSON.
func (f *fake) say(v any) {
	line, ok := v.(string)
	if !ok {
		b, err := json.Marshal(v)
		if err != nil {
			f.t.Error(err)
		}
		line = string(b)
	}
	if _, err := io.WriteString(f.out, line+"\n"); err != nil {
		panic(errGone)
	}
}

// answer answers a request of the wrapper.
func (f *fake) answer(request object, content any) {
	f.say(object{"type": "control_response", "response": object{
		"subtype": "success", "request_id": request["request_id"], "response": content,
	}})
}

func (f *fake) fail(request object, text string) {
	f.say(object{"type": "control_response", "response": object{
		"subtype": "error", "request_id": request["request_id"], "error": text,
	}})
}

// The reports of a CLI that passes the preflight.
var (
	goodInit     = object{"claude_code_version": "2.1.329", "current_permission_mode": "default", "hooks_applied": true, "hook_on_failure_supported": true}
	ourSettings  = json.RawMessage(isolation(&launch{}))
	goodSettings = object{"effective": ourSettings, "sources": []any{object{"source": "flagSettings", "settings": ourSettings}}}
	goodRules    = object{"state": object{"rules": []any{object{"behavior": "ask", "source": "flagSettings", "rule": "*"}}, "managedOnly": false}}
	goodHooks    = object{"hooks": []any{}, "policy": object{"policyHookCount": 0}}
)

// accounts returns the answers that pass the preflight.
func accounts() object {
	return object{askSettings: goodSettings, askRules: goodRules, askHooks: goodHooks}
}

// ready plays the preflight as version 2.1.329 does and returns the prompt line.
func (f *fake) ready() object {
	f.answer(f.hear(), goodInit)
	good := accounts()
	asked := []object{f.hear(), f.hear(), f.hear()}
	for _, q := range asked {
		f.answer(q, good[q["request"].(object)["subtype"].(string)])
	}
	prompt := f.hear()
	f.begin("2.1.329")
	return prompt
}

// readyOld plays the preflight as version 2.1.197 does and returns the prompt
// line.
func (f *fake) readyOld() object {
	f.noMeta = true
	f.answer(f.hear(), object{"commands": []any{}, "pid": 7})
	for range 3 {
		q := f.hear()
		if what := q["request"].(object)["subtype"].(string); what != askSettings {
			f.fail(q, "Unsupported control request subtype: "+what)
			continue
		}
		f.answer(q, goodSettings)
	}
	prompt := f.hear()
	f.begin("2.1.197")
	return prompt
}

func (f *fake) begin(version string) {
	f.state("running")
	f.say(object{"type": "system", "subtype": "init", "session_id": "s-1", "permissionMode": "default", "claude_code_version": version})
}

func (f *fake) state(name string) {
	f.say(object{"type": "system", "subtype": "session_state_changed", "state": name})
}

// wants announces a tool use.
func (f *fake) wants(id, tool string, input object) {
	f.say(object{"type": "assistant", "message": object{"role": "assistant", "content": []any{
		object{"type": "tool_use", "id": id, "name": tool, "input": input},
	}}, "parent_tool_use_id": nil})
}

// requestID returns a new ID for a request about a tool use.
func (f *fake) requestID(kind, use string) string {
	if f.asked == nil {
		f.asked = map[string]int{}
	}
	id := kind + use
	f.asked[id]++
	if n := f.asked[id]; n > 1 {
		id += fmt.Sprintf("#%d", n)
	}
	return id
}

// hooks calls the hook without waiting for the answer.
func (f *fake) hooks(id, tool string, input object, dir string) {
	f.say(object{"type": "control_request", "request_id": f.requestID("hook-", id), "request": object{
		"subtype": "hook_callback", "callback_id": hookID, "tool_use_id": id, "input": object{
			"hook_event_name": hookEvent, "cwd": dir, "tool_name": tool, "tool_input": input, "tool_use_id": id,
		}}})
}

// asks sends can_use_tool without waiting for the answer.
func (f *fake) asks(id, tool string, input object) {
	f.say(object{"type": "control_request", "request_id": f.requestID("can-", id), "request": object{
		"subtype": "can_use_tool", "tool_name": tool, "display_name": tool, "input": input, "tool_use_id": id,
	}})
}

// use plays a tool use up to the answer and returns the answer.
func (f *fake) use(id, tool string, input object) object {
	f.wants(id, tool, input)
	f.hooks(id, tool, input, "/w")
	m := f.hear()
	switch d := hookDecision(m); d {
	case "ask":
	case "deny":
		return object{"behavior": "deny", "message": hookReason(m), "by": "hook"}
	default:
		f.t.Errorf("the hook for %s answered %q", id, d)
	}
	f.asks(id, tool, input)
	return reply(f.hear())
}

// reply returns the content of the wrapper's answer.
func reply(m object) object {
	response, _ := m["response"].(object)
	content, _ := response["response"].(object)
	return content
}

func hookDecision(m object) string {
	output, _ := reply(m)["hookSpecificOutput"].(object)
	d, _ := output["permissionDecision"].(string)
	return d
}

func hookReason(m object) string {
	output, _ := reply(m)["hookSpecificOutput"].(object)
	why, _ := output["permissionDecisionReason"].(string)
	return why
}

// results sends the result of a tool. source is where the decision came from, ""
// for no report; "reject" is a denial by a rule, "refused" an error of the tool
// itself.
func (f *fake) results(id string, good bool, source string) {
	line := object{"type": "user", "message": object{"role": "user", "content": []any{
		object{"type": "tool_result", "tool_use_id": id, "content": "what " + id + " said", "is_error": !good},
	}}, "parent_tool_use_id": nil}
	decision := object{"decision": "accept", "source": source}
	if kind := map[string]string{"reject": "rule", "refused": "other"}[source]; kind != "" {
		decision = object{"decision": "reject", "source": "config", "reason_type": kind}
	}
	if source != "" && !f.noMeta {
		line["tool_result_meta"] = []any{object{"id": id, "permission_decision": decision}}
	}
	f.say(line)
}

// ends sends the last message and waits for the end of the input.
func (f *fake) ends() {
	f.concludes("done")
	f.state("idle")
	for f.hear() != nil {
	}
}

func (f *fake) concludes(text string) {
	f.say(object{"type": "result", "subtype": "success", "is_error": false, "result": text, "session_id": "s-1"})
}

// decider is a function that decides.
type decider func(ctx context.Context, use permission.ToolUse) (permission.Result, error)

func (d decider) CanUseTool(ctx context.Context, use permission.ToolUse) (permission.Result, error) {
	return d(ctx, use)
}

func allow(use permission.ToolUse) (permission.Result, error) {
	return permission.Result{Decision: permission.Decision{Behavior: permission.Allow, Layer: permission.LayerAllowList}, UpdatedInput: use.Input, By: "rule"}, nil
}

func deny(why string) (permission.Result, error) {
	return permission.Result{Decision: permission.Decision{Behavior: permission.Deny, Layer: permission.LayerDenyList, Message: why, Reason: why}, By: "rule"}, nil
}

// byWord allows every input that does not contain "deny".
var byWord = decider(func(_ context.Context, use permission.ToolUse) (permission.Result, error) {
	if strings.Contains(string(use.Input), "deny") {
		return deny("it says deny")
	}
	return allow(use)
})

// recorder keeps events.
type recorder struct {
	mu     sync.Mutex
	events []wrapper.Event
}

func (r *recorder) take(e wrapper.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

func (r *recorder) types() string {
	var types []string
	for _, e := range r.events {
		types = append(types, e.Type)
	}
	return strings.Join(types, " ")
}

// of returns the events of a type.
func (r *recorder) of(kind string) []wrapper.Event {
	var found []wrapper.Event
	for _, e := range r.events {
		if e.Type == kind {
			found = append(found, e)
		}
	}
	return found
}

// eventLines returns the events as JSON lines.
func eventLines(t testing.TB, r *recorder) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, e := range r.events {
		if err := enc.Encode(e); err != nil {
			t.Error(err)
		}
	}
	return b.String()
}

// options returns options for a scripted CLI.
func options(start wrapper.Starter, d wrapper.Decider, events *recorder) launch {
	return launch{Agent: Agent{Start: start}, Task: wrapper.Task{Prompt: "do it", Dir: "/w", Decider: d, Events: events.take}}
}

// play runs a script.
func play(t testing.TB, d wrapper.Decider, script func(f *fake)) (wrapper.Outcome, *recorder, error) {
	events := &recorder{}
	out, err := drive(context.Background(), options(agent(t, nil, script), d, events))
	return out, events, err
}

// talk plays a script between the preflight and the last message, in a synctest
// bubble.
func talk(t *testing.T, d wrapper.Decider, script func(f *fake)) (out wrapper.Outcome, events *recorder, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		out, events, err = play(t, d, func(f *fake) {
			f.ready()
			script(f)
			f.ends()
		})
	})
	return out, events, err
}

// bash is the input of a Bash tool use.
func bash(line string) object { return object{"command": line} }
