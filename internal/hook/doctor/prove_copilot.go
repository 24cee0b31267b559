package doctor

import "path/filepath"

// copilotTrials tries Copilot CLI.
func copilotTrials() *trials {
	return &trials{
		dialect: chat{}, canary: copilotCall, lay: layCopilot, start: startCopilot,
		installed: inFiles(func(m *Machine) files {
			f := copilotFiles(m, "preToolUse")
			if len(ours("PreToolUse", f.user...)) > 0 {
				f.event = "PreToolUse"
			}
			return f
		}),
		spawn: func(b *box) call {
			return call{tool: "task", token: b.outer, input: object{"agent_type": "general-purpose", "name": "canary", "description": b.outer, "prompt": b.subKey, "mode": "sync"}}
		},
		open: map[state]string{garbage: "Copilot takes words with exit code 0 for no objection where tools are allowed; agent-wrapper prints none"},
	}
}

func copilotCall(b *box, name string) (call, bool) {
	c := call{tool: "bash", token: b.token(name)}
	switch name {
	case byWrite:
		c.tool, c.input = "create", object{"path": b.marker(name), "file_text": "canary"}
	case byMCP:
		c.tool, c.input = "canary-mark", object{"name": b.token(name)}
	default:
		mode := map[bool]string{true: "async", false: "sync"}[name == inBackground]
		c.input = object{"command": b.touch(name), "description": "canary", "mode": mode}
	}
	return c, true
}

// layCopilot lays our hooks and what could switch them off, in a folder that is trusted.
func layCopilot(b *box) error {
	home := filepath.Join(b.home, ".copilot")
	command, err := b.server()
	if err != nil {
		return err
	}
	servers := object{"canary": object{"type": "local", "command": command[0], "args": command[1:], "tools": []any{"*"}}}
	if err := b.writeJSON(object{"mcpServers": servers}, home, "mcp-config.json"); err != nil {
		return err
	}
	if err := b.writeJSON(object{"trusted_folders": []any{b.work}, "trustedFolders": []any{b.work}}, home, "config.json"); err != nil {
		return err
	}
	for _, d := range copilotFiles(b.person, "").user {
		rel, err := filepath.Rel(copilotHome(b.person), d.path)
		if hooks := b.moved(d, 1); err == nil && len(hooks) > 0 {
			if err := b.writeJSON(object{"version": 1, "hooks": hooks}, home, rel); err != nil {
				return err
			}
		}
	}
	return b.copilotSwitches()
}

// copilotSwitches lays what switches hooks off in the directory.
func (b *box) copilotSwitches() error {
	for _, name := range copilotSwitchFiles() {
		if b.person.json(filepath.Join(b.person.Dir, name)).is(true, "disableAllHooks") {
			if err := b.writeJSON(object{"disableAllHooks": true}, b.work, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// copilotSwitchFiles are the files of a repository that switch Copilot's hooks off.
func copilotSwitchFiles() []string {
	return []string{
		filepath.Join(".github", "copilot", "settings.json"), filepath.Join(".github", "copilot", "settings.local.json"),
		filepath.Join(".claude", "settings.json"),
	}
}

func startCopilot(b *box, prompt string) (args, env []string) {
	return []string{"-p", prompt, "--output-format", "json", "--allow-all-tools"}, []string{
		"COPILOT_OFFLINE=true", "COPILOT_PROVIDER_BASE_URL=" + b.url + "/v1", "COPILOT_PROVIDER_API_KEY=dummy-key",
		"COPILOT_MODEL=gpt-4.1", "COPILOT_AUTO_UPDATE=false",
	}
}
