package doctor

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/hook/entry"
)

// codexHome returns the directory of the person's Codex configuration.
func codexHome(m *Machine) string {
	if dir := m.variable("CODEX_HOME"); dir != "" {
		return dir
	}
	return filepath.Join(m.Home, ".codex")
}

// codexFiles returns the configuration of Codex.
func codexFiles(m *Machine) files {
	home, repo := codexHome(m), filepath.Join(m.Dir, ".codex")
	return files{
		event:   "PreToolUse",
		managed: []doc{m.toml(m.system("/etc/codex/requirements.toml"))},
		user:    []doc{m.json(filepath.Join(home, "hooks.json")), m.toml(filepath.Join(home, "config.toml"))},
		project: []doc{m.json(filepath.Join(repo, "hooks.json")), m.toml(filepath.Join(repo, "config.toml"))},
	}
}

// lookCodex finds out about Codex CLI.
func lookCodex(l *look) {
	f := codexFiles(l.Machine)
	managed, user := l.usual(f)
	l.guarded(append(slices.Clone(managed), user...))
	for _, e := range user {
		l.codexTrust(f.user[1], e)
	}
	l.codexSwitches(f, len(managed)+len(user) > 0)
	l.others(f)
	l.doors(
		[2]string{"what an agent types into a program that runs already (write_stdin) has no hook.", "Deny programs that read commands: bash, python, ssh without a command."},
		[2]string{"a web search runs at the provider, without a hook.", `Set web_search = "disabled" in config.toml.`},
	)
}

// codexTrust tells whether Codex calls a hook of the person's: it skips without a word
// what the person has not reviewed. Whether the review is of the present text, only
// Codex knows.
func (l *look) codexTrust(config doc, e handler) {
	key := fmt.Sprintf("%s:pre_tool_use:%d:%d", e.doc.path, e.place[0], e.place[1])
	state, _ := config.at("hooks", "state", key).(map[string]any)
	switch hash, _ := state["trusted_hash"].(string); {
	case state["enabled"] == false:
		l.red(config.shown+" has the hook switched off (enabled = false).", "Switch it on with /hooks in Codex.")
	case hash == "":
		l.red("The hook is not trusted, and Codex skips it without a word.", "Start codex and choose to trust it, or run agent-wrapper install codex.")
	default:
		l.ok("The hook was trusted in Codex. If its text was changed since, Codex skips it: /hooks shows it.")
	}
}

// codexSwitches tells what switches hooks off.
func (l *look) codexSwitches(f files, installed bool) {
	const pin = "Set [features] hooks = true in /etc/codex/requirements.toml."
	pinned := anyIs(f.managed, true, "features", "hooks")
	off := false
	for _, d := range append(slices.Clone(f.user), f.project...) {
		if d.is(false, "features", "hooks") && !pinned {
			off = true
			l.red(d.shown+" has [features] hooks = false: no hook is called, managed ones neither.", "Remove it. "+pin)
		}
	}
	if installed && !pinned && !off {
		l.warn("A repository that is trusted switches hooks off with [features] hooks = false in .codex/config.toml.", pin)
	}
}

// geminiFiles returns the settings of Gemini CLI.
func geminiFiles(m *Machine) files {
	home := m.Home
	if dir := m.variable("GEMINI_CLI_HOME"); dir != "" {
		home = dir
	}
	return files{
		event:   "BeforeTool",
		managed: []doc{m.json(m.system("/etc/gemini-cli/settings.json"))},
		user:    []doc{m.json(filepath.Join(home, ".gemini", "settings.json"))},
		project: []doc{m.json(filepath.Join(m.Dir, ".gemini", "settings.json"))},
	}
}

// lookGemini finds out about Gemini CLI.
func lookGemini(l *look) {
	f := geminiFiles(l.Machine)
	managed, user := l.usual(f)
	list := append(slices.Clone(managed), user...)
	l.guarded(list)
	l.geminiSwitches(f, list)
	for _, e := range list {
		if t, ok := e.fields["timeout"].(float64); ok && t < 10_000 {
			l.red(fmt.Sprintf("%s: the hook has %v milliseconds to answer, and then the tool runs.", e.doc.shown, t), "Write its timeout in milliseconds. "+l.install())
		}
	}
	l.others(f)
	l.doors(
		[2]string{"with --acp Gemini calls no hook before a tool.", "Do not drive Gemini by ACP, or with a policy file that asks about every tool."},
		[2]string{"@file in a prompt and !{...} in a custom command have no hook.", "Look at .gemini/commands of a repository before you use them."},
	)
}

