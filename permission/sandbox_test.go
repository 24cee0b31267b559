package permission

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/internal/text/subpath"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// sandboxedBy decides a tool use in a session with a sandbox that holds rules.
func (s spec) sandboxedBy(t testing.TB, use ToolUse, held ...string) (Decision, *Trace) {
	t.Helper()
	return s.decidedBy(t, use, Sandbox{}, held)
}

// decidedBy is sandboxedBy with another sandbox.
func (s spec) decidedBy(t testing.TB, use ToolUse, w Sandbox, held []string) (Decision, *Trace) {
	t.Helper()
	use.Dir = workspace
	p := s.policy(t)
	p.SensitiveAsks = true
	session := s.session(t)
	w.Writable, w.Held = []string{"/tmp", "/home/me/.cache"}, func() ([]string, error) { return held, nil }
	w.Planted = func(program string) bool {
		return slices.Contains(planted, program) || subpath.Within(program, workspace)
	}
	session.Sandbox(&w)
	var trace Trace
	return Evaluate(p, session, &use, fakeFS{}, &trace), &trace
}

// planted are the programs that a command inside has put on PATH.
var planted = []string{"kubectl", "jq"}

// TestAdviceBesideSandbox: advice needs a plainer form of all that is asked about, also of
// what the sandbox would hold.
func TestAdviceBesideSandbox(t *testing.T) {
	s := spec{risk: true, unlisted: UnlistedRisk, deny: "Read(./.env)"}
	for line, want := range map[string]string{`cat "$f"`: "cat: " + nameFile, `cat "$f"; make`: ""} {
		if d, _ := s.sandboxedBy(t, using("Bash", line), "deny Read(keys/**)"); d.Behavior != Ask || advisedOf(d) != want {
			t.Errorf("%s: %s, advice %q, want %q", line, outcome(d), advisedOf(d), want)
		}
	}
}

