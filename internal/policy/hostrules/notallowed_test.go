package hostrules

import (
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/permission"
)

// bash is a use of Bash for a line without anything special.
func bash(line string) *use {
	return &use{tool: "Bash", commands: []command{{words: strings.Fields(line)}}}
}

func hostNamed(host string) law {
	for _, l := range laws {
		if l.host == host {
			return l
		}
	}
	return law{}
}

// TestNotAllowed: what the host asks about or denies is not allowed here, though a rule of
// ours with the same text would allow it, or a rule that was dropped stood against it.
func TestNotAllowed(t *testing.T) {
	for _, c := range []struct {
		name, host, text string
		use              *use
	}{
		{"an empty list of allows is no gate", "opencode", `{"permission":{"*":"ask","bash":{"*":"ask","npm run test:*":"allow"}}}`, bash("ls")},
		{"what is harmless to us only", "claude", `{"permissions":{"allow":["Read"]}}`, bash("gh pr view 1")},
		{"a bare ask beside a destructive allow", "claude", `{"permissions":{"allow":["Bash(rm *)"],"ask":["Bash"]}}`, bash("rm -rf x")},
		{"a bare ask for everything", "claude", `{"permissions":{"allow":["Bash(rm *)"],"ask":["*"]}}`, bash("rm -rf x")},
		{"acceptEdits of ours accepts more", "claude", `{"permissions":{"defaultMode":"acceptEdits"}}`, bash("chmod +x a")},
		{"a host rule for this machine is about the tool", "claude", `{"permissions":{"allow":["WebFetch(domain:localhost)"]}}`, bash("curl localhost:3000/x")},
		{"braces are no wildcard there", "claude", `{"permissions":{"allow":["Edit(src/*.{go,md})"]}}`, &use{tool: "Edit", path: "src/a.md"}},
		{"/x is below the project", "claude", `{"permissions":{"allow":["Edit(/srv/**)"]}}`, &use{tool: "Edit", path: "/srv/a"}},
		{"a star of a tool is the workspace", "claude", `{"permissions":{"allow":["Grep(*)"],"ask":["Read(//x)"]}}`, &use{tool: "Grep", path: "/srv", name: "x"}},
		{"a deny for a line, by its last command", "claude", `{"permissions":{"allow":["Bash"],"deny":["Bash(curl * | sh)"]}}`, &use{tool: "Bash", joints: []string{" | "}, commands: []command{{words: []string{"curl", "x"}}, {words: []string{"sh"}}}}},
		{"a deny for a redirection", "claude", `{"permissions":{"allow":["Bash"],"deny":["Bash(*> src/a.go)"]}}`, &use{tool: "Bash", commands: []command{{words: []string{"echo", "x"}, target: "src/a.go"}}}},
		{"a deny with a variable", "claude", `{"permissions":{"allow":["Bash"],"deny":["Bash(GIT_DIR=* git commit:*)"]}}`, &use{tool: "Bash", commands: []command{{before: "GIT_DIR=x ", words: []string{"git", "commit"}}}}},
		{"a deny about the value of a field", "claude", `{"permissions":{"allow":["Bash"],"deny":["Bash(run_in_background:true)"]}}`, bash("make")},
		{"a deny of hosts by their beginning", "claude", `{"permissions":{"allow":["WebFetch"],"deny":["WebFetch(domain:example.*)"]}}`, &use{tool: "WebFetch", url: "https://example.org/x"}},
		{"a deny of a directory at any depth", "claude", `{"permissions":{"deny":["Read(secrets/)"]}}`, &use{tool: "Read", path: "src/secrets/k"}},
		{"a deny of what is above", "claude", `{"permissions":{"allow":["Read"],"deny":["Read(../**)"]}}`, &use{tool: "Read", path: "../other/x"}},
		{"alternatives are words", "codex", `prefix_rule(pattern=["git", ["log", "status"]])`, bash("git logs")},
		{"a word with a blank is one", "codex", `prefix_rule(pattern=["npm", "run x"])`, bash("npm run x")},
		{"a star is a character", "codex", `prefix_rule(pattern=["rm", "*"])`, bash("rm x")},
		{"no prefix allows a redirection", "gemini", "[[rule]]\ntoolName='run_shell_command'\ndecision='allow'\npriority=1\n", &use{tool: "Bash", commands: []command{{words: []string{"echo", "x"}, target: "out"}}}},
		{"another mode", "gemini", "[[rule]]\ncommandPrefix='make'\ndecision='allow'\npriority=1\nmodes=['yolo']\n", bash("make")},
		{"replace is not every edit", "gemini", "[[rule]]\ntoolName='replace'\ndecision='allow'\npriority=1\n", &use{tool: "Write", path: "x"}},
		{"an expression for the arguments", "gemini", "[[rule]]\ntoolName='write_file'\ndecision='allow'\npriority=1\n[[rule]]\ntoolName='write_file'\nargsPattern='src'\ndecision='deny'\npriority=2\n", &use{tool: "Write", path: "src/x"}},
		{"colon and star are any text", "opencode", `{"permission":{"bash":{"*":"ask","npm run test:*":"allow"}}}`, bash("npm run test --x")},
		{"a path outside", "opencode", `{"permission":{"bash":{"cat *":"allow"}}}`, bash("cat /etc/hosts")},
		{"an ask between two allows", "opencode", `{"permission":{"bash":{"git *":"allow","git push *":"ask","git push --dry-run *":"allow"}}}`, bash("git push x")},
		{"a later ask for everything", "opencode", `{"permission":{"bash":{"git *":"allow","*":"ask"}}}`, bash("git log")},
		{"reading that is asked about", "opencode", `{"permission":{"read":{"*":"ask","docs/*":"allow"}}}`, &use{tool: "Read", path: "src/x"}},
		{"a deny across directories", "opencode", `{"permission":{"edit":{"*":"allow","src/*x":"deny"}}}`, &use{tool: "Edit", path: "src/a/x"}},
		{"a deny of one agent", "opencode", `{"permission":{"edit":"allow"},"agent":{"review":{"permission":{"edit":"deny"}}}}`, &use{tool: "Edit", path: "x"}},
		{"an expression for all", "vscode", `{"chat.tools.terminal.autoApprove":{"/.*/":true}}`, &use{tool: "Bash", commands: []command{{words: []string{"echo", "x"}, target: "/srv/x"}}}},
		{"a key is up to the end of a word", "vscode", `{"chat.tools.terminal.autoApprove":{"rm":false,"rm-old":true}}`, bash("rm-old x")},
		{"an expression for a line", "vscode", `{"chat.tools.terminal.autoApprove":{"echo":true,"/(^|\\s)sudo\\b/":{"approve":false,"matchCommandLine":true}}}`, bash("echo sudo")},
		{"a key is no pattern", "vscode", `{"chat.tools.terminal.autoApprove":{"git *":true}}`, bash("git push")},
		{"an allow for a line", "vscode", `{"chat.tools.terminal.autoApprove":{"rm":true,"git":{"approve":true,"matchCommandLine":true}}}`, &use{tool: "Bash", joints: []string{" && "}, commands: []command{{words: []string{"rm"}}, {words: []string{"git"}}}}},
		{"a directory of such a name", "claude", `{"permissions":{"allow":["Read"],"deny":["Read(.env*)"]}}`, &use{tool: "Read", path: ".env.d/k"}},
		{"a directory below", "claude", `{"permissions":{"allow":["Edit"],"ask":["Edit(/docs/*)"]}}`, &use{tool: "Edit", path: "docs/x/y.md"}},
		{"an expression for commands of another tool", "gemini", "[[rule]]\ntoolName='web_fetch'\ncommandRegex='github'\ndecision='allow'\npriority=1\n", bash("github x")},
		{"a prefix and an expression", "gemini", "[[rule]]\ncommandPrefix='git'\ndecision='allow'\npriority=1\n[[rule]]\ncommandPrefix='git push'\ncommandRegex='x'\ndecision='deny'\npriority=2\n", bash("git push")},
		{"a server with an underscore", "gemini", "[[rule]]\nmcpName='a_b'\ndecision='allow'\npriority=1\n[[rule]]\ntoolName='mcp_a_*'\ndecision='deny'\npriority=2\n", &use{tool: "mcp__a_b__c"}},
		{"a directory of a default", "opencode", `{"permission":{"bash":"ask"}}`, &use{tool: "Read", path: ".env.d/x.env.y/k"}},
		{"servers that begin so", "opencode", `{"permission":{"a_b_*":"allow","a_*":"deny"}}`, &use{tool: "mcp__a_b__c"}},
		{"a tool of some server", "opencode", `{"permission":{"a_*":"allow","a_b_c":"deny"}}`, &use{tool: "mcp__a__b_c"}},
		{"every tool, of one agent", "opencode", `{"permission":{"a_*":"allow"},"agent":{"review":{"permission":{"*":"deny"}}}}`, &use{tool: "mcp__a__b"}},
		{"a tool that one agent has not", "opencode", `{"permission":{"bash":"allow"},"agent":{"review":{"tools":{"bash":false}}}}`, bash("make")},
		{"the older write", "opencode", `{"tools":{"write":false},"permission":{"*":"allow"}}`, &use{tool: "Write", path: "x"}},
		{"defaults that do not count", "vscode", `{"chat.tools.terminal.ignoreDefaultAutoApproveRules":true}`, bash("echo x")},
		{"no default where nothing is approved", "vscode", `{"chat.tools.terminal.enableAutoApprove":false}`, bash("echo x")},
		{"a default that is taken away", "vscode", `{"chat.tools.terminal.autoApprove":{"echo":null}}`, bash("echo x")},
		{"what is always asked about", "vscode", `{"chat.tools.terminal.autoApprove":{"/^rm/":true}}`, bash("rm x")},
		{"and with some options", "vscode", `{"chat.tools.terminal.autoApprove":{"find":true}}`, bash("find . -delete")},
		{"an expression for every command", "vscode", `{"chat.tools.terminal.autoApprove":{"make":true,"/^/":false}}`, bash("make")},
		{"a word has to begin", "vscode", `{"chat.tools.terminal.autoApprove":{"scripts/":true}}`, bash("scripts/../x")},
		{"all that is written", "vscode", `{"chat.tools.terminal.blockDetectedFileWrites":"all","chat.tools.edits.autoApprove":{"**/*":true}}`, &use{tool: "Bash", commands: []command{{words: []string{"echo", "x"}, target: "out"}}}},
		{"nothing is approved", "vscode", `{"chat.tools.terminal.enableAutoApprove":false,"chat.tools.terminal.autoApprove":{"make":true}}`, bash("make")},
	} {
		l := hostNamed(c.host)
		if d := imported(t, &l, c.text)(c.use); d.Behavior == permission.Allow {
			t.Errorf("%s: allowed: %s", c.name, d.Reason)
		}
	}
}

