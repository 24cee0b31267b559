//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
)

// programs are both programs, beside each other, and a person's home.
type programs struct {
	t         *testing.T
	dir, home string
}

func build(t *testing.T) *programs {
	t.Helper()
	p := &programs{t, t.TempDir(), t.TempDir()}
	out, err := exec.Command("go", "build", "-o", p.dir+"/", ".", "../agent-wrapper").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for file, text := range map[string]string{
		".config/agent-wrapper/agent-wrapper.toml": "ask = [\"Bash(npm:*)\"]\ndeny = [\"Bash(touch no)\"]\n", "repo/README": "",
	} {
		path := filepath.Join(p.home, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// hears runs the small program on a payload about a command.
func (p *programs) hears(command string, args ...string) (code int, out, errs string) {
	p.t.Helper()
	payload, err := json.Marshal(map[string]any{
		"session_id": "s", "transcript_path": "/t", "cwd": p.home + "/repo", "permission_mode": "default", "hook_event_name": "PreToolUse",
		"tool_name": "Bash", "tool_input": map[string]string{"command": command}, "tool_use_id": "u",
	})
	if err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(p.dir, "agent-wrapper-hook"), args...)
	cmd.Env = []string{"HOME=" + p.home, "CLAUDE_PROJECT_DIR=" + p.home + "/repo", "PATH=/nowhere"}
	cmd.Dir = p.home + "/repo"
	cmd.Stdin = bytes.NewReader(payload)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		p.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

// TestBothPrograms checks the small program as a host starts it: what it answers, what it
// leaves to the other one, and that nothing runs if that is missing.
func TestBothPrograms(t *testing.T) {
	slow.Test(t)
	p := build(t)
	hook := []string{"hook", "claude", "--approvals", "none"}
	long := "echo " + strings.Repeat("x", 20_000) // which no pipe holds before it is read
	for _, tt := range []struct{ command, want string }{
		{"ls", `"allow"`}, // the first event: by agent-wrapper
		{"ls -l", `"allow"`},
		{"touch no", `"deny"`},
		{long, `"allow"`},
		{"npm install x", "there is nobody to ask"}, // by agent-wrapper
		{"npm install " + long, "there is nobody to ask"},
	} {
		code, out, errs := p.hears(tt.command, hook...)
		if !strings.Contains(out+errs, tt.want) {
			t.Errorf("%.20s: %d %s%s", tt.command, code, out, errs)
		}
	}
	for _, args := range [][]string{{}, {"hook"}, {"hook", "claud"}, {"hook", "claude", "--audit-snyc", "none"}, {"hook", "claude", "--audit-sync", "nothing"}, {"hook", "claude", "codex"}} {
		if code, out, errs := p.hears("ls", args...); code != 2 && len(args) > 0 || !strings.Contains(out+errs, "agent-wrapper") || strings.Contains(out, `"allow"`) {
			t.Errorf("%q: %d %s%s", args, code, out, errs)
		}
	}
	if err := os.Remove(filepath.Join(p.dir, "agent-wrapper")); err != nil {
		t.Fatal(err)
	}
	if code, out, _ := p.hears("ls -l", hook...); code != 0 || !strings.Contains(out, `"allow"`) {
		t.Errorf("alone: %d %s", code, out)
	}
	for _, args := range [][]string{hook, {"hook", "claud"}} {
		if code, out, errs := p.hears("npm install x", args...); code != 2 || out != "" || !strings.Contains(errs, "agent-wrapper must be beside agent-wrapper-hook") {
			t.Errorf("%q alone: %d %s%s", args, code, out, errs)
		}
	}
	left, err := filepath.Glob(p.home + "/.local/state/agent-wrapper/.stdin-*")
	if err != nil || len(left) > 0 {
		t.Errorf("%v %q is left", err, left)
	}
}
