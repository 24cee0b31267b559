package permission

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// Laws that hold for every policy and every tool use. Strictness is the order
// deny > ask > allow.

var (
	ruleTexts = []string{
		"Bash", "Bash(ls:*)", "Bash(git:*)", "Bash(git push:*)", "Bash(git status)", "Bash(rm:*)", "Bash(rm -rf:*)",
		"Bash(npm run *)", "Bash(echo:*)", "Bash(cat:*)", "Bash(sudo:*)", "Bash(xargs grep:*)", "Bash(touch:*)",
		"Read", "Read(./.env)", "Read(src/**)", "Read(/etc/**)", "Edit", "Edit(src/**)", "Edit(*.lock)", "Write",
		"WebFetch", "WebFetch(github.com)", "mcp__x", "mcp__x__y", "TodoWrite", "Skill(a)",
	}
	// parts do not change the state of the shell.
	parts = []string{
		"ls", "ls -la src", "git status", "git push", "git push --force origin main", "rm x", "rm -rf build",
		"npm run test", "npm install", "echo hi", "echo hi > out", "echo hi > src/go.lock", "cat .env", "cat src/a", "cat /etc/passwd",
		"sudo rm x", "git ls-files | xargs grep x", "touch src/a", "touch /tmp/x", "curl https://github.com/x", "python3 -c 'print(1)'",
		"timeout 5 ls", "$X -f", `cat "$f"`, "FOO=1 ls", "echo $(git status)", "sort -o out in", "find . -delete", "bash -c 'rm x'",
		"for f in a b; do ls; done", "cat < .env", "unshare rm x", "mkdir -p .git/hooks", "> agent-wrapper.toml",
	}
	others = []string{
		"Read: src/a", "Read: .env", "Read: /etc/passwd", "Edit: src/a", "Edit: go.lock", "Edit: .git/config", "Write: /tmp/x",
		"Grep: .", "WebFetch: https://github.com/x", "WebFetch: https://evil.example/", "mcp__x__y: {}", "TodoWrite: {}",
		`Skill: {"skill":"a"}`, "ExitPlanMode: {}", "Monitor: ls", "Unheard: {}",
	}
	granulars = []patterns.GranularSpec{
		{Tools: []string{"Bash"}, Commands: []string{"npm"}, Action: patterns.Ask},
		{Tools: []string{"Bash"}, Commands: []string{"git", "npm"}, Action: patterns.Allow},
		{Tools: []string{"Bash"}, Patterns: []string{`push.*--force`}, Action: patterns.Deny},
		{Tools: []string{"Edit"}, Paths: []string{"src/**"}, Action: patterns.Allow},
		{Tools: []string{"WebFetch"}, Domains: []string{"github.com"}, Action: patterns.Allow},
		{Tools: []string{"Bash"}, Action: patterns.Allow},
	}
)

func pick(t *rapid.T, label string, from []string, most int) []string {
	return rapid.SliceOfN(rapid.SampledFrom(from), 0, most).Draw(t, label)
}

func drawSpec(t *rapid.T) spec {
	list := func(label string, most int) string { return strings.Join(pick(t, label, ruleTexts, most), "; ") }
	return spec{
		mode:         rapid.SampledFrom([]string{"default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"}).Draw(t, "mode"),
		allow:        list("allow", 4),
		ask:          list("ask", 2),
		deny:         list("deny", 2),
		sessionAllow: list("session allow", 1),
		sessionDeny:  list("session deny", 1),
		rules:        rapid.SliceOfN(rapid.SampledFrom(granulars), 0, 2).Draw(t, "rules"),
		unlisted:     Unlisted(rapid.IntRange(0, 3).Draw(t, "unlisted")),
		risk:         rapid.Bool().Draw(t, "risk"),
	}
}

func drawUse(t *rapid.T) ToolUse {
	if rapid.Bool().Draw(t, "bash") {
		line := strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 1, 3).Draw(t, "line"),
			rapid.SampledFrom([]string{"; ", " && ", " | "}).Draw(t, "operator"))
		return using("Bash", line)
	}
	tool, text, _ := strings.Cut(rapid.SampledFrom(others).Draw(t, "use"), ": ")
	return using(tool, text)
}

