package approval

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/workspace"
	"github.com/agent-wrapper/agent-wrapper/modes"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

var place = patterns.Place{Workspace: "/home/dev/proj", Home: "/home/dev"}

// lists holds the rules of a policy, each list separated by ";".
type lists struct {
	allow, ask, deny string
	riskOff          bool
	mode             modes.Mode
	further          []*permission.Policy
}

func set(t testing.TB, list patterns.List, text string) *patterns.Set {
	t.Helper()
	var rules []*patterns.Rule
	for _, one := range strings.Split(text, ";") {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		r, _, err := patterns.Parse(one, list, patterns.Source{Name: "test"})
		if err != nil {
			t.Fatal(err)
		}
		rules = append(rules, r)
	}
	return patterns.NewSet(place, rules...)
}

func evaluator(t testing.TB, l lists) *permission.Evaluator {
	t.Helper()
	if l.mode == 0 {
		l.mode = modes.Default
	}
	return &permission.Evaluator{
		Policy: &permission.Policy{
			Mode: l.mode, Place: place, RiskOff: l.riskOff, Further: l.further,
			Allow: set(t, patterns.Allow, l.allow), Ask: set(t, patterns.Ask, l.ask), Deny: set(t, patterns.Deny, l.deny),
		},
		Session: permission.NewSession(place),
		Env:     workspace.Fake{},
	}
}

var fieldOf = map[string]string{
	"Bash": "command", "Read": "file_path", "Edit": "file_path", "Write": "file_path", "WebFetch": "url", "Skill": "skill",
	"WebSearch": "query", "PowerShell": "command", "Task": "subagent_type",
}

// using parses "Tool: what it is asked for".
func using(text string) permission.ToolUse {
	tool, what, _ := strings.Cut(text, ": ")
	input := []byte("{}")
	if field := fieldOf[tool]; field != "" {
		input, _ = json.Marshal(map[string]string{field: what})
	}
	return permission.ToolUse{Tool: tool, Input: input, Dir: place.Workspace}
}

// written formats a ladder.
func written(rungs []Rung, err error) string {
	if err != nil {
		return "none: " + err.Error() + "\n"
	}
	text := ""
	for _, r := range rungs {
		text += r.Label + " = " + strings.Join(r.Rules, ", ") + "\n"
	}
	return text
}

// TestEveryFileHoldsWhatIsHeld checks that the rung for all files of the workspace lifts
// no hold and no denial, and answers for nothing outside.
func TestEveryFileHoldsWhatIsHeld(t *testing.T) {
	v := evaluator(t, lists{ask: "Edit; Bash(cp:*)", deny: "Edit(secrets/**)"})
	v.Policy.Guarded = []string{place.Workspace + "/agent-wrapper.toml"}
	r := v.Request(using("Edit: src/a.go"))
	rungs, err := Ladder(&r)
	if err != nil || len(rungs) != 3 || rungs[2].Label != everyFileLabel {
		t.Fatalf("%+v, %v", rungs, err)
	}
	if err := v.Session.Allow(rungs[2].Rules[0]); err != nil {
		t.Fatal(err)
	}
	for use, want := range map[string]permission.Behavior{
		"Edit: src/a.go": permission.Allow, "Write: new/b.go": permission.Allow, "Write: c.go": permission.Allow, "Edit: .editorconfig": permission.Allow,
		"Edit: secrets/x": permission.Deny, "Edit: .git/config": permission.Ask, "Write: .git/hooks/pre-commit": permission.Ask, "Edit: agent-wrapper.toml": permission.Ask,
		"Edit: .vscode/settings.json": permission.Ask, "Edit: /srv/x/y": permission.Ask, "Edit: ../other/x": permission.Ask, "Edit: src/../../x": permission.Ask,
		"Bash: cp src/a.go src/b.go": permission.Ask, "Read: /srv/x/y": permission.Ask, "Bash: rm -rf src": permission.Deny,
	} {
		if d := v.Request(using(use)).Decision; d.Behavior != want {
			t.Errorf("%s: %s (%s), want %s", use, d.Behavior, d.Reason, want)
		}
	}
}

