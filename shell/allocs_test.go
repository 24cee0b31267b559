//go:build !race

package shell

import "testing"

// The race detector makes pools forget what they keep, so that allocations say
// nothing there.

// TestAllocs: what does not depend on the machine. A line of the greatest
// length that needs far more room than its length is one that grows with the
// square of something.
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
