package permission

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

var recallNow = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// remembered returns an approval of a rule for at most a risk, for a day.
func remembered(rule string, most risk.Class) Grant {
	return Grant{From: "g1", Behavior: Allow, Rule: rule, Until: recallNow.Add(24 * time.Hour), Most: most}
}

// recalling returns a session with remembered approvals.
func recalling(t testing.TB, s spec, grants ...Grant) *Session {
	t.Helper()
	session := s.session(t)
	session.Now = func() time.Time { return recallNow }
	if err := session.Recall(grants); err != nil {
		t.Fatal(err)
	}
	return session
}

// TestRecallAnswersForNoMore: what is remembered does not answer for a higher risk, for
// tier 3, for what cannot be read, for what is held and for what is denied.
func TestRecallAnswersForNoMore(t *testing.T) {
	tiers := spec{risk: true}
	for _, tt := range []struct {
		spec
		line string
		Grant
		want Behavior
	}{
		{tiers, "npm install x", remembered("Bash(npm install x)", risk.Moderate), Allow},
		{tiers, "npm install x", remembered("Bash(npm install x)", risk.Safe), Ask},
		{tiers, "sudo ls", remembered("Bash(sudo ls)", risk.Moderate), Ask},
		{tiers, "rm x", remembered("Bash(rm x)", risk.Moderate), Ask},
		{tiers, "rm -rf x", remembered("Bash(rm -rf x)", risk.High), Deny},
		{tiers, "rm -rf /", remembered("Bash(rm -rf /)", risk.High), Deny},
		{tiers, "npm install $x", remembered("Bash(npm install:*)", risk.Moderate), Ask},
		{tiers, "npm install x; sudo ls", remembered("Bash(npm install x)", risk.Moderate), Ask},
		{tiers, "touch .git/hooks/x", remembered("Bash(touch .git/hooks/x)", risk.High), Ask},
		{spec{deny: "Bash(npm:*)"}, "npm install x", remembered("Bash(npm install x)", risk.High), Deny},
		{spec{mode: "plan"}, "npm install x", remembered("Bash(npm install x)", risk.High), Deny},
	} {
		use := using("Bash", tt.line)
		use.Dir = workspace
		if d := Evaluate(tt.policy(t), recalling(t, tt.spec, tt.Grant), &use, fakeFS{}, nil); d.Behavior != tt.want {
			t.Errorf("%s with %s: %s (%s)", tt.line, tt.Grant, outcome(d), d.Reason)
		}
	}
}

// TestRecallAfterAChange: what was moderate when it was remembered is asked about where
// the policy or the tables call it high, and explain says why.
func TestRecallAfterAChange(t *testing.T) {
	s := spec{risk: true}
	p, session := s.policy(t), recalling(t, s, remembered("Bash(npm install x)", risk.Moderate))
	rule, _, err := patterns.Parse("Bash(npm install:*)", patterns.Deny, patterns.Source{})
	if err != nil {
		t.Fatal(err)
	}
	p.Overrides = []Override{{Class: risk.High, Commands: Matched{Possible: patterns.NewSet(p.Place, rule)}, Text: "npm install:*"}}
	use := using("Bash", "npm install x")
	use.Dir = workspace
	var tr Trace
	if d := Evaluate(p, session, &use, fakeFS{}, &tr); d.Behavior != Ask {
		t.Errorf("%s (%s)", outcome(d), d.Reason)
	}
	if steps := fmt.Sprint(tr.Actions); !strings.Contains(steps, "it was remembered for a lower risk") {
		t.Error(steps)
	}
}

