//go:build !race

package permission

import "testing"

// The race detector makes pools forget what they keep, so that allocations say
// nothing there.

// maxLineAllocs are the allocations of "git status" from its text to the
// decision.
const maxLineAllocs = 10

// TestAllocs holds the figures of docs/performance.md that do not depend on
// the machine.
func TestAllocs(t *testing.T) {
	p := benchPolicy(t, 10000)
	e := evaluating(t, p, "git status")
	if n := testing.AllocsPerRun(100, func() { e.verdict() }); n != 0 {
		t.Errorf("the decision on words that have been read allocates %v times", n)
	}
	if n := testing.AllocsPerRun(100, func() { again(e) }); n > maxLineAllocs {
		t.Errorf("git status from its text to the decision: %v allocations, want at most %d", n, maxLineAllocs)
	}
}
