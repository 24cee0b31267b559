package permission

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// The layers of design section 3.1, in their order.

func TestGuard(t *testing.T) {
	all := spec{allow: "Bash; Read; Edit; Write; WebFetch", mode: "bypassPermissions"}
	malformed := []ToolUse{
		{Tool: "Bash", Input: json.RawMessage(`{"command":"ls"`)},
		{Tool: "Bash", Input: json.RawMessage(`{"command":"ls","command":"rm x"}`)},
		{Tool: "Bash", Input: json.RawMessage(`{"command":"ls","Command":"rm x"}`)},
		{Tool: "Bash", Input: json.RawMessage(`{"command":["ls"]}`)},
		{Tool: "Bash", Input: json.RawMessage(`{"command":"ls"} {}`)},
		{Tool: "Bash", Input: json.RawMessage(`{"command":" \n\t"}`)},
		{Tool: "Bash", Input: json.RawMessage(`{"command":"ls\u0000; rm x"}`)},
		{Tool: "Bash", Input: json.RawMessage("{\"command\":\"ls \xff\"}")},
		{Tool: "Bash", Input: json.RawMessage(`["ls"]`)},
		{Tool: "Bash", Input: json.RawMessage(`{}`)},
		{Tool: "Bash"},
		{Tool: "Read", Input: json.RawMessage(`{"path":"x"}`)},
		{Tool: "Edit", Input: json.RawMessage(`{"file_path":7}`)},
		{Tool: "Write", Input: json.RawMessage(`{"file_path":"` + strings.Repeat("a", maxField+1) + `"}`)},
		{Tool: "WebFetch", Input: json.RawMessage(`{"url":null}`)},
		{Tool: "Glob", Input: json.RawMessage(`{"path":"src"}`)},
		{Tool: "Grep", Input: json.RawMessage(`{"path":["src"],"pattern":"x"}`)},
		{Tool: "Write", Input: json.RawMessage(`{"file_path":"x","content":"` + strings.Repeat("a", maxInput) + `"}`)},
		{Tool: "", Input: json.RawMessage(`{}`)},
		{Tool: "Ba\x00sh", Input: json.RawMessage(`{}`)},
		{Tool: "Bash\xff", Input: json.RawMessage(`{}`)},
		{Tool: strings.Repeat("x", maxName+1), Input: json.RawMessage(`{}`)},
	}
	for _, use := range malformed {
		d := all.decideOn(t, use)
		if d.Behavior != Deny || d.Layer != LayerGuard || d.Tier != 3 || !strings.Contains(d.Message, "Denied") {
			t.Errorf("%s %.60s: %s", use.Tool, use.Input, outcome(d))
		}
	}
}

func TestGuardSaysWhatIsWrong(t *testing.T) {
	for _, tt := range []struct{ tool, input, want string }{
		{"Edit", `{"file_path":7}`, `"file_path" in the input of Edit must be a string`},
		{"Bash", `{"description":"x"}`, `the input of Bash lacks "command"`},
	} {
		if d := (spec{}).decideOn(t, ToolUse{Tool: tt.tool, Input: json.RawMessage(tt.input)}); !strings.Contains(d.Reason, tt.want) {
			t.Error(d.Reason)
		}
	}
}

// "agent paused (escalation)" is a hard deny of the guard and ends the turn.
func TestPaused(t *testing.T) {
	s := spec{allow: "Bash; Read", sessionAllow: "Read", mode: "bypassPermissions", paused: "3 hallucinated commands"}
	check(t, s, row{"Read: a.go", "deny guard"}, row{"Bash: ls", "deny guard"}, row{"TodoWrite: {}", "deny guard"})
	if d := s.decideOn(t, using("Read", "a.go")); !d.Interrupt || !strings.Contains(d.Reason, "3 hallucinated commands") {
		t.Errorf("%+v", d)
	}
}

// "Catastrophic … holds in every mode, under every rule, also with risk off;
// only catastrophic = off lifts it."
func TestCatastrophic(t *testing.T) {
	for _, mode := range []string{"default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"} {
		for _, riskOn := range []bool{true, false} {
			s := spec{mode: mode, risk: riskOn, allow: "Bash; Bash(rm -rf /)", sessionAllow: "Bash(rm -rf /)"}
			check(t, s, row{"Bash: rm -rf /", "deny guard"}, row{"Bash: cd / && rm -rf *", "deny guard"})
		}
	}
	check(t, spec{noCatastrophic: true, allow: "Bash"}, row{"Bash: rm -rf /usr", "allow default Bash"})
}

