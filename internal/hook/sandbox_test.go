package hook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agent-wrapper/agent-wrapper/internal/hook"
	"github.com/agent-wrapper/agent-wrapper/internal/hook/hosts"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
)

// tester is a test, or a check of one.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

// inSandbox runs the hook of a host on a payload, on a machine that has a sandbox unless missing
// says why not.
func (m *machine) inSandbox(t tester, host string, missing error, payload string) hook.Output {
	t.Helper()
	var out, errs bytes.Buffer
	code := hook.Main(context.Background(), hook.Options{
		Host: hosts.Named(host), Dir: m.project, Env: func(name string) string { return m.env[name] },
		Engine: engine.Options{Dirs: &engine.Dirs{User: m.user, State: m.state}, Within: "/bin/agent-wrapper"},
		Ask:    m.ask, Sandbox: func(context.Context, *engine.Rules) (string, error) {
			if missing == nil || errors.Is(missing, errScarce) {
				return "", missing
			}
			return missing.Error(), nil
		},
	}, strings.NewReader(payload), &out, &errs)
	return hook.Output{Stdout: out.Bytes(), Stderr: errs.Bytes(), Code: code}
}

// errScarce is that the sandbox cannot be built at the moment.
var errScarce = errors.New("resource temporarily unavailable")

// answered returns what a host of an answer runs in place of a line: "" if it runs nothing,
// or asks.
func answered(t tester, o hook.Output, line string) (command, id string) {
	t.Helper()
	var a struct {
		Specific struct {
			Decision string `json:"permissionDecision"`
			Input    *struct{ Command string }
			Updated  *struct{ Command string } `json:"updatedInput"`
		} `json:"hookSpecificOutput"`
	}
	if json.Unmarshal(o.Stdout, &a) != nil || a.Specific.Decision != "allow" {
		return "", ""
	}
	if a.Specific.Updated == nil {
		return line, ""
	}
	words := strings.Fields(a.Specific.Updated.Command)
	if len(words) < 3 || words[0] != "/bin/agent-wrapper" || words[1] != "within" {
		t.Fatalf("it is answered with %q", a.Specific.Updated.Command)
	}
	return a.Specific.Updated.Command, words[2]
}

// runsIt is the host's shell, which starts what it was answered.
func (m *machine) runsIt(t testing.TB, id string) {
	t.Helper()
	if _, err := (engine.Dirs{State: m.state}).TakePermit(id, m.project); err != nil {
		t.Fatal(err)
	}
}

// TestNoSandboxAtTheMoment: while the sandbox cannot be built at the moment nothing runs, and
// that does not hold for the rest of the session.
func TestNoSandboxAtTheMoment(t *testing.T) {
	m := newMachine(t, sandboxPolicy)
	for range 2 {
		o := m.inSandbox(t, hook.Claude, errScarce, m.use("s", "t1", "ls"))
		if command, _ := answered(t, o, "ls"); command != "" || !strings.Contains(string(o.Stdout)+string(o.Stderr), errScarce.Error()) {
			t.Errorf("%q runs: %s%s", command, o.Stdout, o.Stderr)
		}
	}
	if got, id := answered(t, m.inSandbox(t, hook.Claude, nil, m.use("s", "t2", "ls")), "ls"); id == "" {
		t.Errorf("later, ls: %q", got)
	}
}

const sandboxPolicy = "sandbox = \"on\"\nask = [\"Bash(touch asked)\"]\ndeny = [\"Bash(touch denied)\", \"Read(secrets/**)\"]\n"

