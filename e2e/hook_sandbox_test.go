//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/sandbox/kernel"
)

const hookSandbox = "sandbox = \"on\"\nallow = [\"Bash(ls:*)\", \"Bash(echo:*)\"]\ndeny = [\"Read(secrets/**)\"]\n"

// bashCall is a tool use of the shell.
func bashCall(name, command string) call {
	return call{Name: name, Tool: "Bash", Input: in{"command": command, "description": "d"}}
}

// asksNobody has what is asked, where the agent cannot ask, be denied.
func (b *box) asksNobody(t testing.TB) {
	t.Helper()
	settings, err := os.ReadFile(b.Home + "/.claude/settings.json")
	if err != nil {
		t.Fatal(err)
	}
	b.write("home/.claude/settings.json", strings.ReplaceAll(string(settings), `["hook","claude"]`, `["hook","claude","--approvals","none"]`))
}

// runsAgain tries to use each permit that was used once more, and returns how many there
// are.
func (b *box) runsAgain(t testing.TB) (tried int) {
	used, _ := filepath.Glob(b.Home + "/.local/state/agent-wrapper/within/*/used-*") // the pattern is one
	for _, path := range used {
		name := strings.TrimPrefix(filepath.Base(path), "used-")
		if strings.Contains(name, ".") {
			continue
		}
		tried++
		again := exec.Command(binary(t), "within", filepath.Base(filepath.Dir(path))+"-"+name)
		again.Dir, again.Env = b.Work, b.env()
		if text, err := again.CombinedOutput(); err == nil || again.ProcessState.ExitCode() != 126 || !strings.Contains(string(text), "has run already") {
			t.Errorf("%s: %v %s", name, err, text)
		}
	}
	return tried
}

// TestHookInside: in an ordinary session of a person, with a sandbox in the policy, a command
// that nothing but the sandbox allows runs inside it, once the host has proven that it runs
// what the hook answers. What it runs is one command, once.
func TestHookInside(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		if err := kernel.Probe(t.Context()); err != nil {
			unable(t, err.Error())
		}
		b := newBox(t)
		b.hooked(t, hookSandbox)
		b.asksNobody(t)
		b.write("repo/out.sh", "echo x >"+b.Out+"/made-outside; echo \"status $?\"\n")
		b.write("repo/secrets/key", "secret-text\n")
		b.write("repo/read.sh", "cat secrets/*\n")
		background := bashCall("later", "sh later.sh")
		background.Input.(in)["run_in_background"] = true
		b.write("repo/login.sh", "echo \"key=${ANTHROPIC_API_KEY-none}\"\n")
		b.write("repo/touch.sh", "touch in-sub\n")
		b.write("repo/meets.sh", "touch /usr/met\n")
		b.write("repo/later.sh", "echo x >made-later\n")
		tried := 0
		m := startModel(t, script{"go": {
			{bashCall("early", "sh out.sh early")},
			{bashCall("proof", "ls a.txt")},
			{bashCall("writes", "python3 -c 'open(\"made-inside\", \"w\").write(\"x\")'")},
			{bashCall("outside", "sh out.sh")},
			{bashCall("reads", "sh read.sh")},
			{bashCall("login", "sh login.sh")},
			{bashCall("code", "sh -c 'exit 3'")},
			{bashCall("meets", "sh meets.sh")},
			{bashCall("moves", "cd sub && sh ../touch.sh")},
			{bashCall("moved", "ls; pwd")},
			{bashCall("back", "cd ..")},
			{background},
			{{Name: "again", Tool: "Bash", Input: func(*model) any { tried = b.runsAgain(t); return in{"command": "ls", "description": "d"} }}},
			{bashCall("two", "sh -c 'echo one'"), bashCall("three", "sh -c 'echo two'")},
		}})
		out, err := b.headless(t, r, m, "[[go]]").CombinedOutput()
		if err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		said := func(name string) string {
			res, back := m.result(name)
			if !back {
				t.Errorf("%s has no result\n%s", name, out)
			}
			return res.Text
		}
		if early := said("early"); !strings.Contains(early, "agent-wrapper: ") || b.has("out/made-outside") {
			t.Errorf("before the proof: %q", early)
		}
		if !b.has("repo/made-inside") {
			t.Errorf("what the sandbox allows did not run: %q\n%s", said("writes"), out)
		}
		if text := said("outside"); b.has("out/made-outside") || !strings.Contains(text, "status 2") {
			t.Errorf("outside: %q", text)
		}
		if text := said("reads"); strings.Contains(text, "secret-text") || !strings.Contains(text, "Permission denied") {
			t.Errorf("what a rule denies is read: %q", text)
		}
		for name, want := range map[string]string{"login": "key=none", "code": "Exit code 3", "moved": b.Work + "/sub", "two": "one", "three": "two"} {
			if text := said(name); !strings.Contains(text, want) {
				t.Errorf("%s: %q, want %s", name, text, want)
			}
		}
		if text := said("meets"); !strings.Contains(text, "agent-wrapper: /usr: it is read-only inside the sandbox") {
			t.Errorf("what the sandbox refused it: %q", text)
		}
		if text := said("code"); strings.Contains(text, "inside the sandbox") {
			t.Errorf("a failure of its own: %q", text)
		}
		if !strings.Contains(b.readFile("home/.local/state/agent-wrapper/audit.jsonl"), `"met":["`) {
			t.Error("the record does not have what was met")
		}
		if !b.has("repo/sub/in-sub") || !b.has("repo/made-later") {
			t.Error("a cd does not hold, or the background did not run")
		}
		if tried < 8 {
			t.Errorf("only %d permits were used", tried)
		}
		for line := range strings.Lines(b.readFile("home/.local/state/agent-wrapper/audit.jsonl")) {
			if strings.Contains(line, `"behavior":"allow"`) && !strings.Contains(line, `"sandbox":"within"`) && !strings.Contains(line, `"sandbox":"inside"`) {
				t.Errorf("allowed without a sandbox: %s", line)
			}
		}
	})
}

