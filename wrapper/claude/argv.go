package claude

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/lazyregexp"
)

// settings are the settings that the CLI gets from us, and the only ones besides
// managed settings. They have more than one way in shut; docs/run.md lists them.
type settings struct {
	Permissions                permissions `json:"permissions"`
	DisableAllHooks            bool        `json:"disableAllHooks"`
	DisableSkillShellExecution bool        `json:"disableSkillShellExecution"`
	// What other sessions of the user, or whoever else finds the CLI's socket,
	// say to this one.
	CrossSessionInbound  string `json:"crossSessionInbound"`
	DisableRemoteControl bool   `json:"disableRemoteControl"`
}

type permissions struct {
	Ask []string `json:"ask"`
	// An --add-dir would bring what the settings of the directory enable.
	AdditionalDirectories []string `json:"additionalDirectories,omitempty"`
}

// isolation are our settings, as JSON.
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
	data, _ := json.Marshal(s) // it cannot fail: text and truth values
	return string(data)
}

// arguments returns what the agent CLI is started with. It is the only place
// that makes an argument. Values stand behind "=", so that none can be read as
// an option.
func arguments(o *launch) ([]string, error) {
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
	add("--append-system-prompt", o.AppendSystemPrompt)
	for _, config := range o.MCPConfig {
		add("--mcp-config", absolute(config))
	}
	for _, rule := range o.Disallowed {
		add("--disallowedTools", sayable(rule))
	}
	for _, arg := range args {
		if strings.ContainsRune(arg, 0) {
			return nil, fmt.Errorf("the value of %s holds a NUL byte", strings.SplitN(arg, "=", 2)[0])
		}
	}
	return args, nil
}

// absolute makes a path independent of the directory that the agent starts
// in. JSON text stays as it is.
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

// sayable returns a deny rule in the CLI's words, "" where it has none with
// the same meaning. What the CLI is not told, the Decider still denies.
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

// hostRule says one host; the CLI leaves its subdomains to us.
func hostRule(host string) string {
	if strings.ContainsAny(host, "*/: ") {
		return ""
	}
	return "WebFetch(domain:" + host + ")"
}

// pathRule makes an absolute path absolute for the CLI too, which reads one
// slash as "below the workspace".
func pathRule(path string) string {
	if strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "//") {
		return "/" + path
	}
	return path
}

// bashRule says what the CLI and we read alike: an exact command line and a
// prefix.
func bashRule(spec string) string {
	if words := strings.TrimSuffix(spec, ":*"); strings.ContainsAny(words, "*:") {
		return ""
	}
	return "Bash(" + spec + ")"
}

// tooMuch are options that would take decisions away from us.
var tooMuch = []string{
	"allowedtools", "allowed-tools", "dangerously-skip-permissions", "permission-mode",
	"permission-prompt-tool", "setting-sources", "--settings", "--bare",
}

// checkCommand refuses an agent command that brings options which let tools
// run without us.
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
