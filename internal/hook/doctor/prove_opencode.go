package doctor

import (
	"errors"
	"path/filepath"

	"github.com/agent-wrapper/agent-wrapper/internal/hook/entry"
)

// openCodeTrials tries OpenCode. Nothing is known to be open: our plugin throws for
// whatever is no allow, garbage too.
func openCodeTrials() *trials {
	return &trials{
		dialect: chat{}, canary: openCodeCall, lay: layOpenCode, start: startOpenCode,
		installed: func(m *Machine) (any, managed bool) {
			path, _, _ := openCodePlugin(m)
			return path != "", false
		},
		spawn: func(b *box) call {
			return call{tool: "task", token: b.outer, input: object{"description": b.outer, "prompt": b.subKey, "subagent_type": "general"}}
		},
	}
}

// openCodeCall returns a canary. OpenCode has no commands in the background.
func openCodeCall(b *box, name string) (call, bool) {
	c := call{tool: "bash", token: b.token(name)}
	switch name {
	case byWrite:
		c.tool, c.input = "write", object{"filePath": b.marker(name), "content": "canary"}
	case byMCP:
		c.tool, c.input = "canary_mark", object{"name": b.token(name)}
	default:
		c.input = object{"command": b.touch(name), "description": "canary"}
	}
	return c, name != inBackground
}

// layOpenCode lays our plugin, and allows the canaries by OpenCode's own rules.
func layOpenCode(b *box) error {
	home := filepath.Join(b.home, ".config", "opencode")
	if path, text, binary := openCodePlugin(b.person); path != "" {
		b.program = binary
		text = entry.MovedPlugin(text, b.hook, b.limit())
		if err := b.write(filepath.Join(home, "plugins", filepath.Base(path)), text, 0o600); err != nil {
			return err
		}
	}
	if err := b.openCodeDependency(home); err != nil {
		return err
	}
	command, err := b.server()
	if err != nil {
		return err
	}
	return b.writeJSON(object{
		"autoupdate": false, "share": "disabled", "model": "canary/scripted", "small_model": "canary/scripted", "permission": "allow",
		"mcp": object{"canary": object{"type": "local", "command": command, "enabled": true}},
		"provider": object{"canary": object{
			"npm": "@ai-sdk/openai-compatible", "options": object{"baseURL": b.url + "/v1", "apiKey": "dummy-key"},
			"models": object{"scripted": object{"name": "scripted", "tool_call": true, "limit": object{"context": 100_000, "output": 4096}}},
		}},
	}, home, "opencode.json")
}

// openCodeDependency lays what OpenCode would install for plugins: without a network it
// tries for a minute and more. It takes the package for installed if the lock has it.
func (b *box) openCodeDependency(home string) error {
	const name = "@opencode-ai/plugin"
	needs := object{name: "0.0.0"}
	return errors.Join(
		b.writeJSON(object{"dependencies": needs}, home, "package.json"),
		b.writeJSON(object{"name": name, "version": needs[name]}, home, "node_modules", filepath.FromSlash(name), "package.json"),
		b.writeJSON(object{"lockfileVersion": 3, "packages": object{"": object{"dependencies": needs}}}, home, "package-lock.json"),
	)
}

func startOpenCode(_ *box, prompt string) (args, env []string) {
	return []string{"run", "--format", "json", prompt}, []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1"}
}
