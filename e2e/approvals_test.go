//go:build e2e

package e2e

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
)

// TestApprovalsElsewhere has what a real agent CLI asks for answered by agent-wrapper
// approvals in another process. The agent itself may not: what it types is held, and a
// script of which the policy knows nothing is refused, in a session of its own too.
func TestApprovalsElsewhere(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		b := newBox(t)
		b.write("repo/answer.sh", "setsid --fork --wait "+binary(t)+" approvals allow a 2>&1; true\n")
		m := startModel(t, script{"main": {
			{{Name: "made", Tool: "Bash", Input: in{"command": "touch made", "description": "d"}}},
			{{Name: "hidden", Tool: "Bash", Input: in{"command": "sh answer.sh", "description": "d"}}},
			{{Name: "itself", Tool: "Bash", Input: in{"command": binary(t) + " approvals allow a", "description": "d"}}},
		}})
		term := wrapped{release: r, Policy: []string{"--approvals", "local", "--allow", "Bash", "--ask", "Bash(touch:*)"}}.onTerminal(t, b, m, startWeb(t, b))
		approvals := func(args ...string) string {
			t.Helper()
			cmd := exec.Command(binary(t), append([]string{"approvals"}, args...)...)
			cmd.Env = b.env()
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%q: %v: %s", args, err, out)
			}
			return string(out)
		}
		waits := func() string {
			t.Helper()
			var e struct{ ID string }
			if err := json.Unmarshal([]byte(approvals("list", "--json")), &e); err != nil {
				t.Fatal(err)
			}
			return e.ID
		}
		term.expect(choices)
		if b.has("repo/made") {
			t.Error("it ran while a person was asked")
		}
		approvals("allow", waits())
		term.expect("no longer asked about Bash: approved by")
		term.expect(choices) // what the agent types itself
		if !b.has("repo/made") {
			t.Error("what was allowed elsewhere did not run")
		}
		approvals("deny", waits(), "answer it yourself")
		term.expect("no longer asked about Bash: denied by")
		if code, shown := term.wait(); code != 0 {
			t.Errorf("exit code %d\n%s", code, shown)
		}
		if res, _ := m.result("hidden"); !strings.Contains(res.Text, "only a person may answer") {
			t.Errorf("what a script of the agent is told: %s", short(res.Text))
		}
		if res, _ := m.result("itself"); !strings.Contains(res.Text, "answer it yourself") {
			t.Errorf("what the agent is told: %s", short(res.Text))
		}
	})
}
