//go:build sandbox && linux

package sandbox

import (
	"os/exec"
	"slices"
	"testing"
	"time"
)

// TestCost shows what the sandbox costs a command, timed in turn with the same one without it
// and with bare bash. It only shows figures: a busy machine has others.
func TestCost(t *testing.T) {
	w := newWorld(t, map[string]string{"a": "a"})
	ways := []struct {
		name string
		args []string
	}{
		{"bare bash", []string{"bash", "--norc", "-c", "true"}},
		{"our program, which does nothing", []string{program, "version"}},
		{"exec", []string{program, "exec", "--no-input", "--allow", "Bash(true)", "--", "true"}},
		{"exec --sandbox", []string{program, "exec", "--sandbox", "--no-input", "--allow", "Bash(true)", "--", "true"}},
	}
	took := make([][]time.Duration, len(ways))
	for range *turns {
		for i, way := range ways {
			cmd := exec.Command(way.args[0], way.args[1:]...)
			cmd.Dir, cmd.Env = w.project, w.env()
			began := time.Now()
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v: %s", way.name, err, out)
			}
			took[i] = append(took[i], time.Since(began))
		}
	}
	for i, way := range ways {
		slices.Sort(took[i])
		t.Logf("%-32s median %8v  fastest tenth %8v", way.name, took[i][len(took[i])/2].Round(10*time.Microsecond), took[i][len(took[i])/10].Round(10*time.Microsecond))
	}
}
