package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/policy"
)

// TestInitWritesNoLink: init does not write through a repository's links, which
// may lead to files of the user.
func TestInitWritesNoLink(t *testing.T) {
	for _, name := range []string{policy.FileName, ".gitignore"} {
		for _, there := range []bool{true, false} {
			ws, other := t.TempDir(), filepath.Join(t.TempDir(), "profile")
			if err := os.Mkdir(filepath.Join(ws, ".git"), 0o700); err != nil {
				t.Fatal(err)
			}
			if there {
				if err := os.WriteFile(other, []byte("theirs"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink(other, filepath.Join(ws, name)); err != nil {
				t.Fatal(err)
			}
			var out, errs strings.Builder
			a := &app{in: strings.NewReader(""), out: &out, err: &errs}
			code := a.run(t.Context(), []string{"init", "--yes", "--force", "--cwd", ws})
			if code != codeUsage || !strings.Contains(errs.String(), name+" is a symbolic link") {
				t.Errorf("%s: exit code %d, %q", name, code, errs.String())
			}
			text, err := os.ReadFile(other)
			if there && string(text) != "theirs" || !there && err == nil {
				t.Errorf("%s: what the link leads to is now %q", name, text)
			}
		}
	}
}
