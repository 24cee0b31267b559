package approval

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
	"github.com/agent-wrapper/agent-wrapper/internal/workspace"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// danger is a command of tier 3, made from a row of the risk tables.
type danger struct {
	program, line string
	action        shell.Action
}

// dangers returns commands for every row of the tables that is of tier 3.
func dangers(t *testing.T, profile risk.Profile) []danger {
	t.Helper()
	forms := map[string]string{"+1": "x", "+0": "", "@-1": "-TERM -1", "@1": "1", "@if=*": "if=x"}
	var all []danger
	for _, r := range risk.Rules(profile) {
		if r.Kind != "command" || r.Tier != 3 {
			continue
		}
		words := []string{r.Program, strings.ReplaceAll(r.Subcommand, "*", "x")}
		for _, want := range strings.Fields(r.Options) {
			first, _, _ := strings.Cut(want, "|")
			if form, known := forms[want]; known {
				first = form
			}
			words = append(words, first)
		}
		line := strings.Join(strings.Fields(strings.Join(words, " ")), " ")
		facts := shell.Analyze(line, shell.Options{Dir: place.Workspace})
		if class := risk.Summary(facts, risk.Each(facts, profile)).Class; class != risk.Forbidden {
			t.Errorf("%+v: %q is %s", r, line, class)
		}
		all = append(all, danger{r.Program, line, facts.Actions[0]})
	}
	if len(all) < 70 {
		t.Errorf("only %d rows of tier 3", len(all))
	}
	return all
}

// reached returns the dangers that a rule matches.
func reached(t *testing.T, text string, all []danger) (lines []string) {
	t.Helper()
	rule, _, err := patterns.Parse(text, patterns.Allow, patterns.Source{})
	if err != nil {
		t.Fatal(err)
	}
	set := patterns.NewSet(place, rule)
	for i := range all {
		sub := patterns.Subject{Kind: patterns.RunCommand, Tool: "Bash", Command: &all[i].action, Line: all[i].line, Simple: true}
		if _, m := set.Match(&sub, patterns.Query{}); m != patterns.No {
			lines = append(lines, all[i].line)
		}
	}
	return lines
}

// eachRule calls f once for every rule that a ladder offers for the uses.
func eachRule(v *permission.Evaluator, uses []permission.ToolUse, f func(use permission.ToolUse, rule string)) (n int) {
	seen := map[string]bool{}
	for _, use := range uses {
		r := v.Request(use)
		rungs, _ := Ladder(&r)
		for _, rung := range rungs {
			for _, rule := range rung.Rules {
				if !seen[rule] {
					seen[rule] = true
					f(use, rule)
				}
			}
		}
	}
	return len(seen)
}

// TestRungsReachNoTier3: no rung matches a command of tier 3, neither of those
// for programs that have such commands nor of those for the corpora. Without
// tiers a rung may match the command that was asked about, but no other.
func TestRungsReachNoTier3(t *testing.T) {
	slow.Test(t)
	for _, profile := range []risk.Profile{risk.Default, risk.Terminal} {
		all, uses := dangers(t, profile), everyUse(t)
		for _, d := range all {
			for _, tail := range []string{" x", " 1234", " -x", " status", " $x", ""} {
				uses = append(uses, using("Bash: "+d.program+tail), using("Bash: "+d.line+tail))
			}
		}
		for _, l := range []lists{{ask: "Bash"}, {riskOff: true}} {
			v := evaluator(t, l)
			v.Policy.Profile = profile
			n := eachRule(v, uses, func(use permission.ToolUse, rule string) {
				if l.riskOff && !strings.HasSuffix(rule, ":*)") {
					return
				}
				if lines := reached(t, rule, all); len(lines) > 0 {
					t.Errorf("%s, tiers off: %v: a rung offers %s, which is about %q", use.Input, l.riskOff, rule, lines)
				}
			})
			if n < 1000 {
				t.Errorf("only %d rules", n)
			}
		}
	}
}

// Classes that a policy overrides count like those of the tables.
func TestRungsReachNoOverride(t *testing.T) {
	spec := &policy.Spec{RiskOverrides: []policy.OverrideSpec{
		{Pattern: "kubectl delete ns:*", Risk: "forbidden"}, {Path: "/srv/data/prod/**", Risk: "forbidden"}, {Pattern: "frob * --now", Risk: "forbidden"},
	}}
	p, session, _, err := spec.Compile(place)
	if err != nil {
		t.Fatal(err)
	}
	for use, want := range map[string]string{
		"Bash: kubectl delete pod x": "exactly `kubectl delete pod x` = Bash(kubectl delete pod x)\n",
		"Bash: kubectl apply -f x":   "exactly `kubectl apply -f x` = Bash(kubectl apply -f x)\nany `kubectl apply` command = Bash(kubectl apply:*)\n",
		"Bash: frob a b":             "exactly `frob a b` = Bash(frob a b)\n",
		"Edit: /srv/data/x":          "changing `/srv/data/x` = Edit(//srv/data/x)\n",
		"Edit: /srv/data/other/x":    "changing `/srv/data/other/x` = Edit(//srv/data/other/x)\nchanging anything below `/srv/data/other` = Edit(//srv/data/other/**)\n",
		"Edit: /srv/data/prod/x":     "",
	} {
		v := &permission.Evaluator{Policy: p, Session: session, Env: workspace.Fake{}}
		r := v.Request(using(use))
		rungs, err := Ladder(&r)
		if err != nil {
			rungs = nil
		}
		if d := cmp.Diff(want, written(rungs, nil)); d != "" {
			t.Errorf("%s:\n%s", use, d)
		}
	}
}

// TestRungsAreNoDanger: no rung holds a rule that lint would report as
// dangerous: one that runs whatever it is given, or that matches tier 3.
func TestRungsAreNoDanger(t *testing.T) {
	slow.Test(t)
	tier3 := dangers(t, risk.Default)
	forbidden := map[string]bool{"everything": true, "whole-program": true, "runs-program": true, "runs-script": true, "wrapper": true}
	uses := append(everyUse(t), using("Bash: kill 1234"), using("Bash: wipefs x"))
	n := eachRule(evaluator(t, policies[2]), uses, func(use permission.ToolUse, rule string) {
		if lines := reached(t, rule, tier3); len(lines) > 0 {
			t.Errorf("%s: a rung offers %s, which is about %q", use.Input, rule, lines)
		}
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
	})
	if n < 1000 {
		t.Errorf("only %d rules", n)
	}
}
