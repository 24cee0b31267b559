//go:build machine && linux

package machine

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMachine: what internal/sandbox/kernel tests passes on a machine of the other architecture too,
// and with an older kernel than this one may have. The machine is emulated.
func TestMachine(t *testing.T) {
	for _, m := range []struct{ arch, suite string }{
		{"arm64", "bookworm"}, // Linux 6.1
		{"amd64", "bookworm"},
	} {
		t.Run(m.arch+"/"+m.suite, func(t *testing.T) {
			out, err := exec.Command("./boot.sh", m.arch, m.suite, filepath.Join("../../../.cache/machine", m.arch+"-"+m.suite)).CombinedOutput()
			_, shown, _ := strings.Cut(string(out), "\nLinux ") // before it, packages are installed
			t.Log("Linux " + shown)
			if err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}