// TestAllowed: what is plainly allowed there is allowed here.
func TestAllowed(t *testing.T) {
	for _, c := range []struct {
		host, text string
		use        *use
	}{
		{"claude", `{"permissions":{"allow":["Bash(git log *)"]}}`, bash("git log -3")},
		{"claude", `{"permissions":{"allow":["Edit(/src/**)"]}}`, &use{tool: "Edit", path: "src/a.go"}},
		{"claude", `{}`, &use{tool: "Read", path: "src/a.go"}},
		{"claude", `{"permissions":{"defaultMode":"acceptEdits"}}`, bash("mkdir x")},
		{"codex", `prefix_rule(pattern=["git", ["log", "status"]])`, bash("git status --short")},
		{"gemini", "[[rule]]\ncommandRegex='npm run (test|lint)(\\s|$)'\ndecision='allow'\npriority=1\n", bash("npm run lint --fix")},
		{"gemini", "[[rule]]\ncommandPrefix='git'\ndecision='allow'\npriority=5\n[[rule]]\ntoolName='*'\ndecision='ask_user'\npriority=1\n", bash("git log")},
		{"opencode", `{"permission":{"bash":{"*":"ask","git *":"allow"}}}`, bash("git log")},
		{"opencode", `{"permission":{"edit":{"*":"deny","docs/*.md":"allow"}}}`, &use{tool: "Edit", path: "docs/a.md"}},
		{"vscode", `{"chat.tools.terminal.autoApprove":{"/^git (log|show)\\b/":true}}`, bash("git show x")},
		{"vscode", `{"chat.tools.terminal.autoApprove":{"/^make( |$)/":true}}`, bash("make x")},
		{"vscode", `{"chat.tools.terminal.autoApprove":{".specify/scripts/bash/":true}}`, bash(".specify/scripts/bash/check.sh --json")},
		{"vscode", `{"chat.tools.terminal.autoApprove":{"scripts/build":true}}`, bash("./scripts/build x")},
		{"vscode", `{"chat.tools.terminal.autoApprove":{"rm":true}}`, bash("rm x")},
		{"opencode", `{"permission":{"edit":{"*":"deny","src/*":"allow"}}}`, &use{tool: "Edit", path: "src/x/b.go"}},
		{"opencode", `{"permission":{"github_get":"allow"}}`, &use{tool: "mcp__github__get"}},
		{"gemini", "[[rule]]\ntoolName='read_file'\ndecision='allow'\npriority=9\n[[rule]]\ntoolName='*'\ndecision='deny'\npriority=1\n", &use{tool: "Read", path: "x"}},
	} {
		l := hostNamed(c.host)
		if d := imported(t, &l, c.text)(c.use); d.Behavior != permission.Allow {
			t.Errorf("%s %s: %s %s: %v: %s", c.host, c.text, c.use.tool, c.use.line(), d.Behavior, d.Reason)
		}
	}
}