// plus adds a rule to a list.
func plus(list, rule string) string {
	if list == "" {
		return rule
	}
	return list + "; " + rule
}

// Adding a deny rule never loosens.
func TestLawMoreDenies(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s, use := drawSpec(rt), drawUse(rt)
		rule := rapid.SampledFrom(ruleTexts).Draw(rt, "rule")
		before := s.decideOn(t, use)
		more, session, first, last := s, s, s, s
		more.deny = plus(s.deny, rule)
		session.sessionDeny = plus(s.sessionDeny, rule)
		deny := patterns.GranularSpec{Tools: []string{"Bash"}, Commands: []string{"git", "rm"}, Action: patterns.Deny}
		first.rules = append([]patterns.GranularSpec{deny}, s.rules...)
		last.rules = append(append([]patterns.GranularSpec{}, s.rules...), deny)
		for name, s := range map[string]spec{"deny": more, "session deny": session, "rules first": first, "rules last": last} {
			if after := s.decideOn(t, use); after.Behavior < before.Behavior {
				rt.Fatalf("%s %s loosens %s to %s", name, rule, outcome(before), outcome(after))
			}
		}
	})
}

// Adding an ask rule never loosens, except that one with a specifier replaces
// the deny of tier 3.
func TestLawMoreAsks(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s, use := drawSpec(rt), drawUse(rt)
		rule := rapid.SampledFrom(ruleTexts).Draw(rt, "rule")
		before := s.decideOn(t, use)
		s.ask = plus(s.ask, rule)
		after := s.decideOn(t, use)
		if after.Behavior >= before.Behavior {
			return
		}
		tier3 := s.risk && before.Layer == LayerDefault && before.Tier == 3 && after.Behavior == Ask
		if !tier3 || !strings.Contains(rule, "(") {
			rt.Fatalf("ask %s loosens %s to %s", rule, outcome(before), outcome(after))
		}
	})
}

// An allow rule never lifts or changes a hard deny.
func TestLawAllowsLiftNoDeny(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s, use := drawSpec(rt), drawUse(rt)
		rule := rapid.SampledFrom(ruleTexts).Draw(rt, "rule")
		before := s.decideOn(t, use)
		hard := before.Behavior == Deny && (before.Layer == LayerGuard || before.Layer == LayerSessionDeny ||
			before.Layer == LayerDenyList || before.Layer == LayerRules) && s.mode != "dontAsk"
		s.allow, s.sessionAllow = plus(s.allow, rule), plus(s.sessionAllow, rule)
		after := s.decideOn(t, use)
		if hard && outcome(after) != outcome(before) {
			rt.Fatalf("allow %s changes %s to %s", rule, outcome(before), outcome(after))
		}
		if before.Held && after.Behavior < Ask {
			rt.Fatalf("allow %s lifts the held %s to %s", rule, outcome(before), outcome(after))
		}
	})
}

// The order of rules never changes a deny and, for lists, no behavior at all.
func TestLawRuleOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s, use := drawSpec(rt), drawUse(rt)
		before := s.decideOn(t, use)
		turn := func(list string) string {
			rules := strings.Split(list, "; ")
			for i, j := 0, len(rules)-1; i < j; i, j = i+1, j-1 {
				rules[i], rules[j] = rules[j], rules[i]
			}
			return strings.Join(rules, "; ")
		}
		s.allow, s.ask, s.deny = turn(s.allow), turn(s.ask), turn(s.deny)
		after := s.decideOn(t, use)
		if after.Behavior != before.Behavior || after.Layer != before.Layer {
			rt.Fatalf("order of the lists changes %s to %s", outcome(before), outcome(after))
		}
		for i, j := 0, len(s.rules)-1; i < j; i, j = i+1, j-1 {
			s.rules[i], s.rules[j] = s.rules[j], s.rules[i]
		}
		if s.mode == "dontAsk" {
			return // there an ask becomes a deny, so the order of ask and allow matters
		}
		if last := s.decideOn(t, use); (last.Behavior == Deny) != (before.Behavior == Deny) {
			rt.Fatalf("order of the rules changes %s to %s", outcome(before), outcome(last))
		}
	})
}

