package permission

import (
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/modes"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"pgregory.net/rapid"
)

// claims is a catalogue with entries that a project supplies.
func claims(t testing.TB) *program.Catalog {
	t.Helper()
	c, err := program.NewCatalog(map[string]any{
		"deploy": map[string]any{"safe": true, "operands": "text", "options": []any{"--hook= : run", "-o="}},
		"wrap":   map[string]any{"plain": true, "operands": "runs-args"},
	}, func(table []string, key string) string { return strings.Join(table, ".") })
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestFurther checks that an untrusted policy narrows and never loosens.
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
	if want := "Not in allow list of agent-wrapper.toml (untrusted: it can only restrict): run git status"; d.Reason != want {
		t.Errorf("%q, want %q", d.Reason, want)
	}
}

// TestGateOfTier3 checks that a rule that names something of tier 3 allows it
// for its own list, but not for the gate, for which a bare rule suffices.
func TestGateOfTier3(t *testing.T) {
	for _, tt := range []struct {
		gate     string
		unlisted Unlisted
		mode     string
		want     Behavior
	}{
		{"Bash(npm:*)", UnlistedDefault, "", Ask},
		{"Bash(npm:*)", UnlistedDefault, "acceptEdits", Deny},
		{"Bash(npm:*)", UnlistedAsk, "", Ask},
		{"Bash(npm:*)", UnlistedDeny, "", Deny},
		{"Bash(npm:*)", UnlistedRisk, "", Deny}, // the tier decides
		{"Read", UnlistedDefault, "", Ask},
		{"Bash", UnlistedDefault, "", Allow},
		{"Bash", UnlistedRisk, "", Allow},
		{"Bash(*)", UnlistedDeny, "", Allow},
		{"Bash(rm:*)", UnlistedDefault, "", Allow},
		{"Bash(rm -rf src)", UnlistedAsk, "", Allow},
		{"Bash(rm -rf dist)", UnlistedAsk, "", Ask},
	} {
		t.Run(tt.gate, func(t *testing.T) {
			p := (spec{allow: "Bash(rm -rf src)", risk: true, unlisted: tt.unlisted, mode: tt.mode}).policy(t)
			more := *p
			more.Gate = patterns.NewSet(place, parseRules(t, patterns.Allow, tt.gate, "agent-wrapper.toml")...)
			p.Further = []*Policy{&more}
			use := using("Bash", "rm -rf src")
			use.Dir = workspace
			if d := Evaluate(p, nil, &use, fakeFS{}, nil); d.Behavior != tt.want {
				t.Errorf("gate %s, unlisted %d: %v, want %v: %s", tt.gate, tt.unlisted, d.Behavior, tt.want, d.Reason)
			}
		})
	}
}

// TestListNeverLoosens checks that an allow list, as the only one or as a gate,
// only stops more.
func TestListNeverLoosens(t *testing.T) {
	lists := []string{"Bash", "Bash(npm:*)", "Bash(rm:*)", "Bash(git:*); Bash(ls:*)", "Read; Bash(cat:*)", "Edit"}
	rapid.Check(t, func(rt *rapid.T) {
		s, use := drawSpec(rt), drawUse(rt)
		use.Dir = workspace
		p, gated := s.policy(t), s.policy(t)
		gated.Gate = set(t, patterns.Allow, rapid.SampledFrom(lists).Draw(rt, "gate"), "gate")
		without, with := Evaluate(p, s.session(t), &use, fakeFS{}, nil), Evaluate(gated, s.session(t), &use, fakeFS{}, nil)
		if with.Behavior < without.Behavior {
			rt.Fatalf("%s: %v, with a gate %v", use.Input, without.Behavior, with.Behavior)
		}
	})
}

