// Package opencode is the agent OpenCode as a host of hooks, as measured on 1.18.33.
// It has none that are programs: a plugin of ours starts agent-wrapper, and throws,
// which stops the tool, unless it is told to go on.
package opencode

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
		Name: hook.OpenCode, Title: "OpenCode", Limit: entry.Limit,
		Tools: table, Mapped: mapped, Events: events, Read: read, Answer: answer,
	}
}

var (
	file    = map[string]string{"filePath": "file_path"}
	changed = map[string]string{"filePath": "file_path", "oldString": "old_string", "newString": "new_string", "replaceAll": "replace_all"}
)

var table = hook.Tools{
	"bash":               {Is: "Bash", Dir: "workdir"},
	"read":               {Is: "Read", Fields: file},
	"write":              {Is: "Write", Fields: file},
	"edit":               {Is: "Edit", Fields: changed},
	"glob":               {Is: "Glob"},
	"grep":               {Is: "Grep"},
	"list":               {Is: "LS"},
	"webfetch":           {Is: "WebFetch"},
	"websearch":          {Is: "WebSearch"},
	"todowrite":          {Is: "TodoWrite"},
	"skill":              {Is: "Skill"},
	"task":               {Is: "Agent"},
	"list_mcp_resources": {Is: "ListMcpResourcesTool"},
}

// mapped are tools that only ask the person, or tell the model of its mistake.
var mapped = map[string]tools.Mapping{
	"question": {Text: []string{"questions"}, Only: true},
	"invalid":  {Text: []string{"tool", "error"}, Only: true},
}

var events = map[string]hook.Kind{beforeTool: hook.Use}

// beforeTool is the hook of the plugin.
const beforeTool = "tool.execute.before"

func read(p *hook.Payload, _ func(string) string) (*hook.Event, error) {
	u := p.Plugin
	if u == nil || u.Session == "" {
		return nil, errors.New("the payload names no session")
	}
	p.Tool, p.Input = u.Tool, u.Args
	return &hook.Event{
		Name: beforeTool, Project: u.Worktree,
		Use: permission.ToolUse{ID: u.Use, Session: u.Session, Dir: u.Directory},
	}, nil
}

// decision is the answer that the plugin wants.
type decision struct {
	Decision string          `json:"decision"`
	Args     json.RawMessage `json:"args,omitempty"`
}

func answer(_ *hook.Event, v hook.Verdict) hook.Output {
	if !v.Allows() {
		return hook.Block(v.Reason)
	}
	return hook.JSON(decision{"allow", v.Input})
}
