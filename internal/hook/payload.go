package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/text/strictjson"
)

// maxPayload is the maximum size in bytes of what a hook is given. A host that sends
// more is answered with a denial.
const maxPayload = 16 << 20

// Payload is what a host gives its hooks on standard input, with the keys of all hosts.
// Keys that no host has are ignored; one that differs from these only in letter case,
// and one that comes twice, are errors.
type Payload struct {
	Session    string          `json:"session_id"`
	Transcript string          `json:"transcript_path"`
	Dir        string          `json:"cwd"` // where the tool would be used
	Event      string          `json:"hook_event_name"`
	Mode       string          `json:"permission_mode"`
	Tool       string          `json:"tool_name"`
	Input      json.RawMessage `json:"tool_input"`
	Use        string          `json:"tool_use_id"`
	Agent      string          `json:"agent_id"` // the subagent
	Timestamp  json.RawMessage `json:"timestamp"`

	// Claude Code
	File    string `json:"file_path"`    // of a change of its settings
	Command string `json:"command_name"` // that the person has typed
	From    string `json:"command_source"`
	Words   string `json:"command_args"`
	// Codex
	Turn  string          `json:"turn_id"`
	Model json.RawMessage `json:"model"`
	// Gemini CLI
	Server json.RawMessage `json:"mcp_context"`
	// Crush
	CrushEvent string `json:"event"`
	// Copilot CLI, and OpenCode through our plugin
	SessionCamel string          `json:"sessionId"`
	ToolCamel    string          `json:"toolName"`
	Args         json.RawMessage `json:"toolArgs"`
	AgentCamel   string          `json:"agentId"`
	ParentCamel  string          `json:"parentAgentId"`
	Parent       string          `json:"parent_agent_id"`
	// Hosts that run the hooks of others
	EventCamel string          `json:"hookEventName"`  // VS Code, Factory Droid
	Cursor     string          `json:"cursor_version"` // Cursor
	Roots      json.RawMessage `json:"workspace_roots"`
	Windsurf   string          `json:"agent_action_name"`
	// The plugin for OpenCode
	Plugin *PluginUse `json:"opencode"`
}

// PluginUse is a tool use of OpenCode, as our plugin hands it on.
type PluginUse struct {
	Tool      string          `json:"tool"`
	Session   string          `json:"sessionID"`
	Use       string          `json:"callID"`
	Args      json.RawMessage `json:"args"`
	Directory string          `json:"directory"`
	Worktree  string          `json:"worktree"`
}

// readPayload reads a payload.
func readPayload(data []byte) (*Payload, error) {
	p := new(Payload)
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) // hosts on Windows
	if err := strictjson.Decode(data, p, strictjson.IgnoreUnknown, strictjson.NullAbsent, strictjson.MaxSize(maxPayload)); err != nil {
		return nil, fmt.Errorf("the payload cannot be read: %w", err)
	}
	return p, nil
}

// Flatten gives the keys of the form with capitals within names (sessionId) to those of
// the other. It is an error if a payload has both.
func (p *Payload) Flatten() error {
	if p.Tool != "" || p.Input != nil || p.Session != "" || p.Agent != "" || p.Parent != "" {
		return errors.New("the payload has keys of two forms")
	}
	p.Tool, p.Input, p.Session, p.Agent, p.Parent = p.ToolCamel, p.Args, p.SessionCamel, p.AgentCamel, p.ParentCamel
	return nil
}

// The names of hosts.
const (
	Claude   = "claude"
	Codex    = "codex"
	Gemini   = "gemini"
	Qwen     = "qwen"
	Copilot  = "copilot"
	OpenCode = "opencode"
	Crush    = "crush"
)

// sender returns the name of the host that sends such payloads, or the title of one
// that is not in our table. Several hosts run the hooks of Claude Code's configuration,
// with payloads of their own, and would not understand its answers.
func (p *Payload) sender() (string, error) {
	switch {
	case p.Cursor != "" || p.Roots != nil:
		return "Cursor", nil
	case p.Windsurf != "":
		return "Windsurf", nil
	case p.Plugin != nil:
		return OpenCode, nil
	case p.ToolCamel != "" && p.EventCamel == "":
		return Copilot, nil
	case p.EventCamel != "":
		return "VS Code", nil
	case p.CrushEvent != "" && p.Event == "":
		return Crush, nil
	case p.Event == "":
		return "", errors.New("the payload names no event")
	case geminiEvents[p.Event]:
		return Gemini, nil
	case p.Turn != "" && p.Model != nil:
		return Codex, nil
	case p.Timestamp != nil && p.Transcript == "":
		return Copilot, nil
	case p.Timestamp != nil:
		return Qwen, nil
	}
	return Claude, nil
}

// geminiEvents are the events that only Gemini CLI has.
var geminiEvents = map[string]bool{
	"BeforeTool": true, "AfterTool": true, "BeforeAgent": true, "AfterAgent": true,
	"BeforeModel": true, "AfterModel": true, "BeforeToolSelection": true, "PreCompress": true,
}

// input checks the input of a tool: an object. An absent one is empty.
func input(raw json.RawMessage) (json.RawMessage, map[string]any, error) {
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	object, err := strictjson.Object(raw, strictjson.MaxSize(maxPayload))
	if err != nil {
		return nil, nil, fmt.Errorf("the input of the tool cannot be read: %w", err)
	}
	return raw, object, nil
}

// printable returns a name of a host's for a message.
func printable(name string) string {
	const most = 60
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "") + "…"
	}
	return fmt.Sprintf("%q", name)
}
