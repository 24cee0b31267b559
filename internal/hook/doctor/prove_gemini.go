package doctor

import "strings"

// geminiTrials tries Gemini CLI.
func geminiTrials() *trials {
	return &trials{
		dialect: generate{}, installed: inFiles(geminiFiles), canary: geminiCall("mcp_canary_mark"), lay: layGemini, start: startGemini,
		spawn: func(b *box) call {
			return call{tool: "invoke_agent", token: b.outer, input: object{"agent_name": "generalist", "prompt": b.subKey + " " + b.outer}}
		},
		open: map[state]string{garbage: "Gemini takes words with exit code 0 for no objection; agent-wrapper prints none"},
	}
}

// geminiCall returns the canaries of Gemini CLI and of what was made of it, which name
// their MCP tools differently.
func geminiCall(mark string) func(*box, string) (call, bool) {
	return func(b *box, name string) (call, bool) {
		c := call{tool: "run_shell_command", token: b.token(name)}
		switch name {
		case byWrite:
			c.tool, c.input = "write_file", object{"file_path": b.marker(name), "content": "canary"}
		case byMCP:
			c.tool, c.input = mark, object{"name": b.token(name)}
		default:
			c.input = object{"command": b.touch(name), "description": "canary", "is_background": name == inBackground}
		}
		return c, true
	}
}

// layGemini lays our hook and what could switch it off. The folder is trusted, because
// that is when a repository counts.
func layGemini(b *box) error {
	f := geminiFiles(b.person)
	settings := object{"security": object{"auth": object{"selectedType": "gemini-api-key"}}, "general": object{"disableAutoUpdate": true}}
	if err := b.layLike(settings, f.user[0], 1000, "hooksConfig", ".gemini"); err != nil {
		return err
	}
	if v := f.project[0].at("hooksConfig"); v != nil {
		if err := b.writeJSON(object{"hooksConfig": v}, b.work, ".gemini", "settings.json"); err != nil {
			return err
		}
	}
	return b.writeJSON(object{b.work: "TRUST_FOLDER"}, b.home, ".gemini", "trustedFolders.json")
}

// layLike adds our hooks, a switch and the MCP server to settings, and lays them.
func (b *box) layLike(settings object, from doc, second float64, toggle, dir string) error {
	command, err := b.server()
	if err != nil {
		return err
	}
	settings["hooks"] = b.moved(from, second)
	settings["mcpServers"] = object{"canary": object{"command": command[0], "args": command[1:], "trust": true}}
	if v := from.at(toggle); v != nil {
		settings[toggle] = v
	}
	return b.writeJSON(settings, b.home, dir, "settings.json")
}

func startGemini(b *box, prompt string) (args, env []string) {
	args = append(strings.Fields("-m gemini-2.5-pro -o json --approval-mode yolo -p"), prompt)
	return args, []string{"GEMINI_API_KEY=dummy-key", "GOOGLE_GEMINI_BASE_URL=" + b.url}
}

// qwenTrials tries Qwen Code.
func qwenTrials() *trials {
	return &trials{
		dialect: chat{}, installed: inFiles(qwenFiles), canary: geminiCall("mcp__canary__mark"), lay: layQwen, start: startQwen,
		spawn: func(b *box) call {
			return call{tool: "agent", token: b.outer, input: object{"description": b.outer, "prompt": b.subKey, "subagent_type": "general-purpose"}}
		},
		open: map[state]string{garbage: "Qwen takes words with exit code 0 for no objection; agent-wrapper prints none"},
	}
}

// layQwen lays our hook and what could switch it off.
func layQwen(b *box) error {
	f := qwenFiles(b.person)
	if v := f.project[0].at("disableAllHooks"); v != nil {
		if err := b.writeJSON(object{"disableAllHooks": v}, b.work, ".qwen", "settings.json"); err != nil {
			return err
		}
	}
	settings := object{"security": object{"auth": object{"selectedType": "openai"}}, "general": object{"disableAutoUpdate": true}}
	return b.layLike(settings, f.user[0], 1, "disableAllHooks", ".qwen")
}

func startQwen(b *box, prompt string) (args, env []string) {
	args = append(strings.Fields("--auth-type openai -m scripted --approval-mode yolo -o json -p"), prompt)
	return args, []string{"OPENAI_API_KEY=dummy-key", "OPENAI_BASE_URL=" + b.url + "/v1", "OPENAI_MODEL=scripted"}
}
