package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/test/protocol"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// child is the program as an editor starts it: a process with lines in and out.
type child struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	pipe  io.Closer // of out
	err   bytes.Buffer
	home  string
	audit string
	seen  []wrapper.Event
	fast  bool        // its events are not held against the schema
	watch *time.Timer // kills it
}

// childLimit is how long a conversation may be silent.
const childLimit = 30 * time.Second

// sessionID is the session of the pretended agent CLI, otherID another one.
const (
	sessionID = "5f0e4c1a-0c66-4f8e-9a53-2b1d6e7f8a90"
	otherID   = "5f0e4c1a-0c66-4f8e-9a53-2b1d6e7f8a91"
)

// startsIn starts the program in a home, with a pretended agent CLI.
func startsIn(t *testing.T, home string, args ...string) *child {
	t.Helper()
	return startsAs(t, "agent-wrapper", home, args...)
}

func startsAs(t *testing.T, program, home string, args ...string) *child {
	t.Helper()
	c := &child{t: t, home: home, audit: home + "/audit.jsonl"}
	args = append([]string{"run", "--agent-command", "pretend-agent", "--cwd", home, "--audit", c.audit, "--audit-sync", "none", "--advice", "off"}, args...)
	c.cmd = exec.Command(program, args...)
	c.cmd.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "PRETEND_SESSION="+sessionID, "PRETEND_RAN="+home+"/ran")
	c.cmd.Stderr = &c.err
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.pipe = out
	c.out = bufio.NewReaderSize(out, 1<<16)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.watch = time.AfterFunc(childLimit, func() { c.cmd.Process.Kill() })
	t.Cleanup(func() {
		c.watch.Stop()
		c.cmd.Process.Kill()
		c.cmd.Wait()
	})
	return c
}

// talks starts the program with --approvals stdio.
func talks(t *testing.T, args ...string) *child {
	t.Helper()
	return startsIn(t, t.TempDir(), append([]string{"--approvals", "stdio"}, args...)...)
}

// send sends a line: a string as it is, anything else as JSON.
func (c *child) send(v any) {
	line, ok := v.(string)
	if !ok {
		b, err := json.Marshal(v)
		if err != nil {
			c.t.Fatal(err)
		}
		line = string(b)
	}
	if schema := protocolSchema(c.t); !ok {
		_ = schema.Check("editorLine", []byte(line)) // many are wrong on purpose
	}
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatal(err, c.err.String())
	}
}

// tries is send to a program that may be gone.
func (c *child) tries(v any) {
	line, err := json.Marshal(v)
	if err == nil {
		_, err = c.in.Write(append(line, '\n'))
	}
	_ = err // it is gone
}

// closed ends our reading.
func (c *child) closed() { c.pipe.Close() }

// next returns the next event; the zero event at the end.
func (c *child) next() wrapper.Event {
	c.t.Helper()
	line, err := c.out.ReadBytes('\n')
	if err == io.EOF || errors.Is(err, os.ErrClosed) {
		return wrapper.Event{}
	}
	var e wrapper.Event
	if err == nil {
		err = json.Unmarshal(line, &e)
	}
	if err != nil {
		c.t.Fatalf("%.300q: %v", line, err)
	}
	if !c.fast {
		conforms(c.t, line)
	}
	c.seen = append(c.seen, e)
	c.watch.Reset(childLimit)
	return e
}

