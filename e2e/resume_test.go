//go:build e2e

package e2e

import (
	"strings"
	"testing"
)

// TestResume goes on with a session under another policy, and looks whether
// the agent CLI got what was to be passed on.
func TestResume(t *testing.T) {
	bash := func(name string) call {
		return call{Name: name, Tool: "Bash", Input: in{"command": "touch " + name, "description": "x"}}
	}
	eachRelease(t, func(t *testing.T, r release) {
		b := newBox(t)
		m := startModel(t, script{"main": {{bash("first")}, {}, {bash("second")}, {}}})
		w := startWeb(t, b)
		x := wrapped{release: r, Policy: []string{"--allow", "Bash", "--model", "claude-test-1", "--append-system-prompt", "the words to add"}}
		res := x.run(t, b, m, w)
		session := ""
		for _, e := range res.Events {
			if e["type"] == "session" {
				session, _ = e["session_id"].(string)
			}
		}
		if session == "" || !b.has("repo/first") {
			t.Fatalf("the first run went wrong: %s", lastOf(res.Out))
		}
		if !m.heard("the words to add") || !m.heard(`"model":"claude-test-1"`) {
			t.Error("the system prompt or the model was not passed on")
		}
		x.Policy = []string{"--allow", "Read", "--unlisted", "deny", "--session", session}
		res = x.run(t, b, m, w)
		result, back := m.result("second")
		if !back || b.has("repo/second") || !strings.Contains(result.Text, "Not in allow list") {
			t.Errorf("the second run: asked %v, ran %v (%s); %s", back, b.has("repo/second"), short(result.Text), lastOf(res.Out))
		}
	})
}