// "The guard's ask: writes to the policy itself, dangerouslyDisableSandbox" are
// held: no session rule, mode, list or granular rule lifts them.
func TestHeldByGuard(t *testing.T) {
	s := spec{
		mode: "bypassPermissions", allow: "Bash; Edit", sessionAllow: "Edit; Bash",
		guarded: []string{"/etc/aw/policy.toml", "/var/log/aw"},
	}
	check(t, s,
		row{"Edit: /etc/aw/policy.toml", "ask guard held"},
		row{"Edit: /etc/aw/../aw/./policy.toml", "ask guard held"},
		row{"Write: /var/log/aw/audit.jsonl", "ask guard held"},
		row{"Write: /var/log/aw", "ask guard held"},
		row{"Edit: agent-wrapper.toml", "ask guard held"},
		row{"Edit: .claude/settings.json", "ask guard held"},
		row{"Write: sub/.claude/settings.local.json", "ask guard held"},
		row{"Write: ~/.codex/hooks.json", "ask guard held"},
		row{"Write: .codex/config.toml", "ask guard held"},
		row{"Write: .gemini/settings.json", "ask guard held"},
		row{"Write: .qwen/settings.json", "ask guard held"},
		row{"Write: ~/.copilot/hooks/agent-wrapper.json", "ask guard held"},
		row{"Write: ~/.config/opencode/plugins/x.js", "ask guard held"},
		row{"Write: crush.json", "ask guard held"},
		row{"Write: /etc/gemini-cli/settings.json", "ask guard held"},
		row{"Write: /home/dev/.claude.json", "ask guard held"},
		row{"Bash: echo x > agent-wrapper.toml", "ask guard held"},
		row{"Bash: cp x /etc/aw/policy.toml", "ask guard held"},
		row{"Bash: echo x >> ~/.claude/settings.json", "ask guard held"},
		row{`Bash: for f in a; do echo > "$DIR/settings.json"; done`, "ask guard held"},
		row{"Bash: agent-wrapper trust x.toml", "ask guard held"},
		row{`Bash: agent-wrapper tru"$x"st x.toml`, "ask guard held"},
		row{`Bash: agent-wrapper tru"$x"rust x.toml`, "allow session-allow Bash"},
		row{"Bash: sudo ./bin/agent-wrapper untrust x.toml", "ask guard held"},
		row{"Bash: cd sub && agent-wrapper init --force", "ask guard held"},
		row{"Bash: agent-wrapper resume --plan .", "ask guard held"},
		row{"Bash: agent-wrapper install claude", "ask guard held"},
		row{"Bash: sudo agent-wrapper install --scope managed --yes codex", "ask guard held"},
		row{"Bash: ./bin/agent-wrapper uninstall --all --yes", "ask guard held"},
		row{"Bash: env -u CLAUDECODE agent-wrapper uninstall -y claude", "ask guard held"},
		row{"Bash: echo '{}' | agent-wrapper hook claude", "ask guard held"},
		row{"Bash: agent-wrapper doctor --prove claude", "ask guard held"},
		row{"Bash: agent-wrapper doctor", "ask guard held"},
		row{"Bash: agent-wrapper status --json claude", "allow session-allow Bash"},
		row{"Bash: agent-wrapper hallucinations reset", "ask guard held"},
		row{"Bash: agent-wrapper whitelist init --force --out .smartergpt/allowed-commands.json", "ask guard held"},
		row{"Bash: agent-wrapper whitelist validate 'npm test'", "allow session-allow Bash"},
		row{"Bash: agent-wrapper execute plan.json", "ask guard held"},
		row{"Bash: agent-wrapper whitelist init --force --from x", "ask guard held"},
		row{"Bash: agent-wrapper policy import settings.json -o agent-wrapper.toml --force", "ask guard held"},
		row{"Bash: agent-wrapper policy import settings.json --output=/etc/aw/policy.toml", "ask guard held"},
		row{"Bash: agent-wrapper policy import settings.json", "allow session-allow Bash"},
		row{"Bash: agent-wrapper policy fmt agent-wrapper.toml", "ask guard held"},
		row{"Write: sub/.smartergpt/allowed-commands.json", "ask guard held"},
		row{"Bash: agent-wrapper approvals allow k3f9", "ask guard held"},
		row{"Bash: env -u AGENT_WRAPPER_RUN ./bin/agent-wrapper approvals --json deny k3f9 no", "ask guard held"},
		row{"Bash: setsid sudo agent-wrapper approvals answer k3f9 yes", "ask guard held"},
		row{"Bash: bash -c 'agent-wrapper approvals login --server https://x.example'", "ask guard held"},
		row{"Bash: agent-wrapper approvals list", "allow session-allow Bash"},
		row{"Bash: agent-wrapper serve token create --role person --name anna", "ask guard held"},
		row{"Bash: agent-wrapper serve --state x token list", "ask guard held"},
		row{"Bash: agent-wrapper approvals --server https://x.example allow k3f9", "ask guard held"},
		row{"Bash: agent-wrapper serve", "ask guard held"},
		row{"Bash: script -qc './bin/agent-wrapper serve --listen 127.0.0.1:0 --state x' out", "ask guard held"},
		row{"Bash: agent-wrapper --unlisted x serve", "ask guard held"},
		row{"Bash: agent-wrapper serve restore x.db", "ask guard held"},
		row{"Bash: agent-wrapper serve backup .claude/settings.json", "ask guard held"},
		row{"Bash: agent-wrapper serve backup x.db", "allow session-allow Bash"},
		row{"Bash: agent-wrapper exec session clear --all", "ask guard held"},
		row{"Bash: agent-wrapper exec --session x session clear", "ask guard held"},
		row{"Bash: agent-wrapper exec -- agent-wrapper resume --plan .", "ask guard held"},
		row{"Bash: agent-wrapper exec -- 'ls; agent-wrapper trust x.toml'", "ask guard held"},
		row{"Write: /home/dev/.local/state/agent-wrapper/exec-sessions/sessions.json", "ask guard held"},
		row{"Bash: agent-wrapper hallucinations list", "allow session-allow Bash"},
		row{"Bash: agent-wrapper exec history", "allow session-allow Bash"},
		row{"Write: /home/dev/.local/state/agent-wrapper/trust.json", "ask guard held"},
		// what only looks like it is not held
		row{"Bash: agent-wrapper policy show", "allow session-allow Bash"},
		row{"Edit: /etc/aw/policy.toml.bak", "allow session-allow Edit"},
		row{"Edit: /var/log/awk", "allow session-allow Edit"},
		row{"Edit: sub/agent-wrapper.toml.bak", "allow session-allow Edit"},
		row{"Edit: claude/notes.md", "allow session-allow Edit"},
		row{`Bash: echo x > "$f"`, "allow session-allow Bash"},
		row{"Read: agent-wrapper.toml", "allow mode"},
		row{"Bash: cat agent-wrapper.toml", "allow session-allow Bash"},
	)
}