// protocolSchema is the schema of the protocols.
func protocolSchema(t *testing.T) *protocol.Schema {
	t.Helper()
	schema, err := readSchema()
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

var readSchema = sync.OnceValues(protocol.Read)

// conforms checks that an event is as the schema has it.
func conforms(t *testing.T, line []byte) {
	t.Helper()
	if err := protocolSchema(t).Check("event", line); err != nil {
		t.Errorf("%.2000s: %v", line, err)
	}
}

// until returns the next event of a type.
func (c *child) until(kind string) wrapper.Event {
	c.t.Helper()
	for {
		switch e := c.next(); e.Type {
		case kind:
			return e
		case "":
			c.cmd.Process.Kill()
			c.cmd.Wait() // before its standard error is read
			c.t.Fatalf("no %s in %v; it said %s; last %.3000v", kind, c.types(), c.err.String(), c.seen[max(0, len(c.seen)-3):])
		}
	}
}

// types returns the types of the events so far.
func (c *child) types() []string {
	var all []string
	for _, e := range c.seen {
		all = append(all, e.Type)
	}
	return all
}

// ends closes the input, reads the rest and returns the exit code. The program must
// have said nothing on standard error.
func (c *child) ends() int {
	c.t.Helper()
	c.in.Close()
	for c.next().Type != "" {
	}
	c.cmd.Wait()
	if c.err.Len() > 0 {
		c.t.Errorf("standard error: %s", c.err.String())
	}
	return c.cmd.ProcessState.ExitCode()
}

// wants is a prompt that has the pretended agent ask for tool uses.
func wants(lines ...string) string {
	var all []string
	for _, line := range lines {
		if !strings.HasPrefix(line, "{") {
			line = fmt.Sprintf(`{"tool":"Bash","input":{"command":%q}}`, line)
		}
		all = append(all, line)
	}
	return strings.Join(all, "\n")
}

// answers answers a question.
func answers(e wrapper.Event, choice string, more ...any) object {
	o := object{"type": "approval_response", "approval_id": e.ApprovalID, "digest": e.Digest, "choice": choice}
	for i := 0; i+1 < len(more); i += 2 {
		o[more[i].(string)] = more[i+1]
	}
	return o
}

// behaviors returns the decisions so far.
func (c *child) behaviors() string {
	var all []string
	for _, e := range c.seen {
		if e.Type == wrapper.DecisionEvent {
			all = append(all, e.By+" "+e.Behavior)
		}
	}
	return strings.Join(all, ", ")
}

// TestEditorTalks: the conversation of an editor: questions are answered, also out of
// order, further messages are further turns of the same session, and the end of the
// input ends it.
func TestEditorTalks(t *testing.T) {
	c := talks(t, "--prompt", wants("npm i"), "--ask", "Bash(npm:*)")
	if e := c.next(); e.Type != wrapper.ModeEvent || e.Mode != "default" {
		t.Errorf("%+v", e)
	}
	e := c.until(wrapper.ApprovalRequiredEvent)
	var q struct {
		ID, Digest, Tool string
		Whole            bool
		Choices          []struct {
			Name  string
			Rungs []struct{ Rules []string }
		}
		Blocks []any
	}
	if err := json.Unmarshal(e.Question, &q); err != nil || q.ID != e.ApprovalID || q.Digest != e.Digest || !q.Whole || len(q.Blocks) == 0 {
		t.Errorf("%v, %s", err, e.Question)
	}
	if e.Tool != "Bash" || string(e.Input) != `{"command":"npm i"}` || e.Rule != "Bash(npm:*)" || e.Source != "--ask" || e.Tier != 2 || e.Risk == "" || len(e.Options) != 4 || e.ToolUseID == "" {
		t.Errorf("%+v", e)
	}
	c.send(answers(e, "once"))
	c.until(wrapper.DoneEvent)
	c.send(object{"type": "user_message", "text": wants(`{"tool":"Bash","input":{"command":"npm ci"},"beside":[{"tool":"Bash","input":{"command":"npm x"}},{"tool":"Bash","input":{"command":"npm y"}}]}`)})
	asked := []wrapper.Event{c.until(wrapper.ApprovalRequiredEvent), c.until(wrapper.ApprovalRequiredEvent), c.until(wrapper.ApprovalRequiredEvent)}
	slices.Reverse(asked)
	for i, choice := range []string{"deny", "allow_once", "words"} {
		answer := answers(asked[i], choice)
		if choice == "words" {
			answer["message"] = "use npm ci later"
		}
		c.send(answer)
		d := c.until(wrapper.DecisionEvent)
		if d.ToolUseID != asked[i].ToolUseID {
			t.Errorf("the answer to %s decides %s", asked[i].ToolUseID, d.ToolUseID)
		}
	}
	c.until(wrapper.DoneEvent)
	if got := c.behaviors(); got != "person allow, person deny, person allow, person deny" {
		t.Error(got)
	}
	if code := c.ends(); code != 0 {
		t.Error(code)
	}
	if text := fmt.Sprint(c.seen); !strings.Contains(text, "use npm ci later") || strings.Count(text, sessionID) != 2 {
		t.Error(text)
	}
}

// TestEditorRefused: an answer that is stale, double, for another question or not
// offered changes nothing, and the editor is told why; so is a line that means nothing.
func TestEditorRefused(t *testing.T) {
	t.Parallel()
	c := talks(t, "--prompt", wants("npm i", "npm ci"), "--ask", "Bash(npm:*)")
	first := c.until(wrapper.ApprovalRequiredEvent)
	wrong := answers(first, "once")
	wrong["digest"] = strings.Repeat("0", 64)
	for _, tt := range []struct {
		line    any
		kind    string
		message string
	}{
		{wrong, wrapper.AnswerRefusedEvent, "different request"},
		{answers(wrapper.Event{ApprovalID: "99", Digest: first.Digest}, "once"), wrapper.AnswerRefusedEvent, "no question with this id"},
		{answers(first, "yes"), wrapper.AnswerRefusedEvent, "not offered"},
		{answers(first, "session", "rung", 77), wrapper.AnswerRefusedEvent, "rung 77"},
		{answers(first, "session", "rules", []string{"Bash"}), wrapper.AnswerRefusedEvent, "cannot be kept"},
		{answers(first, "edit"), wrapper.AnswerRefusedEvent, "input"},
		{answers(first, "words"), wrapper.AnswerRefusedEvent, "message"},
		{object{"type": "choices_response", "approval_id": first.ApprovalID, "answers": object{"a": "b"}}, wrapper.AnswerRefusedEvent, "not offered"},
		{"{", wrapper.ErrorEvent, "cannot be read"},
		{"[]", wrapper.ErrorEvent, "cannot be read"},
		{"\xff\xfe", wrapper.ErrorEvent, "cannot be read"},
		{`{"type":"set_mode","type":"shutdown"}`, wrapper.ErrorEvent, "cannot be read"},
		{`{}`, wrapper.ErrorEvent, "no type"},
		{`{"type":"mode"}`, wrapper.ErrorEvent, `no input of type "mode"`},
		{`{"type":"user_message","text":" "}`, wrapper.ErrorEvent, "text is empty"},
		{`{"type":"set_mode","mode":"yolo"}`, wrapper.ErrorEvent, "yolo"},
		{`{"type":"set_mode","mode":"bypassPermissions"}`, wrapper.ErrorEvent, "--dangerously-skip-permissions"},
		{`{"type":"user_message","text":"` + strings.Repeat("x", 17<<20) + `"}`, wrapper.ErrorEvent, "longer than 16777216 bytes"},
	} {
		c.send(tt.line)
		if e := c.until(tt.kind); !strings.Contains(e.Message, tt.message) || tt.kind == wrapper.AnswerRefusedEvent && e.ApprovalID == "" {
			t.Errorf("%.200v: %+v", tt.line, e)
		}
	}
	c.send("")
	c.send("\r")
	c.send(answers(first, "once"))
	c.until(wrapper.DecisionEvent)
	second := c.until(wrapper.ApprovalRequiredEvent)
	c.send(answers(first, "deny"))
	if e := c.until(wrapper.AnswerRefusedEvent); !strings.Contains(e.Message, "already approved, by editor") {
		t.Error(e.Message)
	}
	mixed := answers(second, "once")
	mixed["digest"] = first.Digest
	c.send(mixed)
	c.until(wrapper.AnswerRefusedEvent)
	c.send(answers(second, "deny"))
	c.until(wrapper.DoneEvent)
	if got := c.behaviors(); got != "person allow, person deny" {
		t.Error(got)
	}
	if code := c.ends(); code != 0 {
		t.Error(code)
	}
}

// TestEditorKeeps: what an editor keeps for the session counts at once, in later turns,
// and when the session is resumed by another process.
func TestEditorKeeps(t *testing.T) {
	c := talks(t, "--prompt", wants("npm i", "npm i"), "--ask", "Bash(npm:*)")
	c.send(answers(c.until(wrapper.ApprovalRequiredEvent), "session", "rung", 0))
	c.until(wrapper.DoneEvent)
	c.send(object{"type": "user_message", "text": wants("npm i", "npm ci")})
	c.send(answers(c.until(wrapper.ApprovalRequiredEvent), "never"))
	c.until(wrapper.DoneEvent)
	if got := c.behaviors(); got != "person allow, rule allow, rule allow, person deny" {
		t.Error(got)
	}
	c.ends()
	again := startsIn(t, c.home, "--approvals", "stdio", "--prompt", wants("npm i", "npm ci"), "--ask", "Bash(npm:*)", "--session", sessionID)
	again.until(wrapper.DoneEvent)
	if got := again.behaviors(); got != "rule allow, rule deny" {
		t.Error(got)
	}
	again.ends()
	other := startsIn(t, c.home, "--approvals", "stdio", "--prompt", wants("npm i"), "--ask", "Bash(npm:*)", "--session", otherID)
	other.until(wrapper.ApprovalRequiredEvent)
	other.ends()
}

// TestEditorEnds: when the editor ends the conversation, or its end of it, what waits is
// denied and recorded, and the agent ends.
func TestEditorEnds(t *testing.T) {
	for name, end := range map[string]func(c *child){
		"shutdown":         func(c *child) { c.send(`{"type":"shutdown"}`) },
		"the end of input": func(c *child) { c.in.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			c := talks(t, "--prompt", wants(`{"tool":"Bash","input":{"command":"npm i"},"beside":[{"tool":"Bash","input":{"command":"npm ci"}}]}`, "npm x"), "--ask", "Bash(npm:*)")
			c.until(wrapper.ApprovalRequiredEvent)
			c.until(wrapper.ApprovalRequiredEvent)
			end(c)
			c.until(wrapper.DoneEvent)
			if code := c.ends(); code != 0 {
				t.Error(code)
			}
			for _, e := range c.seen {
				if e.Type == wrapper.DecisionEvent && e.Behavior != "deny" || e.Type == wrapper.ErrorEvent {
					t.Errorf("%+v", e)
				}
			}
			if n := strings.Count(strings.Join(c.types(), " "), wrapper.ApprovalWithdrawnEvent); n != 2 {
				t.Error(n, c.types())
			}
		})
	}
}