// Evaluate returns the same decision twice, with and without a trace.
func TestLawSameTwice(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s, use := drawSpec(rt), drawUse(rt)
		use.Dir = workspace
		p, ses := s.policy(t), s.session(t)
		first := Evaluate(p, ses, &use, fakeFS{}, nil)
		second := Evaluate(p, ses, &use, fakeFS{}, nil)
		traced := Evaluate(p, ses, &use, fakeFS{}, &Trace{})
		if outcome(first) != outcome(second) || first.Reason != second.Reason || outcome(first) != outcome(traced) || first.Reason != traced.Reason {
			rt.Fatalf("%s (%s), then %s (%s), with a trace %s", outcome(first), first.Reason, outcome(second), second.Reason, outcome(traced))
		}
	})
}

// A chain is as strict as its strictest part, for parts that do not change the
// state.
func TestLawChain(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawSpec(rt)
		lines := rapid.SliceOfN(rapid.SampledFrom(parts), 1, 4).Draw(rt, "parts")
		strictest := Behavior(0)
		for _, line := range lines {
			strictest = max(strictest, s.decideOn(t, using("Bash", line)).Behavior)
		}
		chain := s.decideOn(t, using("Bash", strings.Join(lines, "; ")))
		if chain.Behavior != strictest {
			rt.Fatalf("%s: %s, the strictest part is %v", strings.Join(lines, "; "), outcome(chain), strictest)
		}
	})
}

// Quoting a plain word never changes a decision.
func TestLawQuoting(t *testing.T) {
	words := []string{"ls", "git", "push", "status", "rm", "-rf", "src/a", ".env", "npm", "run", "test", "echo", "cat", "touch", "x"}
	rapid.Check(t, func(rt *rapid.T) {
		s := drawSpec(rt)
		line := rapid.SliceOfN(rapid.SampledFrom(words), 1, 4).Draw(rt, "words")
		plain := s.decideOn(t, using("Bash", strings.Join(line, " ")))
		at := rapid.IntRange(0, len(line)-1).Draw(rt, "at")
		w := line[at]
		line[at] = rapid.SampledFrom([]string{"'" + w + "'", `"` + w + `"`, w[:1] + `""` + w[1:], `\` + w, "$'" + w + "'"}).Draw(rt, "quoted")
		quoted := s.decideOn(t, using("Bash", strings.Join(line, "  ")))
		if outcome(plain) != outcome(quoted) {
			rt.Fatalf("%s: %s, plain %s", strings.Join(line, " "), outcome(quoted), outcome(plain))
		}
	})
}

// The trace agrees with the decision, which is the strictest of the deciding
// steps of its actions.
func TestLawTrace(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s, use := drawSpec(rt), drawUse(rt)
		use.Dir = workspace
		tr := &Trace{}
		d := Evaluate(s.policy(t), s.session(t), &use, fakeFS{}, tr)
		if tr.Whole.Behavior != 0 || s.mode == "dontAsk" {
			return
		}
		strictest, layers := Allow, map[Layer]bool{}
		for _, a := range tr.Actions {
			if a.Decides < 0 {
				continue
			}
			step := a.Steps[a.Decides]
			strictest = max(strictest, step.Behavior)
			if step.Behavior == d.Behavior {
				layers[step.Layer] = true
			}
		}
		if strictest != d.Behavior || len(layers) > 0 && !layers[d.Layer] {
			rt.Fatalf("the decision is %s, the trace says %v at %v: %+v", outcome(d), strictest, layers, tr.Actions)
		}
	})
}

// In every mode, no rule answers what a person has to answer.
func TestLawQuestionsAreNeverAllowed(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawSpec(rt)
		for _, tool := range []string{tools.AskQuestion, tools.ExitPlan} {
			s.allow, s.sessionAllow = plus(s.allow, tool), plus(s.sessionAllow, tool)
			if d := s.decideOn(t, using(tool, "{}")); d.Behavior == Allow {
				rt.Fatalf("%s: %s", tool, outcome(d))
			}
		}
	})
}
