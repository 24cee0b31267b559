package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/hook/doctor"
)

// ill makes a home in which Claude Code is installed, with a hook that a repository
// switches off, and makes that repository the current directory.
func ill(t *testing.T) {
	t.Helper()
	home, repo := t.TempDir(), t.TempDir()
	hook := `{"hooks":{"PreToolUse":[{"hooks":[{"command":"agent-wrapper","args":["hook","claude"],"onFailure":"block"}]}]}}`
	for path, text := range map[string]string{
		home + "/bin/claude":            "#!/bin/sh\necho '2.1.330 (Claude Code)'\n",
		home + "/.claude/settings.json": hook,
		repo + "/.claude/settings.json": `{"disableAllHooks":true}`,
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(repo)
	t.Setenv("HOME", home)
	t.Setenv("PATH", home+"/bin")
	t.Setenv("CLAUDE_CONFIG_DIR", "")
}

// doctored runs a command line and returns its output and exit code.
func doctored(args ...string) (string, string, int) {
	var out, complaints bytes.Buffer
	a := &app{in: strings.NewReader(""), out: &out, err: &complaints}
	code := a.run(context.Background(), args)
	return out.String(), complaints.String(), code
}

func TestDoctor(t *testing.T) {
	ill(t)
	out, complaints, code := doctored("doctor")
	if code != codeDenied || complaints != "" || !strings.HasPrefix(out, "Claude Code (2.1.330 (Claude Code))\n  ok    The hook is installed: ~/.claude/settings.json.\n") {
		t.Errorf("exit code %d, %s\n%s", code, complaints, out)
	}
	if !strings.Contains(out, "\n  red   .claude/settings.json has disableAllHooks") {
		t.Errorf("what switches it off is not red:\n%s", out)
	}
	for line := range strings.Lines(out) {
		if len(line) > 81 {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
	if err := os.Remove(".claude/settings.json"); err != nil {
		t.Fatal(err)
	}
	if out, _, code := doctored("doctor", "claude"); code != codeDone || strings.Contains(out, "  red ") || !strings.Contains(out, "  warn ") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	t.Setenv("PATH", t.TempDir())
	if out, _, code := doctored("doctor"); code != codeDone || !strings.HasPrefix(out, "No agent host is installed") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if out, _, code := doctored("doctor", "claude"); code != codeDenied || !strings.Contains(out, "not on PATH") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if _, complaints, code := doctored("doctor", "clod"); code != codeUsage || !strings.Contains(complaints, "there is no host \"clod\"") {
		t.Errorf("exit code %d, %s", code, complaints)
	}
}

func TestDoctorJSON(t *testing.T) {
	ill(t)
	out, _, code := doctored("doctor", "--json")
	var d diagnosis
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != codeDenied || d.SchemaVersion != 1 || strings.Count(out, "\n") != 1 {
		t.Fatalf("exit code %d, %v: %s", code, err, out)
	}
	if len(d.Hosts) != 1 || d.Hosts[0].Name != "claude" || len(d.Hosts[0].Findings) < 3 || d.Proof != nil {
		t.Errorf("%+v", d)
	}
}

// TestDoctorRed: a canary that ran is red whatever was found, and a table says so.
func TestDoctorRed(t *testing.T) {
	d := &diagnosis{Hosts: []doctor.Host{{Name: "x", Title: "X", Findings: []doctor.Finding{{Mark: doctor.OK, Text: "all is well."}}}}}
	if d.red() {
		t.Error("red without a reason")
	}
	stopped := doctor.Result{Host: "x", Canary: "shell", Hook: "answers", Outcome: doctor.Stopped, Mark: doctor.OK}
	d.Proof = &proof{Network: "none", Results: []doctor.Result{stopped}}
	if d.red() {
		t.Error("red though it was stopped")
	}
	d.Proof.Results = append(d.Proof.Results, doctor.Result{Host: "x", Canary: "write", Hook: "fails", Outcome: doctor.Ran, Mark: doctor.Red, Why: "a hook that fails lets it run"})
	if !d.red() {
		t.Error("a canary ran, and nothing is red")
	}
	var out bytes.Buffer
	if err := d.print(&app{out: &out}); err != nil {
		t.Fatal(err)
	}
	want := `X (x)
  ok    all is well.

The proof (network: none)

HOST  CANARY  THE HOOK  RESULT   MARK
x     shell   answers   stopped  ok
x     write   fails     RAN      red
- x: RAN: a hook that fails lets it run
`
	if out.String() != want {
		t.Errorf("%s", out.String())
	}
}