// TestRefused: a file that cannot be read as a whole is refused, with the place.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ host, name, text, want string }{
		{"claude", "s.json", "{\n \"permissions\": {\"allow\": [\"a\"], \"allow\": []}}", `s.json:2:34: "allow" stands here twice`},
		{"claude", "s.json", "[]", "s.json:1:1: the file must be an object"},
		{"claude", "s.json", `{"permissions": {`, "s.json:1:18: this is not JSON: the file ends too early"},
		{"codex", "r.rules", "for x in y:\n  pass\n", "r.rules:1:1: only calls"},
		{"codex", "r.rules", `load("x", "y")`, "r.rules:1:1: only calls"},
		{"codex", "r.rules", `[prefix_rule(pattern=["rm"]) for x in y]`, "r.rules:1:1: only calls"},
		{"codex", "r.rules", `rules.add("x")`, "r.rules:1:1: this calls something that is computed"},
		{"codex", "r.rules", `prefix_rule(pattern=["a" + "b"])`, "r.rules:1:22: this must be a text"},
		{"codex", "r.rules", `prefix_rule(["a"])`, "r.rules:1:13: every argument needs its name"},
		{"codex", "r.rules", `prefix_rule(pattern=["a"], **more)`, "r.rules:1:28: every argument needs its name"},
		{"codex", "r.rules", `prefix_rule(pattern=["a"], decision=D)`, "r.rules:1:37: the decision must be"},
		{"codex", "r.rules", `prefix_rule(pattern=[])`, "r.rules:1:21: the pattern is empty"},
		{"codex", "r.rules", `prefix_rule(pattern=[[]])`, "r.rules:1:22: a list of alternatives is empty"},
		{"codex", "r.rules", `prefix_rule(pattern=["a"], when="x")`, "prefix_rule has no argument when"},
		{"codex", "r.rules", `define_program(program="ls")`, "there is no rule called define_program"},
		{"codex", "r.rules", `prefix_rule(pattern=["a"`, "r.rules:1:25: this is not Starlark"},
		{"codex", "r.rules", strings.Repeat("[", 100_000), "nested too deeply"},
		{"codex", "r.rules", strings.Repeat("-", 100_000) + "1", "nested too deeply"},
		{"gemini", "p.toml", "[[rule]\n", "p.toml:1:"},
		{"gemini", "p.toml", "[[rule]]\ndecision='allow'\ndecision='deny'\n", "p.toml:3:"},
		{"", "x.json", "{}", "x.json: this does not look like the rules of a host"},
	} {
		_, err := Read([]File{{Name: c.name, Text: []byte(c.text)}}, Options{Host: c.host})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %.60q: %v, not %q", c.host, c.text, err, c.want)
		}
	}
}