// TestWithin: what the sandbox holds is not asked about, and nothing else changes.
func TestWithin(t *testing.T) {
	const envs, keys, lock, named = "deny Read(./.env)", "deny Read(keys/**)", "deny Edit(lock.json)", "deny WebFetch(domain:evil.example)"
	tiers := spec{risk: true, unlisted: UnlistedRisk}
	denies := tiers
	denies.deny = "Read(./.env); Read(keys/**); Edit(lock.json); WebFetch(domain:evil.example); Bash(git push:*)"
	all := []string{envs, keys, lock}
	tests := []struct {
		spec
		line string
		held []string
		want string // what runs where, or the answer that stays
	}{
		// Code, unknown programs, and what is known only when the line runs.
		{tiers, "python3 x.py", nil, "within"}, {tiers, "npm run unheard", nil, "within"}, {tiers, "make all", nil, "within"}, {tiers, "./build.sh a", nil, "within"},
		{tiers, "unheard-of --x", nil, "within"}, {tiers, "python3 -c 'print(1)'", nil, "within"}, {tiers, "eval \"$x\"", nil, "within"}, {tiers, "$X a", nil, "within"},
		{tiers, "source ./env.sh && pytest", nil, "within"}, {tiers, "for f in *; do sed -i s/a/b/ \"$f\"; done", nil, "within"},
		{tiers, "cat $(git ls-files)", nil, "within"}, {tiers, "echo x > \"$f\"", nil, "within"}, {tiers, "bash -c 'python3 x.py'", nil, "within"},
		{tiers, "terraform validate", nil, "within"}, {tiers, "tofu validate | tail", nil, "within"}, {spec{allow: "Bash(terraform:*)"}, "terraform validate", nil, "inside"},
		// A program that a command inside may have put there is code that the line does not show, and ./docker is not docker.
		{tiers, "kubectl get pods", nil, "inside"}, {tiers, "docker ps", nil, "outside"}, {tiers, "docker ps | jq .", nil, "inside"}, {tiers, "jq . a && docker ps", nil, "inside"}, {tiers, "cd a && docker ps", nil, "outside"},
		{tiers, "timeout 5 kubectl get pods", nil, "inside"}, {spec{allow: "Bash(kubectl:*)"}, "kubectl apply -f x.yaml", nil, "inside"}, {tiers, "kubectl apply -f x.yaml", nil, "ask"}, {tiers, "docker ps $(kubectl get pods -o name)", nil, "ask"},
		{tiers, "./docker ps", nil, "within"}, {tiers, workspace + "/bin/docker run x", nil, "within"}, {tiers, "./curl https://evil.example/x", nil, "ask"}, {spec{allow: "Bash(./docker:*)"}, "./docker ps", nil, "inside"},
		{tiers, "/usr/bin/docker ps", nil, "outside"}, {tiers, "/usr/bin/docker run x", nil, "ask"}, {spec{allow: "Bash(./docker:*); Bash(docker:*)"}, "./docker ps && docker run x", nil, "inside"},
		{tiers, "mkdir a && cp b a/c", nil, "within"}, {tiers, "python3 x.py > /tmp/log", nil, "within"}, {tiers, "python3 x.py > /home/me/.cache/x", nil, "within"},
		// What is allowed without a sandbox runs inside too.
		{tiers, "ls", nil, "inside"}, {spec{allow: "Bash(python3:*)"}, "python3 x.py", nil, "inside"}, {spec{allow: "Bash"}, "./x", nil, "inside"},
		// Hosts, services, the machine, and paths that the sandbox does not let be written.
		{tiers, "git fetch origin", nil, "ask"}, {tiers, "git push", nil, "ask"}, {tiers, "npm install x", nil, "ask"}, {tiers, "docker run x", nil, "ask"}, {tiers, "terraform plan", nil, "ask"}, {tiers, "terraform show", nil, "ask"}, {tiers, "terraform output", nil, "ask"}, {tiers, "terraform version", nil, "outside"}, {tiers, "sudo ls", nil, "ask"},
		{tiers, "curl https://evil.example/x", nil, "ask"}, {tiers, "ssh host ls", nil, "ask"}, {tiers, "systemctl restart x", nil, "ask"}, {tiers, "pkill x", nil, "ask"}, {tiers, "psql -c 'select 1'", nil, "ask"},
		{tiers, "python3 x.py; git push", nil, "ask"}, {tiers, "python3 x.py > /home/me/x", nil, "ask"}, {tiers, "cat /home/me/other/x", nil, "ask"}, {tiers, "cat /home/me/other/$f", nil, "ask"},
		{tiers, "cat /home/me/other/x | python3 x.py", nil, "ask"}, {tiers, "grep -r KEY ~", nil, "ask"}, {tiers, "grep -r KEY /", nil, "ask"}, {tiers, "tar cf x.tar ~", nil, "ask"},
		{tiers, "cp -r .. out", nil, "ask"}, {tiers, "cat ../*/a", nil, "ask"}, {tiers, "cat /*/*", nil, "ask"}, {tiers, "head -c 100 ~/*", nil, "ask"}, {tiers, "for f in ~/*; do cat \"$f\"; done", nil, "ask"},
		{tiers, "find / -type f -exec cat {} +", nil, "ask"}, {tiers, "cat ./*/$x", nil, "within"}, {tiers, "ps aux", nil, "outside"}, {spec{allow: "Bash(git push)"}, "git push", nil, "outside"},
		{spec{allow: "Bash(python3:*); Bash(git push)"}, "python3 x.py && git push", nil, "inside"}, // the code does not choose where it runs
		{spec{allow: "Bash(git:*)"}, "git commit -m x && git push", nil, "outside"},
		{spec{allow: "Bash(curl:*)"}, "curl https://github.com/x", nil, "outside"}, {spec{allow: "Bash(curl:*); WebFetch(github.com)"}, "curl https://github.com/x", nil, "inside"},
		{spec{risk: true, unlisted: UnlistedRisk, allow: "WebFetch(github.com)"}, "curl -d @a https://github.com/x", nil, "ask"}, {spec{risk: true, unlisted: UnlistedRisk, allow: "WebFetch(github.com)"}, "curl -T a https://github.com/x", nil, "ask"},
		{spec{risk: true, unlisted: UnlistedRisk, allow: "WebFetch(github.com)"}, "curl -X DELETE https://github.com/x", nil, "ask"},
		{spec{allow: "Bash(curl:*); WebFetch(github.com)"}, "curl http://github.com/x", nil, "outside"}, {spec{allow: "Bash(curl:*)"}, "curl http://localhost:3000/", nil, "inside"},
		{spec{allow: "Bash"}, "git push", nil, "inside"}, {spec{mode: "bypassPermissions"}, "curl https://evil.example/", nil, "inside"}, {spec{mode: "bypassPermissions"}, "ps aux", nil, "inside"},
		{spec{rules: []patterns.GranularSpec{{Tools: []string{"Bash"}, Action: patterns.Allow}}}, "git push", nil, "inside"},
		// Tier 3, what is destructive, and what a person guards.
		{tiers, "rm -rf src", nil, "deny"}, {tiers, "python3 x.py; rm -rf src", nil, "deny"}, {tiers, "rm x", nil, "ask"}, {tiers, "cat x.sh | bash", nil, "ask"}, {tiers, "bash < x.sh", nil, "ask"}, {tiers, "git branch -D x", nil, "ask"},
		{tiers, "cat .env", nil, "ask"}, {tiers, "python3 -c \"open('.env')\"", nil, "ask"}, {tiers, "unheard-of .env", nil, "ask"}, {tiers, "cat .env*", nil, "ask"}, {tiers, "printenv", nil, "ask"}, {tiers, "env", nil, "ask"},
		{tiers, "echo x > .git/hooks/pre-commit", nil, "ask"}, {tiers, "unheard-of > .git/config", nil, "ask"}, {tiers, "echo x > agent-wrapper.toml", nil, "ask"}, {tiers, "tee .claude/settings.json", nil, "ask"},
		{tiers, "echo x > .vscode/$f", nil, "ask"}, {tiers, "echo x > $d/.envrc", nil, "ask"}, {tiers, "cp -r evil .vscode", nil, "ask"}, {tiers, "unzip a.zip -d .vscode", nil, "ask"}, {tiers, "tar xf a.tar -C .husky", nil, "ask"},
		{tiers, "sed -i s/a/b/ .github/workflows/*", nil, "ask"}, {tiers, "for d in */; do echo x > \"$d/.mcp.json\"; done", nil, "ask"}, {tiers, "unzip a.zip -d out", nil, "within"}, {tiers, "cp -r src out", nil, "within"},
		// Rules.
		{spec{risk: true, unlisted: UnlistedRisk, ask: "Bash(python3:*)"}, "python3 x.py", nil, "ask"}, {spec{risk: true, unlisted: UnlistedRisk, ask: "Bash"}, "python3 x.py", nil, "ask"},
		{spec{risk: true, allow: "Bash(ls)", unlisted: UnlistedAsk}, "python3 x.py", nil, "ask"}, {spec{risk: true, unlisted: UnlistedRisk, mode: "plan"}, "python3 x.py", nil, "deny"},
		{spec{risk: true, mode: "dontAsk", unlisted: UnlistedDeny, allow: "Bash(ls)"}, "python3 x.py", nil, "deny"}, {spec{risk: true, mode: "dontAsk", unlisted: UnlistedRisk}, "python3 x.py", nil, "within"}, {spec{risk: true, mode: "dontAsk", unlisted: UnlistedRisk}, "git push", nil, "deny"}, {spec{}, "python3 x.py", nil, "ask"}, // without tiers only rules count
		// Deny rules that may match: of paths as the plan has it, of hosts, and of commands never.
		{denies, "cat \"$f\"", all, "within"}, {denies, "cat \"$f\"", []string{envs, lock}, "ask"}, {denies, "cat \"$f\"", nil, "ask"},
		{denies, "grep -r x \"$d\"", all, "within"}, {denies, "grep -r x \"$d\"", []string{envs}, "ask"}, {denies, "python3 -c 'print(1)'", all, "ask"}, // it may push
		{denies, "sed -i s/a/b/ \"$f\"", all, "within"}, {denies, "sed -i s/a/b/ \"$f\"", []string{envs, keys}, "ask"},
		{denies, "cat keys/a", all, "deny"}, {denies, "unheard-of keys/a", all, "deny"}, {denies, "git push", all, "deny"}, {denies, "echo > lock.json", all, "deny"},
		{denies, "tar cf x.tar keys", all, "ask"}, {denies, "cp -r keys x", all, "ask"}, {denies, "find keys -type f -exec cat {} +", all, "ask"}, {denies, "rg x keys", all, "ask"}, {denies, "cd keys; cat \"./$f\"", all, "ask"},
		{denies, "cat $d/lock.json; echo x > $d/lock.json", all, "ask"}, {denies, "cat $d/x", all, "within"},
		{denies, "awk -f x.awk --opt=keys/a", all, "ask"}, {denies, "cat \"$f\" keys/$g", all, "ask"},
	}
	for _, tt := range tests {
		d, _ := tt.sandboxedBy(t, using("Bash", tt.line), tt.held...)
		got := d.Behavior.String()
		if d.Behavior == Allow {
			got = d.Sandbox.String()
		}
		if got != tt.want {
			t.Errorf("%+v\n%s, holding %q: %s, %s %q; want %s", tt.spec, tt.line, tt.held, got, outcome(d), d.Reason, tt.want)
		}
		only, _ := tt.decidedBy(t, using("Bash", tt.line), Sandbox{Only: true}, tt.held)
		if only.Sandbox == Outside || only.Behavior != d.Behavior || only.SandboxWhy != d.SandboxWhy || (only.Sandbox == Within) != (d.Sandbox == Within) {
			t.Errorf("%s: with nothing outside it is %s %s %q, and otherwise %s %s %q", tt.line, only.Behavior, only.Sandbox, only.SandboxWhy, d.Behavior, d.Sandbox, d.SandboxWhy)
		}
		if (d.Sandbox == Within) != (d.Rule == withinSandbox) || d.Sandbox == Within && !strings.HasPrefix(d.Reason, withinSandbox+": ") {
			t.Errorf("%s: %s by rule %q, since %q", tt.line, d.Sandbox, d.Rule, d.Reason)
		}
	}
}