// geminiSwitches tells what switches hooks off.
func (l *look) geminiSwitches(f files, list []handler) {
	pinned := anyIs(f.managed, true, "hooksConfig", "enabled")
	for _, d := range slices.Concat(f.managed, f.user, f.project) {
		if d.is(false, "hooksConfig", "enabled") && !pinned {
			l.red(d.shown+" has hooksConfig.enabled = false: no hook is called (a repository's counts in a trusted folder).", "Remove it, and pin it to true in /etc/gemini-cli/settings.json.")
		}
		off, _ := d.at("hooksConfig", "disabled").([]any)
		for _, e := range list {
			if name := e.fields["name"]; slices.ContainsFunc(off, func(v any) bool { return v == name || v == e.fields["command"] }) {
				l.red(fmt.Sprintf("%s names the hook in hooksConfig.disabled: it is not called.", d.shown), "Remove it.")
			}
		}
	}
	if len(list) > 0 {
		l.warn("A repository that is trusted switches the hook off with hooksConfig.disabled in .gemini/settings.json; nothing pins that.", "Look at that file before you trust a folder.")
	}
}

// qwenFiles returns the settings of Qwen Code.
func qwenFiles(m *Machine) files {
	system := m.variable("QWEN_CODE_SYSTEM_SETTINGS_PATH")
	if system == "" {
		system = m.system("/etc/qwen-code/settings.json")
	}
	return files{
		event:   "PreToolUse",
		managed: []doc{m.json(system)},
		user:    []doc{m.json(filepath.Join(m.Home, ".qwen", "settings.json"))},
		project: []doc{m.json(filepath.Join(m.Dir, ".qwen", "settings.json"))},
	}
}

// lookQwen finds out about Qwen Code.
func lookQwen(l *look) {
	f := qwenFiles(l.Machine)
	managed, user := l.usual(f)
	l.guarded(append(slices.Clone(managed), user...))
	pinned, off := anyIs(f.managed, false, "disableAllHooks"), false
	for _, d := range slices.Concat(f.managed, f.user, f.project) {
		if d.is(true, "disableAllHooks") && !pinned {
			off = true
			l.red(d.shown+" has disableAllHooks: no hook is called here.", `Remove it, and set "disableAllHooks": false in /etc/qwen-code/settings.json.`)
		}
	}
	if len(managed)+len(user) > 0 && !pinned && !off {
		l.warn("Any repository switches the hook off with disableAllHooks in .qwen/settings.json.", `Set "disableAllHooks": false in /etc/qwen-code/settings.json.`)
	}
	if l.variable("QWEN_CODE_SYSTEM_SETTINGS_PATH") != "" {
		l.warn("QWEN_CODE_SYSTEM_SETTINGS_PATH is set in this shell: that file has the last word on hooks.", "Unset it.")
	}
	l.others(f)
	l.doors([2]string{"@file in a prompt and !{...} in a custom command have no hook.", "Look at .qwen/commands of a repository before you use them."})
}

// copilotHome returns the directory of the person's Copilot configuration.
func copilotHome(m *Machine) string {
	if dir := m.variable("COPILOT_HOME"); dir != "" {
		return dir
	}
	return filepath.Join(m.Home, ".copilot")
}

// copilotFiles returns the configuration of Copilot CLI. Its event has two names.
func copilotFiles(m *Machine, event string) files {
	home := copilotHome(m)
	f := files{event: event, user: []doc{m.json(filepath.Join(home, "settings.json"))}}
	paths, _ := filepath.Glob(filepath.Join(home, "hooks", "*.json"))
	for _, path := range paths {
		f.user = append(f.user, m.json(path))
	}
	paths, _ = filepath.Glob(filepath.Join(m.Dir, ".github", "hooks", "*.json"))
	for _, path := range append(paths, filepath.Join(m.Dir, ".claude", "settings.json")) {
		f.project = append(f.project, m.json(path))
	}
	return f
}

