//go:build e2e

package e2e

import (
	"os"
	"strings"
	"testing"
)

// listed is a whitelist of npm test and git status.
const listed = `{"version": "1.0.0", "mode": "strict",
 "defaults": {"npm": {"commands": ["test"], "allow_args": [], "deny_args": []}, "git": {"commands": ["status"], "allow_args": [], "deny_args": []}},
 "custom": {}, "policy": {"hallucination_threshold": 3}}`

// TestMadeUpCommands: a real agent that makes up commands is refused each, and
// at the threshold its turn ends; a second run cannot do anything, until a
// person resumes it.
func TestMadeUpCommands(t *testing.T) {
	for _, r := range releases() {
		t.Run(r.Version, func(t *testing.T) {
			need(t, r)
			b := newBox(t)
			layCase(b)
			b.write("repo/.smartergpt/allowed-commands.json", listed)
			bash := func(name, command string) row {
				return row{call: call{Name: name, Tool: "Bash", Input: in{"command": command, "description": name}}}
			}
			rows := []row{
				bash("status", "git status"), bash("made-up", "npm run test-coverage-with-magic-flag"), bash("pipe", "git status | sh"),
				bash("test", "npm test"), bash("third", "npm install left-pad"), bash("after", "git status"),
			}
			rows[0].Says, rows[1].Mark, rows[3].Mark, rows[4].Mark = "On branch main", "marks/npm-run", "marks/npm-test", "marks/npm-install"
			s := script{}
			for _, row := range rows {
				s["go"] = append(s["go"], turn{row.call})
				s["again"] = append(s["again"], turn{{Name: row.Name + "-2", Tool: row.Tool, Input: row.Input}})
			}
			sc := &scene{b: b, m: startModel(t, s), rows: rows, w: startWeb(t, b)}
			x := wrapped{
				release: r, Policy: []string{"--allow", "Bash"},
				profile: profile{Prompt: "go [[go]]", Env: []string{"PATH=" + b.Dir + "/bin:" + os.Getenv("PATH")}},
			}
			res := x.run(t, b, sc.m, sc.w)
			sc.went(t, map[string]bool{"status": true, "made-up": false, "test": true, "third": false})
			if res.Code != 3 || !strings.Contains(res.Errors+res.Out, "Agent paused after 3 hallucinated commands") {
				t.Errorf("code %d: %s\n%s", res.Code, res.Errors, short(res.Out))
			}
			if after, back := sc.m.result("after"); back && !after.Error {
				t.Errorf("a paused agent ran a command: %s", short(after.Text))
			}
			x.Prompt = "go [[again]]"
			if res := x.run(t, b, sc.m, sc.w); res.Code != 3 {
				t.Errorf("the second run: code %d: %s", res.Code, res.Errors)
			}
			if first, back := sc.m.result("status-2"); back && !first.Error {
				t.Errorf("a paused agent ran a command in a second run: %s", short(first.Text))
			}
			b.run(binary(t), "resume", "--plan", b.Work)
			s["resumed"] = []turn{{{Name: "status-3", Tool: "Bash", Input: in{"command": "git status", "description": "once more"}}}}
			sc.m = startModel(t, s)
			x.Prompt = "go [[resumed]]"
			if res := x.run(t, b, sc.m, sc.w); res.Code != 0 {
				t.Errorf("resumed: code %d: %s", res.Code, res.Errors)
			}
			if third, _ := sc.m.result("status-3"); third.Error || !strings.Contains(third.Text, "On branch main") {
				t.Errorf("a resumed agent did not go on: %s", short(third.Text))
			}
		})
	}
}

// TestDryRunWhitelist: a whitelist that is tried refuses a real agent nothing, and
// pauses nobody, however many commands it does not list.
func TestDryRunWhitelist(t *testing.T) {
	for _, r := range releases() {
		t.Run(r.Version, func(t *testing.T) {
			need(t, r)
			b := newBox(t)
			layCase(b)
			b.write("repo/.smartergpt/allowed-commands.json", strings.Replace(listed, `"hallucination_threshold": 3`, `"hallucination_threshold": 3, "dry_run_mode": true`, 1))
			var rows []row
			s, want := script{}, map[string]bool{}
			for command, says := range map[string]string{
				"git status": "On branch main", "git log --oneline": "start", "git branch": "* main", "git rev-parse --abbrev-ref HEAD": "main", "git show --stat": "start",
			} {
				one := row{call: call{Name: strings.ReplaceAll(command, " ", "-"), Tool: "Bash", Input: in{"command": command, "description": command}}, Says: says}
				rows, s["go"], want[one.Name] = append(rows, one), append(s["go"], turn{one.call}), true
			}
			sc := &scene{b: b, m: startModel(t, s), rows: rows, w: startWeb(t, b)}
			x := wrapped{release: r, Policy: []string{"--allow", "Bash"}, profile: profile{Prompt: "go [[go]]"}}
			res := x.run(t, b, sc.m, sc.w)
			sc.went(t, want)
			if res.Code != 0 {
				t.Errorf("code %d: %s", res.Code, res.Errors)
			}
		})
	}
}
