//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/run/process"
	"github.com/agent-wrapper/agent-wrapper/internal/sandbox"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// TestLeft: the directory of the shell of a line counts afterwards, and nothing else that
// the line has put in the place of the file with it is read.
func TestLeft(t *testing.T) {
	work := t.TempDir()
	secret := filepath.Join(work, "secret")
	if err := os.WriteFile(secret, []byte(work+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		name string
		put  func(at string) error
		want string
	}{
		{"a path", func(at string) error { return os.WriteFile(at, []byte(work+"\n"), 0o600) }, work},
		{"nothing", func(string) error { return nil }, ""},
		{"a link to a secret", func(at string) error { return os.Symlink(secret, at) }, ""},
		{"a pipe", func(at string) error { return syscall.Mkfifo(at, 0o600) }, ""},
		{"a secret by way of another directory", func(at string) error {
			dir := filepath.Dir(at)
			if err := os.Rename(dir, dir+"-moved"); err != nil {
				return err
			}
			t.Cleanup(func() { os.RemoveAll(dir + "-moved") })
			if err := os.Symlink(work, dir); err != nil {
				return err
			}
			return os.WriteFile(at, []byte("/\n"), 0o600)
		}, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Chdir(t.TempDir()) // where a permit without a directory keeps what its line left
			p, c := &engine.Permit{Line: "cd sub", Moves: true, Dialect: shell.Bash, Plan: new(sandbox.Plan)}, new(process.Command)
			remove, err := new(app).shellOf(p, c)
			if err != nil {
				t.Fatal(err)
			}
			dir := p.Plan.Writable[0].Path
			if err := x.put(filepath.Join(dir, "directory")); err != nil {
				t.Fatal(err)
			}
			remove()
			left, _ := filepath.Glob("*.left")
			if (len(left) == 1) != (x.want != "") {
				t.Fatalf("%q: want %q", left, x.want)
			}
			if len(left) == 1 {
				if text, err := os.ReadFile(left[0]); string(text) != x.want {
					t.Errorf("%q, %v", text, err)
				}
			}
			if _, err := os.Lstat(dir); err == nil || !strings.HasPrefix(dir, os.TempDir()) {
				t.Errorf("%s is still there", dir)
			}
		})
	}
}
