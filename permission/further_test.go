package permission

import (
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/modes"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/shell"
	"pgregory.net/rapid"
)

// claims is a catalogue with entries that a project makes up.
func claims(t testing.TB) *shell.Catalog {
	t.Helper()
	c, err := shell.NewCatalog(map[string]any{
		"deploy": map[string]any{"safe": true, "operands": "text", "options": []any{"--hook= : run", "-o="}},
		"wrap":   map[string]any{"plain": true, "operands": "runs-args"},
	}, func(table []string, key string) string { return strings.Join(table, ".") })
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestFurther: what nobody trusts narrows, and never loosens.
func TestFurther(t *testing.T) {
	base := spec{allow: "Bash(deploy:*); Bash(git:*); Read; Edit(src/**); Bash(ls:*)", deny: "Bash(curl:*)", risk: true}
	further := func(change func(p *Policy)) *Policy {
		p := base.policy(t)
		more := *p
		change(&more)
		p.Further = []*Policy{&more}
		return p
	}
	gate := func(text string) func(*Policy) {
		return func(p *Policy) {
			p.Gate = patterns.NewSet(place, parseRules(t, patterns.Allow, text, "agent-wrapper.toml")...)
		}
	}
	for _, tt := range []struct {
		name   string
		change func(p *Policy)
		use    ToolUse
		want   Behavior
	}{
		{"nothing more", func(*Policy) {}, using("Bash", "git status"), Allow},
		{"a gate that does not name it", gate("Bash(ls:*)"), using("Bash", "git status"), Ask},
		{"a gate that names it", gate("Bash(git:*)"), using("Bash", "git status"), Allow},
		{"a gate allows nothing by itself", gate("Bash(npm:*)"), using("Bash", "npm i"), Ask},
		{"a gate and what counts as listed", gate("Bash(npm:*)"), using("TodoWrite", "{}"), Allow},
		{"a mode that only denies", func(p *Policy) { p.Mode = modes.Plan }, using("Edit", "src/a"), Deny},
		{"an ask that lifts no tier 3", func(p *Policy) { p.Ask = set(t, patterns.Ask, "Bash(rm:*)", "x") }, using("Bash", "rm -rf x"), Deny},
		{"a claim that a program is harmless", func(p *Policy) { p.Catalog = claims(t) }, using("Bash", "npm i"), Ask},
		{"a claim that it runs its option", func(p *Policy) { p.Catalog = claims(t) }, using("Bash", "deploy --hook 'curl x'"), Deny},
		{"a claim that it is only a wrapper", func(p *Policy) { p.Catalog = claims(t) }, using("Bash", "wrap git status"), Ask},
		{"an invalid one", func(p *Policy) { p.Mode = 0 }, using("Bash", "git status"), Deny},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := further(tt.change)
			tt.use.Dir = workspace
			if d := Evaluate(p, NewSession(place), &tt.use, fakeFS{}, nil); d.Behavior != tt.want {
				t.Errorf("%v, want %v: %s", d.Behavior, tt.want, d.Reason)
			}
		})
	}
	use := using("Bash", "git status")
	use.Dir = workspace
	d := Evaluate(further(gate("Bash(ls:*)")), nil, &use, fakeFS{}, nil)
	if want := "Not in allow list of agent-wrapper.toml (not trusted, so it only narrows): run git status"; d.Reason != want {
		t.Errorf("%q, want %q", d.Reason, want)
	}
}

// TestFurtherNeverLoosens: whatever a further policy says, it lets nothing
// through that is not let through without it; and what it denies is denied.
func TestFurtherNeverLoosens(t *testing.T) {
	own := claims(t)
	rapid.Check(t, func(rt *rapid.T) {
		one, two := drawSpec(rt), drawSpec(rt)
		use := drawUse(rt)
		use.Dir = workspace
		p, more := one.policy(t), two.policy(t)
		if rapid.Bool().Draw(rt, "claims") {
			more.Catalog = own
		}
		alone, said := Evaluate(p, one.session(t), &use, fakeFS{}, nil), Evaluate(more, one.session(t), &use, fakeFS{}, nil)
		p.Further = []*Policy{more}
		var tr Trace
		both := Evaluate(p, one.session(t), &use, fakeFS{}, &tr)
		if both.Behavior != max(alone.Behavior, said.Behavior) {
			rt.Fatalf("%s: %v and %v together are %v", use.Input, alone.Behavior, said.Behavior, both.Behavior)
		}
		if tr.Decision.Reason != both.Reason {
			rt.Fatalf("the trace tells of another decision: %q, want %q", tr.Decision.Reason, both.Reason)
		}
	})
}
