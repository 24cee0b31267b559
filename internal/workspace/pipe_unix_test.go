//go:build unix

package workspace

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/sandbox"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// TestBelowPipe: Below does not open a named pipe.
func TestBelowPipe(t *testing.T) {
	dir := tree(t, "to -> pipe")
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	rule, _, err := patterns.Parse("Read(*.none)", patterns.Deny, patterns.Source{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	env := Env{Place: patterns.Place{Workspace: dir}}
	links, all := env.Links(dir+"/pipe", 1)
	if env.Below(dir, rule, true) || env.Below(dir+"/pipe", rule, true) || len(links) > 0 || !all {
		t.Error("something lies below a pipe")
	}
}

// TestPipes: nothing that is looked at is opened if it is a pipe, which a command could have
// put there: that would block.
func TestPipes(t *testing.T) {
	for _, name := range []string{".git", ".gitignore", ".git/config", ".git/HEAD", ".git/commondir", ".git/index", ".git/info/exclude", "sub/.git", "HEAD", "objects", "refs", ".npmrc", "package.json", ".env"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			at := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Mkfifo(at, 0o600); err != nil {
				t.Fatal(err)
			}
			env := Env{Place: patterns.Place{Workspace: dir}}
			tree := Tree{Env: env}
			glance := NewGlance(tree, new(Memory))
			for range 3 {
				if glance.Kind(at+"/x") != sandbox.Nothing || glance.Kind(at) != sandbox.File {
					t.Error("something lies below a pipe")
				}
			}
			_, _ = tree.List(at)
			if _, err := ReadText(at); err == nil {
				t.Error("a pipe has a text")
			}
			for _, at := range []string{dir, filepath.Dir(at)} {
				tree.Repository(at)
				GitFiles(dir, at)
				env.Settings(at)
				env.Ignored(at)
				env.Links(at, 2)
			}
		})
	}
}

// TestOpen: what has become a pipe since it was looked at is not opened either.
func TestOpen(t *testing.T) {
	at := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(at, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, directory := range []bool{false, true} {
		if f, err := open(at, directory); err == nil {
			f.Close()
			t.Errorf("a pipe is opened (as a directory: %v)", directory)
		}
	}
}
