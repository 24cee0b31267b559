package policy

import (
	"path/filepath"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// kept returns specs that hold the rule in each of the places from which it
// gets into the session of a run, by the name of the place.
func kept(t *testing.T, rule string) map[string]*Spec {
	t.Helper()
	list := []Item{{Text: rule, Source: patterns.Source{Name: "test"}}}
	specs := map[string]*Spec{"session_allow": {SessionAllow: list}, "approved": {Approved: list}}
	path := filepath.Join(t.TempDir(), FileName)
	if _, err := AddRule(path, "approved", rule); err != nil {
		t.Fatal(err)
	}
	written, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	specs["written by an answer"] = written
	for kind := Managed; kind <= Flags; kind++ {
		for _, trusted := range []bool{true, false} {
			merged, _ := Merge([]Source{{Kind: Flags, Spec: &Spec{}, Trusted: true}, {Kind: kind, Name: "x", Spec: &Spec{Approved: list, SessionAllow: list}, Trusted: trusted}})
			name := kind.String()
			if !trusted {
				name += ", not trusted"
			}
			specs[name] = merged
		}
	}
	return specs
}

// TestKeptRulesReachNoTier3 checks that a rule of the session, whatever its
// origin, does not apply to commands of tier 3, while a rule of the policy that
// names one does.
func TestKeptRulesReachNoTier3(t *testing.T) {
	places := 0
	for _, rule := range []string{"Bash(halt)", "Bash(halt:*)", "Bash(hal*)", "Bash", "Bash(halt; npm i)"} {
		for name, s := range kept(t, rule) {
			places++
			for _, line := range []string{"halt", "halt; npm i"} {
				if d := decided(t, s, "Bash("+line+")"); d.Behavior != permission.Deny || d.Layer != permission.LayerDefault {
					t.Errorf("%s: %s: %s is %s by %s: %s", name, rule, line, d.Behavior, d.Layer, d.Reason)
				}
			}
			own := *s
			own.Allow = []Item{{Text: "Bash(halt)"}}
			if d := decided(t, &own, "Bash(halt)"); len(s.Further) == 0 && (d.Behavior != permission.Allow || d.Layer != permission.LayerDefault) {
				t.Errorf("%s: the policy's own rule: %s by %s: %s", name, d.Behavior, d.Layer, d.Reason)
			}
		}
	}
	if places != 5*17 {
		t.Errorf("%d places", places)
	}
	row := `{"id":"x","policy":{"session_allow":["Bash(halt)","Bash(halt:*)"]},"tool":"Bash","input":{"command":"halt"}}`
	if got := (&Check{}).Line([]byte(row)); got.Behavior != "deny" || got.Layer != "default" || got.Tier != 3 {
		t.Errorf("a row: %+v", got)
	}
	trusted := kept(t, "Bash(npm i)")["local"]
	if d := decided(t, trusted, "Bash(npm i)"); d.Layer != permission.LayerSessionAllow {
		t.Errorf("what is of tier 2: %s by %s", d.Behavior, d.Layer)
	}
}
