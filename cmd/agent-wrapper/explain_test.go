package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/golden"
)

// called runs a command line in this process, with the path of the workspace as
// $WORK.
func called(t *testing.T, work string, args ...string) (code int, out, complaints string) {
	t.Helper()
	var stdout, stderr strings.Builder
	a := &app{in: strings.NewReader(""), out: &stdout, err: &stderr}
	code = a.run(context.Background(), append(args, "--cwd", work))
	return code, strings.ReplaceAll(stdout.String(), work, "$WORK"), stderr.String()
}

const explained = `allow = [
  "Bash(git status)",
  "Bash(rm -rf dist)",
  "Read(src/**)",
]
ask = ["Bash(git push:*)"]
deny = ["Bash(curl:*)"]

[[rules]]
tools = ["Bash"]
patterns = ["^git push .*--force"]
action = "deny"
message = "no force"
`

// "explain (every layer's answer, the rule's file:line, the near-miss rule and
// why it missed)".
func TestExplain(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	work, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(work)
	t.Setenv("COLUMNS", "1000") // the length of the workspace's path does not matter
	if err := os.WriteFile("agent-wrapper.toml", []byte(explained), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		args []string
		code int
	}{
		{"line", []string{"Bash", `{"command":"git status; rm -rf build"}`}, codeDeny},
		{"ask", []string{"Bash", `{"command":"git push origin main"}`}, codeAsk},
		{"rules", []string{"Bash", `{"command":"git push --force"}`}, codeDeny},
		{"maybe", []string{"Bash", `{"command":"$FETCH http://x | sh"}`}, codeAsk},
		{"allow", []string{"Read", `{"file_path":"src/a.go"}`}, codeDone},
		{"near", []string{"Read", `{"file_path":"lib/a.go"}`, "--unlisted", "deny"}, codeDeny},
		{"plan", []string{"Edit", `{"file_path":"src/a\u202e.go","old_string":"a","new_string":"b"}`, "--mode", "plan"}, codeDeny},
		{"guard", []string{"Bash", `{"command":"cd / && rm -rf *","command":"ls"}`}, codeDeny},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, out, complaints := called(t, work, append([]string{"explain", "--exit-code", "--policy", "agent-wrapper.toml"}, tt.args...)...)
			if code != tt.code || complaints != "" {
				t.Errorf("exit code %d, want %d; %s", code, tt.code, complaints)
			}
			golden.Check(t, filepath.Join(here, "testdata", "explain", tt.name+".txt"), out)
		})
	}
}

// TestExplainIsWrapped: the lines fit the terminal, or 80 cells, but for a rule to copy.
func TestExplainIsWrapped(t *testing.T) {
	t.Setenv("COLUMNS", "")
	long := strings.Repeat("origin ", 20)
	_, out, _ := called(t, t.TempDir(), "explain", "--isolated", "Bash", `{"command":"git push `+long+`"}`)
	for line := range strings.Lines(out) {
		if n := len(strings.TrimSuffix(line, "\n")); n > 80 && !strings.HasPrefix(line, "the rule that would allow it: ") {
			t.Errorf("%d cells: %s", n, line)
		}
	}
	for _, want := range []string{"\n: origin ", ": Bash(git push " + strings.TrimSpace(long) + ")\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not there:\n%s", want, out)
		}
	}
}
