package doctor

import (
	"fmt"
	"path/filepath"
	"strings"
)

// codexTrials tries Codex CLI.
func codexTrials() *trials {
	return &trials{
		dialect: responses{}, installed: inFiles(codexFiles), canary: codexCall, lay: layCodex, start: startCodex,
		spawn: func(b *box) call {
			return call{tool: "spawn_agent", space: "multi_agent_v1", token: b.outer, input: object{"message": b.subKey + " " + b.outer}}
		},
		open: map[state]string{garbage: "Codex takes words with exit code 0 for no objection; agent-wrapper prints none"},
	}
}

func codexCall(b *box, name string) (call, bool) {
	c := call{tool: "exec_command", token: b.token(name)}
	switch name {
	case byWrite:
		c.tool, c.free = "apply_patch", true
		c.input = "*** Begin Patch\n*** Add File: " + b.token(name) + "\n+canary\n*** End Patch\n"
	case byMCP:
		c.tool, c.space, c.input = "mark", "mcp__canary", object{"name": b.token(name)}
	case inBackground:
		c.input = object{"cmd": "sleep 0.4; " + b.touch(name), "yield_time_ms": 250}
	default:
		c.input = object{"cmd": b.touch(name)}
	}
	return c, true
}

// layCodex lays our hook and what could switch it off. The project is trusted, because
// that is when a repository counts.
func layCodex(b *box) error {
	f := codexFiles(b.person)
	home := filepath.Join(b.home, ".codex")
	command, err := b.server()
	if err != nil {
		return err
	}
	config := codexSwitch(f.user[1]) + fmt.Sprintf("[mcp_servers.canary]\ncommand = %q\nargs = [%q]\n[projects.%q]\ntrust_level = \"trusted\"\n", command[0], command[1], b.work)
	if err := b.write(filepath.Join(home, "config.toml"), config, 0o600); err != nil {
		return err
	}
	if text := codexSwitch(f.project[1]); text != "" {
		if err := b.write(filepath.Join(b.work, ".codex", "config.toml"), text, 0o600); err != nil {
			return err
		}
	}
	hooks := object{}
	for _, d := range f.user {
		for name, groups := range b.moved(d, 1) {
			hooks[name] = groups
		}
	}
	return b.writeJSON(object{"hooks": hooks}, home, "hooks.json")
}

// codexSwitch returns what a file says of hooks as a whole.
func codexSwitch(d doc) string {
	if on, ok := d.at("features", "hooks").(bool); ok {
		return fmt.Sprintf("[features]\nhooks = %v\n", on)
	}
	return ""
}

func startCodex(b *box, prompt string) (args, env []string) {
	provider := fmt.Sprintf(`model_providers.canary={name="canary",base_url="%s/v1",wire_api="responses",env_key="CANARY_KEY"}`, b.url)
	args = strings.Fields("exec --json --ephemeral --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox --dangerously-bypass-hook-trust")
	args = append(args, "-c", `model_provider="canary"`, "-c", provider, "-c", `model="gpt-5.5"`, prompt)
	return args, []string{"CODEX_HOME=" + filepath.Join(b.home, ".codex"), "CANARY_KEY=dummy-key"}
}