// lookCopilot finds out about Copilot CLI.
func lookCopilot(l *look) {
	f := copilotFiles(l.Machine, "preToolUse")
	if len(ours("preToolUse", f.user...)) == 0 && len(ours("PreToolUse", f.user...)) > 0 {
		f.event = "PreToolUse"
	}
	_, user := l.usual(f)
	l.guarded(user)
	off := false
	for _, name := range copilotSwitchFiles() {
		if d := l.json(filepath.Join(l.Dir, name)); d.is(true, "disableAllHooks") {
			off = true
			l.red(d.shown+" has disableAllHooks: no hook is called here, once the folder is trusted.", "Remove it.")
		}
	}
	if len(user) > 0 && !off {
		l.warn("A repository that is trusted switches the hook off with disableAllHooks in .github/copilot/settings.json; nothing pins that.", "Look at that file before you trust a folder.")
	}
	l.others(f)
	l.others(files{event: map[string]string{"preToolUse": "PreToolUse", "PreToolUse": "preToolUse"}[f.event], user: f.user, project: f.project})
}

// lookOpenCode finds out about OpenCode, whose hook is a plugin.
func lookOpenCode(l *look) {
	path, text, binary := openCodePlugin(l.Machine)
	switch {
	case path == "":
		l.red("The plugin of agent-wrapper is not installed: every tool use passes undecided.", l.install())
	case text != entry.Plugin(binary, entry.Limit):
		l.red(l.shown(path)+" is not as agent-wrapper install writes it: it need not stop a tool.", l.install())
	default:
		l.ok("The plugin is installed: %s.", l.shown(path))
	}
	for _, path := range slices.Concat(plugins(openCodeHome(l.Machine)), plugins(filepath.Join(l.Dir, ".opencode"))) {
		if _, ours := entry.OfPlugin([]byte(head(path))); !ours && strings.Contains(head(path), "tool.execute.before") {
			l.red(l.shown(path)+": another plugin stands before tools, and can replace their inputs after agent-wrapper decided.", "Take it out.")
		}
	}
	l.openCodeRules()
	l.doors([2]string{"a plugin that OpenCode cannot load is skipped without a word, and so are all with --pure.", `Have OPENCODE_PERMISSION='{"*":"ask"}' set, as a second line of defence.`})
}

// openCodeHome returns the directory of the person's OpenCode configuration.
func openCodeHome(m *Machine) string { return filepath.Join(m.config(), "opencode") }

// openCodePlugin returns our plugin: its path, "" if there is none, its text, and the
// binary that it starts.
func openCodePlugin(m *Machine) (path, text, binary string) {
	for _, path := range plugins(openCodeHome(m)) {
		text := head(path)
		if binary, ours := entry.OfPlugin([]byte(text)); ours {
			return path, text, binary
		}
	}
	return "", "", ""
}

// config returns the directory of the person's configuration of most programs.
func (m *Machine) config() string {
	if dir := m.variable("XDG_CONFIG_HOME"); dir != "" {
		return dir
	}
	return filepath.Join(m.Home, ".config")
}

// own is the name of our program.
const own = "agent-wrapper"

// plugins returns the plugin files below a directory of OpenCode.
func plugins(dir string) (all []string) {
	for _, pattern := range []string{"plugins/*.js", "plugins/*.ts", "plugin/*.js", "plugin/*.ts"} {
		paths, _ := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern)))
		all = append(all, paths...)
	}
	return all
}

// openCodeRules tells of a repository whose rules replace the person's.
func (l *look) openCodeRules() {
	for _, name := range []string{"opencode.json", "opencode.jsonc", ".opencode/opencode.json"} {
		if d := l.json(filepath.Join(l.Dir, filepath.FromSlash(name))); d.at("permission") != nil {
			l.warn(d.shown+" has permissions of its own, which replace yours, denials too.", "Set OPENCODE_PERMISSION, which it cannot replace.")
		}
	}
}

// crushFiles returns the configuration of Crush.
func crushFiles(m *Machine) files {
	home := m.variable("CRUSH_GLOBAL_CONFIG")
	if home == "" {
		home = filepath.Join(m.config(), "crush")
	}
	f := files{event: "PreToolUse", noVoid: true, user: []doc{m.json(filepath.Join(home, "crush.json"))}}
	for _, name := range []string{"crush.json", ".crush.json"} {
		f.project = append(f.project, m.json(filepath.Join(m.Dir, name)))
	}
	return f
}

// lookCrush finds out about Crush.
func lookCrush(l *look) {
	f := crushFiles(l.Machine)
	_, user := l.usual(f)
	l.guarded(user)
	l.others(f)
	l.doors(
		[2]string{"what a subagent of Crush does has no hook.", "Deny the tools agent and agentic_fetch."},
		[2]string{"crush run allows by itself whatever no hook denies.", "Have the hook installed before you use it."},
	)
}