// "A run of agent-wrapper whose subcommand is known only when it runs is held like the
// one that decides most", whatever starts it.
func TestUnknownSubcommandsOfOursAreHeld(t *testing.T) {
	s := spec{mode: "bypassPermissions", allow: "Bash", sessionAllow: "Bash"}
	for _, line := range []string{
		`agent-wrapper $X allow k3f9`,
		`agent-wrapper "$X" allow k3f9`,
		`agent-wrapper "$@"`,
		`agent-wrapper approvals "$X" k3f9`,
		`agent-wrapper approvals al$X k3f9`,
		`agent-wrapper approvals a* k3f9`,
		`agent-wrapper un$X --all`,
		`echo uninstall | xargs -I{} agent-wrapper {} --all --yes`,
		`agent-wrapper serve "$X" create --role person`,
		`agent-wrapper "--server=$X" "$Y" allow k3f9`,
		`agent-wrapper --server https://x.example approvals allow k3f9`,
		`agent-wrapper {approvals,allow} k3f9`,
		`agent-wrapper $(cat f)`,
		`./bin/agent-wrapper whitelist "$X"`,
		`echo approvals allow k3f9 | xargs agent-wrapper`,
		`echo approvals | xargs -I{} agent-wrapper {} allow k3f9`,
		`xargs -I{} sh -c 'agent-wrapper {} allow k3f9' < f`,
		`find approvals -maxdepth 0 -exec agent-wrapper {} allow k3f9 \;`,
		`parallel agent-wrapper {} allow k3f9 ::: approvals`,
		`parallel agent-wrapper ::: approvals`,
		`env -u AGENT_WRAPPER_RUN agent-wrapper $X`,
		`sudo -u me setsid agent-wrapper $X`,
		`watch agent-wrapper $X`,
		`su -c "agent-wrapper $X" me`,
		`sh -c "agent-wrapper $X allow k3f9"`,
		`sh -c "cd x && agent-wrapper '$X' allow k3f9"`,
		`sh -c 'agent-wrapper "$@"' _ approvals allow k3f9`,
		`eval "agent-wrapper $X"`,
		`eval agent-wrapper '$X'`,
		`agent-wrapper exec -- "agent-wrapper $X"`,
	} {
		check(t, s, row{"Bash: " + line, "ask guard held"})
	}
	for _, line := range []string{ // what they name otherwise, or certainly not
		`agent-wrapper --help`,
		`agent-wrapper version`,
		`agent-wrapper check Bash "$X" --policy $F`,
		`agent-wrapper explain $X`,
		`agent-wrapper --prompt "$P" --allow Bash,Read`,
		`agent-wrapper run --prompt "$P" $FLAGS`,
		`agent-wrapper decide --approvals "$URL"`,
		`agent-wrapper policy "$X"`,
		`agent-wrapper approvals list $X`,
		`agent-wrapper exec -- $X`,
		`find . -name '*.toml' -exec agent-wrapper policy validate {} \;`,
		`ls agent-wrapper $X`,
		`sh -c "$X"`,
		`sh -c "cd agent-wrapper && $X"`,
		`sh -c "go test $X ./cmd/agent-wrapper/..."`,
	} {
		check(t, s, row{"Bash: " + line, "allow session-allow Bash"})
	}
}

