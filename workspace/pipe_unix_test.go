//go:build unix

package workspace

import (
	"path/filepath"
	"syscall"
	"testing"

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
