package main

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/golden"
	"github.com/agent-wrapper/agent-wrapper/internal/test/picture"
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

// The picture in the README shows what the demo prints.
func TestDemo(t *testing.T) {
	text := runDemo(t)
	golden.Check(t, "testdata/demo.txt", text)
	golden.Check(t, "../../docs/demo.svg", picture.SVG("agent-wrapper demo", "$ make demo\n"+text))
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
		{[]string{"--deny", "Bash(git:*)"}, "ALLOW  Bash  git status\n", "DENY   Bash  git status\n       deny-list: denied by rule Bash(git:*)"},
		{[]string{"--allow", "Bash(npm install:*)"}, "DENY   Bash  npm install left-pad\n", "ALLOW  Bash  npm install left-pad\n       default: "},
		{[]string{"--ask", "Edit(src/**)"}, "ALLOW  Edit  src/kettle.txt\n       mode: ", "? Edit\n  in " + demoPlace + "/work\n  file_path: " + demoPlace + "/work/src/kettle.txt\n"},
		{[]string{"--mode", "plan"}, "ALLOW  Edit  src/kettle.txt\n", "DENY   Edit  src/kettle.txt\n       mode: plan mode"},
		{[]string{"--session-allow", "Bash(git push:*)"}, "? Bash\n  in " + demoPlace + "/work\n  command: git push origin main\n", "ALLOW  Bash  git push origin main\n       session-allow: "},
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
	if strings.Contains(text, "ALLOW") || !strings.Contains(text, "12 tool uses: 0 allowed, 12 denied") {
		t.Error(text)
	}
}