// TestSandboxForLines: only command lines run inside, and not if they ask to run outside.
func TestSandboxForLines(t *testing.T) {
	s := spec{risk: true, unlisted: UnlistedRisk}
	for _, use := range []ToolUse{
		using("Write", "/home/me/x"), using("Edit", workspace+"/a"), using("WebFetch", "https://evil.example/"), using("Monitor", "python3 x.py"), using("Read", "/home/me/x"), using("mcp__x__y", "{}"),
	} {
		if d, _ := s.sandboxedBy(t, use); d.Sandbox != 0 || d.Behavior != Ask {
			t.Errorf("%s: %s %s", use.Tool, d.Sandbox, outcome(d))
		}
	}
	out := ToolUse{Tool: "Bash", Input: []byte(`{"command":"python3 x.py","dangerouslyDisableSandbox":true}`)}
	if d, _ := s.sandboxedBy(t, out); d.Sandbox != Outside || d.Behavior != Ask || !d.Held {
		t.Errorf("outside on demand: %s %s", d.Sandbox, outcome(d))
	}
	forced := using("Bash", "python3 x.py")
	forced.ForceAsk = true
	if d, _ := s.sandboxedBy(t, forced); d.Behavior != Ask {
		t.Errorf("a person is wanted: %s", outcome(d))
	}
}

