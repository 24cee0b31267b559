package shell

import (
	"fmt"
	"strings"
	"testing"
)

// TestNothingIsReadForever checks lines whose parts nest or refer to one another:
// each part may be read only a few times.
func TestNothingIsReadForever(t *testing.T) {
	nested := func(n int, before, inner, after string) string {
		return strings.Repeat(before, n) + inner + strings.Repeat(after, n)
	}
	chain := "x0=1"
	for i := range 200 {
		chain += fmt.Sprintf("; x%d=$((x%d+x%d))", i+1, i, i)
	}
	for name, line := range map[string]string{
		"substitutions":      nested(300, "ls $(", "ls", ")"),
		"pipes":              nested(300, "ls $(", "ls", " | sort)"),
		"names":              nested(300, "cat \"$(git ls-files $(", "ls", "))\""),
		"declarations":       nested(300, "export x=$(", "ls", ")"),
		"defaults":           nested(150, `echo "${x:-$(`, "ls", `)}"`),
		"arithmetic inside":  nested(300, "$((", "1", "+1))"),
		"sums of variables":  chain + "; echo $((x200))",
		"tests":              nested(200, "[[ -v $(", "ls", ") ]]"),
		"numbers in tests":   nested(200, "[[ 1 -eq $(", "ls", ") ]]"),
		"process":            nested(300, "ls <(", "ls", " | sort)"),
		"assigned in itself": nested(300, "x=$(", "ls", "); echo $((x))"),
	} {
		if f := analyze(line); f.Failed != nil || len(f.Actions) == 0 {
			t.Errorf("%s: %d actions, failed: %+v", name, len(f.Actions), f.Failed)
		}
	}
}

// TestStepsAreLimited checks the limit for lines that repeat their parts all the
// same.
func TestStepsAreLimited(t *testing.T) {
	w := newWalker(Options{}, "")
	defer func() {
		if recover() == nil {
			t.Error("there is no limit")
		}
	}()
	for range maxSteps + 1 {
		w.step()
	}
}

// TestTextIsReadOnlySoOften checks that long text that is run as text repeatedly
// becomes opaque.
func TestTextIsReadOnlySoOften(t *testing.T) {
	long := " " + strings.Repeat("a", 60000)
	for evals, want := range map[int]bool{2: false, 6: true} {
		f := Analyze(strings.Repeat("eval ", evals)+"ls"+long, Options{Dir: "/w", Workspace: "/w"})
		if hasOpaque(f, MayRun) != want {
			t.Errorf("%d evals of 60 KB: opaque is %v, want %v", evals, !want, want)
		}
	}
}
