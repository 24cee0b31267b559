//go:build linux

package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestInstallAsks: at a terminal install and uninstall write after y, and after nothing
// else.
func TestInstallAsks(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	settings := filepath.Join(home, ".claude", "settings.json")
	const before = "{\n  \"model\": \"opus\"\n}\n"
	if err := os.Mkdir(filepath.Dir(settings), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(settings, []byte(before), 0o644); err != nil {
		t.Fatal(err)
	}
	changed := func() bool {
		text, err := os.ReadFile(settings)
		if err != nil {
			t.Fatal(err)
		}
		return string(text) != before
	}
	for _, step := range []struct {
		command, question, answer string
		code                      int
		changed                   bool
	}{
		{"install", "Install the hook? [y/N] ", "\r", codeUsage, false},
		{"install", "Install the hook? [y/N] ", "n\r", codeUsage, false},
		{"install", "Install the hook? [y/N] ", "y\r", codeDone, true},
		{"uninstall", "Take the hook out? [y/N] ", "no\r", codeUsage, true},
		{"uninstall", "Take the hook out? [y/N] ", "yes\r", codeDone, false},
	} {
		x := started(t, home, step.command, "claude")
		x.wait(step.question)
		x.types(step.answer)
		code, shown := x.end()
		if code != step.code || changed() != step.changed {
			t.Errorf("%s, %q: exit code %d, changed %v\n%s", step.command, step.answer, code, changed(), shown)
		}
	}
}
