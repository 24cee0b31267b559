package permission

import (
	"slices"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// The rows of design section 5.

// "acceptEdits: allows write actions inside the workspace, and the command
// action of a program whose purpose is to write its operands when all of them
// lie inside; any other command still needs its own cover."
func TestAcceptEdits(t *testing.T) {
	s := spec{mode: "acceptEdits", unlisted: UnlistedAsk, allow: "Bash(echo:*); Read"}
	check(t, s,
		row{"Edit: src/a.go", "allow mode"},
		row{"Write: /home/dev/proj/new", "allow mode"},
		row{"MultiEdit: a", "allow mode"},
		row{"NotebookEdit: a.ipynb", "allow mode"},
		row{"Bash: touch src/a", "allow mode"},
		row{"Bash: mkdir -p a/b && touch a/b/c", "allow mode"},
		row{"Bash: cp a b", "allow mode"},
		row{"Bash: mv a b", "allow mode"},
		row{"Bash: rmdir a", "allow mode"},
		row{"Bash: chmod +x a", "allow mode"},
		// programs that write what their words name, and nothing else
		row{"Bash: sed -i s/a/b/ a", "allow mode"},
		row{"Bash: sed -n -E -i.bak '/x/d' a b", "allow mode"},
		row{"Bash: find src -name '*.go' -exec sed -i s/a/b/ {} +", "ask allow-list"}, // of find
		row{"Bash: echo x | tee out", "allow default Bash(echo:*)"},
		row{"Bash: truncate -s 0 out", "allow mode"},
		row{"Bash: gofmt -w src", "allow mode"},
		row{"Bash: echo x > out", "allow default Bash(echo:*)"},
		row{"Bash: cd sub && touch x", "ask allow-list"},
		// outside, or not known to be inside
		row{"Edit: /etc/hosts", "ask allow-list"},
		row{"Edit: ../x", "ask allow-list"},
		row{"Bash: touch /tmp/x", "ask allow-list"},
		row{"Bash: touch a /tmp/x", "ask allow-list"},
		row{"Bash: cp /etc/passwd b", "ask allow-list"},
		row{`Bash: touch "$f"`, "ask allow-list"},
		row{"Bash: echo x > /tmp/x", "ask allow-list"},
		row{"Bash: echo x > $f", "ask allow-list"},
		// no purpose, no mode
		row{"Bash: npm install", "ask allow-list"},
		row{"Bash: sort -o out in", "ask allow-list"},
		row{"Bash: sed s/a/b/ a", "ask allow-list"}, // it writes nothing
		row{"Bash: tee out /tmp/x", "ask allow-list"},
		row{"Bash: tee /dev/null", "ask allow-list"},
		row{"Bash: sed -i 'w /tmp/x' a", "ask allow-list"},
		row{"Bash: sed -i s/a/b/ a /tmp/x", "ask allow-list"},
		row{"Bash: sed -i 's/a/rm b/e' a", "ask allow-list"},
		row{"Bash: ./sed -i s/a/b/ a", "ask allow-list"},
		row{"Bash: touch a; npm install", "ask allow-list"},
		row{"Bash: ./touch a", "ask allow-list"},
		row{"Bash: FOO=1 touch a", "ask allow-list"},
		row{"Bash: touch $(npm install)", "ask allow-list"},
		row{"Bash: mkdir", "ask allow-list"},
		row{"Bash: $x a", "ask allow-list"},
	)
}

// TestAcceptEditsRemovesNothing checks that the mode answers neither for what
// removes files nor for what lets everybody write them.
func TestAcceptEditsRemovesNothing(t *testing.T) {
	for _, command := range []string{
		"rm a", "rm -f a b", "rm -r sub", "rm src/*", "unlink a", "shred a", "find src -delete", "find src -exec rm {} +", "ls src | xargs rm",
		"git rm a", "git clean -f src", "rsync -a --delete a/ b/", "mkdir x && rm a", "mv a /dev/null",
		"chmod -R 777 src", "chmod --recursive 0777 src", "chmod 666 a", "chmod a+rw a", "chmod u+x,o=u a", "chmod u+s a", "chmod 4755 a", "chmod ugo+w -R src",
		"find src -exec chmod -R 777 {} +", "chmod $m a",
	} {
		for _, s := range []spec{{mode: "acceptEdits"}, {mode: "acceptEdits", risk: true, allow: "Read; Bash(ls:*)", unlisted: UnlistedRisk}} {
			if d := s.decideOn(t, using("Bash", command)); d.Behavior != Ask {
				t.Errorf("%s: %s by %s (%s)", command, d.Behavior, d.Layer, d.Reason)
			}
		}
	}
	check(t, spec{mode: "acceptEdits", allow: "Bash(rm:*); Bash(chmod -R:*)"}, row{"Bash: rm a", "allow default Bash(rm:*)"}, row{"Bash: chmod -R 777 src", "allow default Bash(chmod -R:*)"})
	check(t, spec{mode: "acceptEdits"}, row{"Bash: chmod -R u+w,go-w src", "allow mode"}, row{"Bash: chmod 0755 a", "allow mode"}, row{"Bash: chmod a+rx a", "allow mode"})
}

// "Not where an ask rule with a specifier names that path."
func TestAskWithSpecifierBeatsAcceptEdits(t *testing.T) {
	s := spec{mode: "acceptEdits", ask: "Edit(*.lock); Bash(mv:*); Read(./.env)"}
	check(t, s,
		row{"Edit: go.lock", "ask ask-list Edit(*.lock)"},
		row{"Edit: sub/go.lock", "ask ask-list Edit(*.lock)"},
		row{"Bash: touch go.lock", "ask default"}, // nothing covers the command now
		row{"Bash: touch go.mod", "allow mode"},
		row{"Bash: mv a b", "ask ask-list Bash(mv:*)"},
		row{"Edit: .env", "allow mode"},
	)
	// A bare ask does not exclude from the mode.
	check(t, spec{mode: "acceptEdits", ask: "Edit; Bash"}, row{"Edit: a", "allow mode"}, row{"Bash: touch a", "allow mode"})
	g := patterns.GranularSpec{Tools: []string{"Edit"}, Paths: []string{"db/**"}, Action: patterns.Ask}
	check(t, spec{mode: "acceptEdits", rules: []patterns.GranularSpec{g}},
		row{"Edit: db/schema.sql", "ask rules " + granularName(t, g)},
		row{"Edit: a", "allow mode"},
	)
}

// "Protected paths: a mode never answers for them", and they are held.
func TestProtectedPaths(t *testing.T) {
	s := spec{mode: "acceptEdits", allow: "Read", unlisted: UnlistedAsk, env: fakeFS{links: map[string]string{workspace + "/link": workspace + "/.git"}}}
	var held []row
	for _, use := range []string{
		"Edit: .git/hooks/pre-commit", "Edit: .git/config", "Edit: sub/module/.git/config", "Edit: .GIT/hooks/x", "Edit: .mcp.json",
		"Edit: .vscode/tasks.json", "Edit: .vscode", "Edit: .vscode/notes.md", "Edit: .claude/agents/x.md", "Edit: .bashrc", "Edit: x/../.envrc",
		"Edit: vendor/evil/HEAD", "Edit: HEAD", "Edit: .poetry/plugins/x.py", "Bash: cp x sub/HEAD", "Bash: touch a HEAD",
		"Edit: link/hooks/pre-commit", "Bash: echo x > .git/hooks/pre-commit", "Bash: touch .git/hooks/pre-commit", "Bash: touch a .mcp.json",
		"Bash: mv x .husky/pre-commit", "Bash: chmod -R 777 .vscode", "Bash: chmod -R 777 /home/dev/proj",
	} {
		held = append(held, row{use, "ask guard held"})
	}
	check(t, s, held...)
	check(t, s,
		row{"Edit: .gitignore", "allow mode"},
		row{"Edit: head", "allow mode"},
		row{"Edit: src/HEAD/x.go", "allow mode"},
		row{"Edit: src/HEADER", "allow mode"},
		row{"Edit: git/hooks/x", "allow mode"},
		row{"Edit: bashrc", "allow mode"},
		row{"Edit: x.mcp.json", "allow mode"},
	)
	// A rule of the user that names them applies.
	s.allow = "Edit(.mcp.json); Bash(touch:*)"
	check(t, s,
		row{"Edit: .mcp.json", "allow default Edit(.mcp.json)"},
		row{"Bash: touch .git/hooks/x", "ask guard held"},
		row{"Bash: touch .git/hooks/x; touch a", "ask guard held"},
	)
	s.allow = "Bash(touch .git/hooks/x)"
	check(t, s,
		row{"Bash: touch .git/hooks/x", "allow default Bash(touch .git/hooks/x)"},
		row{"Bash: touch .git/hooks/y", "ask guard held"},
		row{"Bash: touch .git/hooks/x a", "ask guard held"},
	)
}

// "bypassPermissions: allows everything that reaches it. Hard denies, held
// asks and protected paths stand."
func TestBypass(t *testing.T) {
	s := spec{mode: "bypassPermissions", ask: "Bash(git push:*)", deny: "Bash(curl:*)"}
	check(t, s,
		row{"Bash: npm install", "allow mode"},
		row{"Bash: git push", "allow mode"},
		row{"Bash: echo x > /tmp/x", "allow mode"},
		row{"Bash: curl x.example", "deny deny-list Bash(curl:*)"},
		row{"Bash: $x", "ask deny-list Bash(curl:*) held"},
		row{"Edit: /etc/hosts", "allow mode"},
		row{"mcp__x__y: {}", "allow mode"},
		row{"Edit: .git/hooks/x", "ask guard held"},
		row{"Edit: /etc/crontab", "ask guard held"},
		row{"Edit: /home/dev/.ssh/authorized_keys", "ask guard held"},
		row{"Bash: echo x >> ~/.bashrc", "ask guard held"},
		row{"Bash: touch .git/hooks/x", "ask guard held"},
		row{"Bash: python3 -c 'print(1)'", "ask deny-list Bash(curl:*) held"},
	)
	check(t, spec{mode: "bypassPermissions"},
		row{"Bash: python3 -c 'print(1)'", "allow mode"},
		row{"Bash: eval \"$x\"", "allow mode"},
		row{"Bash: rm -rf ~", "deny guard"},
		row{"ExitPlanMode: {}", "ask default held"},
	)
	// The allow list has no effect either.
	check(t, spec{mode: "bypassPermissions", allow: "Read"}, row{"Bash: npm i", "allow mode"})
}

// "plan: only denies: whatever is neither tier 1, a read, a fetch nor
// housekeeping is denied with plan mode (always by the catalogue, also with
// risk = off)".
func TestPlan(t *testing.T) {
	for _, riskOn := range []bool{true, false} {
		s := spec{mode: "plan", risk: riskOn, allow: "Bash; Read; Edit; WebFetch; mcp__x", sessionAllow: "Edit"}
		check(t, s,
			row{"Bash: ls -la", "allow default Bash"},
			row{"Bash: cat a | head", "allow default Bash"},
			row{"Read: a", "allow default Read"},
			row{"WebFetch: https://example.com/", "allow default WebFetch"},
			row{"TodoWrite: {}", "allow default"},
			row{"Agent: {}", "allow default"},
			row{"Edit: a", "deny mode"},
			row{"Bash: touch a", "deny mode"},
			row{"Bash: ls > a", "deny mode"},
			row{"Bash: ls; npm i", "deny mode"},
			row{"Bash: python3 -c 'x'", "deny mode"},
			row{"mcp__x__y: {}", "deny mode"},
			row{"ExitPlanMode: {}", "ask default held"},
			row{"AskUserQuestion: {}", "ask default held"},
		)
	}
	// It allows nothing: a read still needs its rule.
	check(t, spec{mode: "plan", allow: "Bash"}, row{"Read: a", "deny allow-list"})
	check(t, spec{mode: "plan"}, row{"Read: a", "allow default"}, row{"Read: /etc/x", "ask default"})
}

func TestInvalidModeDenies(t *testing.T) {
	for _, p := range []*Policy{nil, {}, {Mode: 200}} {
		use := using("Read", "a")
		if d := Evaluate(p, nil, &use, fakeFS{}, nil); d.Behavior != Deny || d.Layer != LayerGuard {
			t.Errorf("%+v: %s", p, outcome(d))
		}
	}
	if d := Evaluate(spec{}.policy(t), nil, nil, nil, nil); d.Behavior != Deny {
		t.Error(outcome(d))
	}
}

// Design section 3.3.
func TestSpecialTools(t *testing.T) {
	s := spec{allow: "AskUserQuestion; ExitPlanMode; Bash", sessionAllow: "AskUserQuestion; ExitPlanMode", mode: "bypassPermissions"}
	check(t, s, row{"AskUserQuestion: {}", "ask default held"}, row{"ExitPlanMode: {}", "ask default held"})
	s.deny = "AskUserQuestion; ExitPlanMode; TodoWrite; Monitor"
	check(t, s,
		row{"AskUserQuestion: {}", "deny deny-list AskUserQuestion"},
		row{"ExitPlanMode: {}", "deny deny-list ExitPlanMode"},
		row{"TodoWrite: {}", "deny deny-list TodoWrite"},
		row{"Monitor: ls", "deny deny-list Monitor"},
	)
	use := using("AskUserQuestion", "{}")
	if d := (spec{}).decideOn(t, use); !d.Question || len(d.Unapproved()) != 0 {
		t.Errorf("%+v", d)
	}
	if d := (spec{}).decideOn(t, using("ExitPlanMode", "{}")); d.Question || len(d.Unapproved()) != 1 || d.Unapproved()[0].Exact != "" {
		t.Errorf("%+v", d)
	}
}

var housekeeping = []string{
	"TodoWrite", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate", "TaskOutput", "TaskStop",
	"ToolSearch", "ListAgents", "ReportFindings", "EnterPlanMode", "Agent", "Task", "SendMessage",
}

// "Housekeeping counts as listed, in every mode; still subject to deny and
// ask. A closed list."
func TestHousekeeping(t *testing.T) {
	tools.Builtins(func(name string) {
		if _, may := tools.Housekeeping(name, nil); may != (slices.Contains(housekeeping, name) || name == "StructuredOutput") {
			t.Errorf("%s: housekeeping is %v", name, may)
		}
	})
	for _, name := range housekeeping {
		for _, mode := range []string{"default", "acceptEdits", "plan", "dontAsk"} {
			check(t, spec{mode: mode, allow: "Read", risk: true}, row{name + ": {}", "allow default"})
		}
		check(t, spec{deny: name}, row{name + ": {}", "deny deny-list " + name})
		check(t, spec{allow: name, ask: name}, row{name + ": {}", "ask ask-list " + name})
	}
	check(t, spec{allow: "Read"}, row{"Skill: {\"skill\":\"x\"}", "ask allow-list"}, row{"CronCreate: {}", "ask allow-list"})
}

// "Monitor runs a command and is decided as one."
func TestMonitor(t *testing.T) {
	s := spec{allow: "Bash(tail:*)", ask: "Bash(git:*)", deny: "Bash(rm:*)"}
	check(t, s,
		row{"Monitor: tail -f log", "allow default Bash(tail:*)"},
		row{"Monitor: git log", "ask ask-list Bash(git:*)"},
		row{"Monitor: tail -f log; rm x", "deny deny-list Bash(rm:*)"},
	)
	check(t, spec{allow: "Monitor"}, row{"Monitor: ls", "ask allow-list"})
	check(t, spec{allow: "Bash", ask: "Monitor"}, row{"Monitor: ls", "ask ask-list Monitor"}, row{"Bash: ls", "allow default Bash"})
}

// A deny for Bash as a whole matches lines that run no command.
func TestBareBashDeny(t *testing.T) {
	check(t, spec{deny: "Bash", allow: "Edit"},
		row{"Bash: ls", "deny deny-list Bash"},
		row{"Bash: > x", "deny deny-list Bash"},
		row{"Bash: x=1", "deny deny-list Bash"},
		row{"Bash: # nothing", "deny deny-list Bash"},
		row{"Edit: x", "allow default Edit"},
	)
	check(t, spec{allow: "Edit; Bash(ls:*)", deny: "Bash(rm:*)"},
		row{"Bash: > x", "allow default Edit"},
		row{"Bash: x=1", "allow default"},
		row{"Bash: # nothing", "allow default"},
	)
}
