//go:build e2e

package e2e

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// A door is a way by which what lies in the workspace, the home or the
// environment speaks as the user, or runs a program, beside our decisions. Each
// that is laid has a mark, door-NAME: a text that the model may hear, or a file
// below marks. What a test lays and no agent CLI takes even without the
// isolation stands here too: the next version may.

// says is a text that the model must not hear, runs a shell command that must
// not run.
func says(name string) string          { return "door-" + name }
func (b *box) runs(name string) string { return "touch " + b.Marks + "/door-" + name }

// hooks gives settings that run a command at an event.
func (b *box) hooks(event, name string) in {
	return in{event: []any{in{"hooks": []any{in{"type": "command", "command": b.runs(name)}}}}}
}

// server is the configuration of an MCP server that is none.
func (b *box) server(name string) in {
	return in{"x-" + name: in{"type": "stdio", "command": "sh", "args": []string{"-c", b.runs(name)}}}
}

// layDoors lays whatever speaks or runs by itself.
func layDoors(b *box) {
	for _, at := range []string{"repo", "home"} {
		layTexts(b, at)
		layTasks(b, at)
	}
	layMemory(b)
	layPlugin(b)
	layGlobal(b)
	layBun(b)
}

// layTexts lays what the agent CLI finds below a .claude folder.
func layTexts(b *box, at string) {
	dir := at + "/.claude/"
	head := func(name, text string) string {
		return "---\nname: " + name + "\ndescription: " + says(text+"-"+at) + "\n---\nx\n"
	}
	b.write(dir+"loop.md", says("loop-"+at))
	b.write(dir+"rules/r.md", says("rule-"+at))
	b.write(dir+"rules/p.md", "---\npaths: \"**/*.txt\"\n---\n"+says("rule-path-"+at))
	b.write(dir+"workflows/w.js", "export const meta = {name: 'w', description: '"+says("workflow-"+at)+"'}\nreturn 1\n")
	b.write(dir+"routines/r.md", head("r", "routine"))
	b.write(dir+"skills/s/SKILL.md", head("s", "skill"))
	b.write(dir+"commands/c.md", head("c", "command"))
	b.write(dir+"agents/a.md", head("a", "agent"))
	b.write(dir+"output-styles/o.md", "---\nname: o\ndescription: d\n---\n"+says("style-"+at))
	b.write(dir+"hooks/hooks.json", marshal(in{"hooks": b.hooks("SessionStart", "hooks-folder-"+at)}))
	b.write(at+"/AGENTS.md", says("agents-md-"+at))
	// A skill that is a plugin.
	b.write(dir+"skills/plug/.claude-plugin/plugin.json", marshal(in{"name": "plug", "version": "1.0.0", "description": "d"}))
	b.write(dir+"skills/plug/SKILL.md", head("plug", "plugin-skill"))
	b.write(dir+"skills/plug/hooks/hooks.json", marshal(in{"hooks": b.hooks("SessionStart", "skill-hook-"+at)}))
	b.write(dir+"skills/plug/.mcp.json", marshal(in{"mcpServers": b.server("skill-mcp-" + at)}))
	b.write(dir+"skills/plug/monitors/monitors.json", marshal([]any{in{"name": "m", "command": b.runs("skill-monitor-" + at), "description": "m"}}))
}

// layTasks lays tasks whose time has come.
func layTasks(b *box, at string) {
	task := func(id, cron, name string, again bool) in {
		return in{"id": id, "cron": cron, "prompt": says(name + "-" + at), "createdAt": time.Now().Add(-48 * time.Hour).UnixMilli(), "recurring": again, "durable": true}
	}
	b.write(at+"/.claude/scheduled_tasks.json", marshal(in{"tasks": []any{
		task("aaaaaaa1", "0 0 * * *", "task-once", false), task("aaaaaaa2", "* * * * *", "task-again", true),
	}}))
	b.write(at+"/.claude/teams/default/inboxes/team-lead.json", marshal([]any{in{"from": "a", "text": says("inbox-" + at), "timestamp": "2026-01-01T00:00:00.000Z", "read": false}}))
}

