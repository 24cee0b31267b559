package hook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/broker"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/desk"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/display"
	"github.com/agent-wrapper/agent-wrapper/internal/audit"
	"github.com/agent-wrapper/agent-wrapper/internal/hook"
	"github.com/agent-wrapper/agent-wrapper/internal/hook/hosts"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
)

// office is where a machine's questions wait.
type office struct {
	*broker.Local
	t *testing.T
	m *machine
}

// asksAt has the machine ask at a broker of its own.
func (m *machine) asksAt(t *testing.T) *office {
	t.Helper()
	open := func() (*broker.Local, error) { return broker.OpenLocal(m.state+"/approvals", nil) }
	if err := os.MkdirAll(m.state, 0o700); err != nil {
		t.Fatal(err)
	}
	local, err := open()
	if err != nil {
		t.Fatal(err)
	}
	m.ask = func(e *engine.Engine) (hook.Asker, error) {
		mine, err := open()
		if err != nil {
			return nil, err
		}
		return hook.At(mine, func(b approval.Broker) *broker.Approver {
			return broker.New(broker.Options{
				Broker: b, Project: e.Place.Workspace,
				Menu: desk.Menu{Session: e.Session, Edit: true}, File: desk.EditedFile,
			})
		}, mine.Close), nil
	}
	return &office{local, t, m}
}

// pending waits for the n-th question that waits.
func (o *office) pending(n int) approval.Entry {
	o.t.Helper()
	after := int64(0)
	for {
		all, err := o.List(o.t.Context(), approval.Filter{Status: []approval.Status{approval.Pending}})
		if err != nil {
			o.t.Fatal(err)
		}
		if len(all) >= n {
			return all[n-1]
		}
		if after, err = o.Wait(o.t.Context(), after); err != nil {
			o.t.Fatal(err)
		}
	}
}

// answers answers a question.
func (o *office) answers(e approval.Entry, r desk.Reply) error {
	o.t.Helper()
	r.ID, r.Digest, r.By = e.ID, e.Digest, "anna"
	text, err := json.Marshal(r)
	if err != nil {
		o.t.Fatal(err)
	}
	_, err = o.Answer(o.t.Context(), approval.Event{
		Kind: desk.Kind(r.Choice), ID: e.ID, Digest: e.Digest, By: approval.Principal{Role: approval.Person, Name: "anna"},
		Rules: r.Rules, Message: r.Message, Input: r.Input,
	}, text)
	return err
}

// shownAs returns a question as a person sees it.
func shownAs(t *testing.T, e approval.Entry) string {
	t.Helper()
	var q desk.Question
	if err := json.Unmarshal(e.Question, &q); err != nil {
		t.Fatal(err)
	}
	return q.Text(display.TextOptions{Width: 200})
}

// status returns how a question has ended.
func (o *office) status(id string) approval.Status {
	o.t.Helper()
	e, err := o.Get(o.t.Context(), id)
	if err != nil {
		o.t.Fatal(err)
	}
	return e.Status
}

// begins runs the hook of a host in the background.
func (m *machine) begins(t *testing.T, host, payload string, limit time.Duration) <-chan hook.Output {
	t.Helper()
	ended := make(chan hook.Output, 1)
	go func() {
		var out, errs bytes.Buffer
		o := hook.Options{
			Host: hosts.Named(host), Dir: m.project, Env: func(name string) string { return m.env[name] }, Limit: limit,
			Engine: engine.Options{Dirs: &engine.Dirs{User: m.user, State: m.state}}, Ask: m.ask,
		}
		code := hook.Main(context.WithoutCancel(t.Context()), o, strings.NewReader(payload), &out, &errs)
		ended <- hook.Output{Stdout: out.Bytes(), Stderr: errs.Bytes(), Code: code}
	}()
	return ended
}

const asking = `
ask = ["Bash(touch:*)"]
deny = ["Bash(touch no)"]
`