func TestUnsandboxedIsHeld(t *testing.T) {
	s := spec{mode: "bypassPermissions", allow: "Bash", sessionAllow: "Bash"}
	tests := []struct{ input, want string }{
		{`{"command":"ls","dangerouslyDisableSandbox":true}`, "ask guard held"},
		{`{"command":"ls","dangerouslyDisableSandbox":"true"}`, "ask guard held"},
		{`{"command":"ls","dangerouslyDisableSandbox":1}`, "ask guard held"},
		{`{"command":"ls","dangerouslyDisableSandbox":false}`, "allow session-allow Bash"},
		{`{"command":"ls","dangerouslyDisableSandbox":null}`, "allow session-allow Bash"},
		{`{"command":"ls","dangerouslydisablesandbox":true}`, "deny guard"},
	}
	for _, tt := range tests {
		use := ToolUse{Tool: "Bash", Input: json.RawMessage(tt.input)}
		if got := outcome(s.decideOn(t, use)); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.input, got, tt.want)
		}
	}
}

// "Hard denies … decide the tool use wherever they stand", and the earliest
// layer is named.
func TestHardDenies(t *testing.T) {
	ask := patterns.GranularSpec{Tools: []string{"Bash"}, Commands: []string{"curl"}, Action: patterns.Deny}
	everything := spec{mode: "bypassPermissions", allow: "Bash; Read", sessionAllow: "Bash; Read"}

	s := everything
	s.sessionDeny, s.deny = "Bash(rm:*)", "Bash(rm:*); Read(./.env)"
	check(t, s,
		row{"Bash: ls && rm x", "deny session-deny Bash(rm:*)"},
		row{"Bash: cat .env", "deny deny-list Read(./.env)"},
		row{"Read: .env", "deny deny-list Read(./.env)"},
		row{"Bash: ls", "allow session-allow Bash"},
	)
	s = everything
	s.rules = []patterns.GranularSpec{ask}
	check(t, s, row{"Bash: curl x.example", "deny rules " + granularName(t, ask)})
	s = everything
	s.mode = "plan"
	check(t, s, row{"Bash: touch x", "deny mode"})
	// A deny in a late layer beats an ask in an early one, even for another part.
	s = spec{deny: "Bash(rm:*)", ask: "Bash(git:*)", allow: "Bash(git:*)"}
	check(t, s, row{"Bash: git status; npm i; rm x", "deny deny-list Bash(rm:*)"})
	// One hard deny decides; the missing allow beside it only asks.
	check(t, spec{allow: "Bash(ls:*)", deny: "Bash(rm:*)"}, row{"Bash: npm i; rm x", "deny deny-list Bash(rm:*)"})
}

func granularName(t *testing.T, g patterns.GranularSpec) string {
	t.Helper()
	c, err := patterns.CompileGranular(g, place)
	if err != nil {
		t.Fatal(err)
	}
	return c.String()
}

// "A Maybe on any hard-deny rule" is a held ask: "no session rule, mode, list
// or granular rule lifts them".
func TestMaybeOnDenyIsHeld(t *testing.T) {
	s := spec{mode: "bypassPermissions", allow: "Bash", sessionAllow: "Bash", deny: "Bash(rm:*)"}
	check(t, s,
		row{"Bash: $CMD -rf x", "ask deny-list Bash(rm:*) held"},
		row{"Bash: python3 -c 'print(1)'", "ask deny-list Bash(rm:*) held"},
		row{"Bash: echo $x", "allow session-allow Bash"},
	)
	d := s.decideOn(t, using("Bash", "$CMD -rf x"))
	if !strings.Contains(d.Reason, "may match deny rule Bash(rm:*)") {
		t.Error(d.Reason)
	}
	s.deny, s.sessionDeny = "", "Read(./.env)"
	check(t, s, row{`Bash: cat "$f"`, "ask session-deny Read(./.env) held"})
	// A held ask does not weaken a deny of another part.
	check(t, spec{allow: "Bash(echo:*)", deny: "Bash(rm:*)", unlisted: UnlistedDeny},
		row{"Bash: $CMD x", "deny allow-list"})
}

