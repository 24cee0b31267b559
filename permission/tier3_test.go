package permission

import (
	"slices"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"pgregory.net/rapid"
)

// forbidden holds command lines with something of tier 3, by itself, in a
// construct, or run by another program.
var forbidden = []string{
	"rm -rf build", "rm --recursive --force build", `rm -rf "$x"`, "kill -9 -1", "kill 1", "killall x", "halt", "shutdown -h now", "systemctl poweroff",
	"dd if=a of=b", "wipefs -a x", "parted x rm 1", "mkswap x", "sudo rm -rf x", "env rm -rf x", "timeout 5 rm -rf x", "xargs rm -rf < list",
	"find . -name x -exec rm -rf {} +", "bash -c 'rm -rf x'", "echo $(rm -rf x)", "if true; then rm -rf x; fi", "for f in a b; do rm -rf $f; done",
	"(cd sub && halt)", "rm -rf x > out", "f() { halt; }; f", "FOO=1 rm -rf x", "rm -rf x & git status", "command rm -rf x", `r\m -rf 'x'`,
	"/bin/rm -rf x", "rm -rf /usr", "find / -delete", "cp x /dev/sda", "echo x > /dev/sda", ":(){ :|:& };:", "npm publish", "sudo npm publish", "cat /srv/prod/x", "cp a /srv/prod/x",
}

// inForm returns rules of every form that match actions of a tool use.
func inForm(t testing.TB, p *Policy, use ToolUse) []string {
	t.Helper()
	r := newReading(&use, p.knowledge(), fakeFS{}, nil)
	if r.err != nil {
		t.Fatal(r.err)
	}
	e := begin(r, p, &noStanding)
	rules := []string{"Bash", "Bash(*)", "Read", "Edit", "Write", "Monitor", "Edit(/**)", "Read(/**)", "Edit(//**)", "Read(//**)"}
	for i := range e.acts {
		a := &e.acts[i]
		rules = append(rules, patterns.ExactRule(&a.sub))
		if line := a.sub.Line; line != "" {
			rules = append(rules, "Bash("+line+")")
		}
		if a.sub.Kind != patterns.RunCommand {
			continue
		}
		for n := range a.does.Words {
			words := a.does.Words[:n+1]
			spec := strings.TrimSuffix(strings.TrimPrefix(patterns.CommandRule(words, false), "Bash("), ")")
			rules = append(rules, patterns.CommandRule(words, true), patterns.CommandRule(words, false), "Bash("+spec+" *)", "Bash("+spec+"*)")
		}
	}
	slices.Sort(rules)
	return slices.DeleteFunc(slices.Compact(rules), func(text string) bool {
		_, _, err := sessionRule(nil, text, patterns.Allow)
		return err != nil
	})
}

// answered returns the steps of a trace with an answer for the actions of tier
// 3, one line for each action.
func answered(tr *Trace) []string {
	var all []string
	for i := range tr.Actions {
		a := &tr.Actions[i]
		if a.Risk.Tier() != 3 {
			continue
		}
		text := a.Action
		for _, s := range a.Steps {
			if s.Behavior != 0 {
				text += "; " + s.Layer.String() + " " + s.Behavior.String() + " " + s.Rule
			}
		}
		if a.Decides >= 0 {
			text += ": " + a.Steps[a.Decides].Layer.String()
		}
		all = append(all, text)
	}
	return all
}

// allAllowed reports whether all that is of tier 3 is allowed by something
// other than the session.
func allAllowed(tr *Trace) bool {
	return !slices.ContainsFunc(tr.Actions, func(a TracedAction) bool {
		return a.Risk.Tier() == 3 && (a.Decides < 0 || a.Steps[a.Decides].Behavior != Allow)
	})
}

// tiers counts how often the law was tested.
type tiers struct{ actions, covered, allowed int }

