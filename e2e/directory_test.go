//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"
)

// TestDirectory: after a cd, relative paths of the next call are decided in
// the directory that the agent's shell is in.
func TestDirectory(t *testing.T) {
	bash := func(name, command string) call {
		return call{Name: name, Tool: "Bash", Input: in{"command": command, "description": name}}
	}
	rows := []row{
		{call: bash("top-read", "cat b.txt"), Says: "No such file"},
		{call: bash("down", "cd sub"), Passes: true},
		{call: bash("read", "cat b.txt"), Says: "secret-of-b"},
		{call: bash("write", "touch z1"), Mark: "repo/sub/z1"},
		{call: bash("redirect", "echo z > z2"), Mark: "repo/sub/z2"},
		{call: bash("up", "cd .."), Passes: true},
		{call: bash("up-write", "touch z3"), Mark: "repo/z3"},
		{call: bash("up-read", "cat sub/b.txt"), Says: "secret-of-b"},
		{call: bash("out", "cd .."), Passes: true},
		{call: bash("out-write", "touch z4"), Mark: "repo/z4"},
		{call: bash("out-read", "cat sub/b.txt"), Says: "secret-of-b"},
	}
	denied := map[string]bool{"read": true, "write": true, "redirect": true, "up-read": true, "out-read": true}
	eachRelease(t, func(t *testing.T, r release) {
		b := newBox(t)
		s := script{}
		for _, x := range rows {
			s["main"] = append(s["main"], turn{x.call})
		}
		m := startModel(t, s)
		before := b.snapshot()
		x := wrapped{release: r, Policy: []string{"--allow", "Bash", "--deny", "Read(sub/b.txt),Edit(sub/**)"}}
		x.run(t, b, m, startWeb(t, b))
		v := judge(b, m, rows, before, record(t, b), func(r row) bool { return !denied[r.Name] })
		report(t, v)
	})
}

// TestDirectoryTold holds what the wrapper takes for granted of the directory
// that a hook tells: it is where the command runs; commands in the background
// and other agents do not move it.
func TestDirectoryTold(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		b := newBox(t)
		m := startModel(t, directoryScript())
		d := driver{Release: r, Hook: true, Args: isolated, Answer: func(ask) (bool, string) { return true, "" }}
		asks, _ := d.drive(t, b, m, plainPrompt)
		told := map[string]string{}
		for _, a := range asks {
			if a.Kind == "hook" {
				told[a.ID] = strings.TrimPrefix(a.Dir, b.Dir)
			}
		}
		for name, want := range map[string]string{
			"main-1": "/repo", "main-2": "/repo/sub", "main-3": "/repo", "front-1": "/repo", "front-2": "/repo", "behind-1": "/repo", "behind-2": "/repo",
		} {
			res, _ := m.result(name)
			if got := strings.TrimPrefix(strings.TrimSpace(res.Text), b.Dir); got != want || told["toolu_"+name] != want {
				t.Errorf("%s ran in %s, and %s was told, want %s", name, short(got), told["toolu_"+name], want)
			}
		}
	})
}

// directoryScript moves the main agent's shell, and tries to do so from a
// command in the background and from subagents in front and behind.
func directoryScript() script {
	bash := func(name, command string) call {
		return call{Name: name, Tool: "Bash", Input: in{"command": command, "description": name}}
	}
	agent := func(key string, behind bool) call {
		return call{Name: key, Tool: "Agent", Input: in{"description": "d", "prompt": "go [[" + key + "]]", "subagent_type": "general-purpose", "run_in_background": behind}}
	}
	const wait = "while ! test -e %; do read -t 0.05 x < /dev/zero; done; pwd"
	after := func(mark string) string { return strings.ReplaceAll(wait, "%", mark) }
	return script{
		"main": {
			{{Name: "background", Tool: "Bash", Input: in{"command": "cd sub && touch moved", "description": "x", "run_in_background": true}}},
			{bash("main-1", after("sub/moved"))},
			{agent("front", false)},
			{agent("behind", true)},
			{bash("down", "cd sub")},
			{bash("main-2", "touch main-moved; "+after("behind-moved"))},
			{bash("up", "cd ..")},
			{bash("main-3", "pwd")},
		},
		"front":  {{bash("front-down", "cd sub")}, {bash("front-1", "pwd")}, {bash("front-2a", "cd sub"), bash("front-2", "pwd")}},
		"behind": {{bash("behind-1", after("sub/main-moved"))}, {bash("behind-down", "cd sub && touch behind-moved")}, {bash("behind-2", "pwd")}},
	}
}

