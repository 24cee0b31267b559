//go:build e2e

package e2e

import (
	"slices"
	"testing"
)

// personal are texts that the agent CLI takes from its user and its project by
// itself, each in the file that it takes it from.
func personal(b *box) map[string]string {
	texts := map[string]string{
		"mark-user-memory":    "home/.claude/CLAUDE.md",
		"mark-project-memory": "repo/CLAUDE.md",
		"mark-local-memory":   "repo/CLAUDE.local.md",
		"mark-auto-memory":    b.memory("MEMORY.md"),
		"mark-agent":          "repo/.claude/agents/a.md",
		"mark-skill":          "repo/.claude/skills/s/SKILL.md",
		"mark-style":          "repo/.claude/output-styles/o.md",
	}
	for text, name := range texts {
		b.write(name, "---\nname: "+text+"\ndescription: "+text+"\n---\n"+text+"\n")
	}
	b.write("repo/.claude/settings.json", marshal(in{"outputStyle": "mark-style", "env": in{"MARK": "mark-env"}, "model": "mark-model"}))
	b.trust()
	return texts
}

// TestIsolation: what docs/agents.md says is off is off, and is on without the
// isolation; and what it says brings it back does so. What TestBriefing gives back is
// left out.
func TestIsolation(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		b := newBox(t)
		texts := personal(b)
		show := call{Name: "env", Tool: "Bash", Input: in{"command": "echo $MARK", "description": "x"}}
		m := startModel(t, script{"main": {{show}}})
		driver{Release: r, Answer: func(ask) (bool, string) { return true, "" }}.drive(t, b, m, plainPrompt)
		open := heardOf(m, texts)
		t.Logf("without isolation the model hears of %q", open)
		for _, text := range []string{"mark-user-memory", "mark-project-memory", "mark-auto-memory", "mark-agent", "mark-skill", "mark-env", "mark-model"} {
			if !slices.Contains(open, text) {
				t.Errorf("%s is not heard of even without isolation", text)
			}
		}

		m = startModel(t, script{"main": {{show}}})
		x := wrapped{release: r, profile: profile{Bare: true}, Policy: []string{"--allow", "Bash", "--append-system-prompt", "back-system", "--model", "back-model", "--add-dir", b.Out}}
		res := x.run(t, b, m, startWeb(t, b))
		if shut := heardOf(m, texts); len(shut) > 0 || res.Code != 0 {
			t.Errorf("the model hears of %q; exit code %d", shut, res.Code)
		}
		for _, text := range []string{"back-system", "back-model", "mcp__marks__peek", b.Out} {
			if !m.heard(text) {
				t.Errorf("%s does not come back", text)
			}
		}
	})
}

func heardOf(m *model, texts map[string]string) []string {
	heard := []string{}
	for text := range texts {
		if m.heard(text) {
			heard = append(heard, text)
		}
	}
	for _, text := range []string{"mark-env", "mark-model"} {
		if m.heard(text) {
			heard = append(heard, text)
		}
	}
	slices.Sort(heard)
	return heard
}