// TestSandbox: a command that may run without a sandbox is answered with one that runs it inside.
// So is one that only the sandbox allows, but not before the host has proven that it runs
// what it is answered.
func TestSandbox(t *testing.T) {
	m := newMachine(t, sandboxPolicy)
	m.env["CLAUDE_CODE_ENTRYPOINT"] = "cli"
	hears := func(session, id, line string) (command, permit string) {
		t.Helper()
		return answered(t, m.inSandbox(t, hook.Claude, nil, m.use(session, id, line)), line)
	}
	if got, _ := hears("s", "t1", "make"); got != "" {
		t.Errorf("before there is a proof: %s", got)
	}
	got, id := hears("s", "t2", "ls")
	if id == "" {
		t.Fatalf("ls: %s", got)
	}
	if got, _ := hears("s", "t3", "make"); got != "" {
		t.Errorf("before the host has run it: %s", got)
	}
	m.runsIt(t, id)
	if got, id := hears("s", "t4", "make"); id == "" {
		t.Errorf("after the proof: %s", got)
	}
	if got, _ := hears("other", "t5", "make"); got != "" {
		t.Errorf("in another session: %s", got)
	}
	for line, want := range map[string]string{"touch asked": "", "touch denied": "", "git push": "", "rm -rf /": "", "cat secrets/x": "", "npm install x": ""} {
		if got, _ := hears("s", "t6", line); got != want {
			t.Errorf("%s: %s", line, got)
		}
	}
	o, given := m.lightlyIn(t, m.use("s", "t7", "make"))
	if got, id := answered(t, o, "make"); id == "" || given {
		t.Errorf("a light run: %s, given away %v", got, given)
	}
}

// lightlyIn is inSandbox by a program that begins no session and asks nobody.
func (m *machine) lightlyIn(t testing.TB, payload string) (o hook.Output, given bool) {
	t.Helper()
	var out, errs bytes.Buffer
	code := hook.Main(context.Background(), hook.Options{
		Host: hosts.Named(hook.Claude), Dir: m.project, Env: func(name string) string { return m.env[name] },
		Engine: engine.Options{Dirs: &engine.Dirs{User: m.user, State: m.state}, Within: "/bin/agent-wrapper"},
		Whole:  func([]byte) error { given = true; return errors.New("handed over") },
	}, strings.NewReader(payload), &out, &errs)
	return hook.Output{Stdout: out.Bytes(), Stderr: errs.Bytes(), Code: code}, given
}

// TestSandboxIgnored: a host that runs its own input is found out, and then the session is
// one without a sandbox.
func TestSandboxIgnored(t *testing.T) {
	m := newMachine(t, sandboxPolicy)
	hears := func(id, line string) (command, permit string) {
		t.Helper()
		return answered(t, m.inSandbox(t, hook.Claude, nil, m.use("s", id, line)), line)
	}
	ran := func(id, line string) {
		m.inSandbox(t, hook.Claude, nil, strings.Replace(m.use("s", id, line), "PreToolUse", "PostToolUse", 1))
	}
	_, id := hears("t1", "ls")
	m.runsIt(t, id)
	ran("t1", "ls")
	if _, id := hears("t2", "make"); id == "" {
		t.Fatal("a host that has proven itself does not count")
	}
	ran("t2", "make") // and no permit was used
	if got, _ := hears("t3", "make"); got != "" {
		t.Errorf("only the sandbox allows it, which the host does not build: %s", got)
	}
	if got, _ := hears("t4", "ls"); got != "ls" {
		t.Errorf("ls: %s", got)
	}
	notes := 0
	for _, e := range m.record(t) {
		if e.Note == "sandbox" {
			notes++
		}
	}
	if notes != 1 {
		t.Errorf("%d notes in the record", notes)
	}
}