// TestNoRungForEveryFile checks where the rung would be for another place than a person
// would take it for.
func TestNoRungForEveryFile(t *testing.T) {
	for name, at := range map[string]patterns.Place{
		"the workspace is the home directory": {Workspace: "/home/dev", Home: "/home/dev"},
		"the home directory is in it":         {Workspace: "/home", Home: "/home/dev"},
		"it is not known":                     {Home: "/home/dev"},
	} {
		v := evaluator(t, lists{})
		p := *v.Policy
		p.Place, v.Policy, v.Session = at, &p, permission.NewSession(at)
		use := using("Edit: /home/dev/proj/src/a.go")
		r := v.Request(use)
		if all := written(Ladder(&r)); strings.Contains(all, "workspace") {
			t.Errorf("%s: %s", name, all)
		}
	}
}

// everyFileRule is the widest rung for an edit, as written has it.
const everyFileRule = everyFileLabel + " = Edit(//home/dev/proj/**)\n"

func TestLadder(t *testing.T) {
	risky := lists{ask: "Bash; Read; Edit; WebFetch; Skill; WebSearch; mcp__*"}
	tests := []struct {
		use  string
		l    lists
		want string
	}{
		{"Bash: git push origin main", risky, "exactly `git push origin main` = Bash(git push origin main)\nany `git push` command, --force too = Bash(git push:*)\n"},
		{"Bash: ls -l src", risky, "exactly `ls -l src` = Bash(ls -l src)\nany `ls` command = Bash(ls:*)\n"},
		{"Bash: npm run test -- -v", risky, "exactly `npm run test -- -v` = Bash(npm run test -- -v)\nany `npm run test` command = Bash(npm run test:*)\n"},
		{"Bash: make check", risky, "exactly `make check` = Bash(make check)\nany `make check` command = Bash(make check:*)\n"},
		{"Bash: python3 build.py --fast", lists{ask: "Bash"}, "exactly `python3 build.py --fast` = Bash(python3 build.py --fast)\nany `python3 build.py` command = Bash(python3 build.py:*)\n"},
		{"Bash: bash build.sh", lists{ask: "Bash"}, "exactly `bash build.sh` = Bash(bash build.sh)\nany `bash build.sh` command = Bash(bash build.sh:*)\n"},
		{"Bash: frobnicate up --now", lists{ask: "Bash"}, "exactly `frobnicate up --now` = Bash(frobnicate up --now)\nany `frobnicate up` command = Bash(frobnicate up:*)\nany `frobnicate` command = Bash(frobnicate:*)\n"},
		{"Bash: sudo npm test", risky, "exactly `sudo npm test` = Bash(sudo npm test)\n"},
		{"Bash: env npm test", risky, "exactly `env npm test` = Bash(env npm test)\n"},
		{"Bash: /usr/bin/python3.13 -V", risky, "exactly `/usr/bin/python3.13 -V` = Bash(/usr/bin/python3.13 -V)\n"},
		{"Bash: rm notes.txt", risky, "exactly `rm notes.txt` = Bash(rm notes.txt)\n"},
		{"Bash: wipefs x", lists{ask: "Bash"}, "exactly `wipefs x` = Bash(wipefs x)\n"},
		{"Bash: kill 1234", lists{}, "exactly `kill 1234` = Bash(kill 1234)\n"},
		{"Bash: kill -9 1234; git push", lists{ask: "Bash(git:*)"}, "exactly `kill -9 1234`; exactly `git push` = Bash(kill -9 1234), Bash(git push)\nexactly `kill -9 1234`; any `git push` command, --force too = Bash(kill -9 1234), Bash(git push:*)\n"},
		{"Bash: kill $PID", lists{}, "none: run kill …: any `kill` command may be tier 3\n"},
		{"Bash: systemctl restart x", lists{}, "exactly `systemctl restart x` = Bash(systemctl restart x)\nany `systemctl restart` command = Bash(systemctl restart:*)\n"},
		{"Bash: cat \"$f\"", lists{ask: "Bash"}, "any `cat` command = Bash(cat:*)\n"},
		{"Bash: git status && npm test", risky, "exactly `git status`; exactly `npm test` = Bash(git status), Bash(npm test)\nany `git status` command; any `npm test` command = Bash(git status:*), Bash(npm test:*)\n"},
		{"Bash: npm test; npm test", risky, "exactly `npm test` = Bash(npm test)\nany `npm test` command = Bash(npm test:*)\n"},
		{"Bash: echo it > out/a.txt", lists{allow: "Bash(echo:*)"}, "changing `/home/dev/proj/out/a.txt` = Edit(//home/dev/proj/out/a.txt)\nchanging anything below `/home/dev/proj/out` = Edit(//home/dev/proj/out/**)\n"},
		{"Bash: echo it > a.txt", lists{allow: "Bash(echo:*)"}, "changing `/home/dev/proj/a.txt` = Edit(//home/dev/proj/a.txt)\n"},
		{"Bash: cp a.txt /tmp/x", lists{allow: "Bash(ls:*)"}, "exactly `cp a.txt /tmp/x` = Bash(cp a.txt /tmp/x)\nany `cp` command; changing `/tmp/x`; changing anything below `/tmp/x` = Bash(cp:*), Edit(//tmp/x), Edit(//tmp/x/**)\n"},
		{"Read: src/a.go", risky, "reading `/home/dev/proj/src/a.go` = Read(//home/dev/proj/src/a.go)\nreading anything below `/home/dev/proj/src` = Read(//home/dev/proj/src/**)\n"},
		{"Read: src/[a]*.go", risky, "reading `/home/dev/proj/src/[a]*.go` = Read(//home/dev/proj/src/\\[a]\\*.go)\nreading anything below `/home/dev/proj/src` = Read(//home/dev/proj/src/**)\n"},
		{"Write: a.go", risky, "changing `/home/dev/proj/a.go` = Edit(//home/dev/proj/a.go)\n" + everyFileRule},
		{"Edit: src/[a]/b.go", risky, "changing `/home/dev/proj/src/[a]/b.go` = Edit(//home/dev/proj/src/\\[a]/b.go)\nchanging anything below `/home/dev/proj/src/[a]` = Edit(//home/dev/proj/src/\\[a]/**)\n" + everyFileRule},
		{"Edit: /srv/data/x/y", risky, "changing `/srv/data/x/y` = Edit(//srv/data/x/y)\nchanging anything below `/srv/data/x` = Edit(//srv/data/x/**)\n"},
		{"Edit: ../project/y", risky, "changing `/home/dev/project/y` = Edit(//home/dev/project/y)\nchanging anything below `/home/dev/project` = Edit(//home/dev/project/**)\n"},
		{"Read: /home/dev/.ssh/known_hosts", risky, "reading `/home/dev/.ssh/known_hosts` = Read(//home/dev/.ssh/known_hosts)\n"},
		{"Read: /etc/hosts", risky, "reading `/etc/hosts` = Read(//etc/hosts)\n"},
		{"Read: /usr/share/doc/x", risky, "reading `/usr/share/doc/x` = Read(//usr/share/doc/x)\nreading anything below `/usr/share/doc` = Read(//usr/share/doc/**)\n"},
		{"WebFetch: https://go.dev/doc", risky, "fetching from `go.dev` = WebFetch(domain:go.dev)\n"},
		{"Skill: pdf", risky, "the tool `Skill` for `pdf` = Skill(pdf)\nany use of the tool `Skill` = Skill\n"},
		{"PowerShell: ls", lists{}, "the tool `PowerShell` for `ls` = PowerShell(ls)\n"},
		{"REPL: x", lists{}, "none: use REPL: no rule can name it\n"},
		{"mcp__gh__list", lists{}, "the tool `mcp__gh__list` = mcp__gh__list\nany tool of the MCP server `gh` = mcp__gh__*\n"},
		{"mcp__gh__list__all", lists{}, "the tool `mcp__gh__list__all` = mcp__gh__list__all\n"},
		{"Frob: x", lists{}, "any use of the tool `Frob` = Frob\n"},

		{"Bash: rm -rf build", lists{ask: "Bash(rm:*)"}, "none: run rm -rf build: tier 3 can only be approved once\n"},
		{"Bash: python3 -c 'x'", lists{allow: "Read"}, "none: run python3 -c x: not everything it does can be kept: it cannot be analysed\n"},
		{"Bash: $x", lists{allow: "Bash", deny: "Bash(rm:*)"}, "none: this can only be approved once\n"},
		{"Bash: curl -H 'Authorization: Bearer abcdefghijklmnopqrstuvwxyz012345' https://go.dev/", lists{ask: "Bash"}, "any `curl` command = Bash(curl:*)\n"},
		{"Bash: frob --password hunter2secret up", risky, "none: read /home/dev/proj/hunter2secret: it contains what looks like a secret\n"},
		{"Bash: frob --password hunter2secret up", lists{ask: "Bash"}, "any `frob` command = Bash(frob:*)\n"},
		{"Bash: mysql -phunter2secret db", risky, "none: run mysql -phunter2secret db: not everything it does can be kept: it cannot be analysed\n"},
		{"Bash: ls", lists{allow: "Bash"}, "none: there is nothing to keep\n"},
		{"WebFetch: https://a@go.dev\\@evil.example/", risky, "none: fetch https://a@go.dev\\@evil.example/: no rule can name it\n"},
		{"ExitPlanMode: x", lists{}, "none: this can only be approved once\n"},
	}
	for _, tt := range tests {
		r := evaluator(t, tt.l).Request(using(tt.use))
		if d := cmp.Diff(tt.want, written(Ladder(&r))); d != "" {
			t.Errorf("%s:\n%s", tt.use, d)
		}
	}
}

