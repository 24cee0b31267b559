package approval

import (
	"slices"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/test/corpus"
)

// TestSeedPatterns: the ladder offers what the original of the seeds let a
// person keep.
func TestSeedPatterns(t *testing.T) {
	rows, err := corpus.ReadSeeds("../../../testdata/cases/seeds.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, s := range rows {
		if s.Asks() != "ladder" {
			continue
		}
		asked++
		offered := offers(t, s.Command, *s.Expect.RememberPattern)
		d, deviates := corpus.SeedDeviations[s.ID]
		switch {
		case deviates && (offered || d.Got != "not offered"):
			t.Errorf("%s %q: offered %v, the deviation says %s", s.ID, s.Command, offered, d.Got)
		case !deviates && !offered:
			t.Errorf("%s %q: no rung keeps %q", s.ID, s.Command, *s.Expect.RememberPattern)
		}
	}
	if asked != 14 {
		t.Errorf("%d cases, want 14", asked)
	}
}

// offers reports whether some rung keeps exactly the pattern, in which a final
// " *" stands for any further words.
func offers(t *testing.T, line, pattern string) bool {
	rule := "Bash(" + pattern + ")"
	if prefix, found := strings.CutSuffix(pattern, " *"); found {
		rule = "Bash(" + prefix + ":*)"
	}
	r := evaluator(t, lists{ask: "Bash"}).Request(using("Bash: " + line))
	rungs, err := Ladder(&r)
	if err != nil {
		return pattern == ""
	}
	return slices.ContainsFunc(rungs, func(one Rung) bool { return slices.Equal(one.Rules, []string{rule}) })
}