// "session allow: Session rules hold for the session"; they come before the
// mode, the lists and the granular rules.
func TestSessionAllow(t *testing.T) {
	s := spec{sessionAllow: "Bash(npm install); Edit(src/**)", allow: "Read", ask: "Bash(npm install); Edit", unlisted: UnlistedDeny}
	check(t, s,
		row{"Bash: npm install", "allow session-allow Bash(npm install)"},
		row{"Bash: npm  'install'", "allow session-allow Bash(npm install)"},
		row{"Bash: npm install x", "deny allow-list"},
		row{"Bash: npm install; ls", "deny allow-list"},
		row{"Edit: src/a.go", "allow session-allow Edit(src/**)"},
		row{"Edit: b.go", "deny allow-list"},
	)
}

// "allow list: a gate, not an approver. A non-empty list without a match is a
// gate miss, answered as unlisted says."
func TestAllowListIsAGate(t *testing.T) {
	list := spec{allow: "Bash(git:*); Read"}
	check(t, list,
		row{"Bash: git status", "allow default Bash(git:*)"},
		row{"Read: /etc/hosts", "allow default Read"},
		row{"Bash: npm i", "ask allow-list"},
		row{"Bash: git status; npm i", "ask allow-list"},
		row{"Bash: ls", "ask allow-list"},
		row{"Edit: a.go", "ask allow-list"},
		row{"mcp__x__y: {}", "ask allow-list"},
		row{"TodoWrite: {}", "allow default"},
	)
	list.ask = "Bash(git push:*)"
	check(t, list, row{"Bash: git push", "ask ask-list Bash(git push:*)"}) // a match is not an answer
	d := list.decideOn(t, using("Bash", "npm i"))
	for _, text := range []string{d.Reason, d.Message} {
		if !strings.Contains(text, "Not in allow list") {
			t.Errorf("%q", text)
		}
	}
}

// Unlisted is deny in mode dontAsk and risk in the others (as if there were no
// list), settable.
func TestUnlisted(t *testing.T) {
	for mode, want := range map[string]struct{ safe, moderate, high string }{
		"default":     {"allow default", "ask default", "deny default"},
		"acceptEdits": {"allow default", "ask default", "deny default"},
		"plan":        {"allow default", "deny mode", "deny mode"},
		"dontAsk":     {"deny allow-list", "deny allow-list", "deny allow-list"},
	} {
		check(t, spec{mode: mode, allow: "Bash(go test:*)", unlisted: byMode, risk: true},
			row{"Bash: ls", want.safe}, row{"Bash: npm i", want.moderate}, row{"Bash: rm -rf x", want.high})
	}
	check(t, spec{mode: "acceptEdits", allow: "Read", unlisted: UnlistedAsk}, row{"Bash: npm i", "ask allow-list"})
	check(t, spec{allow: "Read", unlisted: UnlistedDeny}, row{"Bash: npm i", "deny allow-list"})
	check(t, spec{allow: "Read", unlisted: UnlistedRisk, risk: true},
		row{"Bash: ls", "allow default"},
		row{"Bash: npm i", "ask default"},
		row{"Bash: rm -rf x", "deny default"},
		row{"Read: x", "allow default Read"},
		row{"Edit: x", "ask default"},
	)
	check(t, spec{allow: "Read", unlisted: UnlistedRisk}, row{"Bash: ls", "ask default"})
	check(t, spec{allow: "Read", unlisted: 99}, row{"Bash: ls", "deny allow-list"})
}

func TestAskList(t *testing.T) {
	s := spec{allow: "Bash; Read; Edit", ask: "Bash(rm:*); Read(./.env); Edit(*.lock)"}
	check(t, s,
		row{"Bash: ls; rm x", "ask ask-list Bash(rm:*)"},
		row{"Bash: cat .env", "ask ask-list Read(./.env)"},
		row{"Bash: echo > go.lock", "ask ask-list Edit(*.lock)"},
		row{"Edit: sub/go.lock", "ask ask-list Edit(*.lock)"},
		row{"Bash: $x -f", "ask ask-list Bash(rm:*)"},
		row{"Bash: ls", "allow default Bash"},
	)
	if d := s.decideOn(t, using("Bash", "$x -f")); d.Held {
		t.Error("a Maybe on an ask rule is held")
	}
}