// TestLadderOfARemoval: what removes directories that a tool makes anew may be kept
// for the session, word for word; other removals may not.
func TestLadderOfARemoval(t *testing.T) {
	v := evaluator(t, lists{allow: "Bash"})
	r := v.Request(using("Bash: rm -rf node_modules"))
	want := []Rung{{Label: "exactly `rm -rf node_modules`", Rules: []string{"Bash(rm -rf node_modules)"}}}
	if rungs, err := Ladder(&r); err != nil || !cmp.Equal(rungs, want) {
		t.Errorf("%v %s", err, cmp.Diff(want, rungs))
	}
	r = v.Request(using("Bash: rm -rf src"))
	if rungs, err := Ladder(&r); err == nil {
		t.Errorf("%v", rungs)
	}
}

func TestTooManyParts(t *testing.T) {
	line := "npm test"
	for i := range maxParts {
		line += fmt.Sprint("; npm run x", i)
	}
	r := evaluator(t, lists{allow: "Read"}).Request(using("Bash: " + line))
	if got := written(Ladder(&r)); !strings.HasPrefix(got, "none: it has 13 parts") {
		t.Error(got)
	}
}

// A rung answers for what every policy asks about, not only for the first one.
func TestLadderOfAnotherPolicy(t *testing.T) {
	more := evaluator(t, lists{ask: "Bash(npm:*)", allow: "Bash"}).Policy
	v := evaluator(t, lists{ask: "Bash(git:*)", allow: "Bash", further: []*permission.Policy{more}})
	use := using("Bash: git status; npm test")
	r := v.Request(use)
	rungs, err := Ladder(&r)
	if err != nil || len(rungs) == 0 || !slices.Equal(rungs[0].Rules, []string{"Bash(git status)", "Bash(npm test)"}) {
		t.Fatalf("%v %v", rungs, err)
	}
	if err := v.Session.Allow(rungs[0].Rules[0]); err != nil {
		t.Fatal(err)
	}
	then := v.Request(use)
	if got := then.Decision.Unapproved(); then.Decision.Behavior != permission.Ask || len(got) != 1 || got[0].Action != "run npm test" {
		t.Errorf("%s: %+v", then.Decision.Behavior, got)
	}
	if err := v.Session.Allow(rungs[0].Rules[1]); err != nil {
		t.Fatal(err)
	}
	if then = v.Request(use); then.Decision.Behavior != permission.Allow {
		t.Errorf("%s: %s", then.Decision.Behavior, then.Decision.Reason)
	}
}

