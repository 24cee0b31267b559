package install

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/hook/entry"
	"github.com/agent-wrapper/agent-wrapper/internal/text/stricttoml"
)

// hostLimit is how long a host waits for the hook, in seconds.
const hostLimit = int(entry.Limit / time.Second)

// host is an agent that has hooks.
type host struct {
	name    string // as in "agent-wrapper hook NAME"
	title   string
	program string
	// dir returns the user's configuration directory.
	dir func(m *Machine) string
	// files returns the files in which the hook stands. It is not called for a scope
	// that the host does not have.
	files   func(m *Machine, scope Scope, o Options) []file
	managed bool // it has the managed scope
}

// file is a file in which the hook of a host stands.
type file struct {
	path   string
	shared bool // others than the user read it
	editor
}

// hosts returns all hosts, in the order in which they are shown.
func hosts() []host {
	return []host{
		{name: "claude", title: "Claude Code", program: "claude", managed: true, files: claudeFiles,
			dir: func(m *Machine) string { return m.below("CLAUDE_CONFIG_DIR", ".claude") }},
		{name: "codex", title: "Codex CLI", program: "codex", managed: true, files: codexFiles,
			dir: func(m *Machine) string { return m.below("CODEX_HOME", ".codex") }},
		{name: "gemini", title: "Gemini CLI", program: "gemini", managed: true, files: geminiFiles,
			dir: func(m *Machine) string { return m.below("GEMINI_CLI_HOME", "", ".gemini") }},
		{name: "qwen", title: "Qwen Code", program: "qwen", managed: true, files: qwenFiles,
			dir: func(m *Machine) string { return filepath.Join(m.Home, ".qwen") }},
		{name: "copilot", title: "Copilot CLI", program: "copilot", files: copilotFiles,
			dir: func(m *Machine) string { return m.below("COPILOT_HOME", ".copilot") }},
		{name: "opencode", title: "OpenCode", program: "opencode", files: openCodeFiles,
			dir: func(m *Machine) string { return m.below("XDG_CONFIG_HOME", ".config", "opencode") }},
		{name: "crush", title: "Crush", program: "crush", files: crushFiles, dir: crushDir},
	}
}

// Hosts returns the names of the hosts.
func Hosts() []string {
	var names []string
	for _, h := range hosts() {
		names = append(names, h.name)
	}
	return names
}

// ManagedHosts returns the names of the hosts that have the managed scope.
func ManagedHosts() []string {
	var names []string
	for _, h := range hosts() {
		if h.managed {
			names = append(names, h.name)
		}
	}
	return names
}

// Found returns the names of the hosts that are on this machine: their program is on
// PATH, or their configuration directory exists.
func (m *Machine) Found() []string {
	var names []string
	for _, h := range hosts() {
		if m.found(&h) {
			names = append(names, h.name)
		}
	}
	return names
}

// Installed returns the names of the hosts in whose files of a scope something of ours
// stands, or is said to.
func (m *Machine) Installed(scope Scope) []string {
	var names []string
	for _, h := range hosts() {
		if scope == Managed && !h.managed {
			continue
		}
		if m.someOfOurs(&h, scope) {
			names = append(names, h.name)
		}
	}
	return names
}

func (m *Machine) found(h *host) bool { return m.program(h.program) != "" || exists(h.dir(m)) }

// host returns the host with a name, if it has the scope.
func (m *Machine) host(name string, scope Scope) (*host, error) {
	for _, h := range hosts() {
		switch {
		case h.name != name:
		case scope == Managed && !h.managed:
			return nil, fmt.Errorf("%s has no managed configuration that agent-wrapper knows: use --scope user", name)
		case scope != User && scope != Managed:
			return nil, fmt.Errorf("there is no scope %q: use user or managed", scope)
		default:
			return &h, nil
		}
	}
	return nil, fmt.Errorf("there is no host %q: use %s", name, strings.Join(Hosts(), ", "))
}

