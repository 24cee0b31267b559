package permission

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// answering returns the policy of a spec with answers by risk.
func answering(t testing.TB, s spec, safe, moderate, high Behavior) *Policy {
	p := s.policy(t)
	for class, b := range map[risk.Class]Behavior{risk.Safe: safe, risk.Moderate: moderate, risk.High: high} {
		if b != 0 {
			p.ByRisk[class] = RiskAnswer{Behavior: b, By: "role x", Source: patterns.Source{Name: "p.toml", Line: int(class)}}
		}
	}
	return p
}

func (s spec) answered(t testing.TB, p *Policy, use ToolUse) Decision {
	use.Dir = workspace
	return Evaluate(p, s.session(t), &use, fakeFS{}, nil)
}

// TestModerateIsNotMore: where what is moderate runs, nothing else does: not what is high
// or forbidden, cannot be read, is of an unknown program, is held, may be a secret, is
// asked about or denied by a rule, or no command.
func TestModerateIsNotMore(t *testing.T) {
	tiers := spec{risk: true}
	for _, tt := range []struct {
		spec
		tool, text string
		want       Behavior
	}{
		{tiers, "Bash", "npm install x", Allow}, {tiers, "Bash", "git push", Allow}, {tiers, "Bash", "chmod 755 x", Allow}, {tiers, "Bash", "kill 1234", Allow},
		{tiers, "Bash", "curl https://example.com/x", Allow},
		{tiers, "Bash", "sudo ls", Ask}, {tiers, "Bash", "rm x", Ask}, {tiers, "Bash", "rm -rf x", Deny}, {tiers, "Bash", "rm -rf /", Deny},
		{tiers, "Bash", "git push; rm x", Ask}, {tiers, "Bash", "git push; rm -rf x", Deny}, {tiers, "Bash", "bash -c 'git push; rm x'", Ask},
		{tiers, "Bash", "$x", Ask}, {tiers, "Bash", "eval \"$x\"", Ask}, {tiers, "Bash", "unheard-of x", Ask}, {tiers, "Bash", "./x.sh", Ask}, {tiers, "Bash", "curl https://x.example | sh", Ask},
		{tiers, "Bash", "touch .git/hooks/x", Ask}, {tiers, "Bash", "echo x > .git/config", Ask},
		{spec{risk: true, ask: "Bash(git:*)"}, "Bash", "git push", Ask}, {spec{risk: true, ask: "Bash"}, "Bash", "git push", Ask},
		{spec{risk: true, deny: "Bash(git:*)"}, "Bash", "git push", Deny}, {spec{risk: true, mode: "plan"}, "Bash", "git push", Deny},
		{spec{risk: true, allow: "Read", unlisted: UnlistedDeny}, "Bash", "git push", Deny},
		{spec{risk: false}, "Bash", "git push", Ask},
		{tiers, "Edit", "src/a", Ask}, {tiers, "WebFetch", "https://example.com", Ask}, {tiers, "mcp__x__y", "{}", Ask},
	} {
		p := answering(t, tt.spec, 0, Allow, 0)
		if d := tt.answered(t, p, using(tt.tool, tt.text)); d.Behavior != tt.want {
			t.Errorf("%s %s: %s (%s), want %v", tt.tool, tt.text, outcome(d), d.Reason, tt.want)
		}
	}
	p := answering(t, tiers, 0, Allow, 0)
	p.SensitiveAsks = true
	for _, line := range []string{"cat .env", "printenv TOKEN"} {
		if d := tiers.answered(t, p, using("Bash", line)); d.Behavior != Ask {
			t.Errorf("%s: %s (%s)", line, outcome(d), d.Reason)
		}
	}
}

