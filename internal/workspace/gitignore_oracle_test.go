//go:build oracle

package workspace

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestIgnoredAsGit holds the cases of TestIgnored against git.
func TestIgnoredAsGit(t *testing.T) {
	for _, tt := range ignoreCases {
		dir := ignoring(t, tt.files)
		for _, sub := range []string{".git/objects", ".git/refs"} {
			if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		for name, want := range tt.plain {
			asGit(t, dir, name, want)
		}
		for name, want := range tt.dirs {
			if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
				t.Fatal(err)
			}
			asGit(t, dir, name, want)
		}
	}
}

// asGit fails unless git ignores what has a name in a repository, or would if it were there.
func asGit(t *testing.T, dir, name string, want bool) {
	t.Helper()
	cmd := exec.Command("git", "-c", "core.excludesFile=/dev/null", "check-ignore", "-q", "--", "./"+name)
	cmd.Dir = dir
	err := cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code > 1 || (code == 0) != want {
		t.Errorf("%s: git ends with %d, %v", name, code, err)
	}
}
