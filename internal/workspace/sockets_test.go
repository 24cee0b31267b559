package workspace

import (
	"net"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// TestSockets: of a socket in the workspace the system tells where it is, by whatever name
// it was bound; one of another network is not among those of this machine.
func TestSockets(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells")
	}
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{filepath.Join(dir, "absolute.sock"), "relative.sock", "./dotted.sock"} {
		l, err := net.Listen("unix", name)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if got := sockets(patterns.Place{Workspace: dir}); !slices.Contains(got, filepath.Join(dir, filepath.Base(name))) {
			t.Errorf("%s is not among %q", name, got)
		}
	}
}
