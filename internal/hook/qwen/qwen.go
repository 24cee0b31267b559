// Package qwen is the agent Qwen Code as a host of hooks, as measured on 0.24.4.
//
// A denial is exit code 2 with words on standard error. It ignores another input in an
// answer, whatever its documents say. It asks a person only in its window and in mode
// yolo; a payload does not tell whether there is a window, so an ask waits for an answer
// from elsewhere.
package qwen

import (
	"errors"

	"github.com/agent-wrapper/agent-wrapper/internal/hook"
	"github.com/agent-wrapper/agent-wrapper/internal/hook/entry"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Host returns the host.
func Host() *hook.Host {
	return &hook.Host{
		Name: hook.Qwen, Title: "Qwen Code", Limit: entry.Limit,
		Project: []string{"QWEN_PROJECT_DIR", "CLAUDE_PROJECT_DIR"}, Tools: table, MCP: true, Mapped: mapped,
		Events: events, Read: read, Answer: answer, NoInput: true,
		OwnShell: true, // bash -c, says its documentation of the shell tool
	}
}

var table = hook.Tools{
	"run_shell_command": {Is: "Bash", Dir: "directory"},
	"read_file":         {Is: "Read"},
	"write_file":        {Is: "Write"},
	"edit":              {Is: "Edit"},
	"notebook_edit":     {Is: "NotebookEdit"},
	"glob":              {Is: "Glob"},
	"grep_search":       {Is: "Grep"},
	"list_directory":    {Is: "LS"},
	"web_fetch":         {Is: "WebFetch"},
	"web_search":        {Is: "WebSearch"},
	"agent":             {Is: "Agent"},
	"skill":             {Is: "Skill"},
	"list_agents":       {Is: "ListAgents"},
	"cron_list":         {Is: "CronList"},
	"tool_search":       {Is: "ToolSearch"},
	"todo_write":        {Is: "TodoWrite"},
	"exit_plan_mode":    {Is: "ExitPlanMode"},
}

// mapped are tools that only keep notes.
var mapped = map[string]tools.Mapping{
	"get_goal":    {Only: true},
	"update_goal": {Text: []string{"status", "reason"}, Only: true},
}

var events = map[string]hook.Kind{
	"PreToolUse": hook.Use, "PostToolUse": hook.Ran, "PostToolUseFailure": hook.Failed, "PermissionDenied": hook.Refused,
	"PermissionRequest": hook.About, // its own dialog stays, and PreToolUse follows
	"UserPromptSubmit":  hook.Turn, "SessionEnd": hook.End, "SessionStart": hook.About, "Stop": hook.About,
}

func read(p *hook.Payload, _ func(string) string) (*hook.Event, error) {
	e := &hook.Event{Name: p.Event}
	e.Use = permission.ToolUse{ID: p.Use, Session: p.Session, Agent: p.Agent, Dir: p.Dir}
	e.Plan = p.Mode == "plan"
	if p.Session == "" {
		return nil, errors.New("the payload names no session")
	}
	return e, nil
}

func answer(e *hook.Event, v hook.Verdict) hook.Output {
	switch {
	case e.Kind != hook.Use:
		return hook.Output{} // a dialog of the host's own stays, and PreToolUse follows it
	case !v.Allows() || v.Input != nil:
		return hook.Block(v.Reason)
	}
	return hook.NestedAnswer(e, v)
}
