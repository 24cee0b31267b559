// Package copilot is the agent Copilot CLI as a host of hooks, as measured on 1.0.102.
//
// Its payloads have one form for hooks under the key preToolUse, and another, with the
// names of Claude Code's tools and its own fields, under PreToolUse. An answer is a flat
// permissionDecision. An ask is put to a person in its window only, and a payload does
// not tell whether there is one: an ask waits for an answer from elsewhere. What takes
// too long runs.
package copilot

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/hook"
	"github.com/agent-wrapper/agent-wrapper/internal/hook/entry"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Host returns the host.
func Host() *hook.Host {
	return &hook.Host{
		Name: hook.Copilot, Title: "Copilot CLI", Limit: entry.Limit,
		Project: []string{"COPILOT_PROJECT_DIR", "CLAUDE_PROJECT_DIR"}, Tools: table, Mapped: mapped,
		Events: events, Read: read, Answer: answer,
	}
}

var (
	file    = map[string]string{"path": "file_path"}
	written = map[string]string{"path": "file_path", "file_text": "content"}
	changed = map[string]string{"path": "file_path", "old_str": "old_string", "new_str": "new_string"}
)

// table holds the tools by both of their names.
var table = hook.Tools{
	"bash": {Is: "Bash"}, "Bash": {Is: "Bash"},
	"view": {Is: "Read", Fields: file}, "Read": {Is: "Read", Fields: file},
	"create": {Is: "Write", Fields: written}, "Write": {Is: "Write", Fields: written},
	"edit": {Is: "Edit", Fields: changed}, "Edit": {Is: "Edit", Fields: changed},
	"grep": {Is: "Grep"}, "Grep": {Is: "Grep"},
	"glob": {Is: "Glob"}, "Glob": {Is: "Glob"},
	"skill": {Is: "Skill"}, "task": {Is: "Agent", Input: subagent}, "Agent": {Is: "Agent", Input: subagent},
	"web_fetch": {Is: "WebFetch"}, "web_search": {Is: "WebSearch"},
}

// subagent returns the input of a subagent, whose tool uses have hooks of their own. How
// it is waited for changes nothing in what it may do.
func subagent(in map[string]any) (map[string]any, error) {
	out := maps.Clone(in)
	if mode, ok := out["mode"].(string); ok && (mode == "sync" || mode == "background") {
		delete(out, "mode")
	}
	if kind, there := out["agent_type"]; there {
		if _, twice := out["subagent_type"]; twice {
			return nil, errors.New("it has two kinds of agent")
		}
		delete(out, "agent_type")
		out["subagent_type"] = kind
	}
	return out, nil
}

// mapped are tools that only tell, list or read what was started before.
var mapped = map[string]tools.Mapping{
	"report_intent":                   {Text: []string{"intent"}, Only: true},
	"list_bash":                       {Only: true},
	"read_bash":                       {Text: []string{"shellId", "delay"}, Only: true},
	"stop_bash":                       {Text: []string{"shellId"}, Only: true},
	"fetch_copilot_cli_documentation": {Only: true},
}

var events = map[string]hook.Kind{
	"PreToolUse": hook.Use, "PostToolUse": hook.Ran, "UserPromptSubmit": hook.Turn, "SessionEnd": hook.End, "SessionStart": hook.About,
}

func read(p *hook.Payload, _ func(string) string) (*hook.Event, error) {
	e := &hook.Event{Name: p.Event}
	if p.ToolCamel != "" { // that form names no event, and has tool uses only
		if err := p.Flatten(); err != nil {
			return nil, err
		}
		e.Kind = hook.Use
	}
	e.Use = permission.ToolUse{Session: p.Session, Agent: p.Agent, Dir: p.Dir}
	if p.Parent != "" { // a subagent has a session of its own
		e.Use.Session = p.Parent
	}
	if e.Use.Session == "" {
		return nil, errors.New("the payload names no session")
	}
	e.ServerTool = serverTool(p.Tool)
	return e, nil
}

// serverTool returns the name here of a tool of an MCP server, which the host calls
// server-tool; "" for any other. Where there are more hyphens the name does not tell
// where that of the server ends: it stays, so that no rule about another server counts.
func serverTool(name string) string {
	server, tool, ok := strings.Cut(name, "-")
	if !ok || server == "" || tool == "" || strings.Contains(tool, "-") || strings.Contains(server+"_", "__") {
		return ""
	}
	return hook.ServerTool(server, tool)
}

// decision is the answer.
type decision struct {
	Decision string          `json:"permissionDecision"`
	Reason   string          `json:"permissionDecisionReason,omitempty"`
	Input    json.RawMessage `json:"modifiedArgs,omitempty"`
}

func answer(e *hook.Event, v hook.Verdict) hook.Output {
	switch {
	case e.Kind != hook.Use:
		return hook.Output{}
	case !v.Allows():
		return hook.JSON(decision{"deny", hook.Reason(v.Reason), nil})
	}
	return hook.JSON(decision{"allow", "", v.Input})
}
