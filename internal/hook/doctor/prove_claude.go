package doctor

import "path/filepath"

// claudeTrials tries Claude Code.
func claudeTrials() *trials {
	return &trials{
		dialect: messages{}, installed: inFiles(claudeFiles), canary: claudeCall, lay: layClaude, start: startClaude,
		spawn: func(b *box) call {
			return call{tool: "Agent", token: b.outer, input: object{
				"description": b.outer, "prompt": b.subKey, "subagent_type": "general-purpose", "run_in_background": false,
			}}
		},
		open: map[state]string{garbage: "Claude Code takes words with exit code 0 for no objection; agent-wrapper prints none"},
	}
}

func claudeCall(b *box, name string) (call, bool) {
	c := call{tool: "Bash", token: b.token(name)}
	switch name {
	case byWrite:
		c.tool, c.input = "Write", object{"file_path": b.marker(name), "content": "canary"}
	case byMCP:
		c.tool, c.input = "mcp__canary__mark", object{"name": b.token(name)}
	default:
		input := object{"command": b.touch(name), "description": "canary"}
		if name == inBackground {
			input["run_in_background"] = true
		}
		c.input = input
	}
	return c, true
}

// layClaude lays our hook and what could switch it off, and allows the canaries by
// Claude Code's own rules.
func layClaude(b *box) error {
	f := claudeFiles(b.person)
	for i, path := range []string{
		filepath.Join(b.home, ".claude", "settings.json"),
		filepath.Join(b.work, ".claude", "settings.json"),
		filepath.Join(b.work, ".claude", "settings.local.json"),
	} {
		settings := b.claudeSettings(append(f.user, f.project...)[i])
		if i == 0 {
			settings["permissions"] = object{"allow": []any{"Bash", "Write", "Edit", "Agent", "mcp__canary__mark"}}
		}
		if err := b.writeJSON(settings, path); err != nil {
			return err
		}
	}
	command, err := b.server()
	if err != nil {
		return err
	}
	servers := object{"mcpServers": object{"canary": object{"command": command[0], "args": command[1:]}}}
	return b.writeJSON(servers, b.dir, "mcp.json")
}

// claudeSettings returns what the proof takes of a settings file.
func (b *box) claudeSettings(d doc) object {
	settings := object{}
	if hooks := b.moved(d, 1); len(hooks) > 0 {
		settings["hooks"] = hooks
	}
	if off := d.at("disableAllHooks"); off != nil {
		settings["disableAllHooks"] = off
	}
	return settings
}

func startClaude(b *box, prompt string) (args, env []string) {
	args = []string{"-p", prompt, "--output-format", "stream-json", "--verbose", "--strict-mcp-config", "--mcp-config", filepath.Join(b.dir, "mcp.json")}
	return args, []string{
		"ANTHROPIC_API_KEY=dummy-key", "ANTHROPIC_BASE_URL=" + b.url, "SHELL=/bin/bash",
		"DISABLE_BUG_COMMAND=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "CLAUDE_CODE_SKIP_PROMPT_HISTORY=1",
	}
}