// TestSandboxUnused: where nothing runs that is answered, it is not answered so for long.
func TestSandboxUnused(t *testing.T) {
	m := newMachine(t, sandboxPolicy)
	hears := func(id string) string {
		t.Helper()
		got, _ := answered(t, m.inSandbox(t, hook.Claude, nil, m.use("s", id, "ls")), "ls")
		return got
	}
	for _, id := range []string{"t1", "t2"} { // the second may have been asked about at the same time
		if got := hears(id); got == "ls" || got == "" {
			t.Fatal(got)
		}
	}
	files, err := filepath.Glob(m.state + "/within/*/*")
	if err != nil || len(files) != 4 {
		t.Fatalf("%q, %v", files, err)
	}
	before := time.Now().Add(-time.Minute)
	for _, file := range files {
		if err := os.Chtimes(file, before, before); err != nil {
			t.Fatal(err)
		}
	}
	if got := hears("t3"); got != "ls" {
		t.Error(got)
	}
}

// TestSandboxRuled: a rule of the host's own that would be matched against what it is answered
// leaves the session without a sandbox, also one that comes in the middle of it.
func TestSandboxRuled(t *testing.T) {
	for _, file := range []string{"user", "settings.json", "settings.local.json"} {
		for text, ruled := range map[string]bool{
			`{"permissions":{"deny":["Bash(curl:*)"]}}`: true, `{"permissions":{"ask":["Read(x)"]}}`: true, `{"permissions":`: true, `[]`: true,
			`{"permissions":{"allow":["Bash(ls:*)"],"deny":["WebFetch"]}}`: false, `{}`: false,
		} {
			m := newMachine(t, sandboxPolicy)
			m.env["CLAUDE_CODE_ENTRYPOINT"], m.env["CLAUDE_CONFIG_DIR"] = "cli", m.user
			_, id := answered(t, m.inSandbox(t, hook.Claude, nil, m.use("s", "t1", "ls")), "ls")
			m.runsIt(t, id)
			path := m.user + "/settings.json"
			if file != "user" {
				path = m.project + "/.claude/" + file
			}
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			m.write(t, path, text)
			if got, id := answered(t, m.inSandbox(t, hook.Claude, nil, m.use("s", "t2", "make")), "make"); (id == "") != ruled || got == "make" {
				t.Errorf("%s, %s: %s", file, text, got)
			}
			if got, id := answered(t, m.inSandbox(t, hook.Claude, nil, m.use("s", "t3", "ls")), "ls"); (id == "") != ruled {
				t.Errorf("%s, %s: %s", file, text, got)
			}
		}
	}
}

// TestSandboxMissing: where there is no sandbox, commands are decided as without, or nothing runs.
func TestSandboxMissing(t *testing.T) {
	missing := errors.New("there is no sandbox here: namespaces: no")
	m := newMachine(t, sandboxPolicy)
	m.env["CLAUDE_CODE_ENTRYPOINT"] = "cli"
	o := m.inSandbox(t, hook.Claude, missing, m.use("s", "t1", "make"))
	if got, _ := answered(t, o, "make"); got != "" || !strings.Contains(string(o.Stdout), `"ask"`) || !strings.Contains(string(o.Stdout), "namespaces: no") {
		t.Errorf("make: %s%s", o.Stdout, o.Stderr)
	}
	if got, _ := answered(t, m.inSandbox(t, hook.Claude, missing, m.use("s", "t2", "ls")), "ls"); got != "ls" {
		t.Errorf("ls: %s", got)
	}
	m = newMachine(t, strings.Replace(sandboxPolicy, "on", "require", 1))
	for _, line := range []string{"ls", "make"} {
		o := m.inSandbox(t, hook.Claude, missing, m.use("s", "t", line))
		if runs(hook.Claude, o) || !strings.Contains(string(o.Stderr), "the sandbox is required") {
			t.Errorf("%s: %d %s%s", line, o.Code, o.Stdout, o.Stderr)
		}
	}
}

