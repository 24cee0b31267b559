package claude

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// BelowRun is the name of a variable that all have which an agent starts, whatever
// becomes of their parents, unless somebody takes it away.
const BelowRun = "AGENT_WRAPPER_RUN"

// variables lists the environment variables of the agent CLI. A variable of its
// families that is not listed is withheld: there are about a thousand, and some
// change what is asked (CLAUDE_CODE_SIMPLE), what a command line means
// (CLAUDE_CODE_SHELL_PREFIX, CLAUDE_ENV_FILE), where settings come from, or
// whether a debugger is attached (BUN_INSPECT). Variables of other families are
// passed on.
var variables = struct {
	families []string   // prefixes of names
	withheld []string   // of no family
	passed   []string   // credentials, providers, network, model, directories
	nested   []string   // set by an agent CLI for its child processes; withheld without a warning
	ours     []variable // set by us, whatever their value was
	// logins are what the CLI proves by who it is; commands do not get them. Those of a
	// cloud are in clouds, by the variables that have the CLI use it: otherwise they are
	// the person's, for other programs.
	logins []string
	clouds map[string][]string
	// reaching are what leads to the CLI itself, or to us; its MCP servers do not get
	// them either.
	reaching []string
}{
	families: []string{"CLAUDE", "BUN_"},
	withheld: []string{
		"BASH_ENV", // every bash that the CLI starts runs this file, even before the prompt is sent
	},
	passed: []string{
		"CLAUDE_CONFIG_DIR", "CLAUDE_SECURESTORAGE_CONFIG_DIR", "CLAUDE_API_KEY",
		"CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_API_KEY_HELPER_TTL_MS", "CLAUDE_CODE_API_BASE_URL",
		"CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY",
		"CLAUDE_CODE_USE_ANTHROPIC_AWS", "CLAUDE_CODE_USE_ANTHROPIC_GOOGLE_CLOUD", "CLAUDE_CODE_USE_MANTLE",
		"CLAUDE_CODE_SKIP_BEDROCK_AUTH", "CLAUDE_CODE_SKIP_VERTEX_AUTH", "CLAUDE_CODE_SKIP_FOUNDRY_AUTH",
		"CLAUDE_CODE_SKIP_ANTHROPIC_AWS_AUTH", "CLAUDE_CODE_SKIP_ANTHROPIC_GOOGLE_CLOUD_AUTH", "CLAUDE_CODE_SKIP_MANTLE_AUTH",
		"CLAUDE_CODE_CLIENT_CERT", "CLAUDE_CODE_CLIENT_KEY", "CLAUDE_CODE_CLIENT_KEY_PASSPHRASE", "CLAUDE_CODE_CERT_STORE",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "CLAUDE_CODE_ENABLE_TELEMETRY",
		"CLAUDE_CODE_MAX_OUTPUT_TOKENS", "CLAUDE_CODE_MAX_RETRIES", "CLAUDE_CODE_SUBAGENT_MODEL", "CLAUDE_CODE_EFFORT_LEVEL",
		"CLAUDE_CODE_TMPDIR", "CLAUDE_TMPDIR",
		"BUN_INSTALL", "BUN_INSTALL_BIN", "BUN_INSTALL_CACHE_DIR", "BUN_INSTALL_GLOBAL_DIR", "BUN_TMPDIR",
		"BUN_CONFIG_REGISTRY", "BUN_CONFIG_TOKEN",
	},
	nested: []string{
		"CLAUDECODE", "CLAUDE_PID", "CLAUDE_EFFORT", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_EXECPATH",
		"CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_CHILD_NOTES_DIR",
		"CLAUDE_CODE_SESSION_ATTENDED", "CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN",
		"CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_SHELL", "CLAUDE_CODE_TOOL_USE_ID", "CLAUDE_AGENT_SDK_VERSION",
	},
	logins: []string{
		"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_IDENTITY_TOKEN",
		"ANTHROPIC_FOUNDRY_API_KEY", "ANTHROPIC_FOUNDRY_AUTH_TOKEN", "ANTHROPIC_AWS_API_KEY",
		"CLAUDE_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_OAUTH_REFRESH_TOKEN", "CLAUDE_CODE_SESSION_ACCESS_TOKEN",
		"CLAUDE_CODE_CLIENT_KEY", "CLAUDE_CODE_CLIENT_KEY_PASSPHRASE",
		"AWS_BEARER_TOKEN_BEDROCK", "BUN_CONFIG_TOKEN",
	},
	clouds: map[string][]string{
		"CLAUDE_CODE_USE_BEDROCK":                {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"},
		"CLAUDE_CODE_USE_MANTLE":                 {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"},
		"CLAUDE_CODE_USE_ANTHROPIC_AWS":          {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"},
		"CLAUDE_CODE_USE_VERTEX":                 {"GOOGLE_APPLICATION_CREDENTIALS"},
		"CLAUDE_CODE_USE_ANTHROPIC_GOOGLE_CLOUD": {"GOOGLE_APPLICATION_CREDENTIALS"},
		"CLAUDE_CODE_USE_FOUNDRY":                {"AZURE_CLIENT_SECRET", "AZURE_CLIENT_CERTIFICATE_PASSWORD"},
	},
	reaching: []string{"CLAUDE_CODE_SHELL_PREFIX", "CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN"},
	ours: []variable{
		{BelowRun, "1", "what an agent starts does not answer approvals"},
		{"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS", "1", "tells when the agent has finished for good"},
		{"CLAUDE_CODE_DISABLE_CRON", "1", "scheduled_tasks.json speaks as the user, before the preflight has ended"},
		{"CLAUDE_CODE_DISABLE_DEFERRED_TOOL_RESUME", "1", "a resumed session begins a turn of its own"},
		{"CLAUDE_CODE_DISABLE_AUTO_MEMORY", "1", "an agent beside ours reads and writes without a question (2.1.197)"},
		{"CLAUDE_CODE_DISABLE_CLAUDE_MDS", "1", "2.1.197 takes .claude/rules in with the first file that is read"},
		{"CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS", "1", "git status runs the filters of the repository's configuration"},
		{"CLAUDE_CODE_DISABLE_FEATURE_FLAGS", "1", "flags from the network and from .claude.json switch on what no test of ours has seen"},
		{"DISABLE_GROWTHBOOK", "1", "the same, as older versions call it"},
	},
}

// variable is a variable that we set for the agent CLI.
type variable struct{ name, value, why string }

// cleaned returns the environment for the agent CLI, and the names of the
// variables left out that the user should know about. bash is the path of the
// shell that the CLI is to use, "" for the CLI's default.
func cleaned(environ []string, bash string) (env, left []string) {
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		switch {
		case isOurs(name), slices.Contains(variables.nested, name):
		case withheld(name):
			left = append(left, name)
		default:
			env = append(env, entry)
		}
	}
	for _, v := range variables.ours {
		env = append(env, v.name+"="+v.value)
	}
	if bash != "" {
		env = append(env, "CLAUDE_CODE_SHELL="+bash)
	}
	slices.Sort(left)
	return unmonitored(env), left
}

// withScratch returns the environment with a directory for temporary files, and with a file
// that makes each command's shell use it. The CLI's own are in agentDir, if there is one.
func (o *launch) withScratch(env []string) []string {
	if o.Scratch == "" {
		return env
	}
	const tempDir, ownDir, envFile = "TMPDIR=", "CLAUDE_CODE_TMPDIR=", "CLAUDE_ENV_FILE="
	own := o.agentDir()
	env = slices.DeleteFunc(env, func(entry string) bool {
		return strings.HasPrefix(entry, tempDir) || own != "" && strings.HasPrefix(entry, ownDir)
	})
	if own != "" {
		env = append(env, ownDir+own)
	}
	return append(env, tempDir+cmp.Or(own, o.Scratch), envFile+o.ShellEnv)
}

func isOurs(name string) bool {
	return slices.ContainsFunc(variables.ours, func(v variable) bool { return v.name == name })
}

// withheld reports whether a variable is not passed to the agent CLI.
func withheld(name string) bool {
	if slices.Contains(variables.passed, name) {
		return false
	}
	upper := strings.ToUpper(name)
	return slices.Contains(variables.withheld, upper) ||
		slices.ContainsFunc(variables.families, func(family string) bool { return strings.HasPrefix(upper, family) })
}

// unmonitored disables git's file system monitor through git's environment
// configuration. The monitor is a program that the repository's configuration
// names, and 2.1.197 runs git before the prompt is sent.
func unmonitored(env []string) []string {
	const count = "GIT_CONFIG_COUNT="
	n := 0
	env = slices.DeleteFunc(env, func(entry string) bool {
		value, found := strings.CutPrefix(entry, count)
		if found {
			n, _ = strconv.Atoi(value)
			n = max(n, 0)
		}
		return found
	})
	return append(env, count+strconv.Itoa(n+1),
		fmt.Sprintf("GIT_CONFIG_KEY_%d=core.fsmonitor", n), fmt.Sprintf("GIT_CONFIG_VALUE_%d=false", n))
}

// withheldFromCommands returns the names of the variables that a command does not get, by
// the environment of the agent CLI.
func withheldFromCommands(env []string) []string {
	names := slices.Concat(variables.logins, variables.reaching)
	for use, logins := range variables.clouds {
		if valueOf(env, use) != "" {
			names = append(names, logins...)
		}
	}
	return names
}

// ForCommands returns the environment for a command that an agent CLI starts, by that of
// the CLI: without what the CLI proves by who it is, and what leads to it.
func ForCommands(env []string) []string { return without(env, withheldFromCommands(env)) }

// without returns an environment without some variables.
func without(env, names []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(names, name)
	})
}

// valueOf returns the value of a variable, "" if it is not set. The last of
// several values counts.
func valueOf(env []string, name string) string {
	value, _ := lookup(env, name)
	return value
}

// lookup is valueOf, and reports whether the variable is set.
func lookup(env []string, name string) (value string, set bool) {
	for _, entry := range slices.Backward(env) {
		if value, set = strings.CutPrefix(entry, name+"="); set {
			return value, true
		}
	}
	return "", false
}
