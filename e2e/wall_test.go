//go:build e2e

package e2e

import (
	"os"
	"strings"
	"testing"
)

// TestDenyList: the deny list is also handed to the agent CLI. What stands on
// it does not run, and what the CLI denies by itself is in the record too.
func TestDenyList(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		sc := newScene(t, r, profiles[1])
		removed := map[string]bool{"WebFetch": true, "CronCreate": true, "mcp__marks__poke": true}
		for i, x := range sc.rows {
			// Older ones look at their rules for this one before they ask.
			early := x.Name == "read" && r.Version != "2.1.330"
			sc.rows[i].Refused = early || x.Refused || removed[x.Tool]
		}
		allowed := func(r row) bool { return !r.Person && !onDenyList(r) }
		before := sc.b.snapshot()
		policy := append([]string{"--deny", "Bash(touch:*),Read(a.txt),WebFetch,CronCreate,mcp__marks__poke"}, openPolicy...)
		res := wrapped{release: r, profile: profiles[1], Policy: policy, Lift: []string{"CLAUDE_CODE_ENABLE_TODO_TOOLS=1"}}.run(t, sc.b, sc.m, sc.w)
		v := judge(sc.b, sc.m, sc.rows, before, record(t, sc.b), allowed)
		if res.Code != 0 || res.Errors != "" {
			v.miss("exit code %d, standard error %s", res.Code, short(res.Errors))
		}
		report(t, v)
	})
}

// onDenyList: Bash(touch:*), Read(a.txt), mcp__marks__poke. The last names of
// what a nested shell and a list run count as well.
func onDenyList(r row) bool {
	input, _ := r.Input.(in)
	command, _ := input["command"].(string)
	path, _ := input["file_path"].(string)
	switch r.Tool {
	case "Bash", "Monitor":
		return strings.Contains(command, "touch ") || strings.HasSuffix(command, "cat a.txt")
	case "Read":
		return strings.HasSuffix(path, "/a.txt")
	}
	return r.Tool == "mcp__marks__poke"
}

// TestSameID: a model that gives two tool uses the same id gets neither past
// us with the other's decision.
func TestSameID(t *testing.T) {
	bash := func(name, command string) call {
		return call{Name: name, Tool: "Bash", Input: in{"command": command, "description": "x"}}
	}
	eachRelease(t, func(t *testing.T, r release) {
		b := newBox(t)
		m := startModel(t, script{"main": {
			{bash("x", "touch s1")}, {bash("x", "touch s2")},
			{bash("y", "touch s3"), bash("y", "touch s4")},
			{bash("z", "touch s5"), bash("z", "cat a.txt")},
			{bash("w", "ls"), bash("w", "touch s6")},
		}})
		x := wrapped{release: r, Policy: []string{"--allow", "Bash(touch s1),Bash(touch s3),Bash(touch s5),Bash(ls)", "--unlisted", "deny"}}
		x.run(t, b, m, startWeb(t, b))
		for _, name := range []string{"s2", "s4", "s6"} {
			if b.has("repo/" + name) {
				t.Errorf("%s ran, which no rule allows", name)
			}
		}
		for _, name := range []string{"s1", "s3", "s5"} {
			if !b.has("repo/" + name) {
				t.Errorf("%s did not run, which a rule allows", name)
			}
		}
		if n := len(record(t, b)); n != 8 {
			t.Errorf("%d decisions for 8 tool uses", n)
		}
	})
}

// TestOtherTools: tools that the agent CLI offers only on request.
func TestOtherTools(t *testing.T) {
	for _, r := range releases() {
		for _, open := range []bool{true, false} {
			name := map[bool]string{true: "/open", false: "/shut"}[open]
			t.Run(r.Version+name, func(t *testing.T) {
				need(t, r)
				b := newBox(t)
				// The agent CLI itself looks whether there is one.
				b.write("bin/pwsh", "#!/bin/sh\ncase \"$*\" in *New-Item*) : > "+b.Marks+"/pwsh;; esac\n")
				os.Chmod(b.Dir+"/bin/pwsh", 0o700)
				rows := []row{
					{call: call{Name: "todo", Tool: "TodoWrite", Input: in{"todos": []any{in{"content": "c", "status": "pending", "activeForm": "a"}}}}, Passes: true, Refused: r.Version != oldest},
					{call: call{Name: "pwsh", Tool: "PowerShell", Input: in{"command": "New-Item p1", "description": "x"}}, Mark: "marks/pwsh"},
				}
				s := script{"main": {{rows[0].call}, {rows[1].call}}}
				m := startModel(t, s)
				before := b.snapshot()
				policy := []string{"--rules", `[{"tools":["TodoWrite","PowerShell"],"action":"deny","message":"shut"}]`}
				if open {
					policy = []string{"--allow", "TodoWrite,PowerShell"}
				}
				x := wrapped{release: r, Policy: policy, Lift: []string{"CLAUDE_CODE_ENABLE_TASKS=0", "CLAUDE_CODE_USE_POWERSHELL_TOOL=1"}}
				x.profile.Env = []string{"PATH=" + b.Dir + "/bin:" + os.Getenv("PATH")}
				x.run(t, b, m, startWeb(t, b))
				report(t, judge(b, m, rows, before, record(t, b), func(row) bool { return open }))
			})
		}
	}
}
