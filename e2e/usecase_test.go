//go:build e2e

package e2e

import (
	"os"
	"strings"
	"testing"
)

// The two use cases and the question, as the document has them that the
// project began with.

// firstCase: allow Bash; ask rm, sudo, dd.
const firstCase = `allow = ["Bash"]
ask = ["Bash(rm:*)", "Bash(sudo:*)", "Bash(dd:*)"]
`

// secondCase: acceptEdits; allow Read, Glob, Grep, Bash; ask npm install and
// git push.
const secondCase = `mode = "acceptEdits"
allow = ["Read", "Glob", "Grep", "Bash"]
ask = ["Bash(npm install:*)", "Bash(git push:*)"]
`

func caseScript(b *box) (script, []row) {
	bash := func(name, command string) call {
		return call{Name: name, Tool: "Bash", Input: in{"command": command, "description": name}}
	}
	first := []row{
		{call: bash("git", "git status"), Says: "On branch main"},
		{call: bash("npm", "npm test"), Mark: "marks/npm-test"},
		{call: bash("rm", "rm ~/.pm/secret_key_backup.txt"), Gone: "home/.pm/secret_key_backup.txt"},
		{call: bash("sudo", "sudo -n true"), Mark: "marks/sudo"},
		{call: bash("dd", "dd if=a.txt of=copy.txt"), Mark: "repo/copy.txt"},
		{call: bash("git-log", "git log --oneline"), Says: "start"},
	}
	second := []row{
		{call: call{Name: "write", Tool: "Write", Input: in{"file_path": b.Work + "/new.txt", "content": "n"}}, Mark: "repo/new.txt"},
		{call: call{Name: "read", Tool: "Read", Input: in{"file_path": b.Work + "/a.txt"}}, Says: "secret-of-a"},
		{call: call{Name: "edit", Tool: "Edit", Input: in{"file_path": b.Work + "/a.txt", "old_string": "alpha", "new_string": "omega"}}, Holds: "repo/a.txt", Text: "omega"},
		{call: bash("test", "npm test"), Mark: "marks/npm-test"},
		{call: bash("install", "npm install left-pad"), Mark: "marks/npm-install"},
		{call: bash("push", "git push origin main"), Mark: "out/remote.git/refs/heads/main"},
	}
	s := script{"ask": {{{Name: "question", Tool: "AskUserQuestion", Input: question}}}}
	for _, r := range first {
		s["first"] = append(s["first"], turn{r.call})
	}
	for _, r := range second {
		s["second"] = append(s["second"], turn{r.call})
	}
	return s, append(first, second...)
}

// layCase puts programs on PATH that leave marks instead of doing harm.
func layCase(b *box) {
	b.write("home/.pm/secret_key_backup.txt", "key")
	for name, text := range map[string]string{"npm": "npm-$1", "sudo": "sudo"} {
		b.write("bin/"+name, "#!/bin/sh\n: > "+b.Marks+"/"+text+"\n")
		os.Chmod(b.Dir+"/bin/"+name, 0o700)
	}
	b.run("git", "init", "-q", "--bare", b.Out+"/remote.git")
	b.run("git", "remote", "add", "origin", b.Out+"/remote.git")
}

// caseRun makes a run of a use case.
func caseRun(t *testing.T, r release, policy, key string) (*scene, wrapped) {
	t.Helper()
	need(t, r)
	b := newBox(t)
	layCase(b)
	b.write("agent-wrapper.toml", policy)
	s, rows := caseScript(b)
	sc := &scene{b: b, m: startModel(t, s), rows: rows, w: startWeb(t, b)}
	x := wrapped{
		release: r, Policy: []string{"--policy", b.Dir + "/agent-wrapper.toml"},
		profile: profile{Prompt: "go [[" + key + "]]", Env: []string{"PATH=" + b.Dir + "/bin:" + os.Getenv("PATH")}},
	}
	return sc, x
}

// went checks which rows ran.
func (sc *scene) went(t *testing.T, want map[string]bool) {
	t.Helper()
	decided := map[string]int{}
	for _, d := range record(t, sc.b) {
		decided[d.ID]++
	}
	for _, r := range sc.rows {
		expected, part := want[r.Name]
		if !part {
			continue
		}
		res, _ := sc.m.result(r.Name)
		if ran := r.ran(sc.b, sc.m); ran != expected {
			t.Errorf("%s: ran %v, want %v (%s)", r.Name, ran, expected, short(res.Text))
		}
		if decided[r.id()] != 1 {
			t.Errorf("%s: %d decisions", r.Name, decided[r.id()])
		}
	}
}

func TestUseCases(t *testing.T) {
	for _, r := range releases() {
		t.Run(r.Version+"/first/nobody there", func(t *testing.T) {
			sc, x := caseRun(t, r, firstCase, "first")
			x.run(t, sc.b, sc.m, sc.w)
			sc.went(t, map[string]bool{"git": true, "npm": true, "rm": false, "sudo": false, "dd": false, "git-log": true})
		})
		t.Run(r.Version+"/first/on a terminal", func(t *testing.T) {
			sc, x := caseRun(t, r, firstCase, "first")
			term := x.onTerminal(t, sc.b, sc.m, sc.w)
			seen := term.question("rm ~/.pm/secret_key_backup.txt", "d")
			if !strings.Contains(seen, "Bash(rm:*)") {
				t.Errorf("the question does not show the rule:\n%s", seen)
			}
			term.question("sudo -n true", "w use the test user")
			term.question("dd if=a.txt", "o")
			term.asked(3)
			sc.went(t, map[string]bool{"git": true, "npm": true, "rm": false, "sudo": false, "dd": true, "git-log": true})
			if res, _ := sc.m.result("sudo"); !strings.Contains(res.Text, "use the test user") {
				t.Errorf("the words did not reach the model: %s", short(res.Text))
			}
		})
		t.Run(r.Version+"/second/nobody there", func(t *testing.T) {
			sc, x := caseRun(t, r, secondCase, "second")
			x.run(t, sc.b, sc.m, sc.w)
			sc.went(t, map[string]bool{"write": true, "read": true, "edit": true, "test": true, "install": false, "push": false})
		})
		t.Run(r.Version+"/second/on a terminal", func(t *testing.T) {
			sc, x := caseRun(t, r, secondCase, "second")
			term := x.onTerminal(t, sc.b, sc.m, sc.w)
			term.question("npm install left-pad", "o")
			term.question("git push origin main", "o")
			term.asked(2)
			sc.went(t, map[string]bool{"write": true, "read": true, "edit": true, "test": true, "install": true, "push": true})
		})
	}
}

// TestQuestion: AskUserQuestion is answered by the person at the terminal, and
// denied where there is none.
func TestQuestion(t *testing.T) {
	for _, r := range releases() {
		t.Run(r.Version+"/on a terminal", func(t *testing.T) {
			sc, x := caseRun(t, r, firstCase, "ask")
			term := x.onTerminal(t, sc.b, sc.m, sc.w)
			term.expect("Which colour?")
			term.expect("2  blue")
			term.press("2")
			term.expect("> 2")
			term.types("\r")
			term.wait()
			if res, _ := sc.m.result("question"); res.Error || !strings.Contains(res.Text, "blue") {
				t.Errorf("the answer did not reach the model: %s", short(res.Text))
			}
		})
		t.Run(r.Version+"/nobody there", func(t *testing.T) {
			sc, x := caseRun(t, r, firstCase, "ask")
			x.run(t, sc.b, sc.m, sc.w)
			if res, back := sc.m.result("question"); !back || !res.Error {
				t.Errorf("it was not denied: %s", short(res.Text))
			}
		})
	}
}
