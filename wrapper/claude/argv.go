package claude

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/text/lazyregexp"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
)

// settings are the settings that we pass to the CLI. Apart from managed settings
// it loads no others. Some ways around the Decider are closed here as well as by
// an option; docs/agents.md lists them.
type settings struct {
	Permissions                permissions `json:"permissions"`
	DisableAllHooks            bool        `json:"disableAllHooks"`
	DisableSkillShellExecution bool        `json:"disableSkillShellExecution"`
	// Messages from other sessions of the user, or from any process that finds
	// the CLI's socket.
	CrossSessionInbound  string `json:"crossSessionInbound"`
	DisableRemoteControl bool   `json:"disableRemoteControl"`
}

type permissions struct {
	Ask []string `json:"ask"`
	// An --add-dir option would also load the settings of the directory.
	AdditionalDirectories []string `json:"additionalDirectories,omitempty"`
}

// isolation returns our settings as JSON.
func isolation(o *launch) string {
	s := settings{
		Permissions:     permissions{Ask: []string{"*"}},
		DisableAllHooks: true, DisableSkillShellExecution: true, CrossSessionInbound: "refuse", DisableRemoteControl: true,
	}
	for _, dir := range o.AddDirs {
		if abs, err := filepath.Abs(dir); dir != "" && err == nil {
			s.Permissions.AdditionalDirectories = append(s.Permissions.AdditionalDirectories, abs)
		}
	}
	data, _ := json.Marshal(s) // cannot fail: only strings and booleans
	return string(data)
}

// arguments returns the arguments for the agent CLI; no others are ever passed. A
// value follows its option after "=", so that no value is read as an option.
func arguments(o *launch) ([]string, error) {
	further, err := handedOn(o.Options)
	if err != nil {
		return nil, err
	}
	args := []string{
		"--output-format=stream-json", "--verbose", "--input-format=stream-json",
		"--permission-prompt-tool=stdio", "--permission-mode=default",
		"--setting-sources=", "--strict-mcp-config", "--disable-slash-commands",
		"--settings=" + isolation(o),
	}
	add := func(option, value string) {
		if value != "" {
			args = append(args, option+"="+value)
		}
	}
	add("--model", o.Model)
	add("--resume", o.Session)
	if o.Fork && o.Session != "" {
		args = append(args, "--fork-session")
	}
	for _, config := range o.MCPConfig {
		add("--mcp-config", absolute(config))
	}
	for _, rule := range o.Disallowed {
		add("--disallowedTools", sayable(rule))
	}
	if o.MaxTurns > 0 {
		add("--max-turns", strconv.Itoa(o.MaxTurns))
	}
	if o.MaxBudgetUSD > 0 {
		add("--max-budget-usd", strconv.FormatFloat(o.MaxBudgetUSD, 'f', -1, 64))
	}
	add("--json-schema", o.OutputSchema)
	if o.Stream {
		args = append(args, "--include-partial-messages")
	}
	args = append(args, further...)
	for _, arg := range args {
		if strings.ContainsRune(arg, 0) {
			return nil, fmt.Errorf("the value of %s holds a NUL byte", strings.SplitN(arg, "=", 2)[0])
		}
	}
	return args, nil
}

// system returns what is added to the CLI's system prompt.
func (o *launch) system() string {
	parts := []string{o.told.Instructions, o.AppendSystemPrompt}
	if o.Scratch != "" {
		parts = append(parts, fmt.Sprintf("Put temporary files into %s, which is also $TMPDIR. It is private to this session, you may write, read and remove there without being asked, and it is removed at the end of the session.", o.Scratch))
	}
	if o.Sandbox != nil {
		parts = append(parts, "Commands run in a sandbox of agent-wrapper: they can write only in the workspace, in caches of tools and in temporary files; protected files, files with secrets and what the policy denies cannot be changed or read; other processes, services and hosts are not there, and loopback is theirs alone. A command that the sandbox stops fails, mostly with \"Read-only file system\", \"Permission denied\" or a failed connection. A server has to be started in the background of the tool: what a command puts aside ends with it. If a command needs more, repeat it on its own with "+tools.Unsandboxed+" set to true: a person is then asked.")
	}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "\n\n")
}

// absolute makes a path absolute, because the agent may start in another
// directory. JSON text is returned as it is.
func absolute(path string) string {
	if path == "" || json.Valid([]byte(path)) {
		return path
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	return abs
}

var (
	toolName  = lazyregexp.New(`^[A-Za-z][A-Za-z0-9_-]*$`)
	plainSpec = lazyregexp.New(`^[A-Za-z0-9_./~:@ *-]+$`)
)

// sayable translates a deny rule for the CLI, "" if the CLI has no rule with the
// same meaning. The Decider denies what the rule covers in any case.
func sayable(rule string) string {
	tool, spec, found := strings.Cut(rule, "(")
	if !toolName.MatchString(tool) {
		return ""
	}
	if !found {
		return tool
	}
	spec, closed := strings.CutSuffix(spec, ")")
	if !closed || !plainSpec.MatchString(spec) || strings.TrimSpace(spec) != spec {
		return ""
	}
	switch tool {
	case "Bash":
		return bashRule(spec)
	case "WebFetch":
		return hostRule(strings.TrimPrefix(spec, "domain:"))
	case "Read", "Edit":
		return tool + "(" + pathRule(spec) + ")"
	}
	return ""
}

// hostRule returns the rule for one host. The CLI does not apply it to
// subdomains; the Decider does.
func hostRule(host string) string {
	if strings.ContainsAny(host, "*/: ") {
		return ""
	}
	return "WebFetch(domain:" + host + ")"
}

// pathRule adds a slash to an absolute path: the CLI reads a single leading slash
// as relative to the workspace.
func pathRule(path string) string {
	if strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "//") {
		return "/" + path
	}
	return path
}

// bashRule translates the two forms that the CLI reads as we do: an exact command
// line and a prefix.
func bashRule(spec string) string {
	if words := strings.TrimSuffix(spec, ":*"); strings.ContainsAny(words, "*:") {
		return ""
	}
	return "Bash(" + spec + ")"
}

// tooMuch are options by which the CLI would decide tool uses itself.
var tooMuch = []string{
	"allowedtools", "allowed-tools", "dangerously-skip-permissions", "permission-mode",
	"permission-prompt-tool", "setting-sources", "--settings", "--bare",
}

// checkCommand rejects an agent command with an option that would let tools run
// without the Decider.
func checkCommand(command []string) error {
	for _, arg := range command {
		for _, option := range tooMuch {
			if strings.Contains(strings.ToLower(arg), option) {
				return fmt.Errorf("the agent command holds %q: permissions are decided here; use --allow, --ask, --deny and --mode instead", arg)
			}
		}
	}
	return nil
}
