package approval

import (
	"testing"

	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/policy"
)

// TestRungsAreNoDanger: no rung holds a rule that lint would call a danger, or
// one that runs whatever it is given.
func TestRungsAreNoDanger(t *testing.T) {
	forbidden := map[string]bool{"everything": true, "whole-program": true, "runs-program": true, "runs-script": true, "wrapper": true}
	seen := map[string]bool{}
	for _, use := range everyUse(t) {
		r := evaluator(t, policies[2]).Request(use)
		rungs, _ := Ladder(&r)
		for _, rung := range rungs {
			for _, rule := range rung.Rules {
				if seen[rule] {
					continue
				}
				seen[rule] = true
				spec := &policy.Spec{Approved: []policy.Item{{Text: rule, Source: patterns.Source{Name: "approved", Line: 1}}}}
				findings, err := policy.Lint(spec)
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range findings {
					if f.Level == policy.LevelDanger || forbidden[f.Check] {
						t.Errorf("%s: a rung offers %s: %s", use.Input, rule, f.String())
					}
				}
			}
		}
	}
	if len(seen) < 1000 {
		t.Errorf("only %d rules", len(seen))
	}
}
