package hook

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// TestUnproven: what nothing but the sandbox allows is an error as long as the host is not
// known to run what it is answered.
func TestUnproven(t *testing.T) {
	state := t.TempDir()
	s := &session{run: &run{host: &Host{Title: "Host"}, options: engine.Options{Dirs: &engine.Dirs{State: state}}}, id: "x"}
	allowed := func(where permission.Sandboxed) error {
		return s.proven(&permission.Result{Decision: permission.Decision{Behavior: permission.Allow, Sandbox: where}})
	}
	if allowed(permission.Within) == nil || allowed(permission.Inside) != nil || allowed(permission.Outside) != nil {
		t.Error("unproven")
	}
	dirs, err := filepath.Glob(state + "/*")
	if err != nil || len(dirs) > 0 {
		t.Fatal(dirs, err)
	}
	if err := os.WriteFile(filepath.Join(state, "x"), nil, 0o600); err != nil || allowed(permission.Within) == nil {
		t.Error("another file proves nothing")
	}
}

// TestNothingStarts: a sandbox in which no program is known to start commands is none, and it is
// an error if it is required.
func TestNothingStarts(t *testing.T) {
	s := &session{run: &run{host: &Host{Title: "Host"}, options: engine.Options{Dirs: &engine.Dirs{State: t.TempDir()}}}, fixed: &fixed{Sandbox: true}, id: "x"}
	use := &Event{Kind: Use, Use: permission.ToolUse{Tool: tools.Bash}}
	for sandbox, fails := range map[string]bool{"on": false, "require": true} {
		err := s.mayEnclose(use, &engine.Rules{Spec: &policy.Spec{Sandbox: sandbox}})
		if (err != nil) != fails || s.sandboxed || !strings.Contains(s.noSandbox, "starts commands inside") {
			t.Errorf("%s: %v, %q", sandbox, err, s.noSandbox)
		}
	}
}
