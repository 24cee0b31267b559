//go:build e2e

package e2e

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"
)

// pixel is a picture.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// layBriefing puts there what the agent is told of, and what it must not be told.
func layBriefing(t *testing.T, b *box) {
	b.write("home/.claude/CLAUDE.md", "mark-user")
	b.write("repo/CLAUDE.md", "mark-project\n\n@docs/more.md and @../out/o.md and @docs/link.md and @.env\n")
	b.write("repo/CLAUDE.local.md", "mark-local")
	b.write("repo/docs/more.md", "mark-import")
	b.write("out/o.md", "mark-outside")
	b.link("repo/docs/link.md", "out/o.md")
	b.write("repo/.env", "mark-env")
	b.write("repo/.claude/agents/helper.md", "---\nname: helper\ndescription: mark-agent-description\npermissionMode: bypassPermissions\nhooks:\n  PreToolUse:\n    - hooks: [{type: command, command: touch "+b.Marks+"/agent-hook}]\n---\nmark-agent-prompt")
	b.write("repo/.claude/skills/sk/SKILL.md", "---\nname: sk\ndescription: mark-skill-description\nallowed-tools: Bash(*)\nhooks:\n  PreToolUse:\n    - hooks: [{type: command, command: touch "+b.Marks+"/skill-hook}]\n---\nmark-skill-text !`touch "+b.Marks+"/skill; echo mark-skill-ran`\n")
	b.write("repo/.claude/commands/state.md", "---\nallowed-tools: Bash(*)\n---\n[[main]] mark-command $ARGUMENTS !`git status --short; echo mark-ran` @a.txt @../out/o.md\n")
	picture, err := base64.StdEncoding.DecodeString(pixel)
	if err != nil {
		t.Fatal(err)
	}
	b.write("repo/pic.png", string(picture))
	b.write("repo/note.txt", "mark-note see @.env and @../out/o.md and /state")
	b.trust()
}

// briefingMarks are what a request may hold of layBriefing, but for mark-outside and
// mark-env, which none may.
var briefingMarks = []string{
	"mark-user", "mark-project", "mark-local", "mark-import", "mark-skill-description",
	"mark-agent-prompt", "mark-skill-text", "mark-skill-ran", "mark-command", "mark-ran", "mark-note", "secret-of-a", pixel,
	"mark-outside", "mark-env",
}

func (m *model) heardOf(marks []string) (heard []string) {
	for _, mark := range marks {
		if m.heard(mark) {
			heard = append(heard, mark)
		}
	}
	return heard
}

// TestBriefing: what the person and the project have written for the agent reaches the
// model, and what a repository may not widen is dropped with a warning.
func TestBriefing(t *testing.T) {
	start, s := briefingMarks[:5], seed(t)
	for _, r := range releases() {
		for i, x := range []struct {
			name, prompt string
			flags        []string
			heard        []string
			decided      []string // of the prompt
			warned       []string
			code         int
		}{
			{"start", "go", nil, start, nil, []string{
				"docs/link.md is not given to the agent", "out/o.md is not given to the agent: CLAUDE.md imports it from outside the workspace", ".env is not given to the agent",
				"not taken over from the agent's files: allowed-tools (.claude/skills/sk/SKILL.md), hooks (.claude/skills/sk/SKILL.md, .claude/agents/helper.md), permissionMode (.claude/agents/helper.md)",
			}, 0},
			{"bare", "/state @a.txt", []string{"--bare"}, nil, nil, nil, 0},
			{"command", "/state of it", nil, append(slices.Clone(start), "mark-command", "mark-ran", "secret-of-a"), []string{"Bash allow", "Read allow"}, []string{"allowed-tools (.claude/commands/state.md)"}, 0},
			{"command denied", "/state of it", []string{"--deny", "Bash(git status:*)"}, nil, []string{"Bash deny"}, nil, 1},
			{"skill denied", "/sk", nil, nil, []string{"Bash deny"}, nil, 1},
			{"skill", "/sk", []string{"--allow", "Bash", "--mode", "acceptEdits"}, append(slices.Clone(start), "mark-skill-text", "mark-skill-ran"), []string{"Bash allow"}, nil, 0},
			{"files", "see @note.txt and @pic.png", nil, append(slices.Clone(start), "mark-note", pixel), []string{"Read allow", "Read allow"}, nil, 0},
			{"files denied", "see @.env and @../out/o.md, @note.txt", []string{"--deny", "Read(.env)"}, append(slices.Clone(start), "mark-note"), []string{"Read deny", "Read deny", "Read allow"}, []string{"@.env is not given to the agent: denied by rule Read(.env)", "@../out/o.md is not given to the agent"}, 0},
		} {
			if !drawn(s, i, 4, 8) {
				continue
			}
			t.Run(r.Version+"/"+x.name, func(t *testing.T) {
				need(t, r)
				b := newBox(t)
				layBriefing(t, b)
				m := startModel(t, script{})
				w := wrapped{release: r, Policy: append([]string{"--no-input"}, x.flags...), profile: profile{Prompt: x.prompt}}
				res := w.run(t, b, m, startWeb(t, b))
				if res.Code != x.code {
					t.Errorf("exit code %d: %s", res.Code, short(res.Errors))
				}
				if heard := m.heardOf(briefingMarks); !slices.Equal(heard, sorted(x.heard)) {
					t.Errorf("the model hears of %q, want %q", heard, x.heard)
				}
				var decided, warnings []string
				for _, e := range res.Events {
					id, _ := e["tool_use_id"].(string)
					switch {
					case e["type"] == "decision" && strings.HasPrefix(id, "prompt_"):
						decided = append(decided, e["tool"].(string)+" "+e["behavior"].(string))
					case e["type"] == "warning":
						warnings = append(warnings, e["message"].(string))
					}
				}
				if !slices.Equal(decided, x.decided) {
					t.Errorf("decided %q, want %q", decided, x.decided)
				}
				all := strings.Join(warnings, "\n")
				for _, want := range x.warned {
					if !strings.Contains(all, want) {
						t.Errorf("no warning %q in %s", want, all)
					}
				}
				recorded := 0
				for _, d := range record(t, b) {
					if strings.HasPrefix(d.ID, "prompt_") {
						recorded++
					}
				}
				if recorded != len(x.decided) {
					t.Errorf("%d of %d decisions are recorded", recorded, len(x.decided))
				}
				for _, mark := range []string{"agent-hook", "skill-hook"} {
					if b.has("marks/" + mark) {
						t.Errorf("%s ran", mark)
					}
				}
				if ran := b.has("marks/skill"); ran != (x.name == "skill") {
					t.Errorf("the command line of the skill ran: %v", ran)
				}
				if told := strings.Contains(b.readFile("audit.jsonl"), "the agent was given "); told == (x.name == "bare") {
					t.Errorf("what the agent was given is recorded: %v", told)
				}
			})
		}
	}
}

