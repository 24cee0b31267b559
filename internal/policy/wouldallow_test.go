package policy

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/workspace"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// TestRulesThatWouldAllow checks that the rules of Part.Allows, added to the policy, allow the
// tool use if every part that is asked about has one.
func TestRulesThatWouldAllow(t *testing.T) {
	t.Parallel()
	place := patterns.Place{Workspace: defaultDir, Home: defaultHome}
	decide := func(spec *Spec, tool string, input json.RawMessage) (d permission.Decision, ok bool) {
		p, session, _, err := spec.Compile(place)
		if err != nil {
			return d, false
		}
		use := &permission.ToolUse{Tool: tool, Input: input, Dir: place.Workspace}
		return permission.Evaluate(p, session, use, workspace.Fake{Dir: place.Workspace}, nil), true
	}
	shown, asked := 0, 0
	for _, name := range []string{"everyday", "public", "redteam", "bypass", "suites"} {
		f, err := os.Open("../../testdata/cases/" + name + ".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		sc := bufio.NewScanner(f)
		sc.Buffer(nil, 4<<20)
		for n := 1; sc.Scan(); n++ {
			var row struct {
				Policy, Input json.RawMessage
				Tool, Command string
			}
			if json.Unmarshal(sc.Bytes(), &row) != nil || n%2 == 0 && testing.Short() {
				continue
			}
			if row.Tool == "" {
				row.Tool = "Bash"
				row.Input, _ = json.Marshal(map[string]string{"command": row.Command})
			}
			spec := &Spec{}
			if len(row.Policy) > 0 {
				if spec, err = parseRowPolicy(row.Policy); err != nil {
					continue
				}
			}
			d, ok := decide(spec, row.Tool, row.Input)
			if !ok || d.Behavior != permission.Ask {
				continue
			}
			asked++
			var rules []Item
			parts := d.Unapproved()
			for _, p := range parts {
				if p.Allows {
					rules = append(rules, Item{Text: p.Exact})
				}
			}
			if len(parts) == 0 || len(rules) < len(parts) {
				continue
			}
			shown++
			spec.Allow = append(spec.Allow, rules...)
			if got, ok := decide(spec, row.Tool, row.Input); !ok || got.Behavior != permission.Allow {
				t.Errorf("%s:%d: %s: with %v it is %v: %s (was: %s)", name, n, row.Input, rules, got.Behavior, got.Reason, d.Reason)
			}
		}
	}
	if shown < 100 {
		t.Errorf("rules are shown for %d of %d questions only", shown, asked)
	}
}