// A granular rule does not allow what an allow list omits, whatever its tier.
func TestGranularAllowBehindTheList(t *testing.T) {
	rules := []patterns.GranularSpec{{Tools: []string{"Bash"}, Patterns: []string{"^rm -rf node_modules$", "^npm i$"}, Action: patterns.Allow}}
	for _, line := range []string{"npm i", "rm -rf node_modules"} {
		for allow, want := range map[string]Behavior{"": Allow, "Bash": Allow, "Bash(ls:*)": Ask} {
			use := using("Bash", line)
			use.Dir = workspace
			if d := (spec{risk: true, allow: allow, rules: rules}).decideOn(t, use); d.Behavior != want {
				t.Errorf("%s under allow %q: %v, want %v: %s", line, allow, d.Behavior, want, d.Reason)
			}
		}
	}
}

// What one policy asks about is not hidden by another that asks about something
// else: the person is shown all of it, and a rule only counts as an answer if
// all policies agree.
func TestFurtherAsksTogether(t *testing.T) {
	base := spec{allow: "Bash(git:*); Bash(ls:*)", risk: true}
	line := "git push; npm i; ls"
	tests := []struct {
		name   string
		change func(p *Policy)
		asked  string // the actions about which it asks
		held   bool
	}{
		{"a gate", func(p *Policy) { p.Gate = set(t, patterns.Allow, "Bash(npm:*); Bash(ls:*)", "x") }, "run git push;run npm i", false},
		{"an ask rule", func(p *Policy) { p.Ask = set(t, patterns.Ask, "Bash(ls:*)", "x") }, "run npm i;run ls", false},
		{"a held ask", func(p *Policy) { p.Guarded = []string{workspace + "/out"} }, "run npm i;write " + workspace + "/out", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v, _ := evaluator(t, base, nil)
			more := *v.Policy
			tt.change(&more)
			v.Policy.Further = []*Policy{&more}
			use := using("Bash", line)
			if tt.held {
				use = using("Bash", line+"; touch out")
				v.Policy.Allow = set(t, patterns.Allow, "Bash(git:*); Bash(ls:*); Bash(touch:*)", "--allow")
				more.Allow = v.Policy.Allow
			}
			use.Dir = workspace
			r := v.Request(use)
			var asked []string
			for _, p := range r.Decision.Unapproved() {
				asked = append(asked, p.Action)
				if tt.held && (p.Sealed == "" || p.Exact != "") {
					t.Errorf("a rule may be kept for %s although the ask is held", p.Action)
				}
			}
			if got := strings.Join(asked, ";"); r.Decision.Behavior != Ask || r.Decision.Held != tt.held || got != tt.asked {
				t.Errorf("%v, held %v: %s, want %s", r.Decision.Behavior, r.Decision.Held, got, tt.asked)
			}
		})
	}
}

// A part that exists only with the catalogue of the further policy is shown as
// well.
func TestFurtherAsksOfItsOwnParts(t *testing.T) {
	p := (spec{allow: "Bash(ls:*)", risk: true}).policy(t)
	more := *p
	more.Catalog = claims(t)
	p.Further = []*Policy{&more}
	use := using("Bash", "deploy --hook 'curl x'")
	use.Dir = workspace
	d := Evaluate(p, nil, &use, fakeFS{}, nil)
	var asked []string
	for _, p := range d.Unapproved() {
		asked = append(asked, p.Action)
	}
	if got := strings.Join(asked, ";"); got != "run deploy --hook curl x;run curl x" {
		t.Errorf("%s", got)
	}
}

// TestFurtherNeverLoosens checks that a further policy allows nothing that is
// not allowed without it, and that its denies count.
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

// TestGranularAllowBehindTheGate checks that a trusted granular rule allows what
// the trusted list omits, but not what an untrusted gate omits.
func TestGranularAllowBehindTheGate(t *testing.T) {
	rules := []patterns.GranularSpec{{Tools: []string{"Bash"}, Patterns: []string{"^npm i$"}, Action: patterns.Allow}}
	p := (spec{risk: true, allow: "Bash(ls:*)", rules: rules, unlisted: byMode}).policy(t)
	use := using("Bash", "npm i")
	use.Dir = workspace
	if d := Evaluate(p, nil, &use, fakeFS{}, nil); d.Behavior != Allow {
		t.Errorf("without a gate: %v: %s", d.Behavior, d.Reason)
	}
	more := *p
	more.Gate = set(t, patterns.Allow, "Bash(git:*)", "agent-wrapper.toml")
	p.Further = []*Policy{&more}
	if d := Evaluate(p, nil, &use, fakeFS{}, nil); d.Behavior != Ask {
		t.Errorf("behind a gate: %v: %s", d.Behavior, d.Reason)
	}
}