// "granular rules: every deny among them is looked for first; then the first
// matching ask or allow answers".
func TestGranular(t *testing.T) {
	ask := patterns.GranularSpec{Tools: []string{"Bash"}, Commands: []string{"npm"}, Action: patterns.Ask}
	allow := patterns.GranularSpec{Tools: []string{"Bash"}, Commands: []string{"npm", "make"}, Action: patterns.Allow}
	deny := patterns.GranularSpec{Tools: []string{"Bash"}, Commands: []string{"make"}, Action: patterns.Deny, Message: "use go build"}
	name := func(g patterns.GranularSpec) string { return granularName(t, g) }

	check(t, spec{rules: []patterns.GranularSpec{ask, allow}},
		row{"Bash: npm i", "ask rules " + name(ask)},
		row{"Bash: make", "allow rules " + name(allow)},
		row{"Bash: npm i; make", "ask rules " + name(ask)},
		row{"Bash: ls", "ask default"},
	)
	check(t, spec{rules: []patterns.GranularSpec{allow, ask}}, row{"Bash: npm i", "allow rules " + name(allow)})
	s := spec{rules: []patterns.GranularSpec{allow, deny}}
	check(t, s, row{"Bash: make", "deny rules " + name(deny)})
	if d := s.decideOn(t, using("Bash", "make")); d.Message != "use go build" {
		t.Errorf("message %q", d.Message)
	}
	// The allow list comes before them.
	check(t, spec{allow: "Read", rules: []patterns.GranularSpec{allow}}, row{"Bash: make", "ask allow-list"})
	// A possible deny is held, a possible ask asks, and a possible allow does not
	// allow.
	check(t, spec{mode: "bypassPermissions", rules: []patterns.GranularSpec{deny}}, row{"Bash: $x", "ask rules " + name(deny) + " held"})
	check(t, spec{allow: "Bash", rules: []patterns.GranularSpec{ask}}, row{"Bash: $x", "ask rules " + name(ask)})
	check(t, spec{rules: []patterns.GranularSpec{allow}}, row{"Bash: $x", "ask default"}, row{"Bash: FOO=1 make", "ask default"})
}

// "No allow list: by tier — 1 allow, 2 ask, 3 deny; with risk off, ask. Tools
// without a command: reading inside the workspace allow, the rest ask."
func TestDefault(t *testing.T) {
	tools := []row{
		{"Read: a.go", "allow default"},
		{"Grep: src", "allow default"},
		{"Glob: ", "allow default"},
		{"LS: .", "allow default"},
		{"Read: /etc/passwd", "ask default"},
		{"Read: ../x", "ask default"},
		{"Edit: a.go", "ask default"},
		{"Write: a.go", "ask default"},
		{"WebFetch: https://example.com/", "ask default"},
		{"mcp__x__y: {}", "ask default"},
		{"Skill: {\"skill\":\"x\"}", "ask default"},
		{"Unheard: {}", "ask default"},
		{"TodoWrite: {}", "allow default"},
		{"Agent: {\"prompt\":\"x\"}", "allow default"},
	}
	check(t, spec{risk: true}, append(tools,
		row{"Bash: ls -la", "allow default"},
		row{"Bash: cat /etc/passwd", "ask default"},
		row{"Bash: cat a.go", "allow default"},
		row{"Bash: ls && pwd", "allow default"},
		row{"Bash: npm install", "ask default"},
		row{"Bash: ls; npm install", "ask default"},
		row{"Bash: ls > out.txt", "ask default"},
		row{"Bash: rm -rf build", "deny default"},
		row{"Bash: ls; rm -rf build", "deny default"},
		row{"Bash: echo $(id)", "allow default"}, // what the substitution runs is judged by itself
		row{"Bash: cat $(id)", "ask default"},
		row{"Bash: ./ls", "ask default"},
	)...)
	check(t, spec{}, append(tools, row{"Bash: ls -la", "ask default"}, row{"Bash: rm -rf build", "ask default"})...)
}

