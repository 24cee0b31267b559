//go:build e2e

package e2e

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// row is one tool use of the matrix with the marks by which we see that it ran.
type row struct {
	call
	Mark   string // a path below the box that exists only if it ran
	Gone   string // a path below the box that is gone only if it ran
	Holds  string // a path below the box that holds Text only if it ran
	Text   string
	Says   string   // the result holds it if and only if it ran
	Also   []string // further files that it changes
	Dir    string   // the directory below the box that the decision must know
	Passes bool     // any result without an error means that it ran
	// Person: a person is asked whatever the lists say, or our guard denies it;
	// with nobody there it does not run.
	Person bool
	// Refused: the agent CLI refuses it before anybody is asked.
	Refused bool
	// Either: whether the agent CLI offers the tool hangs on what lies about.
	Either bool
	// After names a row that must have run, or the agent CLI refuses this one.
	After string
	// On: the versions of the agent CLI that offer the tool, nil all.
	On []string
}

type in = map[string]any

// matrix is the script of the main run: every tool that the agent CLIs offer.
func matrix(b *box, rel release) (script, []row) {
	p := func(name string) string { return filepath.Join(b.Dir, name) }
	bash := func(name, command string) call {
		return call{Name: name, Tool: "Bash", Input: in{"command": command, "description": name}}
	}
	var rows []row
	s := script{}
	// add puts rows into a conversation, as one turn.
	add := func(key string, turnRows ...row) {
		var t turn
		for _, r := range turnRows {
			if r.On != nil && !slices.Contains(r.On, rel.Version) {
				return
			}
			rows = append(rows, r)
			t = append(t, r.call)
		}
		s[key] = append(s[key], t)
	}

	// Commands that the agent CLI would run unasked, and others.
	add("main", row{call: bash("ls", "ls"), Says: "n.ipynb"})
	add("main", row{call: bash("cat", "cat a.txt"), Says: "secret-of-a"})
	add("main", row{call: bash("git-status", "git status"), Says: "On branch main"})
	add("main", row{call: bash("echo", "echo echo-says-hi @secret.txt"), Says: "echo-says-hi"})
	add("main", row{call: bash("cat-out", "cat "+p("out/o.txt")), Says: "secret-of-o"})
	add("main", row{call: bash("touch", "touch t1"), Mark: "repo/t1"})
	add("main", row{call: bash("rm", "rm x1"), Gone: "repo/x1"})
	add("main", row{call: bash("list", "ls && rm x2"), Gone: "repo/x2"})
	add("main", row{call: bash("nested", "bash -c 'touch t2'"), Mark: "repo/t2"})
	add("main", row{call: bash("redirect", "echo text > t3"), Mark: "repo/t3"})
	add("main", row{call: bash("write-out", "touch "+p("out/t4")), Mark: "out/t4"})
	add("main", row{call: call{Name: "no-sandbox", Tool: "Bash", Input: in{"command": "touch t10", "description": "x", "dangerouslyDisableSandbox": true}}, Mark: "repo/t10", Person: true})
	add("main", row{call: bash("huge", ": "+strings.Repeat("a", 70_000)+"; touch t11"), Mark: "repo/t11", Person: true})
	add("main", row{call: call{Name: "background", Tool: "Bash", Input: in{"command": "touch t5", "description": "x", "run_in_background": true}}, Mark: "repo/t5"})
	add("main", row{call: call{Name: "background-ls", Tool: "Bash", Input: in{"command": "ls", "description": "x", "run_in_background": true}}, Passes: true})

	add("main", row{call: call{Name: "background-sleep", Tool: "Bash", Input: in{"command": "sleep 60", "description": "x", "run_in_background": true}}, Passes: true})
	add("main", row{call: call{Name: "task-output", Tool: "TaskOutput", Input: func(m *model) any {
		input := backgroundID(m).(in)
		input["block"], input["timeout"] = false, 1000
		return input
	}}, Passes: true, After: "background-sleep", On: []string{"2.1.268", oldest}})
	add("main", row{call: call{Name: "task-stop", Tool: "TaskStop", Input: backgroundID}, Passes: true, After: "background-sleep"})

	// The directory goes on from call to call.
	add("main", row{call: bash("cd-sub", "cd sub"), Passes: true, Dir: "repo"})
	add("main", row{call: bash("cd-write", "touch c1"), Mark: "repo/sub/c1", Dir: "repo/sub"})
	add("main", row{call: bash("cd-read", "cat b.txt"), Says: "secret-of-b", Dir: "repo/sub"})
	add("main", row{call: bash("cd-up", "cd .."), Passes: true, Dir: "repo/sub"})
	add("main", row{call: bash("cd-up-write", "touch c2"), Mark: "repo/c2", Dir: "repo"})
	add("main", row{call: bash("cd-up-read", "cat sub/b.txt"), Says: "secret-of-b", Dir: "repo"})
	add("main", row{call: bash("cd-out", "cd .."), Passes: true, Dir: "repo"})
	add("main", row{call: bash("cd-out-write", "touch c3"), Mark: "repo/c3", Dir: "repo"})

	// Files.
	add("main", row{call: call{Name: "read", Tool: "Read", Input: in{"file_path": p("repo/a.txt")}}, Says: "secret-of-a"})
	add("main", row{call: call{Name: "read-out", Tool: "Read", Input: in{"file_path": p("out/o.txt")}}, Says: "secret-of-o"})
	add("main", row{call: call{Name: "glob", Tool: "Glob", Input: in{"pattern": "*.ipynb"}}, Says: "n.ipynb", Refused: true})
	add("main", row{call: call{Name: "grep", Tool: "Grep", Input: in{"pattern": "secret-of-a"}}, Says: "a.txt", Refused: true})
	add("main", row{call: call{Name: "write", Tool: "Write", Input: in{"file_path": p("repo/w1"), "content": "w"}}, Mark: "repo/w1"})
	add("main", row{call: call{Name: "write-relative", Tool: "Write", Input: in{"file_path": "w3", "content": "w"}}, Mark: "repo/w3"})
	add("main", row{call: call{Name: "write-far", Tool: "Write", Input: in{"file_path": p("out/w2"), "content": "w"}}, Mark: "out/w2"})
	add("main", row{call: call{Name: "edit", Tool: "Edit", Input: in{"file_path": p("repo/a.txt"), "old_string": "alpha", "new_string": "edited-alpha"}}, Holds: "repo/a.txt", Text: "edited-alpha", After: "read"})
	add("main", row{call: call{Name: "write-settings", Tool: "Write", Input: in{"file_path": p("repo/.claude/settings.local.json"), "content": "{}"}}, Mark: "repo/.claude/settings.local.json", Person: true})
	add("main", row{call: call{Name: "read-notebook", Tool: "Read", Input: in{"file_path": p("repo/n.ipynb")}}, Says: "1+1"})
	add("main", row{call: call{Name: "edit-notebook", Tool: "NotebookEdit", Input: in{"notebook_path": p("repo/n.ipynb"), "cell_id": "c1", "new_source": "edited-cell"}}, Holds: "repo/n.ipynb", Text: "edited-cell", After: "read-notebook"})

	// Three at once.
	add("main",
		row{call: bash("together-1", "cat sub/b.txt"), Says: "secret-of-b"},
		row{call: call{Name: "together-2", Tool: "Read", Input: in{"file_path": p("repo/sub/b.txt")}}, Says: "secret-of-b"},
		row{call: bash("together-3", "touch t6"), Mark: "repo/t6"},
		row{call: bash("together-4", "touch t7"), Mark: "repo/t7"})

	// The net.
	add("main", row{call: call{Name: "fetch", Tool: "WebFetch", Input: in{"url": "https://example.com/page", "prompt": "what"}}, Mark: "marks/web-fetch"})
	add("main", row{call: call{Name: "search", Tool: "WebSearch", Input: in{"query": "anything at all"}}, Mark: "marks/web-search"})

	// MCP.
	add("main", row{call: call{Name: "peek", Tool: "mcp__marks__peek", Input: in{"mark": "peek"}}, Mark: "marks/peek"})
	add("main", row{call: call{Name: "poke", Tool: "mcp__marks__poke", Input: in{"mark": "poke"}}, Mark: "marks/poke"})
	add("main", row{call: call{Name: "mcp-list", Tool: "ListMcpResourcesTool", Input: in{}}, Says: "mark://one"})
	add("main", row{call: call{Name: "mcp-read", Tool: "ReadMcpResourceTool", Input: in{"server": "marks", "uri": "mark://one"}}, Mark: "marks/resource"})
	add("main", row{call: call{Name: "mcp-dir", Tool: "ReadMcpResourceDirTool", Input: in{"server": "marks", "uri": "mark://one"}}, Passes: true, Refused: rel.Version == "2.1.330"}) // there it is offered, and says that it is not in the build

	// The agent CLI's own.
	add("main", row{call: call{Name: "task-create", Tool: "TaskCreate", Input: in{"subject": "s", "description": "d"}}, Passes: true})
	add("main", row{call: call{Name: "task-get", Tool: "TaskGet", Input: in{"taskId": "1"}}, Passes: true, After: "task-create"})
	add("main", row{call: call{Name: "task-list", Tool: "TaskList", Input: in{}}, Passes: true})
	add("main", row{call: call{Name: "task-update", Tool: "TaskUpdate", Input: in{"taskId": "1", "status": "completed"}}, Passes: true, After: "task-create"})
	add("main", row{call: call{Name: "todo", Tool: "TodoWrite", Input: in{"todos": []any{in{"content": "c", "status": "pending", "activeForm": "a"}}}}, Passes: true, Refused: true})
	add("main", row{call: call{Name: "tool-search", Tool: "ToolSearch", Input: in{"query": "select:CronList", "max_results": 1}}, Passes: true, On: []string{"2.1.330"}})
	add("main", row{call: call{Name: "cron-list", Tool: "CronList", Input: in{}}, Passes: true, Either: true})
	add("main", row{call: call{Name: "cron-create", Tool: "CronCreate", Input: in{"cron": "0 5 1 1 *", "prompt": "x", "recurring": false}}, Passes: true, Refused: true})
	add("main", row{call: call{Name: "cron-delete", Tool: "CronDelete", Input: cronID}, Passes: true, After: "cron-create"})
	add("main", row{call: call{Name: "wakeup", Tool: "ScheduleWakeup", Input: wakeup(rel)}, Passes: true})
	add("main", row{call: call{Name: "findings", Tool: "ReportFindings", Input: in{"findings": []any{}}}, Passes: true})
	add("main", row{call: call{Name: "list-agents", Tool: "ListAgents", Input: in{}}, Passes: true, On: []string{"2.1.330", "2.1.268"}})
	add("main", row{call: call{Name: "message", Tool: "SendMessage", Input: in{"to": "nobody", "message": "hello", "summary": "hello"}}, Passes: true})
	add("main", row{call: call{Name: "monitor", Tool: "Monitor", Input: in{"command": "touch t8", "description": "x", "timeout_ms": 5000}}, Mark: "repo/t8", On: []string{"2.1.330"}})
	add("main", row{call: call{Name: "skill", Tool: "Skill", Input: in{"skill": "pwn"}}, Passes: true, Refused: true})
	add("main", row{call: call{Name: "question", Tool: "AskUserQuestion", Input: question}, Says: "red", Person: true})

	// Subagents: in front, behind, and from a workflow.
	sub := func(key string) {
		name := func(s string) string { return key + "-" + s }
		add(key, row{call: bash(name("echo"), "echo "+name("hi")), Says: name("hi")})
		add(key, row{call: bash(name("rm"), "rm "+name("x")), Gone: "repo/" + name("x")})
		add(key, row{call: call{Name: name("read"), Tool: "Read", Input: in{"file_path": p("repo/sub/b.txt")}}, Says: "secret-of-b"})
		add(key, row{call: call{Name: name("write"), Tool: "Write", Input: in{"file_path": p("repo/" + name("w")), "content": "w"}}, Mark: "repo/" + name("w")})
		add(key, row{call: call{Name: name("poke"), Tool: "mcp__marks__poke", Input: in{"mark": name("poke")}}, Mark: "marks/" + name("poke")})
	}
	add("main", row{call: call{Name: "agent", Tool: "Agent", Input: in{"description": "d", "prompt": "go [[fore]] see @secret.txt", "subagent_type": "general-purpose", "run_in_background": false}}, Passes: true})
	sub("fore")
	add("main", row{call: call{Name: "agent-plan", Tool: "Agent", Input: in{"description": "d", "prompt": "go [[never]]", "subagent_type": "Plan", "run_in_background": false}}, Passes: true})
	add("never", row{call: bash("never-touch", "touch n1"), Mark: "repo/n1", After: "agent-plan"})
	agent := func(name, key string, more in) row {
		input := in{"description": "d", "prompt": "go [[" + key + "]]", "subagent_type": "general-purpose", "run_in_background": false}
		for k, v := range more {
			input[k] = v
		}
		return row{call: call{Name: name, Tool: "Agent", Input: input}, Passes: true}
	}
	add("main", agent("agent-bypass", "bypass", in{"mode": "bypassPermissions"}))
	add("bypass", row{call: bash("bypass-touch", "touch b1"), Mark: "repo/b1"})
	add("main", agent("agent-tree", "tree", in{"isolation": "worktree"}))
	add("tree", row{call: call{Name: "tree-poke", Tool: "mcp__marks__poke", Input: in{"mark": "tree-poke"}}, Mark: "marks/tree-poke"})
	add("main", agent("agent-nest", "nest", nil))
	add("nest", agent("agent-deep", "deep", nil))
	add("deep", row{call: bash("deep-touch", "touch d1"), Mark: "repo/d1"})
	add("main", agent("agent-left", "left", nil), agent("agent-right", "right", nil))
	for _, side := range []string{"left", "right"} {
		add(side, row{call: bash(side+"-touch", "touch "+side), Mark: "repo/" + side}, row{call: bash(side+"-ls", "ls"), Says: "n.ipynb"})
	}
	add("main", row{call: call{Name: "agent-back", Tool: "Agent", Input: in{"description": "d", "prompt": "go [[back]] see @secret.txt", "subagent_type": "general-purpose", "run_in_background": true}}, Passes: true})
	sub("back")
	add("main", row{call: call{Name: "workflow", Tool: "Workflow", Input: in{"script": workflow}}, Passes: true})
	add("flow", row{call: bash("flow-touch", "touch f1"), Mark: "repo/f1"})

	// What goes on behind comes to its end first.
	behind := map[string]string{"back-poke": "agent-back", "flow-touch": "workflow"}
	add("main", row{call: call{Name: "worktree", Tool: "EnterWorktree", Input: in{"name": "tree"}, Wait: behind}, Says: "Created worktree"})
	add("main", row{call: call{Name: "worktree-exit", Tool: "ExitWorktree", Input: in{"action": "remove", "discard_changes": true}}, Passes: true, After: "worktree"})
	add("main", row{call: call{Name: "plan", Tool: "EnterPlanMode", Input: in{}}, Passes: true})
	add("main", row{call: call{Name: "plan-exit", Tool: "ExitPlanMode", Input: in{"plan": "x"}}, Passes: true, Person: true, After: "plan"})
	add("main", row{call: bash("last", "touch t9"), Mark: "repo/t9"})
	return s, rows
}