// layMemory lays texts that stand in the place of instructions.
func layMemory(b *box) {
	b.write("home/.claude/CLAUDE.md", says("memory-home"))
	b.write("repo/CLAUDE.md", says("memory-repo")+" @included.md\n")
	b.write("repo/included.md", says("included"))
	b.write("repo/CLAUDE.local.md", says("memory-local"))
	b.write("repo/.claude/CLAUDE.md", says("memory-folder"))
	b.write("CLAUDE.md", says("memory-above"))
	b.write("repo/sub/CLAUDE.md", says("memory-below"))
	b.write("repo/sub/AGENTS.md", says("agents-md-below"))
	b.write("repo/sub/.claude/rules/r.md", says("rule-below"))
	b.write("repo/sub/.claude/skills/t/SKILL.md", "---\nname: t\ndescription: "+says("skill-below")+"\n---\nx\n")
	b.write("repo/sub/.b.txt.from.json", marshal(in{"connector": says("from"), "size": 3, "sha256": "x"}))
	b.write("out/CLAUDE.md", says("memory-added"))
	b.write("out/.claude/skills/u/SKILL.md", "---\nname: u\ndescription: "+says("skill-added")+"\n---\nx\n")
	b.write(b.memory("MEMORY.md"), says("notes"))
}

// memory is a file of the agent's own notes, below the box.
func (b *box) memory(name string) string {
	return "home/.claude/projects/" + regexp.MustCompile(`[^A-Za-z0-9]`).ReplaceAllString(b.Work, "-") + "/memory/" + name
}

// layPlugin installs a plugin, and lets an added directory enable it.
func layPlugin(b *box) {
	b.write("market/.claude-plugin/marketplace.json", marshal(in{"name": "market", "owner": in{"name": "o"}, "plugins": []any{in{"name": "plug", "source": "./plug", "description": "d"}}}))
	const cache = "home/.claude/plugins/cache/market/plug/1.0.0"
	for _, at := range []string{"market/plug", cache, "home/.claude/dev-mods/plug"} {
		b.write(at+"/.claude-plugin/plugin.json", marshal(in{"name": "plug", "version": "1.0.0", "description": "d"}))
		b.write(at+"/hooks/hooks.json", marshal(in{"hooks": b.hooks("SessionStart", "plugin-hook")}))
		b.write(at+"/.mcp.json", marshal(in{"mcpServers": b.server("plugin-mcp")}))
		b.write(at+"/.lsp.json", marshal(in{"txt": in{"command": "sh", "args": []string{"-c", b.runs("plugin-lsp")}, "extensionToLanguage": in{".txt": "txt"}}}))
		b.write(at+"/skills/ps/SKILL.md", "---\nname: ps\ndescription: "+says("plugin")+"\n---\nx\n")
	}
	const day = "2026-01-01T00:00:00.000Z"
	b.write("home/.claude/plugins/known_marketplaces.json", marshal(in{"market": in{"source": in{"source": "directory", "path": b.Dir + "/market"}, "installLocation": b.Dir + "/market", "lastUpdated": day}}))
	b.write("home/.claude/plugins/installed_plugins.json", marshal(in{"version": 2, "plugins": in{"plug@market": []any{
		in{"scope": "user", "installPath": b.Dir + "/" + cache, "version": "1.0.0", "installedAt": day, "lastUpdated": day},
	}}}))
	b.write("out/.claude/settings.json", marshal(in{"enabledPlugins": in{"plug@market": true}, "hooks": b.hooks("SessionStart", "added-hook")}))
}

// helpers are the settings that name programs, and others that open doors.
func helpers(b *box, who string) in {
	command := func(name string) string { return b.runs(name + "-" + who) }
	b.write("bash-env-"+who, command("bash-env")+"\n")
	return in{
		"apiKeyHelper": command("api-key") + "; echo k", "otelHeadersHelper": command("otel"), "awsAuthRefresh": command("aws"),
		"awsCredentialExport": command("aws-export"), "gcpAuthRefresh": command("gcp"), "proxyAuthHelper": command("proxy"),
		"fileSuggestion":     in{"type": "command", "command": command("suggestion")},
		"statusLine":         in{"type": "command", "command": command("status")},
		"subagentStatusLine": in{"type": "command", "command": command("substatus")},
		"policyHelper":       in{"path": "/bin/true"}, "outputStyle": "o", "crossSessionInbound": "accept", "remoteControlAtStartup": true,
		"env": in{
			"DOOR": says("env-" + who), "BASH_ENV": b.Dir + "/bash-env-" + who,
			"CLAUDE_CODE_ENABLE_TELEMETRY": "1", "OTEL_METRICS_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9",
		},
		"enabledPlugins":         in{"plug@market": true, "plug@skills-dir": true},
		"extraKnownMarketplaces": in{"market": in{"source": in{"source": "directory", "path": b.Dir + "/market"}}},
	}
}

