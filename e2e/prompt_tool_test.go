//go:build e2e

package e2e

import (
	"encoding/json"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestPromptTool: agent-wrapper mcp answers the permission prompts of claude -p, and
// is not asked about what the agent CLI runs by itself.
func TestPromptTool(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		b := newBox(t)
		touch, drop := in{"command": "touch made", "description": "d"}, in{"command": "rm a.txt", "description": "d"}
		m := startModel(t, script{"main": {
			{{Name: "touch", Tool: "Bash", Input: touch}},
			{{Name: "drop", Tool: "Bash", Input: drop}},
			{{Name: "list", Tool: "Bash", Input: in{"command": "ls sub", "description": "d"}}},
		}})
		record := b.Dir + "/audit.jsonl"
		config, _ := json.Marshal(in{"mcpServers": in{"agent-wrapper": in{
			"command": binary(t), "args": []string{"mcp", "--isolated", "--allow", "Bash(touch made)", "--deny", "Bash(rm:*)", "--audit", record},
		}}})
		cmd := exec.Command(r.Path, "-p", "[[main]] go", "--output-format", "text", "--permission-mode", "default",
			"--permission-prompt-tool", "mcp__agent-wrapper__approve", "--mcp-config", string(config), "--strict-mcp-config", "--setting-sources=")
		cmd.Dir, cmd.Env = b.Work, b.env("ANTHROPIC_BASE_URL="+m.URL)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
		stop := time.AfterFunc(2*time.Minute, func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
		defer stop.Stop()
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, short(string(out)))
		}
		if !b.has("repo/made") {
			t.Error("what is allowed did not run")
		}
		if got, _ := m.result("drop"); !b.has("repo/a.txt") || !strings.Contains(got.Text, "denied by rule Bash(rm:*)") {
			t.Errorf("what is denied: %q, the file is there: %v", got.Text, b.has("repo/a.txt"))
		}
		if got, _ := m.result("list"); !strings.Contains(got.Text, "b.txt") {
			t.Errorf("the agent CLI does not list a directory by itself any more: %q", got.Text)
		}
		decided := b.readFile("audit.jsonl")
		if strings.Contains(decided, "ls sub") || !strings.Contains(decided, "touch made") || !strings.Contains(decided, "rm a.txt") {
			t.Errorf("recorded: %s", short(decided))
		}
	})
}