var question = in{"questions": []any{in{
	"question": "Which colour?", "header": "Colour", "multiSelect": false,
	"options": []any{in{"label": "red", "description": "r"}, in{"label": "blue", "description": "b"}},
}}}

const workflow = `export const meta = { name: 'flow', description: 'x', phases: [{ title: 'One' }] }
phase('One')
await agent('go [[flow]] see @secret.txt')
`

// wakeup asks for none where the agent CLI can do so, else for a late one.
func wakeup(rel release) in {
	if rel.Version == oldest {
		return in{"delaySeconds": 3600, "reason": "r", "prompt": "p"}
	}
	return in{"stop": true}
}

// backgroundID takes the task that the background command told.
func backgroundID(m *model) any { return taskOf(m, "background-sleep") }

// taskOf takes the task that a background command told.
func taskOf(m *model, name string) any {
	found := regexp.MustCompile(`ID: (\w+)`).FindStringSubmatch(m.results["toolu_"+name].Text)
	if found == nil {
		return in{"task_id": "none"}
	}
	return in{"task_id": found[1]}
}

// cronID takes the job that CronCreate told.
func cronID(m *model) any {
	found := regexp.MustCompile(`job ([0-9a-f]+)|([0-9a-f]{8})`).FindString(m.results["toolu_cron-create"].Text)
	return in{"id": strings.TrimPrefix(found, "job ")}
}

// furnish puts the files there that the matrix removes and reads.
func furnish(b *box) {
	for _, name := range []string{"x1", "x2", "fore-x", "back-x"} {
		b.write("repo/"+name, "")
	}
	b.write("out/o.txt", "secret-of-o\n")
}

// ran reports whether there is evidence that the row's tool use ran.
func (r row) ran(b *box, m *model) bool {
	res, back := m.result(r.Name)
	switch {
	case r.Mark != "" && b.has(r.Mark), r.Gone != "" && !b.has(r.Gone):
		return true
	case r.Holds != "" && strings.Contains(b.readFile(r.Holds), r.Text):
		return true
	case r.Says != "":
		// A denial may quote the command.
		quoted := res.Error && strings.Contains(marshal(r.Input), r.Says)
		return back && !quoted && strings.Contains(res.Text, r.Says)
	case r.Passes:
		return back && !res.Error
	}
	return false
}
