package install

// Door is a way past the hook that the configuration of a scope leaves open.
type Door struct {
	Host   string `json:"host"`
	Scope  Scope  `json:"scope"` // of the hook that it leads past
	What   string `json:"what"`
	Closes string `json:"closes"` // what closes it
	Source string `json:"source"` // on which version of the host it was measured
}

// measured holds the versions on which the doors were found.
var measured = map[string]string{
	"claude": "Claude Code 2.1.330", "codex": "Codex CLI 0.169.0", "gemini": "Gemini CLI 0.61.0", "qwen": "Qwen Code 0.24.4",
	"copilot": "Copilot CLI 1.0.102", "opencode": "OpenCode 1.18.33", "crush": "a build of Crush's source of 2026-08-21",
}

// anyHost stands for all hosts in the table.
const anyHost = "any"

// doors is the table of the ways past the hook that stay open.
func doors() []Door {
	return []Door{
		{Host: anyHost, Scope: User, What: "what may write the program that the hook starts decides, at once", Closes: "a place that only root may write, or no rule that allows writing there"},
		{Host: anyHost, Scope: Managed, What: "what may write the program that the hook starts decides, at once", Closes: "a place that only root may write"},

		{Host: "claude", Scope: User, What: "Claude Code up to 2.1.268 does not know onFailure: a hook that is killed, hangs or is missing lets the tool run", Closes: "Claude Code 2.1.330 or later"},
		{Host: "claude", Scope: User, What: "a repository with disableAllHooks in .claude/settings.json switches the hook off at the start", Closes: "install --scope managed"},
		{Host: "claude", Scope: User, What: "--bare, CLAUDE_CODE_SIMPLE=1, --setting-sources or --settings with disableAllHooks start claude without the hook", Closes: "install --scope managed"},
		{Host: "claude", Scope: User, What: "modes auto and bypassPermissions do not ask you what the hook wants asked", Closes: "install --no-auto-mode"},
		{Host: "claude", Scope: User, What: "a hook of a repository may replace the input that was allowed", Closes: "allowManagedHooksOnly = true in managed settings, and --scope managed"},
		{Host: "claude", Scope: User, What: "an exit code 0 without a decision lets the tool run", Closes: "only agent-wrapper itself: it always prints one"},
		{Host: "claude", Scope: User, What: "!commands and @files that you type do not pass the hook", Closes: "nothing: they are your own acts"},
		{Host: "claude", Scope: Managed, What: "Claude Code up to 2.1.268 does not know onFailure: a hook that is killed, hangs or is missing lets the tool run", Closes: "Claude Code 2.1.330 or later"},
		{Host: "claude", Scope: Managed, What: "modes auto and bypassPermissions do not ask you what the hook wants asked", Closes: "install --no-auto-mode"},
		{Host: "claude", Scope: Managed, What: "a hook of a repository may replace the input that was allowed", Closes: "allowManagedHooksOnly = true in managed settings"},
		{Host: "claude", Scope: Managed, What: "!commands and @files that you type do not pass the hook", Closes: "nothing: they are your own acts"},

		{Host: "claude", Scope: Packaged, What: "Claude Code up to 2.1.268 does not know onFailure: a hook that is killed, hangs or is missing lets the tool run", Closes: "Claude Code 2.1.330 or later"},
		{Host: "claude", Scope: Packaged, What: "a repository with enabledPlugins {\"agent-wrapper@MARKETPLACE\": false} or disableAllHooks in .claude/settings.json switches the plugin off at the start", Closes: "install claude, for enabledPlugins; install --scope managed, for both"},
		{Host: "claude", Scope: Packaged, What: "the first agent-wrapper on the agent's PATH is started", Closes: "install claude, which writes its whole path"},
		{Host: "claude", Scope: Packaged, What: "who publishes the plugin changes the hook with an update", Closes: "install claude"},
		{Host: "claude", Scope: Packaged, What: "modes auto and bypassPermissions do not ask you what the hook wants asked: a plugin cannot switch them off", Closes: "install claude --no-auto-mode"},
		{Host: "claude", Scope: Packaged, What: "what the user's own settings leave open as well: --bare, other hooks, !commands and @files", Closes: "see agent-wrapper status claude"},

		{Host: "codex", Scope: User, What: "a trusted repository with [features] hooks = false in .codex/config.toml switches the hook off", Closes: "install --scope managed"},
		{Host: "codex", Scope: User, What: "--disable hooks, -c features.hooks=false and --ignore-user-config start codex without the hook", Closes: "install --scope managed (not measured for --ignore-user-config)"},
		{Host: "codex", Scope: User, What: "if hooks.json is removed while codex runs, sub-agents and new threads run without the hook", Closes: "install --scope managed"},
		{Host: "codex", Scope: User, What: "a changed hook is skipped without a word until it is trusted", Closes: "install --scope managed, which needs no trust"},
		{Host: "codex", Scope: User, What: "input to a program that already runs (write_stdin) does not pass the hook: an allowed command has no standard input, but may read its terminal", Closes: "codex --disable shell_tool, or rules that allow no interactive programs"},
		{Host: "codex", Scope: User, What: "the hosted web search does not pass the hook", Closes: "install --no-web-search"},
		{Host: "codex", Scope: Managed, What: "input to a program that already runs (write_stdin) does not pass the hook: an allowed command has no standard input, but may read its terminal", Closes: "codex --disable shell_tool, or rules that allow no interactive programs"},
		{Host: "codex", Scope: Managed, What: "the hosted web search does not pass the hook", Closes: "web_search = \"disabled\" in config.toml: install --scope user --no-web-search"},

		{Host: "gemini", Scope: User, What: "a trusted repository with hooksConfig.enabled = false in .gemini/settings.json switches the hook off", Closes: "install --scope managed"},
		{Host: "gemini", Scope: User, What: "a trusted repository that knows the hook's name may list it in hooksConfig.disabled", Closes: "nothing: the name is made up at each installation"},
		{Host: "gemini", Scope: User, What: "gemini --acp does not run the hook at all", Closes: "do not give gemini --acp to an editor"},
		{Host: "gemini", Scope: User, What: "shell blocks in custom commands (!{...}) and @files do not pass the hook", Closes: "read .gemini/commands of a repository before you use them"},
		{Host: "gemini", Scope: Managed, What: "a trusted repository that knows the hook's name may list it in hooksConfig.disabled", Closes: "nothing: the name is made up at each installation"},
		{Host: "gemini", Scope: Managed, What: "gemini --acp does not run the hook at all", Closes: "do not give gemini --acp to an editor"},
		{Host: "gemini", Scope: Managed, What: "shell blocks in custom commands (!{...}) and @files do not pass the hook", Closes: "read .gemini/commands of a repository before you use them"},

		{Host: "gemini", Scope: Packaged, What: "gemini extensions disable agent-wrapper, and hooksConfig.enabled = false in your settings or those of a trusted repository, switch the hook off", Closes: "install gemini, for the first; install --scope managed, for both"},
		{Host: "gemini", Scope: Packaged, What: "all who have the package know the hook's name, and a trusted repository may list it in hooksConfig.disabled", Closes: "install gemini, which makes up a name"},
		{Host: "gemini", Scope: Packaged, What: "the first agent-wrapper on the agent's PATH is started", Closes: "install gemini, which writes its whole path"},
		{Host: "gemini", Scope: Packaged, What: "gemini --acp, shell blocks in custom commands and @files do not pass the hook", Closes: "see agent-wrapper status gemini"},

		{Host: "qwen", Scope: User, What: "any repository with disableAllHooks in .qwen/settings.json switches the hook off", Closes: "install --scope managed"},
		{Host: "qwen", Scope: User, What: "--safe-mode, --bare and QWEN_CODE_SYSTEM_SETTINGS_PATH start qwen without the hook", Closes: "nothing: do not start it so"},
		{Host: "qwen", Scope: User, What: "shell blocks in custom commands (!{...}) and @files do not pass the hook", Closes: "read .qwen/commands of a repository before you use them"},
		{Host: "qwen", Scope: Managed, What: "--safe-mode, --bare and QWEN_CODE_SYSTEM_SETTINGS_PATH start qwen without the hook", Closes: "nothing: do not start it so"},
		{Host: "qwen", Scope: Managed, What: "shell blocks in custom commands (!{...}) and @files do not pass the hook", Closes: "read .qwen/commands of a repository before you use them"},

		{Host: "copilot", Scope: User, What: "a trusted repository with disableAllHooks in .github/copilot/settings.json or .claude/settings.json switches the hook off", Closes: "do not trust folders whose settings you have not read"},
		{Host: "copilot", Scope: User, What: "a hook of a trusted repository may replace the input that was allowed", Closes: "do not trust folders whose hooks you have not read"},
		{Host: "copilot", Scope: User, What: "!commands that you type do not pass the hook", Closes: "nothing: they are your own acts"},

		{Host: "opencode", Scope: User, What: "a plugin that cannot be loaded, and --pure, leave opencode without the hook, without a word", Closes: "OPENCODE_PERMISSION='{\"*\":\"ask\"}' in the environment of opencode"},
		{Host: "opencode", Scope: User, What: "a plugin of a repository may change the arguments after the hook", Closes: "read .opencode/plugins of a repository before you start opencode there"},
		{Host: "opencode", Scope: User, What: "!commands, shell blocks in custom commands and @files do not pass the hook", Closes: "read .opencode/command of a repository before you use them"},

		{Host: "crush", Scope: User, What: "tool uses of sub-agents do not pass the hook", Closes: "deny the tools agent and agentic_fetch"},
		{Host: "crush", Scope: User, What: "a hook of a repository may replace the input that was allowed", Closes: "read crush.json of a repository before you start crush there"},
	}
}

// open returns the doors that a scope leaves open to a host, with the options that were
// chosen.
func open(name string, scope Scope, o Options) []Door {
	var out []Door
	for _, d := range doors() {
		closed := d.Closes == "install --no-auto-mode" && o.NoAutoMode || d.Closes == "install --no-web-search" && o.NoWebSearch
		if (d.Host == name || d.Host == anyHost) && d.Scope == scope && !closed {
			d.Host, d.Source = name, "measured on "+measured[name]
			out = append(out, d)
		}
	}
	return out
}