// fading is a file system that fails after some questions about Go files.
type fading struct {
	workspace.Fake
	left *int
}

func (f fading) Resolve(name string) (string, bool) {
	if strings.HasSuffix(name, ".go") {
		*f.left--
	}
	return name, *f.left >= 0
}

// A ladder uses what the file system said when the tool use was read, whatever
// it would say now.
func TestLadderWhileTheWorldChanges(t *testing.T) {
	for n := range 4 {
		left := n
		v := evaluator(t, lists{ask: "Read"})
		v.Env = fading{left: &left}
		r := v.Request(using("Read: src/a.go"))
		read := left
		_, err := Ladder(&r)
		if left != read {
			t.Errorf("%d: the ladder asks the file system %d times", n, read-left)
		}
		if known := read >= 0; known != (err == nil) {
			t.Errorf("%d: %v", n, err)
		}
	}
}

// A request that was not made by an evaluator offers nothing.
func TestForgedRequest(t *testing.T) {
	r := permission.Request{Decision: permission.Decision{Behavior: permission.Ask, Parts: []permission.Part{
		{Behavior: permission.Ask, Action: "run ls", Exact: "Bash(ls)", Subject: permission.Subject{Kind: patterns.FetchURL}},
	}}}
	if got := written(Ladder(&r)); got != "none: run ls: the request does not come from an evaluator\n" {
		t.Error(got)
	}
	if got := Denials(&r); got != nil {
		t.Error(got)
	}
}