// TestNoSandbox: without a plan everything is asked about as without a sandbox.
func TestNoSandbox(t *testing.T) {
	s := spec{risk: true, unlisted: UnlistedRisk}
	session := s.session(t)
	session.Sandbox(&Sandbox{Held: func() ([]string, error) { return nil, errors.New("too many names") }})
	use := using("Bash", "python3 x.py")
	use.Dir = workspace
	if d := Evaluate(s.policy(t), session, &use, fakeFS{}, nil); d.Behavior != Ask {
		t.Error(outcome(d))
	}
}

// TestFurtherWithin: an untrusted policy still asks.
func TestFurtherWithin(t *testing.T) {
	s := spec{risk: true, unlisted: UnlistedRisk}
	p, more := s.policy(t), spec{risk: true, unlisted: UnlistedRisk, ask: "Bash(python3:*)"}.policy(t)
	p.Further = []*Policy{more}
	session := s.session(t)
	session.Sandbox(&Sandbox{Held: func() ([]string, error) { return nil, nil }})
	use := using("Bash", "python3 x.py")
	use.Dir = workspace
	if d := Evaluate(p, session, &use, fakeFS{}, nil); d.Behavior != Ask {
		t.Error(outcome(d))
	}
}

// TestSandboxIsExplained: the trace has what the sandbox holds.
func TestSandboxIsExplained(t *testing.T) {
	s := spec{risk: true, unlisted: UnlistedRisk, deny: "Read(keys/**)"}
	d, trace := s.sandboxedBy(t, using("Bash", `cat "$f"`), "deny Read(keys/**)")
	if d.Sandbox != Within {
		t.Fatal(outcome(d))
	}
	held := slices.ContainsFunc(trace.Actions, func(a TracedAction) bool {
		return slices.ContainsFunc(a.Steps, func(s Step) bool {
			return s.Layer == LayerDenyList && s.Rule == "Read(keys/**)" && s.Behavior == 0 && strings.HasSuffix(s.Reason, "the sandbox holds it")
		})
	})
	if !held {
		t.Errorf("%+v", trace.Actions)
	}
}

