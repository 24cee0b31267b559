// Package codex is the agent Codex CLI as a host of hooks, as measured on 0.169.0.
//
// An answer with a key that the host does not know lets the tool run, and so do "ask"
// and an allow without an input. So a denial is exit code 2 with words on standard
// error, and an allow is silence.
package codex

import (
	"encoding/json"
	"errors"

	"github.com/agent-wrapper/agent-wrapper/internal/hook"
	"github.com/agent-wrapper/agent-wrapper/internal/hook/entry"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Host returns the host.
func Host() *hook.Host {
	return &hook.Host{
		Name: hook.Codex, Title: "Codex CLI", Limit: entry.Limit,
		Tools: table, MCP: true, Mapped: mapped,
		Events: events, Read: read, Answer: answer, Rewrite: withoutInput,
	}
}

// table holds the tools that mean something here. Those that ask, wait, or keep notes
// of the session are not in it, and are ordinary tools.
var table = hook.Tools{
	"Bash":                        {Is: "Bash"},
	"view_image":                  {Is: "Read", Fields: map[string]string{"path": "file_path"}},
	"apply_patch":                 {Is: patchTool, Input: patched},
	"list_mcp_resources":          {Is: "ListMcpResourcesTool"},
	"list_mcp_resource_templates": {Is: "ListMcpResourcesTool"},
	"read_mcp_resource":           {Is: "ReadMcpResourceTool"},
}

var events = map[string]hook.Kind{
	"PreToolUse": hook.Use, "PermissionRequest": hook.Dialog, "PostToolUse": hook.Ran, "UserPromptSubmit": hook.Turn, "SessionEnd": hook.End,
	"SessionStart": hook.About, "Stop": hook.About, "SubagentStart": hook.About, "SubagentStop": hook.About,
}

func read(p *hook.Payload, _ func(string) string) (*hook.Event, error) {
	e := &hook.Event{Name: p.Event}
	e.Use = permission.ToolUse{ID: p.Use, Session: p.Session, Agent: p.Agent, Dir: p.Dir}
	if p.Session == "" {
		return nil, errors.New("the payload names no session")
	}
	return e, nil
}

func answer(e *hook.Event, v hook.Verdict) hook.Output {
	switch {
	case e.Kind == hook.Dialog:
		return dialog(v)
	case e.Kind != hook.Use:
		return hook.Output{}
	case !v.Allows():
		return hook.Block(v.Reason)
	case v.Input == nil:
		return hook.Output{}
	}
	return hook.NestedAnswer(e, v)
}

// dialogAnswer is the answer to a PermissionRequest.
type dialogAnswer struct {
	Specific struct {
		Event    string            `json:"hookEventName"`
		Decision map[string]string `json:"decision"`
	} `json:"hookSpecificOutput"`
}

// dialog answers what the host itself asks about. What was decided before the tool use
// stands: there is no second dialog about what the policy allows.
func dialog(v hook.Verdict) hook.Output {
	switch {
	case !v.Allows() && !v.Denies() || v.Input != nil:
		return hook.Output{} // the host's own dialog stays
	case !v.Allows():
		return hook.Block(v.Reason)
	}
	var a dialogAnswer
	a.Specific.Event = "PermissionRequest"
	a.Specific.Decision = map[string]string{"behavior": "allow"}
	return hook.JSON(a)
}

// withoutInput closes the standard input of a command that was allowed. The host lets
// the model type into a running program (write_stdin) without asking a hook, so an
// allowed shell or interpreter would run whatever comes.
func withoutInput(e *hook.Event) json.RawMessage {
	var in map[string]any
	if e.Use.Tool != "Bash" || json.Unmarshal(e.Use.Input, &in) != nil {
		return nil
	}
	command, _ := in["command"].(string)
	in["command"] = closing + command
	text, err := json.Marshal(in)
	if err != nil {
		return nil
	}
	return text
}

// closing is put in front of a command.
const closing = "exec </dev/null\n"

// patchTool is the name here of the tool that applies a patch to several files.
const patchTool = "apply_patch"

// mapped says what the fields of a patch mean, and which tools only keep notes, wait,
// or ask the person. The tool uses of a subagent have hooks of their own.
var mapped = map[string]tools.Mapping{
	patchTool: {Write: []string{"files[]"}, Text: []string{"patch"}, Only: true},

	"get_goal":                 {Only: true},
	"create_goal":              {Text: []string{"objective", "token_budget"}, Only: true},
	"update_goal":              {Text: []string{"status", "reason"}, Only: true},
	"update_plan":              {Text: []string{"explanation", "plan"}, Only: true},
	"clocksleep":               {Text: []string{"duration_ms"}, Only: true},
	"request_user_input":       {Text: []string{"questions"}, Only: true},
	"request_user_input_async": {Text: []string{"questions"}, Only: true},
	"spawn_agent":              {Text: []string{"message", "agent_type"}, Only: true},
	"collaborationspawn_agent": {Text: []string{"message", "agent_type"}, Only: true},
	"multi_agent_v1wait_agent": {Text: []string{"targets", "timeout_ms"}, Only: true},
	"collaborationwait_agent":  {Text: []string{"targets", "timeout_ms"}, Only: true},
	"collaborationlist_agents": {Only: true},
}