func TestDenials(t *testing.T) {
	tests := []struct {
		use, want string
		l         lists
	}{
		{"Bash: git push origin", "`git push origin`, however it is written = Bash(git push origin)\nevery `git push` command, however it is written = Bash(git push:*)\n", lists{allow: "Read"}},
		{"Bash: rm -rf build", "`rm -rf build`, however it is written = Bash(rm -rf build)\nevery `rm` command, however it is written = Bash(rm:*)\n", lists{ask: "Bash(rm:*)"}},
		{"Bash: git log $x", "every `git log` command, however it is written = Bash(git log:*)\n", lists{allow: "Read"}},
		{"Bash: $x", "", lists{allow: "Read"}},
		{"Read: src/a.go", "reading `/home/dev/proj/src/a.go` and everything below it = Read(//home/dev/proj/src/a.go)\n", lists{ask: "Read"}},
		{"WebFetch: https://go.dev/doc", "fetching from `go.dev` and its subdomains = WebFetch(domain:go.dev)\n", lists{}},
		{"Skill: pdf", "the tool `Skill` for `pdf` = Skill(pdf)\n", lists{}},
		{"REPL: x", "", lists{}},
		{"Write: a.go", "changing `/home/dev/proj/a.go` and everything below it = Edit(//home/dev/proj/a.go)\n", lists{}},
		{"Bash: mysql -phunter2secret db", "every `mysql` command, however it is written = Bash(mysql:*)\n", lists{allow: "Read"}},
	}
	for _, tt := range tests {
		v := evaluator(t, tt.l)
		r := v.Request(using(tt.use))
		rungs := Denials(&r)
		if d := cmp.Diff(tt.want, written(rungs, nil)); d != "" {
			t.Errorf("%s:\n%s", tt.use, d)
		}
		for _, rung := range rungs {
			fresh := evaluator(t, tt.l)
			if err := fresh.Session.Deny(rung.Rules[0]); err != nil {
				t.Fatal(err)
			}
			if d := fresh.Request(using(tt.use)).Decision; d.Behavior != permission.Deny || d.Layer != permission.LayerSessionDeny {
				t.Errorf("%s: %s does not deny it: %s", tt.use, rung.Rules[0], d.Reason)
			}
		}
	}
}