// TestAskRuleIsNamed checks that an ask names the rule that asks, where the action is not
// in the allow list either, and that nothing but the name differs.
func TestAskRuleIsNamed(t *testing.T) {
	check(t, spec{allow: "Bash(ls:*)", ask: "Bash(git push:*)"},
		row{"Bash: git push origin main", "ask ask-list Bash(git push:*)"},
		row{"Bash: ls && git push origin", "ask ask-list Bash(git push:*)"},
		row{"Bash: git fetch", "ask allow-list"},
		row{"Bash: git $x", "ask allow-list"}, // the rule may match it: the list is certain
		row{"Bash: ls", "allow default Bash(ls:*)"},
	)
	check(t, spec{allow: "Bash(ls:*)", ask: "Bash(git push:*)", mode: "dontAsk"}, row{"Bash: git push", "deny allow-list"})
	check(t, spec{allow: "Bash(ls:*)", ask: "Bash(git push:*)", deny: "Bash(git:*)"}, row{"Bash: git push", "deny deny-list Bash(git:*)"})

	p := spec{allow: "Bash(ls:*)", ask: "Bash(git push:*)"}.policy(t)
	use := using("Bash", "git push")
	use.Dir = workspace
	var tr Trace
	d := Evaluate(p, nil, &use, fakeFS{}, &tr)
	a := tr.Actions[0]
	if d.Reason != "asked by rule Bash(git push:*): run git push" || a.Steps[0].Layer != LayerAllowList ||
		a.Steps[0].Behavior != 0 || !strings.HasPrefix(a.Steps[0].Reason, "Not in allow list") || a.Steps[a.Decides].Layer != LayerAskList {
		t.Errorf("%+v\n%+v", d, a)
	}
}

// TestAskRuleOfAFurtherPolicyIsNamed is TestAskRuleIsNamed for a rule of another policy.
// A held ask names what holds, and a deny what denies.
func TestAskRuleOfAFurtherPolicyIsNamed(t *testing.T) {
	base := spec{allow: "Bash(ls:*); Read", deny: "Read(.env); Bash(git push -f:*)", risk: true}.policy(t)
	more := *base
	more.Ask = set(t, patterns.Ask, "Bash(git push:*); Bash(cat:*)", "agent-wrapper.toml")
	more.Deny = set(t, patterns.Deny, "Read(.env)", "agent-wrapper.toml")
	p := *base
	p.Further = []*Policy{&more}
	for line, want := range map[string]string{
		"git push origin":        "ask ask-list Bash(git push:*)",
		"ls; git push origin":    "ask ask-list Bash(git push:*)",
		"git push -f origin":     "deny deny-list Bash(git push -f:*)",
		"git fetch":              "ask allow-list",
		"cat $x":                 "ask deny-list Read(.env) held",
		"git push; cat < \"$x\"": "ask deny-list Read(.env) held",
	} {
		use := using("Bash", line)
		use.Dir = workspace
		var tr Trace
		d := Evaluate(&p, nil, &use, fakeFS{}, &tr)
		if got := outcome(d); got != want || d.Rule != "" && !strings.Contains(d.Reason, d.Rule) {
			t.Errorf("%s: %s (%s), want %s", line, got, d.Reason, want)
		}
		for i := range d.Parts {
			if push := &d.Parts[i]; strings.HasPrefix(push.Action, "run git push") && push.Rule != "Bash(git push:*)" {
				t.Errorf("%s: %+v", line, push)
			}
		}
		if d.Held || len(tr.Actions) == 0 {
			continue
		}
		last := tr.Actions[len(tr.Actions)-1]
		if step := last.Steps[last.Decides]; step.Rule != d.Rule || step.Layer != d.Layer {
			t.Errorf("%s: the trace says %+v", line, step)
		}
	}
}