// TestSandboxNamesThePart: a line of several parts is asked about for what the sandbox does not
// hold, and the trace says that the sandbox holds the others.
func TestSandboxNamesThePart(t *testing.T) {
	const here, alone = "; the sandbox holds it", "; in a line of its own, the sandbox would hold it"
	s := spec{risk: true, unlisted: UnlistedRisk, ask: "Bash(git push:*)"}
	for _, tt := range []struct{ line, rule, reason, held, how string }{
		{"make && git push", "Bash(git push:*)", "asked by rule Bash(git push:*): run git push", "run make", alone},
		{"git push; make", "Bash(git push:*)", "asked by rule Bash(git push:*): run git push", "run make", alone},
		{"python3 x.py; rm build", "", "tier 2: destructive operation: run rm build", "run python3 x.py", here},
		{"make && cat .env", "", "tier 2: reads a sensitive path: read " + workspace + "/.env", "run make", here},
		{"make && git fetch origin", "", "tier 2: reaches another host: run git fetch origin", "run make", alone},
		{"echo x > .git/hooks/pre-push; make", "", "it changes .git/hooks/pre-push", "run make", alone},
	} {
		d, trace := s.sandboxedBy(t, using("Bash", tt.line))
		if d.Behavior != Ask || d.Rule != tt.rule || !strings.Contains(d.Reason, tt.reason) || !strings.Contains(d.Message, tt.reason) {
			t.Errorf("%s: %s by rule %q, since %q; the agent is told %q", tt.line, d.Behavior, d.Rule, d.Reason, d.Message)
		}
		for _, a := range trace.Actions {
			if step := a.decided(); step != nil && strings.HasSuffix(step.Reason, tt.how) != (a.Action == tt.held) {
				t.Errorf("%s: %s: %s", tt.line, a.Action, step.Reason)
			}
		}
		if unapproved := len(d.Unapproved()); unapproved < 2 {
			t.Errorf("%s: %d parts are asked about", tt.line, unapproved) // who allows it may run it without a sandbox
		}
	}
}

// TestReadBoundsWithin: an allow rule with a path bounds what else is read by name, and
// the reason and the trace say so.
func TestReadBoundsWithin(t *testing.T) {
	const bounds = "; allow rules with a path are all that may be read here"
	s := spec{risk: true, unlisted: UnlistedRisk, allow: "Read(.env)"}
	d, trace := s.sandboxedBy(t, using("Bash", "python3 x.py"))
	if d.Behavior != Ask || d.Layer != LayerAllowList || !strings.HasSuffix(d.Reason, "x.py"+bounds) {
		t.Errorf("%s: %s", outcome(d), d.Reason)
	}
	if !slices.ContainsFunc(trace.Actions, func(a TracedAction) bool {
		step := a.decided()
		return step != nil && step.Layer == LayerAllowList && strings.HasSuffix(step.Reason, bounds)
	}) {
		t.Errorf("the trace does not say so: %+v", trace.Actions)
	}
	s.allow += "; Read(./**)"
	if d, _ := s.sandboxedBy(t, using("Bash", "python3 x.py")); d.Sandbox != Within {
		t.Errorf("with a rule for the rest: %s: %s", outcome(d), d.Reason)
	}
}

// TestAnsweredOutside: what needs more than the sandbox lets it runs outside once a person has
// said so.
func TestAnsweredOutside(t *testing.T) {
	for line, want := range map[string]Sandboxed{"git push": Outside, "python3 x.py; git push": Outside, "rm x": Inside} {
		s := spec{risk: true, unlisted: UnlistedRisk}
		session := s.session(t)
		session.Sandbox(&Sandbox{Held: func() ([]string, error) { return nil, nil }})
		v := &Evaluator{Policy: s.policy(t), Session: session, Env: fakeFS{}, Recorder: recorderFunc(func() {}), Approver: approverFunc(func() (Answer, error) { return Answer{Behavior: Allow}, nil })}
		if res := can(t, v, using("Bash", line)); res.Behavior != Allow || res.Sandbox != want {
			t.Errorf("%s: %s %s", line, res.Sandbox, outcome(res.Decision))
		}
	}
}

