package main

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/golden"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// demoPlace replaces the temporary directory of each demo in the goldens.
const demoPlace = "/tmp/demo"

var demoDir = regexp.MustCompile(`[^\s"]*/agent-wrapper-demo-\d+`)

// runDemo runs the demo without a terminal and returns its output.
func runDemo(t *testing.T, flags ...string) string {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	var out, complaints strings.Builder
	a := &app{in: strings.NewReader(""), out: &out, err: &complaints}
	if code := a.run(context.Background(), append([]string{"demo"}, flags...)); code != codeDone || complaints.Len() > 0 {
		t.Fatalf("exit code %d: %s", code, complaints.String())
	}
	return demoDir.ReplaceAllString(out.String(), demoPlace)
}

func TestDemo(t *testing.T) {
	golden.Check(t, "testdata/demo.txt", runDemo(t))
}

// "demo: a dozen tool uses … that show every layer".
func TestDemoShowsEveryLayer(t *testing.T) {
	shown := map[string]bool{}
	uses := 0
	for line := range strings.Lines(runDemo(t, "--output", "jsonl")) {
		var e struct{ Type, Layer string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if e.Type == "decision" {
			shown[e.Layer] = true
			uses++
		}
	}
	for layer := permission.LayerGuard; layer <= permission.LayerDefault; layer++ {
		if !shown[layer.String()] {
			t.Errorf("no tool use of the demo is decided by layer %s", layer)
		}
	}
	if uses < 12 {
		t.Errorf("%d tool uses are not a dozen", uses)
	}
}

// "Changing a rule changes what demo prints".
func TestDemoFollowsItsRules(t *testing.T) {
	tests := []struct {
		flags   []string
		before  string // in the output without the flags
		instead string
	}{
		{[]string{"--deny", "Bash(git:*)"}, "ALLOW  Bash  git status\n", "DENY   Bash  git status\n       denied by rule Bash(git:*)"},
		{[]string{"--allow", "Bash(npm install:*)"}, "DENY   Bash  npm install left-pad\n", "ALLOW  Bash  npm install left-pad\n       allowed by rule Bash(npm install:*)  --allow\n"},
		{[]string{"--ask", "Edit(src/**)"}, "ALLOW  Edit  src/kettle.txt\n       allowed by mode acceptEdits\n", "│ asked by Edit(src/**)  --ask\n"},
		{[]string{"--mode", "plan"}, "ALLOW  Edit  src/kettle.txt\n", "DENY   Edit  src/kettle.txt\n       plan mode"},
		{[]string{"--session-allow", "Bash(git push:*)"}, "│ │ git push origin main\n", "ALLOW  Bash  git push origin main\n       allowed for this session by Bash(git push:*)  --session-allow\n"},
	}
	plain := runDemo(t)
	for _, tt := range tests {
		changed := runDemo(t, tt.flags...)
		if !strings.Contains(plain, tt.before) || strings.Contains(changed, tt.before) || !strings.Contains(changed, tt.instead) {
			t.Errorf("with %q, instead of %q:\n%s", tt.flags, tt.before, changed)
		}
	}
}

// What is allowed happens, and nothing else.
func TestDemoPolicyFile(t *testing.T) {
	text := runDemo(t, "--policy", "testdata/demo-locked.toml", "--no-input")
	if strings.Contains(text, "ALLOW") || !strings.Contains(text, "12 tool uses: 12 denied") {
		t.Error(text)
	}
}
