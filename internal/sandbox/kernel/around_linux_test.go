//go:build amd64 || arm64

package kernel

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/run/process"
	"github.com/agent-wrapper/agent-wrapper/internal/sandbox/kernel/inside"
)

// TestListen: an error that comes before the sandbox is ready says that nothing was started;
// one that comes later does not.
func TestListen(t *testing.T) {
	for _, tt := range []struct {
		name       string
		said       []string
		notStarted bool
		missing    bool
	}{
		{"there are no more processes", []string{"failed\nthe sandbox cannot be built: fork"}, true, false},
		{"a layer is missing", []string{"missing landlock\nno such layer"}, false, true},
		{"the program is missing", []string{"notrun\nno such file"}, true, false},
		{"an error behind the command", []string{"ready", "failed\nbad line"}, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ours, theirs, err := newLine()
			if err != nil {
				t.Fatal(err)
			}
			a := &around{line: ours, args: "bash", done: make(chan struct{}), err: errNoSandbox}
			go a.listen(int(ours.Fd()))
			for _, text := range tt.said {
				if err := inside.Say(int(theirs.Fd()), text); err != nil {
					t.Fatal(err)
				}
			}
			theirs.Close()
			<-a.done
			if not := new(process.NotStarted); errors.As(a.err, &not) != tt.notStarted || IsMissing(a.err) != tt.missing || a.err == nil {
				t.Errorf("%T %v", a.err, a.err)
			}
		})
	}
}

// TestOurs: there is no sandbox for commands that could replace this program.
func TestOurs(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Dir(own), link); err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{filepath.Dir(own), filepath.Dir(filepath.Dir(own)), "/", link} {
		if err := Ours([]string{t.TempDir(), root}); !IsMissing(err) {
			t.Errorf("in %s: %v", root, err)
		}
	}
	for _, root := range []string{t.TempDir(), own + "x", "/nowhere/at/all"} {
		if err := Ours([]string{root}); err != nil {
			t.Errorf("beside %s: %v", root, err)
		}
	}
}
