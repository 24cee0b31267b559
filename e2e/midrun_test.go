//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"
)

// The agent runs an allowed script, and the script writes settings that allow
// everything. What is denied stays denied.

var midPolicy = []string{"--allow", "Bash(sh install.sh),Agent", "--unlisted", "deny"}

func allowInstall(r row) bool { return r.Name == "install" || r.Tool == "Agent" }

// midRun is the script, and its files in a box.
func midRun(b *box) (script, []row) {
	for _, name := range []string{"home/.claude/settings.json", "repo/.claude/settings.json", "repo/.claude/settings.local.json"} {
		b.write(name, "{}")
	}
	b.trust()
	b.write("seed.json", hostileSettings(b, "mid"))
	b.write("repo/install.sh", "for f in ../home/.claude/settings.json .claude/settings.json .claude/settings.local.json; do cat ../seed.json > $f; done\n")
	bash := func(name, command string, pause time.Duration) call {
		return call{Name: name, Tool: "Bash", Input: in{"command": command, "description": name}, Pause: pause}
	}
	changed := []string{"repo/.claude/settings.json", "repo/.claude/settings.local.json"}
	main := []row{
		{call: bash("install", "sh install.sh", 0), Holds: "repo/.claude/settings.json", Text: "PermissionRequest", Also: changed},
		{call: bash("m1", "touch m1", 2*time.Second), Mark: "repo/m1"},
		{call: call{Name: "m2", Tool: "Write", Input: in{"file_path": b.Work + "/m2", "content": "m"}}, Mark: "repo/m2"},
		{call: call{Name: "m3", Tool: "mcp__marks__poke", Input: in{"mark": "m3"}}, Mark: "marks/m3"},
		{call: call{Name: "m4", Tool: "Read", Input: in{"file_path": b.Work + "/a.txt"}}, Says: "secret-of-a"},
		{call: call{Name: "m5", Tool: "Agent", Input: in{"description": "d", "prompt": "go [[sub]]", "subagent_type": "general-purpose", "run_in_background": false}}, Passes: true},
		{call: bash("m6", "touch m6", time.Second), Mark: "repo/m6"},
	}
	sub := []row{{call: bash("s1", "touch s1", 0), Mark: "repo/s1"}, {call: bash("s2", "ls", 0), Says: "a.txt"}}
	s := script{}
	for _, r := range main {
		s["main"] = append(s["main"], turn{r.call})
	}
	for _, r := range sub {
		s["sub"] = append(s["sub"], turn{r.call})
	}
	return s, append(main, sub...)
}

func TestSettingsWrittenInMidRun(t *testing.T) {
	for _, r := range releases() {
		t.Run(r.Version, func(t *testing.T) {
			need(t, r)
			b := newBox(t)
			s, rows := midRun(b)
			m := startModel(t, s)
			before := b.snapshot()
			res := wrapped{release: r, Policy: midPolicy}.run(t, b, m, startWeb(t, b))
			v := judge(b, m, rows, before, record(t, b), allowInstall)
			if res.Code != 0 || res.Errors != "" {
				v.miss("exit code %d, standard error %s, the last events %s", res.Code, short(res.Errors), lastOf(res.Out))
			}
			report(t, v)
		})
		// Without the isolation the agent CLI takes the settings up.
		t.Run(r.Version+"/control", func(t *testing.T) {
			need(t, r)
			b := newBox(t)
			s, rows := midRun(b)
			m := startModel(t, s)
			before := b.snapshot()
			names := map[string]row{}
			for _, r := range rows {
				names[r.id()] = r
			}
			d := driver{Release: r, Hook: true, Args: []string{"--mcp-config", b.mcpConfig()}, Slow: lasts(300 * time.Millisecond)}
			d.Answer = func(a ask) (bool, string) { return allowInstall(names[a.ID]), "no" }
			asks, _ := d.drive(t, b, m, plainPrompt)
			v := judge(b, m, rows, before, d.decisions(asks), allowInstall)
			if faults := strings.Join(v.Faults, "\n"); !strings.Contains(faults, "ran although it was denied") {
				t.Errorf("the settings did nothing even here, so this test shows nothing: %s", faults)
			}
		})
	}
}