// TestDirectoryBeside: a cd that runs beside other commands is not taken for
// done or not done: what a command does where, it was decided for there, or for
// any place.
func TestDirectoryBeside(t *testing.T) {
	bash := func(name, command string) call {
		return call{Name: name, Tool: "Bash", Input: in{"command": command, "description": name}}
	}
	eachRelease(t, func(t *testing.T, r release) {
		b := newBox(t)
		m := startModel(t, script{"main": {
			{bash("down", "cd sub"), bash("p1", "pwd"), bash("p2", "cat b.txt; pwd")},
			{bash("p3", "pwd"), bash("up", "cd .."), bash("p4", "pwd")},
			{bash("p5", "pwd")},
			{bash("to", "cd sub"), bash("fro", "cd .."), bash("p6", "pwd")},
			{bash("p7", "pwd")},
		}})
		res := wrapped{release: r, Policy: []string{"--allow", "Bash"}}.run(t, b, m, startWeb(t, b))
		if res.Code != 0 {
			t.Fatalf("exit code %d: %s", res.Code, lastOf(res.Out+res.Errors))
		}
		known := map[string]bool{}
		for _, d := range record(t, b) {
			name := strings.TrimPrefix(d.ID, "toolu_")
			if d.Dir == "" || !strings.HasPrefix(name, "p") {
				continue
			}
			known[name] = true
			res, _ := m.result(name)
			if !strings.HasSuffix(strings.TrimSpace(res.Text), d.Dir) {
				t.Errorf("%s was decided in %s and ran in %s", name, d.Dir, short(res.Text))
			}
		}
		for _, alone := range []string{"p5", "p7"} {
			if !known[alone] {
				t.Errorf("%s ran alone, and its directory was not known", alone)
			}
		}
	})
}

// TestDirectoryWhileAsked: while a person thinks about a command, a cd beside
// it may run (2.1.197 asks for it first, 2.1.330 last). The command does not
// then run in another directory than it was decided for.
func TestDirectoryWhileAsked(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		b := newBox(t)
		b.write("home/.bashrc", "cd() { builtin cd \"$@\" && : > "+b.Marks+"/cd; }\n")
		m := startModel(t, script{"main": {{
			{Name: "down", Tool: "Bash", Input: in{"command": "cd sub", "description": "d"}},
			{Name: "show", Tool: "Bash", Input: in{"command": "cat b.txt; pwd", "description": "d"}},
		}}})
		term := wrapped{release: r, Policy: []string{"--allow", "Bash", "--ask", "Bash(cat:*)"}}.onTerminal(t, b, m, startWeb(t, b))
		term.expect(choices)
		until(time.Second, func() bool { return strings.Contains(b.readFile("audit.jsonl"), "toolu_down") }) // decided, it may still wait
		term.press("o")
		term.asked(1)
		if !b.has("marks/cd") {
			t.Fatal("the cd never ran")
		}
		for _, d := range record(t, b) {
			res, _ := m.result("show")
			if d.ID == "toolu_show" && !strings.HasSuffix(strings.TrimSpace(res.Text), d.Dir) {
				t.Errorf("decided in %q and ran in %s", d.Dir, short(res.Text))
			}
		}
	})
}
