package doctor

import (
	"path/filepath"
	"strings"
)

// crushTrials tries Crush. It calls no hook for its subagents, which only read, so there
// is nothing that one could leave behind.
func crushTrials() *trials {
	return &trials{
		dialect: chat{}, installed: inFiles(crushFiles), canary: crushCall, lay: layCrush, start: startCrush,
		open: map[state]string{garbage: "Crush takes words with exit code 0 for no objection; agent-wrapper prints none"},
	}
}

func crushCall(b *box, name string) (call, bool) {
	c := call{tool: "bash", token: b.token(name)}
	switch name {
	case byWrite:
		c.tool, c.input = "write", object{"file_path": b.marker(name), "content": "canary"}
	case byMCP:
		c.tool, c.input = "mcp_canary_mark", object{"name": b.token(name)}
	default:
		c.input = object{"command": b.touch(name), "description": "canary", "run_in_background": name == inBackground}
	}
	return c, true
}

// layCrush lays our hook. What is allowed needs no rules: crush run allows by itself.
func layCrush(b *box) error {
	hooks := object{}
	f := crushFiles(b.person)
	for _, d := range f.user {
		for name, list := range b.moved(d, 1) {
			hooks[name] = list
		}
	}
	command, err := b.server()
	if err != nil {
		return err
	}
	model := object{"model": "scripted", "provider": "canary"}
	return b.writeJSON(object{
		"hooks": hooks, "models": object{"large": model, "small": model},
		"options": object{"disable_provider_auto_update": true, "disable_metrics": true},
		"mcp":     object{"canary": object{"type": "stdio", "command": command[0], "args": command[1:]}},
		"providers": object{"canary": object{
			"type": "openai-compat", "base_url": b.url + "/v1", "api_key": "dummy-key",
			"models": []any{object{"id": "scripted", "name": "scripted", "context_window": 100_000, "default_max_tokens": 4096}},
		}},
	}, b.home, ".config", "crush", "crush.json")
}

func startCrush(b *box, prompt string) (args, env []string) {
	args = append(strings.Fields("run --quiet --data-dir"), filepath.Join(b.dir, "data"), prompt)
	return args, []string{"CRUSH_DISABLE_PROVIDER_AUTO_UPDATE=1", "CRUSH_DISABLE_METRICS=1"}
}