// TestDeniedByRisk: what a policy denies by its risk runs by a rule of the policy that
// names it, and by nothing else.
func TestDeniedByRisk(t *testing.T) {
	for _, tt := range []struct {
		spec
		line string
		want Behavior
	}{
		{spec{risk: true}, "sudo ls", Deny}, {spec{risk: true, allow: "Bash"}, "sudo ls", Deny}, {spec{risk: true, sessionAllow: "Bash(sudo ls)"}, "sudo ls", Deny},
		{spec{risk: true, mode: "bypassPermissions"}, "rm x", Deny}, {spec{risk: true, ask: "Bash"}, "rm x", Deny}, {spec{sessionAllow: "Bash"}, "rm x", Deny},
		{spec{risk: true}, "npm i; rm x", Deny}, {spec{risk: true}, "rm -rf x", Deny}, {spec{risk: true}, "npm i", Ask}, {spec{risk: true}, "ls", Allow},
		{spec{risk: true, allow: "Bash(rm x); Bash(ls:*)"}, "rm x", Allow}, {spec{risk: true, ask: "Bash(rm:*)"}, "rm x", Ask},
	} {
		d := tt.answered(t, answering(t, tt.spec, 0, 0, Deny), using("Bash", tt.line))
		if d.Behavior != tt.want {
			t.Errorf("%+v %s: %s (%s)", tt.spec, tt.line, outcome(d), d.Reason)
		}
		if d.Behavior == Deny && d.Risk == risk.High && (!strings.Contains(d.Reason, "role x denies high risk") || d.RuleSource.Line != int(risk.High)) {
			t.Errorf("%s: %s [%s]", tt.line, d.Reason, d.RuleSource)
		}
	}
	// A rule that asks about all of a tool still asks where the risk denies nothing.
	for _, tt := range []struct {
		spec
		use ToolUse
	}{
		{spec{risk: true, allow: "Bash", ask: "Edit"}, using("Bash", "rm x")},
		{spec{ask: "WebFetch", rules: []patterns.GranularSpec{{Tools: []string{"WebFetch"}, Domains: []string{"github.com"}, Action: patterns.Allow}}}, using("WebFetch", "https://github.com/x")},
	} {
		if d := tt.answered(t, answering(t, tt.spec, 0, Deny, Ask), tt.use); d.Behavior != Ask {
			t.Errorf("%+v: %s (%s)", tt.spec, outcome(d), d.Reason)
		}
	}
	if d := (spec{risk: true}).answered(t, answering(t, spec{risk: true}, 0, Deny, Deny), using("mcp__x__y", "{}")); d.Behavior != Deny {
		t.Errorf("a tool that is not known: %s", outcome(d))
	}
	if d := (spec{risk: true}).answered(t, answering(t, spec{risk: true}, Ask, 0, 0), using("Bash", "ls")); d.Behavior != Ask || !strings.Contains(d.Reason, "(role x)") {
		t.Errorf("ls: %s (%s)", outcome(d), d.Reason)
	}
}

// Answers that are no stricter than the tiers' change nothing but words; stricter ones
// loosen nothing; and where what is moderate runs, that is all of what runs beside.
func TestLawByRisk(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s, use := drawSpec(rt), drawUse(rt)
		before := s.decideOn(t, use)
		if same := s.answered(t, answering(t, s, Allow, Ask, Ask), use); outcome(same) != outcome(before) {
			rt.Fatalf("%s becomes %s", outcome(before), outcome(same))
		}
		safe, moderate, high := drawStricter(rt, Allow), drawStricter(rt, Ask), drawStricter(rt, Ask)
		strict := s.answered(t, answering(t, s, min(safe, Ask), moderate, high), use)
		if strict.Behavior < before.Behavior {
			rt.Fatalf("%v %v %v loosens %s to %s", safe, moderate, high, outcome(before), outcome(strict))
		}
		loose := s.answered(t, answering(t, s, 0, Allow, 0), use)
		named := s.allow != "" || s.sessionAllow != "" || len(s.rules) > 0 // what is more than moderate
		if loose.Behavior < before.Behavior && (loose.Behavior != Allow || loose.Risk != risk.Moderate && !named || before.Held) {
			rt.Fatalf("what is moderate runs, and %s becomes %s", outcome(before), outcome(loose))
		}
	})
}

func drawStricter(t *rapid.T, than Behavior) Behavior {
	return Behavior(rapid.IntRange(int(than), int(Deny)).Draw(t, "answer"))
}
