//go:build !race

package shell

import "testing"

// The race detector makes pools drop items at random, so that allocations mean
// nothing there.

// TestAllocs checks allocations, which do not depend on the machine. A line of
// maximum length that needs far more memory than its length indicates quadratic
// growth.
func TestAllocs(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { analyze("git status") }); n > 3 {
		t.Errorf("git status: %v allocations, want at most 3", n)
	}
	for _, line := range worstLines {
		if n := testing.AllocsPerRun(1, func() { analyze(line.line) }); n > 6*MaxLine {
			t.Errorf("%s: %v allocations", line.name, n)
		}
	}
}