// "relative paths prove nothing" in an unknown directory.
func TestUnknownDirectory(t *testing.T) {
	s := spec{allow: "Edit(src/**)", risk: true, dir: "?"}
	check(t, s, row{"Edit: src/a", "ask allow-list"}, row{"Edit: /home/dev/proj/src/a", "allow default Edit(src/**)"})
	s = spec{risk: true, dir: "?"}
	check(t, s, row{"Read: src/a", "ask default"}, row{"Read: /home/dev/proj/src/a", "allow default"}, row{"Grep: ", "ask default"})
	for _, s.dir = range []string{"relative/dir", "/home/dev/proj/link/..", "/home/dev/proj/link/../sub", "/home/dev/proj/\x00"} {
		check(t, s, row{"Read: src/a", "ask default"}, row{"Bash: cat a", "ask default"})
	}
	s.dir = "/home/dev/proj//sub/./..a/"
	check(t, s, row{"Read: ../../src/a", "allow default"}, row{"Read: ../../../a", "ask default"})
	s.dir = "/home/dev/proj/sub"
	check(t, s, row{"Read: ../a", "allow default"}, row{"Read: ../../a", "ask default"})
}

// "(1) any hard deny: deny. (2) Otherwise … the strictest action decides."
func TestStrictestActionDecides(t *testing.T) {
	s := spec{allow: "Bash(git:*); Bash(ls:*)", ask: "Bash(git push:*)", unlisted: UnlistedDeny}
	check(t, s,
		row{"Bash: ls; git push; ls", "ask ask-list Bash(git push:*)"},
		row{"Bash: ls; git push; npm i", "deny allow-list"},
		row{"Bash: ls | git status", "allow default Bash(ls:*)"},
	)
}

// "(4) Last: an ask with nobody to ask, or in mode dontAsk, is a deny that says
// so."
func TestDontAsk(t *testing.T) {
	s := spec{mode: "dontAsk", allow: "Bash(git:*); Bash(echo:*)", ask: "Bash(git push:*)", deny: "Read(./.env)"}
	check(t, s,
		row{"Bash: git status", "allow default Bash(git:*)"},
		row{"Bash: git push", "deny ask-list Bash(git push:*)"},
		row{"Bash: echo < $x", "deny deny-list Read(./.env)"},
		row{"Bash: npm i", "deny allow-list"},
		row{"AskUserQuestion: {}", "deny default"},
		row{"ExitPlanMode: {}", "deny default"},
	)
	if d := s.decideOn(t, using("Bash", "git push")); !strings.Contains(d.Message, "mode dontAsk never asks") || len(d.Unapproved()) > 0 {
		t.Errorf("%q %v", d.Message, d.Unapproved())
	}
}

// "Tier 3: session rules of any form, modes and bare rules do not answer for a
// tier-3 action. A policy's own rule with a specifier that matches with Yes … is
// followed. Otherwise layer 7 denies. risk = off turns tiers off."
func TestTier3(t *testing.T) {
	on := func(s spec) spec { s.risk = true; return s }
	rm := "Bash: rm -rf x"
	check(t, on(spec{allow: "Bash"}), row{rm, "deny default"})
	check(t, on(spec{allow: "Bash(*)"}), row{rm, "deny default"})
	check(t, on(spec{sessionAllow: "Bash"}), row{rm, "deny default"})
	check(t, on(spec{mode: "bypassPermissions"}), row{rm, "deny default"})
	check(t, on(spec{mode: "acceptEdits"}), row{rm, "deny default"})
	check(t, on(spec{allow: "Bash", ask: "Bash"}), row{rm, "deny default"})
	check(t, on(spec{allow: "Bash", ask: "Bash(rm:*)"}), row{rm, "ask ask-list Bash(rm:*)"})
	check(t, on(spec{ask: "Bash(rm:*)"}), row{rm, "ask ask-list Bash(rm:*)"})
	check(t, on(spec{allow: "Bash(rm -rf x)"}), row{rm, "allow default Bash(rm -rf x)"})
	check(t, on(spec{allow: "Bash; Bash(rm:*)"}), row{rm, "allow default Bash(rm:*)"})
	for _, rules := range []string{"Bash(rm -rf x)", "Bash(rm -rf:*)", "Bash(rm:*)", "Bash(rm *)", "Bash(rm -rf x); Bash; Edit; Edit(x)"} {
		check(t, on(spec{sessionAllow: rules}), row{rm, "deny default"})
		check(t, on(spec{sessionAllow: rules, allow: "Bash", mode: "bypassPermissions"}), row{rm, "deny default"})
		check(t, on(spec{sessionAllow: rules, ask: "Bash(rm:*)"}), row{rm, "ask ask-list Bash(rm:*)"})
		check(t, on(spec{sessionAllow: rules, allow: "Bash(rm:*)"}), row{rm, "allow default Bash(rm:*)"})
		check(t, spec{sessionAllow: rules, ask: "Bash(rm:*)"}, row{rm, "allow session-allow " + strings.Split(rules, "; ")[0]})
	}
	check(t, on(spec{sessionAllow: "Bash(kill:*)"}), row{"Bash: kill 1234", "allow session-allow Bash(kill:*)"},
		row{"Bash: kill -9 -1", "deny default"}, row{"Bash: kill 1234; kill -9 -1", "deny default"}, row{"Bash: kill -9 -1 1234", "deny default"})
	check(t, on(spec{sessionAllow: "Bash(sudo rm:*); Bash(rm -rf x)"}), row{"Bash: sudo rm -rf x", "deny default"})
	check(t, on(spec{sessionAllow: "Bash(npm i)", allow: "Bash(rm -rf x)", ask: "Bash(npm:*)"}), row{"Bash: npm i; rm -rf x", "allow session-allow Bash(npm i)"})
	check(t, on(spec{deny: "Bash"}), row{rm, "deny deny-list Bash"})
	// An ask by the allow list does not replace the default's deny; a deny by it
	// does.
	check(t, on(spec{allow: "Bash(git:*)"}), row{rm, "deny default"})
	check(t, on(spec{allow: "Bash(git:*)", unlisted: UnlistedDeny}), row{rm, "deny allow-list"})
	check(t, on(spec{allow: "Bash(git:*)", ask: "Bash(rm:*)"}), row{rm, "ask ask-list Bash(rm:*)"})
	// An allowed part does not affect the other one.
	check(t, on(spec{allow: "Bash"}), row{"Bash: ls; rm -rf x", "deny default"}, row{"Bash: sudo rm -rf x", "deny default"})
	check(t, on(spec{allow: "Bash(sudo rm:*)"}), row{"Bash: sudo rm -rf x", "allow default Bash(sudo rm:*)"})

	bare := patterns.GranularSpec{Tools: []string{"Bash"}, Action: patterns.Allow}
	named := patterns.GranularSpec{Tools: []string{"Bash"}, Commands: []string{"rm"}, Action: patterns.Ask}
	check(t, on(spec{rules: []patterns.GranularSpec{bare}}), row{rm, "deny default"}, row{"Bash: npm i", "allow rules " + granularName(t, bare)})
	check(t, on(spec{rules: []patterns.GranularSpec{named}}), row{rm, "ask rules " + granularName(t, named)})

	check(t, spec{allow: "Bash"}, row{rm, "allow default Bash"})
	check(t, spec{mode: "bypassPermissions"}, row{rm, "allow mode"})
}