// TestRecallRejects: what a session cannot hold to is left out, with an error.
func TestRecallRejects(t *testing.T) {
	for name, change := range map[string]func(*Grant){
		"no id":      func(g *Grant) { g.From = "" },
		"a number":   func(g *Grant) { g.ID = 1 },
		"a denial":   func(g *Grant) { g.Behavior = Deny },
		"nothing":    func(g *Grant) { g.Behavior = 0 },
		"no rule":    func(g *Grant) { g.Rule = "" },
		"no end":     func(g *Grant) { g.Until = time.Time{} },
		"no risk":    func(g *Grant) { g.Most = 0 },
		"tier 3":     func(g *Grant) { g.Most = risk.Forbidden },
		"no class":   func(g *Grant) { g.Most = 9 },
		"a count":    func(g *Grant) { g.Counted, g.Left = true, 3 },
		"a tool use": func(g *Grant) { g.Exactly = "x" },
		"a mistake":  func(g *Grant) { g.Rule = "Bash(" },
		"everything": func(g *Grant) { g.Rule = "Bash(*)" },
	} {
		g := remembered("Bash(npm install x)", risk.Moderate)
		change(&g)
		session := recalling(t, spec{})
		if err := session.Recall([]Grant{g}); err == nil || len(session.standing().recalled) > 0 {
			t.Errorf("%s is remembered: %v", name, err)
		}
	}
	session := recalling(t, spec{})
	one := remembered("Bash(npm install x)", risk.Moderate)
	if err := session.Recall([]Grant{one, one}); err == nil {
		t.Error("two with one id are remembered")
	}
	session.Now = nil
	if session.Recall([]Grant{one}) == nil {
		t.Error("it is remembered without a clock")
	}
}

// TestRecallEnds: it ends to the moment, and when it is revoked; nothing of it is kept
// with the answers of the session.
func TestRecallEnds(t *testing.T) {
	v, _, b := lastingEvaluator(t, spec{}, no, no)
	now := recallNow
	v.Session.Now = func() time.Time { return now }
	v.Session.Changed = func(all []Grant) error { return fmt.Errorf("%d are kept", len(all)) }
	one := remembered("Bash(npm i)", risk.Moderate)
	if err := v.Session.Recall([]Grant{one}); err != nil {
		t.Fatal(err)
	}
	got := outcomes(t, v, "npm i", "npm i")
	if res := b.records[1].Result; len(res.Grants) != 1 || res.Grants[0] != one || !strings.Contains(res.Reason, "remembered until 2026-01-03 for at most moderate (g1)") {
		t.Errorf("%+v", res)
	}
	if v.Session.Revoke(0) || len(v.Session.Grants()) != 0 {
		t.Error("it is an answer of the session")
	}
	now = one.Until
	got = append(got, outcomes(t, v, "npm i")...)
	now = recallNow
	if err := v.Session.Recall([]Grant{one}); err != nil {
		t.Fatal(err)
	}
	got = append(got, outcomes(t, v, "npm i")...)
	if err := v.Session.Recall(nil); err != nil {
		t.Fatal(err)
	}
	got = append(got, outcomes(t, v, "npm i")...)
	if want := "[rule allow rule allow person deny rule allow person deny]"; fmt.Sprint(got) != want {
		t.Error(got)
	}
}

// What is remembered allows nothing that the same rule of the session would not, and
// nothing of a higher risk than it is remembered for.
func TestLawRecall(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s, use := drawSpec(rt), drawUse(rt)
		use.Dir = workspace
		rule := rapid.SampledFrom(ruleTexts).Draw(rt, "rule")
		most := rapid.SampledFrom([]risk.Class{risk.Safe, risk.Moderate, risk.High}).Draw(rt, "most")
		before := s.decideOn(t, use)
		session := s.session(t)
		session.Now = func() time.Time { return recallNow }
		if session.Recall([]Grant{remembered(rule, most)}) != nil {
			return // it allows too much
		}
		after := Evaluate(s.policy(t), session, &use, fakeFS{}, nil)
		wide := s
		wide.sessionAllow = plus(s.sessionAllow, rule)
		if with := wide.decideOn(t, use); after.Behavior < with.Behavior || after.Behavior > before.Behavior {
			rt.Fatalf("%s becomes %s, with the rule %s", outcome(before), outcome(after), outcome(with))
		}
		if after.Behavior != Allow || before.Behavior != Ask {
			return
		}
		for _, p := range before.Parts {
			if p.Behavior == Ask && p.Risk > most {
				rt.Fatalf("%s is allowed, remembered for %v", p.Action, most)
			}
		}
	})
}
