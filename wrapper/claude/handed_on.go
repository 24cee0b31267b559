package claude

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/text/spelling"
)

// option is an option of the agent CLI, by the --help of the versions that the
// tests drive (2.1.197 to 2.1.330).
type option struct {
	names []string
	// on reports that the option is handed on: it changes how the model works or
	// what the session is called, not which tools run, what is loaded or started,
	// or what the CLI says to us. value reports that a value follows it.
	on, value bool
	// instead says what to use for an option that is not handed on.
	instead string
}

// cliOptions lists the options that are handed on, and those that people try. One that
// it does not have is not handed on.
var cliOptions = []option{
	{names: []string{"--autocompact"}, on: true, value: true},
	{names: []string{"--betas"}, on: true, value: true},
	{names: []string{"--effort"}, on: true, value: true},
	{names: []string{"--exclude-dynamic-system-prompt-sections"}, on: true},
	{names: []string{"--fallback-model"}, on: true, value: true},
	{names: []string{"--name", "-n"}, on: true, value: true},
	{names: []string{"--no-session-persistence"}, on: true},
	{names: []string{"--system-prompt"}, on: true, value: true},
	{names: []string{"--thinking"}, on: true, value: true},

	{names: []string{"--allowedTools", "--allowed-tools"}, instead: "agent-wrapper decides permissions; use --allow"},
	{names: []string{"--disallowedTools", "--disallowed-tools", "--tools"}, instead: "agent-wrapper decides permissions; use --deny"},
	{names: []string{"--permission-mode", "--dangerously-skip-permissions", "--allow-dangerously-skip-permissions"}, instead: "agent-wrapper decides permissions; use --mode"},
	{names: []string{"--permission-prompt-tool", "--permission-prompts"}, instead: "agent-wrapper answers what the agent CLI asks; leave it out"},
	{names: []string{"--settings", "--setting-sources", "--safe-mode", "--restricted"}, instead: "the agent's settings are not read; use a policy file (--policy)"},
	{names: []string{"--bare"}, instead: "use agent-wrapper's --bare, before --: then the agent is told nothing of CLAUDE.md, agents and skills"},
	{names: []string{"--agent", "--agents"}, instead: "a subagent can have a permission mode and hooks of its own; write a file .claude/agents/NAME.md, of which these do not count"},
	{names: []string{"--plugin-dir", "--plugin-url"}, instead: "plugins bring hooks and commands; use --mcp-config for their MCP servers"},
	{names: []string{"--strict-mcp-config", "--disable-slash-commands", "--verbose", "--input-format"}, instead: "agent-wrapper sets it; leave it out"},
	{names: []string{"--print", "-p"}, instead: "agent-wrapper sets it; give the task with --prompt"},
	{names: []string{"--output-format"}, instead: "use agent-wrapper's --output text, jsonl or json, before --"},
	{names: []string{"--resume", "-r", "--continue", "-c", "--fork-session", "--session-id", "--from-pr"}, instead: "use agent-wrapper's --session ID, before --"},
	{names: []string{"--debug", "-d", "--debug-file"}, instead: "use agent-wrapper's --log FILE, before --"},
	{names: []string{"--append-system-prompt-file", "--system-prompt-file"}, instead: `use --append-system-prompt "$(cat FILE)", before --`},
	{names: []string{"--model", "--add-dir", "--mcp-config", "--append-system-prompt", "--max-turns", "--max-budget-usd", "--json-schema"}, instead: "it is a flag of agent-wrapper too; give it before --"},
}

// CheckOptions returns an error that names the first of the options, given as on
// the agent CLI's command line, that is not handed on to it, and says what to use
// instead. Only a closed list is handed on: any other option could let a tool run
// that the Decider did not allow.
func CheckOptions(options []string) error {
	_, err := handedOn(options)
	return err
}

// Hint returns what to do about an option of the agent CLI, by its name, that was
// given to agent-wrapper itself; "" if it is not known.
func Hint(name string) string {
	for _, o := range cliOptions {
		switch {
		case !slices.Contains(o.names, name):
		case o.on:
			return "it is an option of the agent CLI; give it after --, at the end"
		default:
			return o.instead
		}
	}
	return ""
}

// handedOn returns options in the form in which they are handed on: a value follows
// its option after "=".
func handedOn(words []string) ([]string, error) {
	var args []string
	for len(words) > 0 {
		name, value, attached := strings.Cut(words[0], "=")
		words = words[1:]
		o, err := find(name)
		switch {
		case err != nil:
			return nil, err
		case !o.value && attached:
			return nil, fmt.Errorf("%s takes no value", name)
		case !o.value:
			args = append(args, o.names[0])
			continue
		case !attached && (len(words) == 0 || strings.HasPrefix(words[0], "-")):
			return nil, fmt.Errorf("%s needs a value: write %s=VALUE", name, name)
		case !attached:
			value, words = words[0], words[1:]
		}
		args = append(args, o.names[0]+"="+value)
	}
	return args, nil
}

// find returns the option of a name if it is handed on.
func find(name string) (*option, error) {
	if !strings.HasPrefix(name, "-") {
		return nil, fmt.Errorf("%.60q is not passed on to the agent CLI, only options are: give the task with --prompt", name)
	}
	at := slices.IndexFunc(cliOptions, func(o option) bool { return slices.Contains(o.names, name) })
	switch {
	case at < 0:
		return nil, fmt.Errorf("%.60s is not passed on to the agent CLI: %s", name, instead(name))
	case !cliOptions[at].on:
		return nil, fmt.Errorf("%s is not passed on to the agent CLI: %s", name, cliOptions[at].instead)
	}
	return &cliOptions[at], nil
}

// instead says which option may be meant by one that is not known.
func instead(name string) string {
	if near := spelling.Nearest(name, slices.Values(handedOnNames())); near != "" {
		return "did you mean " + near + "?"
	}
	return "use one of " + strings.Join(handedOnNames(), ", ")
}

// handedOnNames returns the names of the options that are handed on.
func handedOnNames() []string {
	var names []string
	for _, o := range cliOptions {
		if o.on {
			names = append(names, o.names[0])
		}
	}
	return names
}