// here returns an error if a host is not on this machine.
func (m *Machine) here(h *host) error {
	if m.found(h) {
		return nil
	}
	return fmt.Errorf("%s is not on this machine: there is no program %s on PATH, and no directory %s: install %s first, or start it once", h.name, h.program, h.dir(m), h.title)
}

// group is a group of handlers, as most hosts have it. The order of the fields is that
// in the file.
type group struct {
	Matcher    string    `json:"matcher,omitempty"`
	Sequential *bool     `json:"sequential,omitempty"`
	Hooks      []handler `json:"hooks"`
}

// handler is a hook.
type handler struct {
	Type      string   `json:"type,omitempty"`
	Name      string   `json:"name,omitempty"`
	Command   string   `json:"command,omitempty"`
	Bash      string   `json:"bash,omitempty"`
	Args      []string `json:"args,omitempty"`
	Timeout   int      `json:"timeout,omitempty"`
	Seconds   int      `json:"timeoutSec,omitempty"`
	OnFailure string   `json:"onFailure,omitempty"`
}

// claudeEvents are the events that "agent-wrapper hook claude" answers or records, and
// whether nothing may go on if it fails.
func claudeEvents(binary string, flags ...string) []event {
	var events []event
	for _, e := range []struct {
		name   string
		blocks bool
	}{
		{"PreToolUse", true}, {"PermissionRequest", false}, {"PostToolUse", false}, {"PostToolUseFailure", false}, {"PermissionDenied", false},
		{"ConfigChange", true}, {"UserPromptExpansion", true}, {"UserPromptSubmit", false}, {"SessionEnd", false},
	} {
		h := handler{Type: "command", Command: binary, Args: append(entry.Args("claude"), flags...), Timeout: hostLimit}
		if e.blocks {
			h.OnFailure = "block"
		}
		events = append(events, event{e.name, group{Hooks: []handler{h}}})
	}
	return events
}

func claudeFiles(m *Machine, scope Scope, o Options) []file {
	j := &jsonHooks{host: "claude", events: claudeEvents(m.Binary)}
	if o.NoAutoMode {
		j.settings = append(j.settings,
			wanted{path: []string{"permissions", "disableAutoMode"}, value: `"disable"`},
			wanted{path: []string{"permissions", "disableBypassPermissionsMode"}, value: `"disable"`})
	}
	if scope == Managed {
		// Projects may set disableAllHooks; a managed value wins.
		j.settings = append(j.settings, wanted{path: []string{"disableAllHooks"}, value: "false"})
		return []file{{path: m.system("/etc/claude-code/managed-settings.d/agent-wrapper.json"), shared: true, editor: j}}
	}
	j.settings = append(j.settings, wanted{path: []string{"disableAllHooks"}, value: "false", present: true})
	return []file{{path: filepath.Join(hostDir(m, "claude"), "settings.json"), editor: j}}
}

// hostDir returns the configuration directory of a host.
func hostDir(m *Machine, name string) string {
	for _, h := range hosts() {
		if h.name == name {
			return h.dir(m)
		}
	}
	return ""
}

// codexEvents are the events of codex with a hook.
var codexEvents = [...]string{"PreToolUse", "PermissionRequest"}

func codexFiles(m *Machine, scope Scope, o Options) []file {
	line := entry.Guard(m.Binary, "codex", entry.Guarded)
	if scope == Managed {
		return []file{{path: m.system("/etc/codex/requirements.toml"), shared: true, editor: codexRequirements(m.Binary, line)}}
	}
	j := &jsonHooks{host: "codex"}
	for _, name := range codexEvents {
		g := group{Hooks: []handler{{Type: "command", Command: line, Timeout: hostLimit}}}
		if name == "PreToolUse" {
			g.Matcher = "*"
		}
		j.events = append(j.events, event{name, g})
	}
	dir := hostDir(m, "codex")
	files := []file{{path: filepath.Join(dir, "hooks.json"), editor: j}}
	if o.NoWebSearch {
		t := &tomlLines{host: "codex", values: []tomlValue{{key: "web_search", value: `"disabled"`}}}
		files = append(files, file{path: filepath.Join(dir, "config.toml"), editor: t})
	}
	return files
}