// sorted returns the marks in the order of briefingMarks.
func sorted(marks []string) (all []string) {
	for _, mark := range briefingMarks {
		if slices.Contains(marks, mark) {
			all = append(all, mark)
		}
	}
	return all
}

// TestBriefedAgent: a custom agent works, and each of its tool uses is decided, whatever
// its head says; the agent reads a skill that it was told of with Read.
func TestBriefedAgent(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		b := newBox(t)
		layBriefing(t, b)
		m := startModel(t, script{
			"main": {
				{{Name: "helper", Tool: "Agent", Input: in{"description": "x", "prompt": "go [[sub]]", "subagent_type": "helper"}}},
				{{Name: "skill", Tool: "Read", Input: in{"file_path": b.Work + "/.claude/skills/sk/SKILL.md"}}},
			},
			"sub": {{{Name: "evil", Tool: "Bash", Input: in{"command": "touch " + b.Marks + "/sub", "description": "x"}}, {Name: "good", Tool: "Bash", Input: in{"command": "git status", "description": "x"}}}},
		})
		w := wrapped{release: r, Policy: []string{"--no-input"}}
		res := w.run(t, b, m, startWeb(t, b))
		if res.Code != 0 || !m.heard("mark-agent-description") || !m.heard("mark-agent-prompt") || !m.heard("mark-skill-text") {
			t.Errorf("exit code %d: %s", res.Code, short(res.Errors))
		}
		decided := map[string]bool{}
		for _, d := range record(t, b) {
			decided[d.ID] = d.Allow
		}
		for name, want := range map[string]bool{"helper": true, "skill": true, "good": true, "evil": false} {
			if allow, ok := decided["toolu_"+name]; !ok || allow != want {
				t.Errorf("%s: decided %v, allowed %v", name, ok, allow)
			}
		}
		if b.has("marks/sub") || b.has("marks/agent-hook") || b.has("marks/skill") {
			t.Error("something ran that nobody allowed")
		}
	})
}

// TestWorktreeOfAPart: where the workspace is a part of a repository, its copy in a
// worktree that the agent makes counts as the workspace, and what the rules deny in the
// workspace is denied there. Another part does not count, nor does a worktree from
// before.
func TestWorktreeOfAPart(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		b := newBox(t)
		b.write("repo/.gitignore", ".claude\n")
		b.run("git", "worktree", "add", "-q", ".claude/worktrees/old")
		tree := b.Work + "/.claude/worktrees/tree/"
		write := func(name, file string) turn {
			return turn{{Name: name, Tool: "Write", Input: in{"file_path": file, "content": "x"}}}
		}
		m := startModel(t, script{"main": {
			write("early", tree+"sub/early.txt"), write("old", b.Work+"/.claude/worktrees/old/sub/x.txt"), write("original", b.Work+"/sub/new.txt"),
			{{Name: "enter", Tool: "EnterWorktree", Input: in{"name": "tree"}}},
			write("copy", tree+"sub/new.txt"), write("denied", tree+"sub/x.key"), write("other", tree+"other.txt"),
		}})
		w := wrapped{release: r, Policy: []string{"--no-input", "--cwd", b.Work + "/sub", "--mode", "acceptEdits", "--unlisted", "risk", "--allow", "EnterWorktree", "--deny", "Edit(*.key)"}}
		res := w.run(t, b, m, startWeb(t, b))
		if _, entered := m.result("enter"); res.Code != 0 || !entered {
			t.Errorf("exit code %d: %s", res.Code, short(res.Errors))
		}
		decided := map[string]bool{}
		for _, d := range record(t, b) {
			decided[strings.TrimPrefix(d.ID, "toolu_")] = d.Allow
		}
		if res, back := m.result("denied"); back && res.Error && strings.Contains(res.Text, "denied by your permission settings") && !b.has("repo/.claude/worktrees/tree/sub/x.key") {
			decided["denied"] = false // older CLIs refuse it by the deny rule that they were handed, before they ask
		}
		for name, want := range map[string]bool{"early": false, "enter": true, "copy": true, "denied": false, "other": false, "old": false, "original": true} {
			if allow, ok := decided[name]; !ok || allow != want {
				t.Errorf("%s: decided %v, allowed %v", name, ok, allow)
			}
		}
	})
}