// "However it is written": a denial matches other spellings of the same
// command, and no other commands.
func TestDenialsSeeThroughSpelling(t *testing.T) {
	v := evaluator(t, lists{ask: "Bash(rm:*); Bash(git:*)"})
	r := v.Request(using("Bash: rm -rf build"))
	if err := v.Session.Deny(Denials(&r)[0].Rules[0]); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]bool{
		"rm -fr build": true, "/bin/rm -r -f build": true, "rm --recursive --force build": true, "ls && rm -rf build": true, `r\m -rf 'build'`: true,
		"rm -rf other": false, "rm notes.txt": false, "git push": false,
	} {
		if d := v.Request(using("Bash: " + line)).Decision; (d.Layer == permission.LayerSessionDeny) != want {
			t.Errorf("%s: by %s, denied for the session %v wanted", line, d.Layer, want)
		}
	}
}

// For programs that run what they are given, no rule that leaves words open is
// offered.
func TestNothingThatRunsAnything(t *testing.T) {
	wraps := []string{
		"nohup", "time", "timeout", "nice", "npx", "docker", "docker run", "docker exec", "docker compose", "kubectl", "kubectl exec", "git", "npm", "npm run", "npm exec",
		"cargo", "cargo run", "go", "go run", "uv", "uv run", "poetry", "poetry run", "make", "just", "nix", "pipx", "find", "flock", "hyperfine", "deno run", "pnpm", "yarn",
	}
	var interpreters []string
	for p := range program.Builtin {
		if p.Facts&program.Interpreter != 0 && !strings.ContainsAny(p.Name, "0123456789.") {
			interpreters = append(interpreters, p.Name)
		}
	}
	offered := 0
	for _, words := range slices.Concat(interpreters, wraps) {
		name, _, _ := strings.Cut(words, " ")
		for _, tail := range []string{"", " x", " x y", " -c x", " ./x y", " -x", " -- x", ` "$x"`, " run x", " exec x y"} {
			for _, line := range []string{words + tail, "/usr/bin/" + words + tail, name + tail} {
				r := evaluator(t, lists{ask: "Bash"}).Request(using("Bash: " + line))
				rungs, _ := Ladder(&r)
				for _, rung := range rungs {
					offered++
					for _, rule := range rung.Rules {
						open := strings.TrimPrefix(strings.TrimSuffix(strings.TrimPrefix(rule, "Bash("), ":*)"), "/usr/bin/")
						if strings.HasSuffix(rule, ":*)") && (slices.Contains(interpreters, open) || slices.Contains(wraps, open) && open != "find") {
							t.Errorf("%s: %s", line, rule)
						}
					}
				}
			}
		}
	}
	if offered < 300 {
		t.Errorf("only %d rungs", offered)
	}
}

func BenchmarkLadder(b *testing.B) {
	for _, line := range []string{"git push origin main", "git status && npm test && echo it > out/a.txt"} {
		r := evaluator(b, lists{allow: "Read"}).Request(using("Bash: " + line))
		b.Run(line, func(b *testing.B) {
			for b.Loop() {
				if _, err := Ladder(&r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkAsk measures the cost of a question before a person sees it: the
// decision, what may be kept and what may be denied.
func BenchmarkAsk(b *testing.B) {
	v := evaluator(b, lists{allow: "Read"})
	use := using("Bash: npm install && npm test && git push")
	for b.Loop() {
		r := v.Request(use)
		rungs, err := Ladder(&r)
		if err != nil || len(rungs) == 0 || len(Denials(&r)) == 0 {
			b.Fatal(rungs, err)
		}
	}
}

// reader is a gate that counts how often each line is parsed, since each parse
// asks the gate.
type reader map[string]int

func (r reader) Forbid(line string, _ *shell.Facts) permission.Refusal {
	r[line]++
	return permission.Refusal{}
}

// What may be kept or denied for a tool use is judged by the reading that it
// was decided by.
func TestAskIsReadOnce(t *testing.T) {
	const line = "npm install && npm test && git push"
	v := evaluator(t, lists{allow: "Read", deny: "Bash(curl:*)"})
	read := reader{}
	v.CommandGate = read
	r := v.Request(using("Bash: " + line))
	if rungs, err := Ladder(&r); err != nil || len(rungs) < 2 || len(Denials(&r)) < 3 {
		t.Fatal(rungs, err)
	}
	if read[line] != 1 || len(read) != 1 {
		t.Errorf("read: %v", read)
	}
}