// TestLawSandbox: the sandbox changes an ask to an allow, and nothing else, and never for what is
// denied, nor for an action that is high or of tier 3.
func TestLawSandbox(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s, use := drawSpec(rt), drawUse(rt)
		if rapid.Bool().Draw(rt, "risk decides") {
			s.risk, s.unlisted = true, UnlistedRisk
		}
		p := s.policy(t)
		var held []string
		for _, set := range []*patterns.Set{p.Deny, s.session(t).standing().deny} {
			for _, rule := range set.Rules() {
				held = append(held, nameOfRule(rule))
			}
		}
		p.SensitiveAsks = true
		use.Dir = workspace
		without := Evaluate(p, s.session(t), &use, fakeFS{}, nil)
		with, trace := s.sandboxedBy(t, use, held...)
		high := slices.ContainsFunc(trace.Actions, func(a TracedAction) bool {
			return a.Risk > risk.Moderate && a.Decides >= 0 && a.Steps[a.Decides].Layer == LayerDefault && a.Steps[a.Decides].Rule == ""
		})
		switch {
		case with.Behavior == without.Behavior && (with.Reason == without.Reason || with.Behavior == Ask && with.Held == without.Held):
		case without.Behavior != Ask && !without.never || with.Behavior != Allow || with.Sandbox != Within || with.Risk > without.Risk || high:
			rt.Fatalf("%s %s\nwithout: %s (%s)\nwith: %s (%s)", use.Tool, use.Input, outcome(without), without.Reason, outcome(with), with.Reason)
		}
	})
}

// TestStill: an allow stands, and a question that a person has answered as long as it is the
// same; a denial never does but in place of that question.
func TestStill(t *testing.T) {
	d := func(b Behavior, sandbox Sandboxed, reason string, never bool) Decision {
		return Decision{Behavior: b, Sandbox: sandbox, Reason: reason, never: never}
	}
	for _, tt := range []struct {
		was, now Decision
		want     bool
	}{
		{d(Allow, Outside, "a", false), d(Allow, Outside, "b", false), true},
		{d(Ask, Outside, "a", false), d(Allow, Outside, "b", false), true},
		{d(Allow, Outside, "a", false), d(Allow, Inside, "a", false), false},
		{d(Allow, Outside, "a", false), d(Ask, Outside, "a", false), false},
		{d(Ask, Outside, "a", false), d(Ask, Outside, "a", false), true},
		{d(Ask, Outside, "a", false), d(Ask, Outside, "b", false), false},
		{d(Ask, Outside, "a", false), d(Ask, Inside, "a", false), false},
		{d(Deny, Outside, "a", false), d(Deny, Outside, "a", false), false},
		{d(Deny, Outside, "a", true), d(Deny, Outside, "a", true), true},
		{d(Deny, Outside, "a", true), d(Deny, Outside, "a", false), false},
		{d(Deny, Outside, "a", false), d(Deny, Outside, "a", true), false},
		{Decision{}, Decision{}, false},
	} {
		if got := tt.now.Still(&tt.was); got != tt.want {
			t.Errorf("%+v, and then %+v: %v", tt.was, tt.now, got)
		}
	}
}

// TestOnlyReads: what only reads is told from what runs code, or waits and then acts.
func TestOnlyReads(t *testing.T) {
	for line, want := range map[string]bool{
		"cat a.txt": true, "tail -n 5 /tmp/x/out | grep -c a": true, "ls -l; wc -l < a.txt": true, "cat /root/x": true, "grep -r a $TMPDIR/x*": true, "until test -e a; do :; done": true,
		"until test -e a; do :; done; mv b c": false, "cat a > b": false, "python3 x.py": false, "tail -f a | python3 x.py": false, "./tail a": false, "kill 1": false, "unheard-of a": false,
		"jq . a": false, "touch a": false, "docker ps": true, "curl https://example.com": false, "$X a": false, "eval \"$x\"": false, "find . -exec x {} +": false, "sed -n w\\ f a": false, "git stash": false,
	} {
		d, _ := spec{mode: "bypassPermissions", risk: true, unlisted: UnlistedRisk}.sandboxedBy(t, said(line))
		if d.OnlyReads != want {
			t.Errorf("%s: %v (%s, %s, %s)", line, d.OnlyReads, d.Behavior, d.Sandbox, d.Reason)
		}
		if got := slices.Contains(d.Programs, "cat"); got != (line == "cat a.txt" || line == "cat /root/x") {
			t.Errorf("%s: %q", line, d.Programs)
		}
	}
}