// codexRequirements is the editor of the file in which an administrator says what holds
// for all. features.hooks = true there means that no project and no flag switches hooks
// off.
func codexRequirements(binary, line string) *tomlLines {
	var b strings.Builder
	for _, name := range codexEvents {
		fmt.Fprintf(&b, "[[hooks.%[1]s]]\n[[hooks.%[1]s.hooks]]\ntype = \"command\"\ncommand = %[2]s\ntimeout = %[3]d\n\n", name, stricttoml.Quote(line), hostLimit)
	}
	return &tomlLines{
		host:  "codex",
		block: strings.TrimSuffix(b.String(), "\n"),
		values: []tomlValue{
			{table: "features", key: "hooks", value: "true"},
			{table: "hooks", key: "managed_dir", value: stricttoml.Quote(filepath.Dir(binary)), free: true},
		},
	}
}

func geminiFiles(m *Machine, scope Scope, _ Options) []file {
	j := &jsonHooks{
		host: "gemini", dialect: dialect{comments: true},
		events:   geminiEvents(m.Binary),
		settings: []wanted{{path: []string{"hooksConfig", "enabled"}, value: "true"}},
	}
	if scope == Managed {
		return []file{{path: m.system("/etc/gemini-cli/settings.json"), shared: true, editor: j}}
	}
	return []file{{path: filepath.Join(hostDir(m, "gemini"), "settings.json"), editor: j}}
}

func qwenFiles(m *Machine, scope Scope, _ Options) []file {
	h := handler{Type: "command", Name: hookNameFor(), Command: entry.Guard(m.Binary, "qwen", entry.Guarded), Timeout: hostLimit}
	j := &jsonHooks{
		host: "qwen", dialect: dialect{comments: true},
		events:   []event{{"PreToolUse", group{Matcher: "*", Hooks: []handler{h}}}},
		settings: []wanted{{path: []string{"disableAllHooks"}, value: "false", present: scope == User}},
	}
	if scope == Managed {
		return []file{{path: m.system("/etc/qwen-code/settings.json"), shared: true, editor: j}}
	}
	return []file{{path: filepath.Join(hostDir(m, "qwen"), "settings.json"), editor: j}}
}

func copilotFiles(m *Machine, _ Scope, _ Options) []file {
	h := handler{Type: "command", Bash: entry.Guard(m.Binary, "copilot", entry.Guarded), Seconds: hostLimit}
	j := &jsonHooks{
		host:     "copilot",
		events:   []event{{"preToolUse", h}},
		settings: []wanted{{path: []string{"version"}, value: "1"}},
	}
	return []file{{path: filepath.Join(hostDir(m, "copilot"), "hooks", "agent-wrapper.json"), editor: j}}
}

func openCodeFiles(m *Machine, _ Scope, _ Options) []file {
	return []file{{
		path:   filepath.Join(hostDir(m, "opencode"), "plugins", "agent-wrapper.js"),
		editor: &ownFile{contents: entry.Plugin(m.Binary, entry.Limit), ours: entry.OfPlugin},
	}}
}

func crushDir(m *Machine) string {
	if dir := m.Getenv("CRUSH_GLOBAL_CONFIG"); filepath.IsAbs(dir) {
		return dir
	}
	return m.below("XDG_CONFIG_HOME", ".config", "crush")
}

func crushFiles(m *Machine, _ Scope, _ Options) []file {
	h := handler{Command: entry.GuardInBash(m.Binary, "crush", entry.Guarded), Timeout: hostLimit}
	return []file{{
		path:   filepath.Join(hostDir(m, "crush"), "crush.json"),
		editor: &jsonHooks{host: "crush", events: []event{{"PreToolUse", h}}},
	}}
}