// layGlobal lays the global configuration of the home and what stands beside it.
func layGlobal(b *box) {
	b.write("home/.claude.json", marshal(in{
		"hasCompletedOnboarding": true, "mcpServers": b.server("mcp-user"), "apiKeyHelper": b.runs("api-key-global"), "autoConnectIde": true,
		"claudeInChromeDefaultEnabled": true, "remoteControlAtStartup": true, "remoteDialogSeen": true,
		"projects": in{b.Work: in{"hasTrustDialogAccepted": true, "mcpServers": b.server("mcp-local")}},
	}))
	for _, name := range []string{"cowork_settings.json", "state/hybrid-settings.json"} {
		b.write("home/.claude/"+name, marshal(in{"hooks": b.hooks("SessionStart", "hook-beside")}))
	}
	b.write("home/.claude/shell-snapshots/snapshot-bash-1-abcdef.sh", b.runs("snapshot"))
	b.write("home/.claude/daemon.json", "{}")
}

// layBun lays what the runtime of the agent CLI might read in a directory.
func layBun(b *box) {
	b.write("repo/.env", "DOOR="+says("dotenv")+"\nANTHROPIC_MODEL="+says("dotenv-model")+"\n")
	b.write("repo/bunfig.toml", "preload = [\"./preload.js\"]\n")
	b.write("home/.bunfig.toml", "preload = [\""+b.Work+"/preload.js\"]\n")
	b.write("repo/preload.js", b.script("bunfig"))
}

// script is a JavaScript text that leaves a mark.
func (b *box) script(name string) string {
	return "require('fs').writeFileSync('" + b.Marks + "/door-" + name + "', '')\n"
}

// layGit makes git itself run programs that the repository names. An agent's own
// git runs them as well; so they are laid only where it runs none.
func layGit(b *box) {
	program := func(name string) string {
		b.write("bin/"+name, "#!/bin/sh\n"+b.runs("git-"+name)+"\ncat < /dev/null\n")
		os.Chmod(b.Dir+"/bin/"+name, 0o700)
		return b.Dir + "/bin/" + name
	}
	layHooks(b)
	for key, value := range map[string]string{
		"core.fsmonitor": program("fsmonitor"), "core.pager": program("pager"), "core.sshCommand": program("ssh"), "core.askPass": program("askpass"),
		"core.hooksPath": b.Dir + "/git-hooks", "diff.external": program("diff"), "diff.f.textconv": program("textconv"), "filter.f.clean": program("clean"),
		"filter.f.smudge": program("smudge"), "log.showSignature": "true", "gpg.program": program("gpg"), "credential.helper": program("credential"),
		"remote.origin.url": "ext::" + program("ext"), "branch.main.remote": "origin", "branch.main.merge": "refs/heads/main", "user.name": says("git-user"),
	} {
		b.run("git", "config", key, value)
	}
	b.write("repo/.gitattributes", "*.txt filter=f diff=f\n")
	b.write("repo/a.txt", b.readFile("repo/a.txt")) // newer than the index: git status asks the filter whether it is the same
}

// layHooks lays hooks for git to find once core.hooksPath says where.
func layHooks(b *box) {
	for _, hook := range []string{"post-checkout", "post-index-change", "reference-transaction"} {
		b.write("git-hooks/"+hook, "#!/bin/sh\n"+b.runs("git-hook")+"\n")
		os.Chmod(b.Dir+"/git-hooks/"+hook, 0o700)
	}
}

// layStartUp lays what the user's own shell runs when it starts.
func layStartUp(b *box) {
	for _, name := range []string{".bashrc", ".bash_profile", ".profile", ".zshrc", ".zshenv"} {
		b.write("home/"+name, b.runs("start"+strings.NewReplacer(".", "-", "_", "-").Replace(name))+"\n")
	}
}

var doorMark = regexp.MustCompile(`door-[a-z0-9-]+`)

