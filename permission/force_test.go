package permission

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agent-wrapper/agent-wrapper/patterns"
)

func demanded(line string) ToolUse {
	use := using("Bash", line)
	use.ForceAsk = true
	return use
}

// TestForceLiftsNoDenial: a demanded question never makes approvable what is denied,
// as it did in the seed's own code.
func TestForceLiftsNoDenial(t *testing.T) {
	for _, tt := range []struct {
		spec
		line string
	}{
		{spec{risk: true}, "rm -rf /"},
		{spec{risk: true}, ":(){ :|:& };:"},
		{spec{risk: true}, "mkfs /dev/sda"},
		{spec{risk: true, allow: "Bash"}, "rm -rf x"},
		{spec{deny: "Bash(ls:*)", allow: "Bash"}, "ls"},
		{spec{sessionDeny: "Bash(ls:*)", allow: "Bash"}, "ls"},
		{spec{mode: "plan"}, "touch x"},
		{spec{unlisted: UnlistedDeny, allow: "Read"}, "touch x"},
		{spec{mode: "dontAsk", allow: "Bash"}, "ls"},
		{spec{mode: "dontAsk", allow: "Bash", risk: true}, "rm -rf /"},
	} {
		if d := tt.decideOn(t, demanded(tt.line)); d.Behavior != Deny || d.Held {
			t.Errorf("%+v %s: %s (%s)", tt.spec, tt.line, outcome(d), d.Reason)
		}
	}
}

// TestForceAsks: everything else is a question that nothing but an answer to it lifts.
func TestForceAsks(t *testing.T) {
	for _, tt := range []struct {
		spec
		line string
	}{
		{spec{}, "ls"}, {spec{risk: true}, "ls"}, {spec{}, "# nothing"}, {spec{allow: "Bash"}, "touch x"},
		{spec{mode: "bypassPermissions"}, "touch x"}, {spec{sessionAllow: "Bash"}, "touch x"},
		{spec{ask: "Bash(git:*)"}, "git push"}, {spec{risk: true}, `cat "$f"`},
	} {
		d := tt.decideOn(t, demanded(tt.line))
		if d.Behavior != Ask || !d.Held || d.Layer != LayerGuard || !strings.Contains(d.Reason, "requires a person") || len(d.Advice) > 0 {
			t.Errorf("%+v %s: %s (%s)", tt.spec, tt.line, outcome(d), d.Reason)
		}
		for _, p := range d.Parts {
			if p.Sealed == "" || p.Exact != "" {
				t.Errorf("%s: a rule may be kept: %+v", tt.line, p)
			}
		}
	}
	for _, tool := range []string{"TodoWrite", "Read", "mcp__x__y"} {
		use := using(tool, "{}")
		if use.ForceAsk = true; (spec{allow: tool}).decideOn(t, use).Behavior != Ask {
			t.Errorf("%s is not asked about", tool)
		}
	}
}

// TestForceSaysMore: where more is held than the wish, the question says that.
func TestForceSaysMore(t *testing.T) {
	if d := (spec{allow: "Bash"}).decideOn(t, demanded("echo x > .git/config")); d.Behavior != Ask || !strings.Contains(d.Reason, ".git/config") {
		t.Errorf("%s (%s)", outcome(d), d.Reason)
	}
}

// TestForceKeepsNothing: what is answered to a demanded question counts once.
func TestForceKeepsNothing(t *testing.T) {
	v, p, _ := lastingEvaluator(t, spec{}, Answer{Behavior: Allow, Scope: ScopeUse}, Answer{Behavior: Allow, Scope: ScopeSession, Rules: []string{"Bash(npm i)"}})
	for range 2 {
		if res := can(t, v, demanded("npm i")); res.Behavior != Allow || res.By != byPerson {
			t.Errorf("%+v", res)
		}
	}
	r := p.asked[0]
	if r.CanComeAgain() == nil || r.CanKeep(patterns.Allow, "Bash(npm i)") == nil || r.Answers("Bash(npm i)") || len(v.Session.Grants()) != 0 {
		t.Errorf("kept: %v", v.Session.Grants())
	}
}

// TestForceTrace: explain says that the wish decides, where it does.
func TestForceTrace(t *testing.T) {
	for line, want := range map[string]Behavior{"ls": Ask, "rm -rf /": Deny} {
		var tr Trace
		use := demanded(line)
		use.Dir = workspace
		d := Evaluate((spec{risk: true}).policy(t), nil, &use, fakeFS{}, &tr)
		if d.Behavior != want || tr.Whole.Behavior != want || tr.Whole.Layer != LayerGuard {
			t.Errorf("%s: %s, the trace says %+v", line, outcome(d), tr.Whole)
		}
	}
}

// A demanded question turns every allow into a held ask and changes no other behavior,
// risk or denial.
func TestLawForce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s, use := drawSpec(rt), drawUse(rt)
		before := s.decideOn(t, use)
		use.ForceAsk = true
		after := s.decideOn(t, use)
		want := max(before.Behavior, Ask)
		if s.mode == "dontAsk" {
			want = Deny
		}
		if after.Behavior != want || after.Risk != before.Risk || want == Ask && !after.Held && !after.Question {
			rt.Fatalf("%s becomes %s (%s)", outcome(before), outcome(after), after.Reason)
		}
		if before.Behavior == Deny && s.mode != "dontAsk" && fmt.Sprint(outcome(after), after.Reason) != fmt.Sprint(outcome(before), before.Reason) {
			rt.Fatalf("%s (%s) becomes %s (%s)", outcome(before), before.Reason, outcome(after), after.Reason)
		}
	})
}
