//go:build sandbox && linux && (amd64 || arm64)

package kernel

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/run/process"
)

const filesEnv = "AW_WALLS_FILES"

// TestOpenFiles: a command inside the sandbox may open as many files as outside, whatever Go does
// for itself: the soft limit is the one with which we were started.
func TestOpenFiles(t *testing.T) {
	const limit = "137"
	if os.Getenv(filesEnv) == "" {
		cmd := exec.Command("/bin/bash", "-c", "ulimit -Sn "+limit+"; exec \"$0\" -test.run '^TestOpenFiles$' -test.v", os.Args[0])
		cmd.Env = append(os.Environ(), filesEnv+"=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "inside: "+limit) {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	w, r := newWorld(t), openRoom(t)
	const line = "echo inside: $(ulimit -Sn)"
	if said, code := start(t, r, w, line).says(t); said != "inside: "+limit || code != 0 {
		t.Errorf("in a room: %q, exit code %d", said, code)
	}
	var out bytes.Buffer
	c := &process.Command{Args: []string{"/bin/bash", "-c", line}, Dir: w.Work, Env: []string{"PATH=/usr/bin:/bin"}, Stdout: &out}
	if _, err := (&Held{Plan: w.plan()}).Run(t.Context(), c); err != nil || strings.TrimSpace(out.String()) != "inside: "+limit {
		t.Errorf("in a sandbox of its own: %q, %v", out.String(), err)
	}
	t.Log(strings.TrimSpace(out.String()))
}
