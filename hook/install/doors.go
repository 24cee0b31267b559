package install

// Door is a way past the hook that the configuration of a scope leaves open.
type Door struct {
	Host   string `json:"host"`
	Scope  Scope  `json:"scope"` // of the hook that it leads past
	What   string `json:"what"`
	Closes string `json:"closes"` // what closes it
	Source string `json:"source"` // where that was found out
}

// The marks of the sources: part and section of the measurements.
const (
	measured1 = "measured 1, "
	measured2 = "measured 2, "
)

// anyHost stands for all hosts in the table.
const anyHost = "any"

// doors is the table of the ways past the hook that stay open.
func doors() []Door {
	return []Door{
		{anyHost, User, "what may write the program that the hook starts decides, at once", "a place that only root may write, or no rule that allows writing there", measured1 + "1.7"},
		{anyHost, Managed, "what may write the program that the hook starts decides, at once", "a place that only root may write", measured1 + "1.7"},

		{"claude", User, "a repository with disableAllHooks in .claude/settings.json switches the hook off at the start", "install --scope managed", measured2 + "1.7"},
		{"claude", User, "--bare, CLAUDE_CODE_SIMPLE=1, --setting-sources or --settings with disableAllHooks start claude without the hook", "install --scope managed", measured2 + "1.7"},
		{"claude", User, "modes auto and bypassPermissions do not ask you what the hook wants asked", "install --no-auto-mode", measured2 + "1.6"},
		{"claude", User, "a hook of a repository may replace the input that was allowed", "allowManagedHooksOnly = true in managed settings, and --scope managed", measured2 + "1.7"},
		{"claude", User, "an exit code 0 without a decision lets the tool run", "only agent-wrapper itself: it always prints one", measured2 + "1.4"},
		{"claude", User, "!commands and @files that you type do not pass the hook", "nothing: they are your own acts", measured2 + "1.3"},
		{"claude", Managed, "modes auto and bypassPermissions do not ask you what the hook wants asked", "install --no-auto-mode", measured2 + "1.6"},
		{"claude", Managed, "a hook of a repository may replace the input that was allowed", "allowManagedHooksOnly = true in managed settings", measured2 + "1.7"},
		{"claude", Managed, "!commands and @files that you type do not pass the hook", "nothing: they are your own acts", measured2 + "1.3"},

		{"codex", User, "a trusted repository with [features] hooks = false in .codex/config.toml switches the hook off", "install --scope managed", measured1 + "1.7"},
		{"codex", User, "--disable hooks, -c features.hooks=false and --ignore-user-config start codex without the hook", "install --scope managed (not measured for --ignore-user-config)", measured1 + "1.7"},
		{"codex", User, "if hooks.json is removed while codex runs, sub-agents and new threads run without the hook", "install --scope managed", measured1 + "1.7"},
		{"codex", User, "a changed hook is skipped without a word until it is trusted", "install --scope managed, which needs no trust", measured1 + "1.1"},
		{"codex", User, "input to a program that already runs (write_stdin) does not pass the hook", "codex --disable shell_tool, or rules that allow no interactive programs", measured1 + "1.3"},
		{"codex", User, "the hosted web search does not pass the hook", "install --no-web-search", measured1 + "1.3"},
		{"codex", Managed, "input to a program that already runs (write_stdin) does not pass the hook", "codex --disable shell_tool, or rules that allow no interactive programs", measured1 + "1.3"},
		{"codex", Managed, "the hosted web search does not pass the hook", "web_search = \"disabled\" in config.toml: install --scope user --no-web-search", measured1 + "1.3"},

		{"gemini", User, "a trusted repository with hooksConfig.enabled = false in .gemini/settings.json switches the hook off", "install --scope managed", measured1 + "2.7"},
		{"gemini", User, "a trusted repository that knows the hook's name may list it in hooksConfig.disabled", "nothing: the name is made up at each installation", measured1 + "2.7"},
		{"gemini", User, "gemini --acp does not run the hook at all", "do not give gemini --acp to an editor", measured1 + "2.3"},
		{"gemini", User, "shell blocks in custom commands (!{...}) and @files do not pass the hook", "read .gemini/commands of a repository before you use them", measured1 + "2.3"},
		{"gemini", Managed, "a trusted repository that knows the hook's name may list it in hooksConfig.disabled", "nothing: the name is made up at each installation", measured1 + "2.7"},
		{"gemini", Managed, "gemini --acp does not run the hook at all", "do not give gemini --acp to an editor", measured1 + "2.3"},
		{"gemini", Managed, "shell blocks in custom commands (!{...}) and @files do not pass the hook", "read .gemini/commands of a repository before you use them", measured1 + "2.3"},

		{"qwen", User, "any repository with disableAllHooks in .qwen/settings.json switches the hook off", "install --scope managed", measured1 + "3.7"},
		{"qwen", User, "--safe-mode, --bare and QWEN_CODE_SYSTEM_SETTINGS_PATH start qwen without the hook", "nothing: do not start it so", measured1 + "3.7"},
		{"qwen", User, "shell blocks in custom commands (!{...}) and @files do not pass the hook", "read .qwen/commands of a repository before you use them", measured1 + "3.3"},
		{"qwen", Managed, "--safe-mode, --bare and QWEN_CODE_SYSTEM_SETTINGS_PATH start qwen without the hook", "nothing: do not start it so", measured1 + "3.1, 3.7"},
		{"qwen", Managed, "shell blocks in custom commands (!{...}) and @files do not pass the hook", "read .qwen/commands of a repository before you use them", measured1 + "3.3"},

		{"copilot", User, "a trusted repository with disableAllHooks in .github/copilot/settings.json or .claude/settings.json switches the hook off", "do not trust folders whose settings you have not read", measured2 + "4"},
		{"copilot", User, "a hook of a trusted repository may replace the input that was allowed", "do not trust folders whose hooks you have not read", measured2 + "4"},
		{"copilot", User, "!commands that you type do not pass the hook", "nothing: they are your own acts", measured2 + "4"},

		{"opencode", User, "a plugin that cannot be loaded, and --pure, leave opencode without the hook, without a word", "OPENCODE_PERMISSION='{\"*\":\"ask\"}' in the environment of opencode", measured2 + "2.4"},
		{"opencode", User, "a plugin of a repository may change the arguments after the hook", "read .opencode/plugins of a repository before you start opencode there", measured2 + "2.6"},
		{"opencode", User, "!commands, shell blocks in custom commands and @files do not pass the hook", "read .opencode/command of a repository before you use them", measured2 + "2.3"},

		{"crush", User, "tool uses of sub-agents do not pass the hook", "deny the tools agent and agentic_fetch", measured2 + "5"},
		{"crush", User, "a hook of a repository may replace the input that was allowed", "read crush.json of a repository before you start crush there", measured2 + "5"},
	}
}

// open returns the doors that a scope leaves open to a host, with the options that were
// chosen.
func open(name string, scope Scope, o Options) []Door {
	var out []Door
	for _, d := range doors() {
		closed := d.Closes == "install --no-auto-mode" && o.NoAutoMode || d.Closes == "install --no-web-search" && o.NoWebSearch
		if (d.Host == name || d.Host == anyHost) && d.Scope == scope && !closed {
			d.Host = name
			out = append(out, d)
		}
	}
	return out
}