// TestHookIgnored: a host that runs its own input in place of the answer's is asked about
// as without a sandbox, and so is one that comes to do so in the middle of a session.
func TestHookIgnored(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		if err := kernel.Probe(t.Context()); err != nil {
			unable(t, err.Error())
		}
		b := newBox(t)
		b.hooked(t, hookSandbox)
		strip := `#!/bin/sh
out=$(` + binary(t) + ` hook claude --approvals none) || exit 2
[ -e ` + b.Dir + `/ignore ] || { printf '%s\n' "$out"; exit 0; }
printf '%s\n' "$out" | sed 's/,"updatedInput":{.*}}}$/}}/'
`
		b.write("hook.sh", strip)
		if err := os.Chmod(b.Dir+"/hook.sh", 0o700); err != nil {
			t.Fatal(err)
		}
		settings, err := os.ReadFile(b.Home + "/.claude/settings.json")
		if err != nil {
			t.Fatal(err)
		}
		changed := strings.ReplaceAll(string(settings), `"args":["hook","claude"],`, "")
		b.write("home/.claude/settings.json", strings.ReplaceAll(changed, binary(t), b.Dir+"/hook.sh"))
		ignore := func(call call) call {
			input := call.Input
			call.Input = func(*model) any { b.write("ignore", ""); return input }
			return call
		}
		const write = "python3 -c 'open(\"made-%s\", \"w\").write(\"x\")'"
		made := func(name string) call { return bashCall(name, strings.Replace(write, "%s", name, 1)) }
		m := startModel(t, script{
			"go":   {{ignore(bashCall("plain", "ls a.txt"))}, {made("never")}},
			"then": {{bashCall("proof", "ls a.txt")}, {made("first")}, {ignore(bashCall("plain", "ls a.txt"))}, {made("second")}},
		})
		out, err := b.headless(t, r, m, "[[go]]").CombinedOutput()
		if err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		if res, _ := m.result("plain"); b.has("repo/made-never") || !strings.Contains(res.Text, "a.txt") {
			t.Errorf("a host that ignores the answer: %q\n%s", res.Text, out)
		}
		if err := os.Remove(b.Dir + "/ignore"); err != nil {
			t.Fatal(err)
		}
		if out, err = b.headless(t, r, m, "[[then]]").CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		if !b.has("repo/made-first") || b.has("repo/made-second") {
			t.Errorf("before: %v, after the host has ignored an answer: %v\n%s", b.has("repo/made-first"), b.has("repo/made-second"), out)
		}
	})
}

// TestHookOwnRules: what the agent's own settings deny is matched against what its hook
// answers. So a session with such rules has no sandbox, and they hold.
func TestHookOwnRules(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		if err := kernel.Probe(t.Context()); err != nil {
			unable(t, err.Error())
		}
		b := newBox(t)
		b.hooked(t, hookSandbox)
		b.asksNobody(t)
		settings, err := os.ReadFile(b.Home + "/.claude/settings.json")
		if err != nil {
			t.Fatal(err)
		}
		b.write("home/.claude/settings.json", strings.Replace(string(settings), `"permissions":{`, `"permissions":{"deny":["Bash(echo:*)"],"ask":["Bash(ls:*)"],`, 1))
		m := startModel(t, script{"go": {{bashCall("denied", "echo said-it")}, {bashCall("asked", "ls a.txt")}}})
		if out, err := b.headless(t, r, m, "[[go]]").CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		for _, name := range []string{"denied", "asked"} {
			if res, back := m.result(name); !back || !res.Error || strings.HasPrefix(res.Text, "said-it") || strings.HasPrefix(res.Text, "a.txt") {
				t.Errorf("%s has run: %q", name, res.Text)
			}
		}
	})
}
