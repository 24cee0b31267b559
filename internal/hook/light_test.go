package hook_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/hook"
	"github.com/agent-wrapper/agent-wrapper/internal/hook/hosts"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
)

// lightly runs the hook of a program that reads no policies and asks nobody, and returns
// what that gave to the one that does.
func (m *machine) lightly(t *testing.T, payload string) (o hook.Output, given []string) {
	t.Helper()
	var out, errs bytes.Buffer
	code := hook.Main(t.Context(), hook.Options{
		Host: hosts.Named(hook.Claude), Dir: m.project, Env: func(name string) string { return m.env[name] },
		Engine: engine.Options{Dirs: &engine.Dirs{User: m.user, State: m.state}},
		Whole:  func(payload []byte) error { given = append(given, string(payload)); return errors.New("handed over") },
	}, strings.NewReader(payload), &out, &errs)
	return hook.Output{Stdout: out.Bytes(), Stderr: errs.Bytes(), Code: code}, given
}

// TestLight checks what a light run does itself, and that what it gives to the whole
// program has left nothing behind: no entry in the record, no count of a limit.
func TestLight(t *testing.T) {
	m := newMachine(t, "ask = [\"Bash(npm:*)\"]\ndeny = [\"Bash(touch no)\"]\n[limits]\nquestions_an_hour = 2\nthen = \"end\"\n")
	asks := m.use("s", "t2", "npm install x")
	for _, first := range []string{m.use("s", "t1", "ls"), asks} {
		if o, given := m.lightly(t, first); len(given) != 1 || given[0] != first || runs(hook.Claude, o) {
			t.Fatalf("a first event: %q %d %s", given, o.Code, o.Stdout)
		}
	}
	if _, err := os.Stat(m.state + "/hooks"); err == nil {
		t.Error("a light run has begun a session")
	}
	if o := m.hears(t, hook.Claude, m.use("s", "t1", "ls")); !allowed(o.Stdout) {
		t.Fatalf("%s", o.Stdout)
	}
	before := len(m.record(t))
	for range 5 { // more than the questions that the limit leaves
		o, given := m.lightly(t, asks)
		if len(given) != 1 || given[0] != asks || runs(hook.Claude, o) || !strings.Contains(string(o.Stderr), "handed over") {
			t.Fatalf("a question for elsewhere: %q %d %s%s", given, o.Code, o.Stdout, o.Stderr)
		}
	}
	if got := len(m.record(t)); got != before {
		t.Errorf("%d entries in the record, before %d", got, before)
	}
	o, given := m.lightly(t, m.use("s", "t3", "ls -l"))
	if len(given) > 0 || !allowed(o.Stdout) {
		t.Errorf("an allow: %q %s%s", given, o.Stdout, o.Stderr)
	}
	o, given = m.lightly(t, m.use("s", "t4", "touch no"))
	if len(given) > 0 || !strings.Contains(string(o.Stdout), "Bash(touch no)") {
		t.Errorf("a deny: %q %s%s", given, o.Stdout, o.Stderr)
	}
	m.env["CLAUDE_CODE_ENTRYPOINT"] = "cli"
	o, given = m.lightly(t, asks)
	if len(given) > 0 || !strings.Contains(string(o.Stdout), `"ask"`) || !strings.Contains(string(o.Stdout), "agent-wrapper.toml:1") {
		t.Errorf("an ask of the agent's own: %q %s%s", given, o.Stdout, o.Stderr)
	}
	var words []string
	for _, e := range m.record(t)[before:] {
		words = append(words, e.Behavior)
	}
	if fmt.Sprint(words) != "[allow deny ask]" {
		t.Errorf("the record has %q", words)
	}
	// A command of the project with two lines, of which one is asked about elsewhere: to begin
	// it again would decide, count and record the other one twice.
	delete(m.env, "CLAUDE_CODE_ENTRYPOINT")
	if err := os.MkdirAll(m.project+"/.claude/commands", 0o700); err != nil {
		t.Fatal(err)
	}
	m.write(t, m.project+"/.claude/commands/two.md", "!`ls`\n!`npm install x`\n")
	count := len(m.record(t))
	event := strings.NewReplacer(`"PreToolUse"`, `"UserPromptExpansion"`, `"tool_name":"Bash"`, `"command_name":"two","expansion_type":"slash_command"`).Replace(m.use("s", "t6", "x"))
	if _, given := m.lightly(t, event); len(given) != 1 || len(m.record(t)) != count {
		t.Errorf("an event with two decisions: %q, %d entries in the record, before %d", given, len(m.record(t)), count)
	}
	if err := os.Remove(m.fileOf(t, "policies.json")); err != nil { // so that a light run proves that it reads none
		t.Fatal(err)
	}
	if o, given := m.lightly(t, m.use("s", "t5", "ls")); len(given) > 0 || !allowed(o.Stdout) {
		t.Errorf("without the policies: %q %s%s", given, o.Stdout, o.Stderr)
	}
}

// TestAnotherBuild checks that policies that another build has compiled are read from
// their texts, and compiled anew, so that the next run is light again.
func TestAnotherBuild(t *testing.T) {
	m := newMachine(t, `deny = ["Bash(touch no)"]`)
	m.hears(t, hook.Claude, m.use("s", "t1", "ls"))
	m.compiledBy(t, "another build")
	use := m.use("s", "t2", "touch no")
	if _, given := m.lightly(t, use); len(given) != 1 {
		t.Error("a light run reads what another build has compiled")
	}
	if o := m.hears(t, hook.Claude, use); !strings.Contains(string(o.Stdout), `"deny"`) {
		t.Errorf("%s%s", o.Stdout, o.Stderr)
	}
	if o, given := m.lightly(t, use); len(given) > 0 || !strings.Contains(string(o.Stdout), `"deny"`) {
		t.Errorf("afterwards: %q %s%s", given, o.Stdout, o.Stderr)
	}
	m.fileOf(t, "policy-*") // the old one is gone
}

// compiledBy makes the compiled policy of the only session one of another build.
func (m *machine) compiledBy(t *testing.T, build string) {
	t.Helper()
	file, fixed := m.fileOf(t, "policy-*"), m.fileOf(t, "session.json")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitN(data, []byte("\n"), 3)
	var size int
	if _, err := fmt.Sscan(string(lines[1]), &size); err != nil {
		t.Fatal(err)
	}
	var head map[string]json.RawMessage
	if err := json.Unmarshal(lines[2][:size], &head); err != nil {
		t.Fatal(err)
	}
	head["program"] = json.RawMessage(`"` + build + `"`)
	text, err := json.Marshal(head)
	if err != nil {
		t.Fatal(err)
	}
	changed := fmt.Appendf(nil, "%s\n%d\n%s%s", lines[0], len(text), text, lines[2][size:])
	sum := fmt.Sprintf("%x", sha256.Sum256(changed))
	session, err := os.ReadFile(fixed)
	if err != nil {
		t.Fatal(err)
	}
	old := strings.TrimPrefix(filepath.Base(file), "policy-")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	m.write(t, filepath.Join(filepath.Dir(file), "policy-"+sum), string(changed))
	m.write(t, fixed, hook.Resealed(t, strings.Replace(string(session), old, sum, 1)))
}
