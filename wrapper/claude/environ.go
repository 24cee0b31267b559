package claude

import (
	"slices"
	"strings"
)

// passed are the variables of the CLI's own family that it may inherit:
// credentials, providers, network and model. All others are kept from it, for
// some of them change what is asked (CLAUDE_CODE_SIMPLE), what a command line
// means (CLAUDE_CODE_SHELL_PREFIX, CLAUDE_ENV_FILE) or where settings come
// from, and there are a thousand.
var passed = []string{
	"CLAUDE_CONFIG_DIR", "CLAUDE_SECURESTORAGE_CONFIG_DIR", "CLAUDE_API_KEY",
	"CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_API_KEY_HELPER_TTL_MS", "CLAUDE_CODE_API_BASE_URL",
	"CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY",
	"CLAUDE_CODE_USE_ANTHROPIC_AWS", "CLAUDE_CODE_USE_ANTHROPIC_GOOGLE_CLOUD", "CLAUDE_CODE_USE_MANTLE",
	"CLAUDE_CODE_SKIP_BEDROCK_AUTH", "CLAUDE_CODE_SKIP_VERTEX_AUTH", "CLAUDE_CODE_SKIP_FOUNDRY_AUTH",
	"CLAUDE_CODE_SKIP_ANTHROPIC_AWS_AUTH", "CLAUDE_CODE_SKIP_ANTHROPIC_GOOGLE_CLOUD_AUTH", "CLAUDE_CODE_SKIP_MANTLE_AUTH",
	"CLAUDE_CODE_CLIENT_CERT", "CLAUDE_CODE_CLIENT_KEY", "CLAUDE_CODE_CLIENT_KEY_PASSPHRASE", "CLAUDE_CODE_CERT_STORE",
	"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "CLAUDE_CODE_ENABLE_TELEMETRY",
	"CLAUDE_CODE_MAX_OUTPUT_TOKENS", "CLAUDE_CODE_SUBAGENT_MODEL", "CLAUDE_CODE_EFFORT_LEVEL",
	"CLAUDE_CODE_TMPDIR", "CLAUDE_TMPDIR", "CLAUDE_CODE_DISABLE_AUTO_MEMORY",
}

// nested are variables that an agent CLI gives to what it runs; an agent that
// is started from another one has them, and nobody needs to be told.
var nested = []string{
	"CLAUDECODE", "CLAUDE_PID", "CLAUDE_EFFORT", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_EXECPATH",
	"CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_CHILD_NOTES_DIR",
	"CLAUDE_CODE_SESSION_ATTENDED", "CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN",
	"CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_SHELL", "CLAUDE_CODE_TOOL_USE_ID", "CLAUDE_AGENT_SDK_VERSION",
}

// cleaned returns the environment for the agent CLI and the names of variables
// that somebody set and that were left out. bash is the shell that it is to
// use, "" for its own choice.
func cleaned(environ []string, bash string) (env, left []string) {
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		upper := strings.ToUpper(name)
		switch {
		case upper == "BUN_OPTIONS", strings.HasPrefix(upper, "CLAUDE") && !slices.Contains(passed, name):
			if !slices.Contains(nested, name) {
				left = append(left, name)
			}
		default:
			env = append(env, entry)
		}
	}
	// Tells when the agent has finished for good.
	env = append(env, "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS=1")
	if bash != "" {
		env = append(env, "CLAUDE_CODE_SHELL="+bash)
	}
	slices.Sort(left)
	return env, left
}