// through are the doors that something came through, sorted.
func through(b *box, m *model) []string {
	found := map[string]bool{}
	entries, _ := os.ReadDir(b.Marks)
	for _, e := range entries {
		if name, isDoor := strings.CutPrefix(e.Name(), "door-"); isDoor {
			found[name] = true
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, body := range m.bodies {
		for _, mark := range doorMark.FindAllString(body, -1) {
			found[strings.TrimPrefix(mark, "door-")] = true
		}
	}
	var list []string
	for name := range found {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// uninvited are the doors that something came through, without the texts that the wrapper
// gives back itself, unless it is told --bare.
func uninvited(b *box, m *model, bare bool) []string {
	return slices.DeleteFunc(through(b, m), func(name string) bool {
		return !bare && (slices.Contains(givenBack, name) || slices.Contains(givenFromHome, name))
	})
}

// doorScript has an agent read, write and run something, and a subagent.
func doorScript(b *box) script {
	bash := func(name, command string) turn {
		return turn{{Name: name, Tool: "Bash", Input: in{"command": command, "description": "x"}}}
	}
	return script{"main": {
		{{Name: "read", Tool: "Read", Input: in{"file_path": b.Work + "/sub/b.txt"}}},
		bash("env", "echo $DOOR"),
		{{Name: "write", Tool: "Write", Input: in{"file_path": b.Work + "/sub/c.txt", "content": "x"}}},
		{{Name: "agent", Tool: "Agent", Input: in{"description": "d", "prompt": "go [[sub]]", "subagent_type": "general-purpose", "run_in_background": false}}},
	}, "sub": {bash("sub-ls", "ls")}}
}

// openDoors are those that each agent CLI leaves open without the isolation, so
// that we know that they are laid well; further ones by version.
var openDoors = map[string][]string{
	"": {
		"task-once-repo", "memory-home", "memory-repo", "memory-local", "memory-folder", "memory-above", "memory-below", "included", "notes",
		"rule-repo", "rule-home", "rule-below", "rule-path-repo", "agent-repo", "skill-home", "skill-below", "skill-added", "plugin-skill-home",
		"command-home", "workflow-repo", "style-repo", "api-key-local", "env-local", "bash-env-local", "mcp-user", "mcp-local",
		"plugin", "plugin-hook", "plugin-mcp", "plugin-lsp", "start-bash-profile", "start-bashrc", "git-user",
	},
	oldest:    {"git-fsmonitor", "git-clean", "skill-repo"},
	"2.1.268": {"git-clean"},
	"2.1.330": {"otel-local"},
}

// stayOpen are the doors that docs/agents.md says stay open.
var stayOpen = []string{"start-bash-profile", "start-bashrc"}

// givenBack are the texts that the wrapper gives the agent itself, unless it is told
// --bare: what docs/agents.md lists. Of two agents or skills with one name the nearer
// counts.
var givenBack = []string{
	"agent-repo", "included", "memory-folder", "memory-home", "memory-local", "memory-repo", "plugin-skill-repo", "skill-repo",
}

// givenFromHome are those of the person, where the project has none of the same name.
var givenFromHome = []string{"agent-home", "plugin-skill-home", "skill-home"}

// TestDoors: nothing in the workspace, the home or an added directory speaks to
// the model or runs a program, but the start-up files of the user's own shell, and
// the texts that the wrapper gives back.
func TestDoors(t *testing.T) {
	for _, r := range releases() {
		lay := func(t *testing.T) (*box, *model) {
			need(t, r)
			b := newBox(t)
			layHostile(b)
			b.write("repo/.claude/settings.local.json", marshal(helpers(b, "local")))
			layGit(b)
			layStartUp(b)
			return b, startModel(t, doorScript(b))
		}
		for name, given := range map[string][]string{"bare": nil, "briefed": givenBack} {
			t.Run(r.Version+"/"+name, func(t *testing.T) {
				b, m := lay(t)
				x := wrapped{release: r, profile: profile{Bare: given == nil}, Policy: []string{"--allow", "Bash,Read,Write,Agent", "--add-dir", b.Out}}
				res := x.run(t, b, m, startWeb(t, b))
				open := through(b, m)
				for _, name := range open {
					if !slices.Contains(stayOpen, name) && !slices.Contains(given, name) {
						t.Errorf("%s came through", name)
					}
				}
				for _, name := range given {
					if !slices.Contains(open, name) {
						t.Errorf("%s is not given back", name)
					}
				}
				if out, back := m.result("sub-ls"); res.Code != 0 || !back || out.Error {
					t.Errorf("the run did not go as it should: exit code %d, %s", res.Code, lastOf(res.Out+res.Errors))
				}
			})
		}
		t.Run(r.Version+"/control", func(t *testing.T) {
			b, m := lay(t)
			driver{Release: r, Args: []string{"--add-dir", b.Out}, Answer: func(ask) (bool, string) { return true, "" }}.drive(t, b, m, plainPrompt)
			open := through(b, m)
			for _, name := range append(openDoors[""], openDoors[r.Version]...) {
				if !slices.Contains(open, name) {
					t.Errorf("%s is not open even without the isolation", name)
				}
			}
			t.Logf("without the isolation %d doors are open: %q", len(open), open)
		})
	}
}