// record returns the entries of the record.
func (m *machine) record(t *testing.T) []audit.Entry {
	t.Helper()
	m.verified(t)
	path, err := (&engine.Dirs{State: m.state}).Record()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all []audit.Entry
	err = audit.Scan(file, &audit.Filter{}, func(e *audit.Entry, _ []byte) error {
		all = append(all, *e)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// What the host shows to a person is left to it, and recorded with its outcome.
func TestNativeAsk(t *testing.T) {
	m := newMachine(t, asking)
	m.asks(&answers{err: fmt.Errorf("asked elsewhere too")})
	m.env["CLAUDE_CODE_ENTRYPOINT"] = "cli"
	o := m.hears(t, hook.Claude, m.use("s", "t1", "touch x"))
	want := `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"agent-wrapper: asked by rule Bash(touch:*): run touch x (` + m.user + `/agent-wrapper.toml:2:9)"}}` + "\n"
	if string(o.Stdout) != want || o.Code != 0 {
		t.Errorf("%d %s", o.Code, o.Stdout)
	}
	after := strings.Replace(m.use("s", "t1", "touch x"), "PreToolUse", "PostToolUse", 1)
	if o := m.hears(t, hook.Claude, after); o.Code != 0 || len(o.Stdout)+len(o.Stderr) > 0 {
		t.Errorf("%+v", o)
	}
	all := m.record(t)
	if last := all[len(all)-2:]; last[0].Behavior != "ask" || last[0].By != "host" || last[1].Outcome != "ran" || last[1].Use != "t1" {
		t.Errorf("%+v", last)
	}
	for _, mode := range []string{"auto", "bypassPermissions", "dontAsk", "", "new"} {
		text := strings.Replace(m.use("s", "t2", "touch y"), `"permission_mode":"default"`, `"permission_mode":"`+mode+`"`, 1)
		if o := m.hears(t, hook.Claude, text); !strings.Contains(string(o.Stdout), "asked elsewhere too") || runs(hook.Claude, o) {
			t.Errorf("mode %q: %s", mode, o.Stdout)
		}
	}
	for name, value := range map[string]string{"CLAUDE_CODE_ENTRYPOINT": "sdk-cli", "CLAUDE_CODE_SESSION_ATTENDED": "0"} {
		m.env = map[string]string{"CLAUDE_CODE_ENTRYPOINT": "cli"}
		m.env[name] = value
		if o := m.hears(t, hook.Claude, m.use("s", "t3", "touch z")); !strings.Contains(string(o.Stdout), "asked elsewhere too") {
			t.Errorf("%s=%s: %s", name, value, o.Stdout)
		}
	}
}

// A question waits for its answer, and other hooks of the session go on meanwhile.
func TestHold(t *testing.T) {
	m := newMachine(t, asking)
	office := m.asksAt(t)
	held := m.begins(t, hook.Claude, m.use("s", "t1", "touch x"), 0)
	e := office.pending(1)
	if o := m.hears(t, hook.Claude, m.use("s", "t2", "ls")); !allowed(o.Stdout) {
		t.Errorf("meanwhile: %s", o.Stdout)
	}
	if err := office.answers(e, desk.Reply{Choice: desk.Session, Rules: []string{"Bash(touch:*)"}}); err != nil {
		t.Fatal(err)
	}
	if o := <-held; !allowed(o.Stdout) {
		t.Errorf("%s%s", o.Stdout, o.Stderr)
	}
	if err := office.answers(e, desk.Reply{Choice: desk.Deny}); err == nil {
		t.Error("it is answered twice")
	}
	if o := m.hears(t, hook.Claude, m.use("s", "t3", "touch other")); !allowed(o.Stdout) {
		t.Errorf("the rule does not count: %s", o.Stdout)
	}
	if o := m.hears(t, hook.Claude, m.use("s", "t4", "touch no")); runs(hook.Claude, o) {
		t.Errorf("a deny does not count: %s", o.Stdout)
	}
	another := m.begins(t, hook.Claude, m.use("other", "t5", "touch x"), 0)
	if err := office.answers(office.pending(1), desk.Reply{Choice: desk.Deny, Message: "not now"}); err != nil {
		t.Fatal(err)
	}
	if o := <-another; runs(hook.Claude, o) || !strings.Contains(string(o.Stdout), "not now") {
		t.Errorf("another session: %s", o.Stdout)
	}
}

// A question that nobody answers is denied before the host goes on without an answer.
func TestHoldExpires(t *testing.T) {
	m := newMachine(t, asking)
	office := m.asksAt(t)
	held := m.begins(t, hook.Gemini, `{"session_id":"s","transcript_path":"/t","cwd":"`+m.project+`","hook_event_name":"BeforeTool","timestamp":"2026","tool_name":"run_shell_command","tool_input":{"command":"touch x"}}`, 2*time.Second)
	e := office.pending(1)
	o := <-held
	if runs(hook.Gemini, o) || !strings.Contains(string(o.Stderr), "not answered in time") {
		t.Errorf("%d %s%s", o.Code, o.Stdout, o.Stderr)
	}
	if status := office.status(e.ID); status != approval.Cancelled {
		t.Errorf("the question is %v", status)
	}
	if got := m.verified(t); got["deny"] != 1 || got["allow"] != 0 {
		t.Errorf("recorded: %v", got)
	}
}

// What a person has edited runs in the host's own words, or not at all.
func TestHoldEdited(t *testing.T) {
	m := newMachine(t, asking)
	office := m.asksAt(t)
	for host, payload := range map[string]string{
		hook.Claude:  m.use("e", "t1", "touch x"),
		hook.Copilot: `{"sessionId":"e","timestamp":1,"cwd":"` + m.project + `","toolName":"bash","toolArgs":{"command":"touch x"}}`,
		hook.Qwen:    `{"session_id":"e","transcript_path":"/t","cwd":"` + m.project + `","hook_event_name":"PreToolUse","timestamp":"2026","permission_mode":"yolo","tool_name":"run_shell_command","tool_input":{"command":"touch x"}}`,
	} {
		held := m.begins(t, host, payload, 0)
		if err := office.answers(office.pending(1), desk.Reply{Choice: desk.Edit, Input: json.RawMessage(`{"command":"ls y"}`)}); err != nil {
			t.Fatal(err)
		}
		o := <-held
		switch ran := strings.Contains(string(o.Stdout), `{"command":"ls y"}`); {
		case host == hook.Qwen && (runs(host, o) || ran || !strings.Contains(string(o.Stderr), "cannot run what a person has edited")):
			t.Errorf("%s runs what was edited: %s%s", host, o.Stdout, o.Stderr)
		case host != hook.Qwen && (!runs(host, o) || !ran):
			t.Errorf("%s: %s%s", host, o.Stdout, o.Stderr)
		}
	}
}

// Beside a dialog of the host, a question can be answered elsewhere; the next event of
// the agent takes it away.
func TestDialog(t *testing.T) {
	m := newMachine(t, asking)
	m.env["CLAUDE_CODE_ENTRYPOINT"] = "cli"
	office := m.asksAt(t)
	dialog := func(command string) string {
		return strings.NewReplacer("PreToolUse", "PermissionRequest", `"tool_use_id":"t1",`, "").Replace(m.use("s", "t1", command))
	}
	if o := m.hears(t, hook.Claude, m.use("s", "t1", "touch x")); !strings.Contains(string(o.Stdout), `"ask"`) {
		t.Fatalf("%s", o.Stdout)
	}
	held := m.begins(t, hook.Claude, dialog("touch x"), 0)
	if err := office.answers(office.pending(1), desk.Reply{Choice: desk.Once}); err != nil {
		t.Fatal(err)
	}
	if o := <-held; string(o.Stdout) != `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`+"\n" {
		t.Errorf("%s%s", o.Stdout, o.Stderr)
	}
	held = m.begins(t, hook.Claude, dialog("touch y"), 0)
	e := office.pending(1)
	m.waitsFor(t)
	if o := m.hears(t, hook.Claude, strings.Replace(m.use("s", "t2", "touch y"), "PreToolUse", "PostToolUse", 1)); o.Code != 0 {
		t.Errorf("%+v", o)
	}
	if o := <-held; o.Code != 0 || len(o.Stdout) > 0 {
		t.Errorf("after the answer in the window: %+v", o)
	}
	if status := office.status(e.ID); status != approval.Cancelled {
		t.Errorf("the question is %v", status)
	}
	for _, e := range m.record(t) {
		if strings.Contains(string(e.Input), "touch y") && e.Behavior == "deny" {
			t.Errorf("what was answered in the window is recorded as denied: %+v", e)
		}
	}
	for command, want := range map[string]string{"ls": "", "touch no": `"behavior":"deny"`} {
		if o := m.hears(t, hook.Claude, dialog(command)); !strings.Contains(string(o.Stdout), want) || want == "" && len(o.Stdout) > 0 {
			t.Errorf("%s: %s", command, o.Stdout)
		}
	}
}

// waitsFor waits until a dialog's question is known to other hooks.
func (m *machine) waitsFor(t *testing.T) {
	t.Helper()
	for {
		found, err := os.ReadDir(m.state + "/hooks")
		if err != nil {
			t.Fatal(err)
		}
		for _, session := range found {
			if files, err := os.ReadDir(m.state + "/hooks/" + session.Name() + "/waits"); err == nil && len(files) > 0 {
				return
			}
		}
		select {
		case <-t.Context().Done():
			t.Fatal("no question waits")
		default:
		}
	}
}

// A session is fixed at its first event: a policy that changes, or an agent that moves,
// changes nothing in it, and a question says so.
func TestFixed(t *testing.T) {
	m := newMachine(t, `deny = ["Bash(touch no)"]`)
	m.write(t, m.project+"/agent-wrapper.toml", `deny = ["Bash(touch never)"]`)
	m.env["CLAUDE_CODE_ENTRYPOINT"] = "cli"
	for _, command := range []string{"touch no", "touch never"} {
		if o := m.hears(t, hook.Claude, m.use("s", "t1", command)); runs(hook.Claude, o) {
			t.Errorf("%s: %s", command, o.Stdout)
		}
	}
	moved := strings.Replace(m.use("moved", "t0", "touch never"), `"cwd":"`+m.project+`"`, `"cwd":"`+t.TempDir()+`"`, 1)
	if o := m.hears(t, hook.Claude, moved); !strings.Contains(string(o.Stdout), `"deny"`) {
		t.Errorf("a first event of an agent that has moved: %s", o.Stdout)
	}
	m.write(t, m.user+"/agent-wrapper.toml", `allow = ["Bash(touch no)"]`)
	if err := os.Remove(m.project + "/agent-wrapper.toml"); err != nil {
		t.Fatal(err)
	}
	elsewhere := t.TempDir()
	for _, command := range []string{"touch no", "touch never"} {
		text := strings.Replace(m.use("s", "t2", command), `"cwd":"`+m.project+`"`, `"cwd":"`+elsewhere+`"`, 1)
		if o := m.hears(t, hook.Claude, text); !strings.Contains(string(o.Stdout), `"deny"`) {
			t.Errorf("%s later: %s", command, o.Stdout)
		}
	}
	if o := m.hears(t, hook.Claude, m.use("s", "t3", "npm install x")); !strings.Contains(string(o.Stdout), "agent-wrapper.toml has changed since the session began") {
		t.Errorf("the question does not say that the policy has changed: %s", o.Stdout)
	}
	office := m.asksAt(t)
	m.env["CLAUDE_CODE_ENTRYPOINT"] = "sdk-cli"
	held := m.begins(t, hook.Claude, m.use("s", "t4", "npm install y"), 0)
	e := office.pending(1)
	if shown := shownAs(t, e); !strings.Contains(shown, "agent-wrapper.toml has changed since the session began") {
		t.Errorf("the question that waits does not say that the policy has changed:\n%s", shown)
	}
	if err := office.answers(e, desk.Reply{Choice: desk.Once}); err != nil {
		t.Fatal(err)
	}
	if o := <-held; !allowed(o.Stdout) {
		t.Errorf("%s%s", o.Stdout, o.Stderr)
	}
	if o := m.hears(t, hook.Claude, m.use("new", "t5", "touch no")); !allowed(o.Stdout) {
		t.Errorf("a new session: %s", o.Stdout)
	}
}

// A session of which a file was changed or cut is none, and denies.
func TestDamagedSession(t *testing.T) {
	cut := func(text string) string { return text[:len(text)/2] }
	empty := func(string) string { return "" }
	for _, tt := range []struct {
		file, name string
		damage     func(text string) string
	}{
		{"session.json", "cut", cut},
		{"session.json", "empty", empty},
		{"session.json", "workspace", func(text string) string { return strings.Replace(text, `/repo"`, `/else"`, 1) }},
		{"policies.json", "cut", cut},
		{"policies.json", "empty", empty},
		{"policies.json", "rule", func(text string) string { return strings.Replace(text, "touch no", "touch on", 1) }},
		{"policy-*", "cut", cut},
		{"policy-*", "empty", empty},
		{"policy-*", "rule", func(text string) string { return strings.Replace(text, "touch no", "touch on", 1) }},
	} {
		m := newMachine(t, "ask = [\"Bash(npm:*)\"]\ndeny = [\"Bash(touch no)\"]\n")
		if o := m.hears(t, hook.Claude, m.use("s", "t1", "ls")); !allowed(o.Stdout) {
			t.Fatalf("%s", o.Stdout)
		}
		file := m.fileOf(t, tt.file)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if tt.damage(string(text)) == string(text) {
			t.Fatalf("%s of %s changes nothing", tt.name, file)
		}
		m.write(t, file, tt.damage(string(text)))
		o := m.hears(t, hook.Claude, m.use("s", "t2", "npm install x")) // which a person elsewhere is asked about
		if runs(hook.Claude, o) || !strings.Contains(string(o.Stderr), file) {
			t.Errorf("%s of %s: %d %s%s", tt.name, tt.file, o.Code, o.Stdout, o.Stderr)
		}
	}
}

// fileOf returns the file of the only session whose name matches a pattern.
func (m *machine) fileOf(t *testing.T, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(m.state + "/hooks/*/" + pattern)
	if err != nil || len(files) != 1 {
		t.Fatalf("%v %v", files, err)
	}
	return files[0]
}

// What cannot be loaded or recorded is denied, with the place.
func TestCannot(t *testing.T) {
	m := newMachine(t, "allow = [\n\"Bash(ls\"]\n")
	if o := m.hears(t, hook.Claude, m.use("s", "t1", "ls")); runs(hook.Claude, o) || !strings.Contains(string(o.Stderr), "agent-wrapper.toml:2:") {
		t.Errorf("a policy that does not load: %d %s%s", o.Code, o.Stdout, o.Stderr)
	}
	m = newMachine(t, `allow = ["Bash(ls:*)"]`)
	if err := os.MkdirAll(m.state+"/audit.jsonl", 0o700); err != nil {
		t.Fatal(err)
	}
	if o := m.hears(t, hook.Claude, m.use("s", "t1", "ls")); runs(hook.Claude, o) {
		t.Errorf("a record that cannot be written: %d %s%s", o.Code, o.Stdout, o.Stderr)
	}
	m = newMachine(t, `allow = ["Bash(ls:*)"]`)
	m.state = ""
	if o := m.hears(t, hook.Claude, m.use("s", "t1", "ls")); runs(hook.Claude, o) {
		t.Errorf("no state directory: %d %s%s", o.Code, o.Stdout, o.Stderr)
	}
}

// What is counted and told in a session is so whatever process decides: limits, a pause
// that they bring, and advice.
func TestSessionGoesOn(t *testing.T) {
	m := newMachine(t, "allow = [\"Bash(ls:*)\"]\n[limits]\ntool_uses = 2\nthen = \"pause\"\n")
	for i, want := range []bool{true, true, false, false} {
		if o := m.hears(t, hook.Claude, m.use("s", fmt.Sprint("t", i), "ls")); allowed(o.Stdout) != want {
			t.Errorf("tool use %d: %s", i+1, o.Stdout)
		}
	}
	if o := m.hears(t, hook.Claude, m.use("other", "t", "ls")); !allowed(o.Stdout) {
		t.Errorf("another session: %s", o.Stdout)
	}
	m = newMachine(t, `allow = ["Bash(git add:*)"]`)
	m.asks(&answers{err: fmt.Errorf("nobody is here")})
	for i, want := range []string{"write", "nobody is here"} {
		if o := m.hears(t, hook.Claude, m.use("s", fmt.Sprint("a", i), "$GIT add x")); !strings.Contains(string(o.Stdout), want) {
			t.Errorf("%d: %q is not in %s", i, want, o.Stdout)
		}
	}
}

// A host that plans narrows, and lifts nothing that the policy's own mode denies.
func TestPlan(t *testing.T) {
	m := newMachine(t, "mode = \"dontAsk\"\nallow = [\"Bash(touch:*)\"]\n")
	for _, mode := range []string{"default", "plan"} {
		for command, want := range map[string]bool{"ls": false, "touch x": mode == "default"} {
			text := strings.Replace(m.use("s", "t", command), `"permission_mode":"default"`, `"permission_mode":"`+mode+`"`, 1)
			if o := m.hears(t, hook.Claude, text); allowed(o.Stdout) != want {
				t.Errorf("%s in mode %s: %s", command, mode, o.Stdout)
			}
		}
	}
}