// TestEditorInterrupts: an interrupt ends the turn and what it waits for, and no more.
func TestEditorInterrupts(t *testing.T) {
	c := talks(t, "--ask", "Bash(npm:*)")
	c.send(`{"type":"interrupt"}`)
	c.until(wrapper.ErrorEvent)
	c.send(object{"type": "user_message", "text": wants("npm i", "npm ci")})
	e := c.until(wrapper.ApprovalRequiredEvent)
	c.send(`{"type":"interrupt"}`)
	if w := c.until(wrapper.ApprovalWithdrawnEvent); w.ApprovalID != e.ApprovalID || !strings.Contains(w.Reason, "interrupted") {
		t.Errorf("%+v", w)
	}
	c.until(wrapper.DoneEvent)
	c.send(answers(e, "once"))
	c.until(wrapper.AnswerRefusedEvent)
	c.send(object{"type": "user_message", "text": wants("npm i")})
	c.send(answers(c.until(wrapper.ApprovalRequiredEvent), "once"))
	c.until(wrapper.DoneEvent)
	if got := c.behaviors(); got != "rule deny, person allow" {
		t.Error(got)
	}
	if code := c.ends(); code != 0 {
		t.Error(code)
	}
}

// TestEditorModes: an editor changes the mode, also while the agent works, but bypasses
// nothing unless that was allowed at the start.
func TestEditorModes(t *testing.T) {
	write := `{"tool":"Write","input":{"file_path":"x","content":"y"}}`
	c := talks(t, "--prompt", wants("npm i", write), "--ask", "Bash(npm:*)")
	e := c.until(wrapper.ApprovalRequiredEvent)
	c.send(`{"type":"set_mode","mode":"acceptEdits"}`)
	if m := c.until(wrapper.ModeEvent); m.Mode != "acceptEdits" {
		t.Error(m)
	}
	c.send(answers(e, "deny"))
	c.until(wrapper.DoneEvent)
	c.send(`{"type":"set_mode","mode":"plan"}`)
	c.send(object{"type": "user_message", "text": wants(write)})
	c.until(wrapper.DoneEvent)
	if got := c.behaviors(); got != "person deny, rule allow, rule deny" {
		t.Error(got)
	}
	c.ends()
	c = talks(t, "--ask", "Bash(npm:*)", "--dangerously-skip-permissions")
	c.send(`{"type":"set_mode","mode":"bypassPermissions"}`)
	c.until(wrapper.ModeEvent)
	c.send(object{"type": "user_message", "text": wants("npm i")})
	c.until(wrapper.DoneEvent)
	if got := c.behaviors(); got != "rule allow" {
		t.Error(got)
	}
	c.ends()
}

