package patterns

import (
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/golden"
)

// realRule is one rule from a real settings file.
type realRule struct {
	Rule, List, Host string
	Count            int
}

// TestRealRules loads rules from real settings files and compares the outcomes
// with a golden file: plain, noted, dead, dangerous or rejected.
func TestRealRules(t *testing.T) {
	t.Parallel()
	lists := map[string]List{"allow": Allow, "ask": Ask, "deny": Deny}
	counts := map[string]int{}
	var odd []string
	for _, r := range readLines[realRule](t, "testdata/real-rules.jsonl") {
		if r.Host != "claude" {
			continue
		}
		outcome, why := loadReal(t, r.Rule, lists[r.List])
		counts[r.List+" "+outcome]++
		if outcome != "plain" {
			odd = append(odd, fmt.Sprintf("%-9s %-5s %s", outcome, r.List, why))
		}
	}
	var text strings.Builder
	for _, key := range sortedKeys(counts) {
		fmt.Fprintf(&text, "%-16s %d\n", key, counts[key])
	}
	sort.Strings(odd)
	text.WriteString("\n" + strings.Join(odd, "\n") + "\n")
	golden.Check(t, "testdata/real-rules.golden", text.String())
}

func loadReal(t *testing.T, text string, list List) (outcome, why string) {
	r, warnings, err := Parse(text, list, Source{})
	if err != nil {
		return "refused", err.Error()
	}
	again, _, err := Parse(r.String(), list, Source{})
	if err != nil || again.String() != r.String() {
		t.Errorf("%s prints as %s, which reads as %v, error %v", text, r, again, err)
	}
	worst := WarningKind(0)
	for _, w := range warnings {
		if w.Kind > worst {
			worst, why = w.Kind, w.String()
		}
	}
	return [...]string{"plain", "noted", "dangerous", "dead"}[worst], why
}

func sortedKeys(m map[string]int) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// TestRealRulesCoverThemselves checks that a real allow rule for a plain
// command matches that command.
func TestRealRulesCoverThemselves(t *testing.T) {
	t.Parallel()
	covered := 0
	for _, row := range readLines[realRule](t, "testdata/real-rules.jsonl") {
		if row.Host != "claude" || !strings.HasPrefix(row.Rule, "Bash(") {
			continue
		}
		for _, list := range []List{Allow, Ask, Deny} {
			r, _, err := Parse(row.Rule, list, Source{})
			if err != nil || r.bare || r.command.words == nil || strings.ContainsRune(strings.Join(r.command.words, ""), wild) {
				continue
			}
			b := r.bound(here, 0)
			line := quoteAll(b.command.words)
			subs := commands(line)
			if len(subs) == 0 || subs[0].Command.Unproven() {
				continue
			}
			covered++
			if m := b.match(subs[0], Query{}); m != Yes {
				t.Errorf("%v %s on %q: %v", list, r, line, m)
			}
		}
	}
	if covered < 1000 {
		t.Errorf("only %d rules were tried", covered)
	}
}

func quoteAll(words []string) string {
	var out []string
	for _, w := range words {
		out = append(out, quoted(w))
	}
	return strings.Join(out, " ")
}
