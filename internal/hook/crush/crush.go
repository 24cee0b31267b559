// Package crush is the agent Crush as a host of hooks, as measured on a build of its
// source of 2026-08-21.
//
// Only a denial on exit code 0 and the exit codes 2 and 49 stop a tool. Crush has no
// ask: one waits for an answer from elsewhere. It runs no hooks for its subagents.
package crush

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
		Name: hook.Crush, Title: "Crush", Limit: entry.Limit,
		Project: []string{"CRUSH_PROJECT_DIR"}, Tools: table, Mapped: mapped,
		Events: events, Read: read, Answer: answer,
	}
}

var table = hook.Tools{
	"bash":      {Is: "Bash", Dir: "working_dir"},
	"view":      {Is: "Read"},
	"write":     {Is: "Write"},
	"edit":      {Is: "Edit"},
	"multiedit": {Is: "MultiEdit"},
	"glob":      {Is: "Glob"},
	"grep":      {Is: "Grep"},
	"ls":        {Is: "LS"},
	"fetch":     {Is: "WebFetch"},
	"todos":     {Is: "TodoWrite"},
	"download":  {Is: "download"},
}

// mapped: a download fetches, and writes a file.
var mapped = map[string]tools.Mapping{
	"download": {URL: []string{"url"}, Write: []string{"file_path"}, Text: []string{"timeout"}, Only: true},
}

var events = map[string]hook.Kind{"PreToolUse": hook.Use}

func read(p *hook.Payload, _ func(string) string) (*hook.Event, error) {
	e := &hook.Event{Name: p.CrushEvent}
	e.Use = permission.ToolUse{Session: p.Session, Dir: p.Dir}
	if p.Session == "" {
		return nil, errors.New("the payload names no session")
	}
	return e, nil
}

// decision is the answer.
type decision struct {
	Decision string          `json:"decision"`
	Reason   string          `json:"reason,omitempty"`
	Input    json.RawMessage `json:"updated_input,omitempty"`
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
