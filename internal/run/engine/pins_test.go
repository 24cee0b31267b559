package engine

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/workspace"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// TestPins checks that a host which a file of the project names is not asked about once an
// allow rule of a trusted policy names it, or a person trusts the file as it is.
func TestPins(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir, state := filepath.Join(top, "w"), filepath.Join(top, "state")
	file := filepath.Join(dir, ".npmrc")
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	decide := func(allow ...string) permission.Decision {
		t.Helper()
		spec := &policy.Spec{}
		for _, rule := range allow {
			spec.Allow = append(spec.Allow, policy.Item{Text: rule})
		}
		r, err := Load(Options{Dir: dir, Dirs: &Dirs{State: state}, Settings: spec})
		if err != nil {
			t.Fatal(err)
		}
		return r.Explain(permission.ToolUse{Tool: "Bash", Input: json.RawMessage(`{"command":"npm view x"}`), Dir: dir}, nil)
	}
	want := func(about string, d permission.Decision, want permission.Behavior) {
		t.Helper()
		if d.Behavior != want || want == permission.Ask && !strings.Contains(d.Reason, "which .npmrc names") {
			t.Errorf("%s: %v: %s", about, d.Behavior, d.Reason)
		}
	}
	write(file, "registry=https://npm.a.example\n_authToken=${NPM_TOKEN}\n")
	want("as it is", decide("Bash(npm view:*)"), permission.Ask)
	want("a rule for the host", decide("Bash(npm view:*)", "WebFetch(npm.a.example)"), permission.Allow)
	want("a rule for another", decide("Bash(npm view:*)", "WebFetch(a.example)"), permission.Ask)
	want("a rule for many", decide("Bash(npm view:*)", "WebFetch(*.a.example)"), permission.Ask)
	want("a rule for all", decide("Bash(npm view:*)", "WebFetch"), permission.Ask)
	write(filepath.Join(dir, policy.FileName), "allow = [\"WebFetch(npm.a.example)\", \"Bash(npm view:*)\"]\n")
	want("a policy that is not trusted", decide("Bash(npm view:*)"), permission.Ask)
	if err := os.Remove(filepath.Join(dir, policy.FileName)); err != nil {
		t.Fatal(err)
	}

	trust, err := policy.ReadTrust(state)
	if err != nil {
		t.Fatal(err)
	}
	lines, _, err := workspace.FileHosts(file)
	if err == nil {
		err = trust.SetHosts(file, lines)
	}
	if err != nil {
		t.Fatal(err)
	}
	want("trusted", decide("Bash(npm view:*)"), permission.Allow)
	write(file, "registry=https://npm.a.example\nsave-exact=true\n_authToken=${NPM_TOKEN}\n")
	want("another setting has changed", decide("Bash(npm view:*)"), permission.Allow)
	write(file, "registry=https://npm.a.example\n_authToken=${AWS_SECRET_ACCESS_KEY}\n")
	want("another variable", decide("Bash(npm view:*)"), permission.Ask)
	write(file, "registry=https://npm.b.example\n_authToken=${NPM_TOKEN}\n")
	want("another host", decide("Bash(npm view:*)"), permission.Ask)
}