// lawful compares a policy with the rules of a session and without. The rules
// must make no difference to what is of tier 3, and what they allow must
// contain nothing of tier 3 that the policy itself does not allow.
func (n *tiers) lawful(t rapid.TB, p *Policy, use ToolUse, session *Session) {
	var without, with Trace
	Evaluate(p, nil, &use, fakeFS{}, &without)
	Evaluate(p, session, &use, fakeFS{}, &with)
	before, now := answered(&without), answered(&with)
	if !slices.Equal(before, now) {
		t.Fatalf("%s: rules of the session change %q to %q", use.Input, before, now)
	}
	if with.Decision.Behavior == Allow && !allAllowed(&without) {
		t.Fatalf("%s is allowed by %s with %q", use.Input, with.Decision.Layer, now)
	}
	n.actions += len(now)
	for _, a := range with.Actions {
		if a.Risk.Tier() == 3 && slices.ContainsFunc(a.Steps, func(s Step) bool { return s.Layer == LayerSessionAllow }) {
			n.covered++
		}
	}
	if len(now) > 0 && with.Decision.Behavior == Allow {
		n.allowed++
	}
}

// TestLawTier3 is the law of S1-19: no rule of a session, of any form, answers
// for an action that is of tier 3 by the profile and the overrides of the
// policy.
func TestLawTier3(t *testing.T) {
	var n tiers
	says := riskSays(t)
	rapid.Check(t, func(rt *rapid.T) {
		s := drawSpec(rt)
		s.risk = true
		s.noCatastrophic = rapid.Bool().Draw(rt, "catastrophic off")
		p := s.policy(t)
		p.Profile = rapid.SampledFrom([]risk.Profile{risk.Default, risk.Terminal}).Draw(rt, "profile")
		if rapid.Bool().Draw(rt, "overrides") {
			p.Overrides = says
		}
		lines := append(pick(rt, "line", append(slices.Clip(parts), forbidden...), 2), rapid.SampledFrom(forbidden).Draw(rt, "forbidden"))
		line := strings.Join(rapid.Permutation(lines).Draw(rt, "order"), rapid.SampledFrom([]string{"; ", " && ", " | ", "\n"}).Draw(rt, "operator"))
		use := using(rapid.SampledFrom([]string{"Bash", "Monitor"}).Draw(rt, "tool"), line)
		use.Dir = workspace
		use.Agent = rapid.SampledFrom([]string{"", "reviewer"}).Draw(rt, "agent")
		use.Dialect = rapid.SampledFrom([]shell.Dialect{shell.Bash, shell.Sh, shell.Zsh}).Draw(rt, "shell")
		all := inForm(t, p, use)
		rules := all
		if !rapid.Bool().Draw(rt, "all of them") {
			rules = pick(rt, "session", all, 3)
		}
		session := NewSession(place)
		for _, rule := range rules {
			if err := session.Allow(rule); err != nil {
				rt.Fatal(err)
			}
		}
		n.lawful(rt, p, use, session)
	})
	t.Logf("%+v", n)
}

// Every line of tier 3 under every rule that matches it, and under all of them,
// in the modes and beside the rules that permit most.
func TestSessionsReachNoTier3(t *testing.T) {
	var n tiers
	for _, line := range forbidden {
		for _, s := range []spec{
			{risk: true}, {risk: true, mode: "bypassPermissions", noCatastrophic: true}, {risk: true, mode: "acceptEdits", allow: "Bash", unlisted: UnlistedRisk},
			{risk: true, ask: "Bash(rm:*); Bash(halt)"}, {risk: true, allow: "Bash; Bash(rm:*)", noCatastrophic: true},
		} {
			p := s.policy(t)
			p.Overrides = riskSays(t)[:2]
			use := using("Bash", line)
			use.Dir = workspace
			rules := inForm(t, p, use)
			everything := NewSession(place)
			for _, rule := range rules {
				one := NewSession(place)
				for _, session := range []*Session{one, everything} {
					if err := session.Allow(rule); err != nil {
						t.Fatal(err)
					}
				}
				n.lawful(t, p, use, one)
			}
			n.lawful(t, p, use, everything)
			if d := Evaluate(p, everything, &use, fakeFS{}, nil); d.Tier != 3 {
				t.Errorf("%s is of tier %d", line, d.Tier)
			}
		}
	}
	if n.covered < 1000 || n.allowed == 0 {
		t.Errorf("too few to mean anything: %+v", n)
	}
	t.Logf("%+v", n)
}
