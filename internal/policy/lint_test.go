package policy

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/golden"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// TestLint checks the findings in each policy of testdata/lint.
func TestLint(t *testing.T) {
	files, err := filepath.Glob("testdata/lint/*.toml")
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	checks := map[string]bool{}
	for _, file := range files {
		spec, err := ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		findings, err := Lint(spec)
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		for _, f := range findings {
			checks[f.Check] = true
			text.WriteString(f.String())
		}
		golden.Check(t, strings.TrimSuffix(file, ".toml")+".golden", text.String())
	}
	for _, check := range LintChecks() {
		if !checks[check.Name] {
			t.Errorf("no policy of testdata/lint shows %s", check.Name)
		}
	}
}

// TestSuggestionsAreClean checks that the suggestions of findings load and have
// no findings themselves.
func TestSuggestionsAreClean(t *testing.T) {
	n := 0
	for _, file := range []string{"testdata/lint/faults.toml", "testdata/lint/bare.toml"} {
		spec, err := ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		findings, err := Lint(spec)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range findings {
			for _, s := range f.Instead {
				n++
				alone := &Spec{}
				*alone.listed(s.List) = []Item{{Text: s.Rule, Source: patterns.Source{Name: "s", Line: 1}}}
				again, err := Lint(alone)
				again = slices.DeleteFunc(again, func(f Finding) bool { return f.Check == "secrets" }) // of any rule that lets files be read
				if err != nil || len(again) > 0 {
					t.Errorf("%s suggests %s %s: %v %v", f.Rule, s.List, s.Rule, again, err)
				}
			}
		}
	}
	if n < 10 {
		t.Errorf("only %d suggestions", n)
	}
}

// TestLintOfRealRules checks that rules from practice do not have too many
// findings.
func TestLintOfRealRules(t *testing.T) {
	data, err := os.ReadFile("../../patterns/testdata/real-rules.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	rules, found, counts := 0, 0, map[string]int{}
	for line := range strings.Lines(string(data)) {
		var r struct{ Rule, List, Host string }
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if r.Host != "claude" || listKeys[r.List] == 0 {
			continue
		}
		spec := &Spec{}
		*spec.listed(r.List) = []Item{{Text: r.Rule, Source: patterns.Source{Name: r.List, Line: 1}}}
		findings, err := Lint(spec)
		if err != nil {
			continue // the policy does not load
		}
		rules++
		for _, f := range findings {
			counts[f.Level]++
		}
		if len(findings) > 0 {
			found++
		}
	}
	t.Logf("%d rules, findings about %d: %v", rules, found, counts)
	if rules < 300 || found*2 > rules {
		t.Errorf("findings about %d of %d rules", found, rules)
	}
}

// TestLintNeedsAPolicy checks that Lint rejects a policy that does not load.
func TestLintNeedsAPolicy(t *testing.T) {
	spec := &Spec{Allow: []Item{{Text: "Bsh(x)"}}}
	if findings, err := Lint(spec); err == nil {
		t.Error(findings)
	}
}

// TestLintOfMany checks a policy of many unrelated rules.
func TestLintOfMany(t *testing.T) {
	spec := &Spec{}
	for i := range 300 {
		spec.Allow = append(spec.Allow, Item{Text: fmt.Sprintf("Bash(tool%d run:*)", i), Source: patterns.Source{Name: "many", Line: i + 1}})
	}
	if findings, err := Lint(spec); err != nil || len(findings) > 0 {
		t.Error(findings, err)
	}
}