// TestSandboxUnplanned: where a sandbox can be built but not planned, because of what lies in
// the workspace, nothing runs without it.
func TestSandboxUnplanned(t *testing.T) {
	m := newMachine(t, sandboxPolicy)
	m.env["CLAUDE_CODE_ENTRYPOINT"] = "cli"
	for len(m.project) < 4000 {
		m.project += "/" + strings.Repeat("d", 90)
	}
	if err := os.MkdirAll(m.project, 0o700); err != nil {
		t.Fatal(err)
	}
	dir, err := os.OpenRoot(m.project)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := dir.Mkdir(strings.Repeat("n", 200), 0o700); err != nil { // too long for a path
		t.Fatal(err)
	}
	for _, line := range []string{"ls", "make"} {
		o := m.inSandbox(t, hook.Claude, nil, m.use("s", "t", line))
		if runs(hook.Claude, o) || strings.Contains(string(o.Stdout), `"ask"`) || !strings.Contains(string(o.Stdout)+string(o.Stderr), "cannot be looked for") {
			t.Errorf("%s: %d %s%s", line, o.Code, o.Stdout, o.Stderr)
		}
	}
}

// TestSandboxOfOthers: a host that was not measured to run what it is answered, and what a
// host runs without a hook for the tool use, is decided as without a sandbox.
func TestSandboxOfOthers(t *testing.T) {
	for _, h := range hosts.All() {
		m := newMachine(t, sandboxPolicy)
		m.noSync = true
		for _, p := range payloads(t, m.project) {
			if p.hostOf() != h.Name || h.Rewrites != "" {
				continue
			}
			with, without := m.inSandbox(t, h.Name, nil, p.text), m.hears(t, h.Name, p.text)
			if !bytes.Equal(with.Stdout, without.Stdout) || with.Code != without.Code {
				t.Errorf("%s, %s: %s, and %s without a sandbox", h.Name, p.name, with.Stdout, without.Stdout)
			}
		}
	}
	m := newMachine(t, sandboxPolicy)
	_, id := answered(t, m.inSandbox(t, hook.Claude, nil, m.use("s", "t", "ls")), "ls")
	m.runsIt(t, id)
	if err := os.MkdirAll(m.project+"/.claude/commands", 0o700); err != nil {
		t.Fatal(err)
	}
	m.write(t, m.project+"/.claude/commands/two.md", "!`make`\n")
	event := strings.NewReplacer(`"PreToolUse"`, `"UserPromptExpansion"`, `"tool_name":"Bash"`, `"command_name":"two","expansion_type":"slash_command"`).Replace(m.use("s", "t6", "x"))
	if o := m.inSandbox(t, hook.Claude, nil, event); o.Code != 2 {
		t.Errorf("a line that the host runs by itself: %d %s%s", o.Code, o.Stdout, o.Stderr)
	}
	dialog := strings.Replace(m.use("s", "t7", "make"), "PreToolUse", "PermissionRequest", 1)
	if o := m.inSandbox(t, hook.Claude, nil, dialog); len(o.Stdout) > 0 {
		t.Errorf("a dialog of the host: %s%s", o.Stdout, o.Stderr)
	}
}

// TestLawSandbox: with a sandbox and without a proof, a session allows what it allows without
// a sandbox, and nothing else.
func TestLawSandbox(t *testing.T) {
	slow.Test(t)
	with, without := newMachine(t, sandboxPolicy), newMachine(t, strings.Replace(sandboxPolicy, "on", "off", 1))
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom([]string{"ls", "make", "git push", "cat $f", "python3 x.py", "cd sub", "touch asked", "touch denied", "rm -rf x", "npm test", "cat secrets/a", "echo $(make)"}).Draw(t, "one") +
			rapid.SampledFrom([]string{"", "; ls", " && make", " | cat", "; git push", " > out", " &"}).Draw(t, "two")
		n++
		got, _ := answered(t, with.inSandbox(t, hook.Claude, nil, with.use("s", fmt.Sprint(n), line)), line)
		want, _ := answered(t, without.inSandbox(t, hook.Claude, nil, without.use("s", fmt.Sprint(n), line)), line)
		if (got == "") != (want == "") {
			t.Errorf("%s: %q with a sandbox, %q without", line, got, want)
		}
	})
}