func TestTier3IsNeverOffered(t *testing.T) {
	s := spec{risk: true, allow: "Bash", ask: "Bash(rm:*); Bash(sudo:*)"}
	d := s.decideOn(t, using("Bash", "sudo rm -rf x; rm y"))
	want := map[string]string{"run sudo rm -rf x": "", "run rm -rf x": "", "run rm y": "Bash(rm y)"}
	got := map[string]string{}
	for _, p := range d.Unapproved() {
		got[p.Action] = p.Exact
	}
	for action, rule := range want {
		if r, ok := got[action]; !ok || r != rule {
			t.Errorf("%s: %q %v, want %q", action, r, ok, rule)
		}
	}
}

func TestUnapproved(t *testing.T) {
	s := spec{allow: "Bash(ls:*)"}
	d := s.decideOn(t, using("Bash", "ls; npm install; npm install; echo a > /tmp/x; python3 -c 'x'"))
	if d.Behavior != Ask || d.Held {
		t.Fatal(outcome(d))
	}
	got := map[string]string{}
	for _, p := range d.Unapproved() {
		got[p.Action] = p.Exact
		if p.Reason == "" {
			t.Errorf("%s: no reason", p.Action)
		}
	}
	for action, rule := range map[string]string{
		"run npm install": "Bash(npm install)", "run echo a": "Bash(echo a)",
		"write /tmp/x": "Edit(//tmp/x)", "run python3 -c x": "",
	} {
		if r, ok := got[action]; !ok || r != rule {
			t.Errorf("%s: %q %v, want %q in %v", action, r, ok, rule, got)
		}
	}
	if len(got) != len(d.Unapproved()) {
		t.Errorf("a part is listed twice: %v", d.Unapproved())
	}
	if _, ok := got["run ls"]; ok {
		t.Error("ls is allowed and must not be listed")
	}
	held := spec{allow: "Bash", deny: "Bash(rm:*)", ask: "Bash(git:*)"}.decideOn(t, using("Bash", "git status; $x"))
	if !held.Held || len(held.Unapproved()) < 2 {
		t.Fatalf("%s %v", outcome(held), held.Unapproved())
	}
	for _, p := range held.Unapproved() {
		if p.Exact != "" || p.Sealed == "" {
			t.Errorf("a held ask offers %s", p.Exact)
		}
	}
}