// TestEditorModeStays: where a policy of somebody else has a mode, the editor is told that
// one, whatever it sets.
func TestEditorModeStays(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(home+"/agent-wrapper.toml", []byte("mode = \"plan\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := startsIn(t, home, "--approvals", "stdio")
	first := c.until(wrapper.ModeEvent)
	c.send(`{"type":"set_mode","mode":"acceptEdits"}`)
	then := c.until(wrapper.ModeEvent)
	if first.Mode != "plan" || first.Message != "" || then.Mode != "plan" || !strings.Contains(then.Message, "mode plan stays") {
		t.Errorf("%+v, then %+v", first, then)
	}
	c.ends()
}

// TestEditorChoices: the agent's own questions are answered with choices.
func TestEditorChoices(t *testing.T) {
	ask := `{"tool":"AskUserQuestion","input":{"questions":[{"question":"Which?","header":"h","options":[{"label":"a"},{"label":"b"}]}]}}`
	c := talks(t, "--prompt", wants(ask, ask))
	e := c.until(wrapper.InsertChoicesEvent)
	if !strings.Contains(string(e.Questions), `"Which?"`) || e.ApprovalID == "" {
		t.Errorf("%+v", e)
	}
	c.send(object{"type": "choices_response", "approval_id": e.ApprovalID, "answers": object{"Why?": "a"}})
	c.until(wrapper.AnswerRefusedEvent)
	c.send(object{"type": "choices_response", "approval_id": e.ApprovalID, "answers": object{"Which?": "b"}})
	if d := c.until(wrapper.DecisionEvent); d.Behavior != "allow" {
		t.Errorf("%+v", d)
	}
	if r := c.until(wrapper.ToolResultEvent); !strings.Contains(r.Text, `"answers":{"Which?":"b"}`) {
		t.Error(r.Text)
	}
	c.send(answers(c.until(wrapper.InsertChoicesEvent), "deny"))
	c.until(wrapper.DoneEvent)
	if got := c.behaviors(); got != "person allow, person deny" {
		t.Error(got)
	}
	c.ends()
}

// TestEditorEdits: an edited input is decided again, and runs as edited.
func TestEditorEdits(t *testing.T) {
	c := talks(t, "--prompt", wants("npm i"), "--ask", "Bash(npm:*)", "--deny", "Bash(npm publish)")
	e := c.until(wrapper.ApprovalRequiredEvent)
	c.send(answers(e, "edit", "input", object{"command": "npm ci"}))
	e = c.until(wrapper.ApprovalRequiredEvent)
	if string(e.Input) != `{"command":"npm ci"}` {
		t.Errorf("%s", e.Input)
	}
	c.send(answers(e, "once"))
	if r := c.until(wrapper.ToolResultEvent); !strings.Contains(r.Text, "npm ci") {
		t.Error(r.Text)
	}
	c.until(wrapper.DoneEvent)
	c.send(object{"type": "user_message", "text": wants("npm i")})
	c.send(answers(c.until(wrapper.ApprovalRequiredEvent), "edit", "input", object{"command": "npm publish"}))
	c.until(wrapper.DoneEvent)
	if got := c.behaviors(); got != "person allow, person deny" && got != "person allow, rule deny" {
		t.Error(got)
	}
	c.ends()
}

// TestEditorAgentDies: when the agent CLI dies there is one error and done, what waits
// is withdrawn, and the next message starts it again; what it cancels is withdrawn too.
func TestEditorAgentDies(t *testing.T) {
	c := talks(t, "--prompt", wants(`{"tool":"Bash","input":{"command":"npm i"},"die":true}`), "--ask", "Bash(npm:*)")
	c.until(wrapper.DoneEvent)
	var ends []string
	for _, e := range c.seen {
		if e.Type == wrapper.ErrorEvent || e.Type == wrapper.DoneEvent {
			ends = append(ends, e.Type)
		}
	}
	if fmt.Sprint(ends) != "[error done]" {
		t.Error(ends)
	}
	c.send(object{"type": "user_message", "text": wants(`{"tool":"Bash","input":{"command":"npm i"},"cancel":true}`)})
	c.until(wrapper.DoneEvent)
	asked, gone := 0, 0
	for _, e := range c.seen {
		switch e.Type {
		case wrapper.ApprovalRequiredEvent:
			asked++
		case wrapper.ApprovalWithdrawnEvent:
			gone++
		case wrapper.DecisionEvent:
			if e.Behavior != "deny" {
				t.Errorf("%+v", e)
			}
		}
	}
	if asked != gone {
		t.Errorf("asked %d, withdrawn %d", asked, gone)
	}
	if code := c.ends(); code != 0 {
		t.Error(code)
	}
}

// TestEditorLost: a session that the agent CLI does not have is told, and the next
// message begins another.
func TestEditorLost(t *testing.T) {
	t.Setenv("PRETEND_LOST", "1")
	c := talks(t, "--session", otherID, "--prompt", "go on")
	if e := c.until(wrapper.SessionCorruptedEvent); e.OldSessionID != otherID {
		t.Errorf("%+v", e)
	}
	c.until(wrapper.DoneEvent)
	c.send(object{"type": "user_message", "text": "hello"})
	if e := c.until(wrapper.SessionEvent); e.SessionID != sessionID {
		t.Errorf("%+v", e)
	}
	c.until(wrapper.DoneEvent)
	if code := c.ends(); code != 0 {
		t.Error(code)
	}
}

// TestDocsLines: docs/reference/events.md has each event of the schema with its fields, and
// docs/reference/protocol.md each line of an editor.
func TestDocsLines(t *testing.T) {
	type def struct {
		Properties map[string]struct{ Const any }
	}
	var schema struct {
		Defs map[string]struct{ OneOf []def } `json:"$defs"`
	}
	if err := json.Unmarshal([]byte(page(t, "schemas/protocol.schema.json")), &schema); err != nil {
		t.Fatal(err)
	}
	events, lines := schema.Defs["event"].OneOf, schema.Defs["editorLine"].OneOf
	if len(events) != 16 || len(lines) != 6 {
		t.Errorf("%d events, %d lines", len(events), len(lines))
	}
	rows := page(t, "docs/reference/events.md")
	for _, e := range events {
		_, row, found := strings.Cut(rows, fmt.Sprintf("\n| `%v` |", e.Properties["type"].Const))
		row, _, _ = strings.Cut(row, "\n")
		for name := range e.Properties {
			if !found || name != "type" && !strings.Contains(row, "`"+name+"`") {
				t.Errorf("docs/reference/events.md: %v has no %s", e.Properties["type"].Const, name)
			}
		}
	}
	text := page(t, "docs/reference/protocol.md")
	for _, l := range lines {
		if !strings.Contains(text, fmt.Sprintf(`{"type":"%v"`, l.Properties["type"].Const)) {
			t.Errorf("docs/reference/protocol.md has no %v", l.Properties["type"].Const)
		}
	}
}
