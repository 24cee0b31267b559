//go:build sandbox && linux

package sandbox

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/run/gates"
)

// TestGates: a gate of a plan runs inside the sandbox, by flag or by policy, and is held to it; its
// result says so, and what the sandbox refused it.
func TestGates(t *testing.T) {
	const plan = `{"schemaVersion":"1.0.0","target":"main","items":[
		{"name":"in","gates":[{"name":"writes","run":"bash in.sh"}]},
		{"name":"out","gates":[{"name":"writes","run":"bash out.sh"}]},
		{"name":"read","gates":[{"name":"reads","run":"bash read.sh"}]},
		{"name":"made","gates":[{"name":"makes","run":"bash made.sh"}]}]}`
	const list = `{"version":"1.0.0","mode":"strict","defaults":{"bash":{"commands":["in.sh","out.sh","read.sh","made.sh"]}}}`
	w := newWorld(t, map[string]string{
		"plan.json": plan, "in.sh": "echo x >made-inside", "out.sh": "echo x >$HOME/made-outside", "read.sh": "cat .env", ".env": "secret-text",
		"made.sh": "echo x >.envrc", ".smartergpt/allowed-commands.json": list,
	})
	for _, tt := range []struct {
		args    []string
		policy  string
		sandbox string
	}{
		{args: []string{"--sandbox"}, sandbox: "inside"},
		{args: []string{"--sandbox=on"}, sandbox: "inside"},
		{policy: `sandbox = "require"`, sandbox: "inside"},
		{policy: `sandbox = "on"`, args: []string{"--sandbox=off"}},
		{},
	} {
		must(t, exec.Command("rm", "-rf", w.home+"/made-outside", w.project+"/made-inside", w.project+"/.envrc").Run())
		must(t, exec.Command("mkdir", "-p", w.home+"/.config/agent-wrapper").Run())
		must(t, exec.Command("bash", "-c", `printf '%s\n' "$1" >"$2"`, "x", tt.policy, w.home+"/.config/agent-wrapper/agent-wrapper.toml").Run())
		cmd := exec.Command(program, append([]string{"execute", "plan.json", "--json", "--no-input"}, tt.args...)...)
		cmd.Dir, cmd.Env = w.project, w.env()
		var errs strings.Builder
		cmd.Stderr = &errs
		out, _ := cmd.Output()
		var got struct{ Results []gates.Result }
		if err := json.Unmarshal(out, &got); err != nil || len(got.Results) != 4 {
			t.Fatalf("%v: %v\n%s%s", tt.args, err, out, errs.String())
		}
		held := tt.sandbox != ""
		for i, fails := range []bool{false, held, held, false} {
			r := got.Results[i]
			if (r.Status != gates.Pass) != fails || r.Sandbox != tt.sandbox {
				t.Errorf("%q, %s: %+v\n%s", tt.args, tt.policy, r, errs.String())
			}
			if refusal := []string{"", "write " + w.home, "read " + w.project + "/.env", ""}[i]; held && refusal != strings.Join(r.Met, ", ") || (len(r.Met) > 0) != strings.Contains(r.Reason, "inside the sandbox") {
				t.Errorf("%q, %s: met %q, want %q: %s", tt.args, tt.policy, r.Met, refusal, r.Reason)
			}
		}
		if strings.Contains(errs.String(), "secret-text") == held || strings.Contains(errs.String(), "the command made") != held {
			t.Errorf("%q, %s: %s", tt.args, tt.policy, errs.String())
		}
	}
}
