//go:build !race

package permission

import "testing"

// The race detector makes pools drop what they hold, so that allocations mean
// nothing there.

// The allocations for "git status" from its text to the decision, and for it
// and an edit from the JSON of the tool use.
const (
	maxLineAllocs = 4
	maxJSONAllocs = 9
	maxEditAllocs = 13
)

// TestAllocs checks the figures of docs/performance.md that do not depend on
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
	for _, u := range benchUses {
		most, held := map[string]float64{"status": maxJSONAllocs, "edit": maxEditAllocs}[u.name]
		u.use.Dir = workspace
		if n := testing.AllocsPerRun(100, func() { Evaluate(p, nil, &u.use, fakeFS{}, nil) }); held && n > most {
			t.Errorf("%s from its JSON to the decision: %v allocations, want at most %v", u.name, n, most)
		}
	}
}
