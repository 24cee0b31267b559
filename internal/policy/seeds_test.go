package policy

import (
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/test/corpus"
)

const seedsFile = "../../testdata/cases/seeds.jsonl"

// TestSeedRules checks the cases of the seeds that are about rules. The pattern
// of a case is the specifier of a Bash rule.
func TestSeedRules(t *testing.T) {
	rows, err := corpus.ReadSeeds(seedsFile)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, s := range rows {
		var got, want string
		switch s.Asks() {
		case "match":
			got, want = "false", "false"
			if *s.Expect.RuleMatch {
				want = "true"
			}
			if seedRule(t, s, corpus.Policy{Allow: []string{"Bash(" + s.Input.Pattern + ")"}}).Behavior == "allow" {
				got = "true"
			}
		case "rules":
			a := seedRule(t, s, seedPolicy(s.Input.Rules))
			got, want = a.Behavior, s.Expect.RuleResult
			if want == "default" {
				want = "ask"
			}
		default:
			continue
		}
		asked++
		d, deviates := corpus.SeedDeviations[s.ID]
		switch {
		case deviates && (got == want || got != d.Got):
			t.Errorf("%s %q: %s, the deviation says %s for %s", s.ID, s.Command, got, d.Got, want)
		case !deviates && got != want:
			t.Errorf("%s %q: %s, want %s", s.ID, s.Command, got, want)
		}
	}
	if asked != 12 {
		t.Errorf("%d cases, want 12", asked)
	}
}

// seedPolicy turns "ask rm *" into a rule.
func seedPolicy(rules []string) corpus.Policy {
	var p corpus.Policy
	for _, rule := range rules {
		behavior, pattern, _ := strings.Cut(rule, " ")
		list := map[string]*[]string{"allow": &p.Allow, "ask": &p.Ask, "deny": &p.Deny}[behavior]
		*list = append(*list, "Bash("+pattern+")")
	}
	return p
}

func seedRule(t *testing.T, s corpus.Seed, p corpus.Policy) Answer {
	return decideRow(t, &Check{Risk: "off", Unlisted: "ask"}, map[string]any{
		"id": s.ID, "policy": p, "tool": "Bash", "input": map[string]any{"command": s.Command}, "cwd": "/home/dev/proj",
	})
}