// TestExpressions: what an expression that allows is written out as, and the one that stands
// for an expression that asks.
func TestExpressions(t *testing.T) {
	for _, c := range []struct{ expression, specs, loose string }{
		{`^git (log|show)\b`, "git log:* git show:*", `^git *(?:log|show)\b`},
		{`^make( |$)`, "make:*", `^make(?: *|$)`},
		{`^npm run test$`, "npm run test", `^npm *run *test$`},
		{`^git .*main$`, "git *main", `^git *(?s:.*)main$`},
		{`^git\s+log`, "git log:*", `^git(?s:.*)log`},
		{`^.*`, "", `^(?s:.*)`},
		{`^git push (?!--force)`, "", ""},
		{`^echo "x"`, "", ""},
		{`^[a-z]+ x`, "", `^(?:[a-z])+ *x`},
		{`^ls\bx`, "", `^ls\bx`},
		{`^a(b|c|d|e|f|g|h|i)(b|c|d|e|f|g|h|i)(b|c|d)`, "", `^a[b-i][b-i][b-d]`},
		{`^npm run test:.*$`, "", `^npm *run *test:(?s:.*)$`},
		{`a|b`, "a:* b:*", `[ab]`},
		{`[^a]x`, "", `(?s:.*)x`},
		{`\pL`, "", ""}, {`(?i)x`, "", ""}, {`\1`, "", ""}, {`[`, "", ""}, {`x;`, "", ""}, {`\$HOME`, "", ""},
	} {
		specs, why := specifiers(c.expression, true)
		if got := strings.Join(specs, " "); got != c.specs || (got == "") != (why != "") {
			t.Errorf("%s allows %q (%s), not %q", c.expression, got, why, c.specs)
		}
		if got, ok := loose(c.expression, false); got != c.loose || ok != (c.loose != "") {
			t.Errorf("%s asks by %q, not %q", c.expression, got, c.loose)
		}
	}
}
