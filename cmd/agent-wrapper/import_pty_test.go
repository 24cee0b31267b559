//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/policy"
)

// TestInitOffersImport: at a terminal init asks once about the rules of other agents, and
// takes them after y, and after nothing else.
func TestInitOffersImport(t *testing.T) {
	t.Parallel()
	for _, step := range []struct {
		answer string
		taken  bool
	}{{"\r", false}, {"n\r", false}, {"y\r", true}} {
		ws := t.TempDir()
		for name, text := range map[string]string{
			".claude/settings.json": `{"permissions": {"allow": ["Bash(make:*)", "Bash(done)"], "deny": ["Bash(rm -rf *)*"]}}`,
			"opencode.json":         `{"permission": {"bash": {"git push *": "ask"}}}`,
			".vscode/settings.json": `{"editor.tabSize": 2}`,
		} {
			path := filepath.Join(ws, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		x := started(t, t.TempDir(), "init", "--cwd", ws)
		x.wait("Add the rules that are here for Claude Code (2), OpenCode (1)? [y/N] ")
		x.types(step.answer)
		x.wait("Write agent-wrapper.toml? [Y/n] ")
		x.types("y\r")
		if code, shown := x.end(); code != codeDone || strings.Contains(shown, "left out: allow Bash(done)") != step.taken {
			t.Errorf("%q: exit code %d\n%s", step.answer, code, shown)
		}
		text, err := os.ReadFile(filepath.Join(ws, policy.FileName))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"# from Claude Code\n  \"Bash(make:*)\",", "\"Bash(rm -rf *)\",", "# from OpenCode\n  \"Bash(git push *)\","} {
			if strings.Contains(string(text), want) != step.taken {
				t.Errorf("%q: %s in the policy: %v", step.answer, want, !step.taken)
			}
		}
		if _, err := policy.Parse(text, policy.FileName); err != nil {
			t.Error(err)
		}
	}
}
