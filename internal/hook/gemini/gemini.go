// Package gemini is the agent Gemini CLI as a host of hooks, as measured on 0.61.0.
//
// What is on standard output counts more than the exit code, so a denial is exit code 2
// with words on standard error and nothing else. The host asks a person only in its
// window and in mode yolo, and a payload says neither: an ask waits for an answer from
// elsewhere.
package gemini

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/hook"
	"github.com/agent-wrapper/agent-wrapper/internal/hook/entry"
	"github.com/agent-wrapper/agent-wrapper/internal/text/strictjson"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Host returns the host.
func Host() *hook.Host {
	return &hook.Host{
		Name: hook.Gemini, Title: "Gemini CLI", Limit: entry.Limit,
		Project: []string{"GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR"}, Tools: table, Mapped: mapped,
		Events: events, Read: read, Answer: answer, OwnShell: true, // bash -c, says its documentation of the shell tool
	}
}

var table = hook.Tools{
	"run_shell_command":  {Is: "Bash", Dir: "dir_path"},
	"read_file":          {Is: "Read"},
	"write_file":         {Is: "Write"},
	"replace":            {Is: "Edit"},
	"glob":               {Is: "Glob", Fields: map[string]string{"dir_path": "path"}},
	"grep_search":        {Is: "Grep", Fields: map[string]string{"dir_path": "path"}},
	"list_directory":     {Is: "LS", Fields: map[string]string{"dir_path": "path"}},
	"google_web_search":  {Is: "WebSearch"},
	"activate_skill":     {Is: "Skill", Fields: map[string]string{"name": "skill"}},
	"read_mcp_resource":  {Is: "ReadMcpResourceTool"},
	"list_mcp_resources": {Is: "ListMcpResourcesTool"},
	"write_todos":        {Is: "TodoWrite"},
	"exit_plan_mode":     {Is: "ExitPlanMode"},
	"web_fetch":          {Is: fetchTool, Input: fetched},
}

// fetchTool is the name here of the tool that fetches what its prompt names.
const fetchTool = "web_fetch"

var mapped = map[string]tools.Mapping{
	fetchTool: {URL: []string{"urls[]"}, Text: []string{"prompt"}, Only: true},

	"update_topic":              {Text: []string{"title", "summary", "strategic_intent", "topic"}, Only: true},
	"enter_plan_mode":           {Text: []string{"reason"}, Only: true},
	"list_background_processes": {Only: true},
	"read_background_output":    {Text: []string{"pid", "lines", "delay_ms"}, Only: true},
	"invoke_agent":              {Text: []string{"prompt"}, Name: "agent_name", Only: true}, // its tool uses have hooks of their own
}

// fetched returns the input of a fetch with the URLs that its prompt holds.
func fetched(in map[string]any) (map[string]any, error) {
	prompt, ok := in["prompt"].(string)
	if !ok {
		return nil, errors.New("there is no prompt")
	}
	if strings.Count(prompt, "://") > maxURLs {
		return nil, errors.New("the prompt names too many URLs")
	}
	urls := []any{}
	for _, word := range strings.Fields(prompt) {
		if strings.Count(word, "://") > 1 {
			return nil, errors.New("the prompt has URLs with nothing between them")
		}
		if strings.Contains(word, "://") {
			urls = append(urls, strings.TrimLeft(strings.TrimRight(word, `.,;:!?)]}>"'`), `([{<"'`))
		}
	}
	if len(urls) == 0 {
		return nil, errors.New("the prompt names no URL")
	}
	out := map[string]any{"prompt": prompt, "urls": urls}
	for key, value := range in {
		if key != "prompt" {
			out["other."+key] = value
		}
	}
	return out, nil
}

// maxURLs is the maximum number of URLs of a prompt; the host fetches 20 at most.
const maxURLs = 20

var events = map[string]hook.Kind{
	"BeforeTool": hook.Use, "AfterTool": hook.Ran, "BeforeAgent": hook.Turn, "SessionEnd": hook.End,
	"SessionStart": hook.About, "AfterAgent": hook.About, "Notification": hook.About,
}

// server is what a payload tells of the MCP server of a tool.
type server struct {
	Server string `json:"server_name"`
	Tool   string `json:"tool_name"`
}

func read(p *hook.Payload, _ func(string) string) (*hook.Event, error) {
	e := &hook.Event{Name: p.Event}
	e.Use = permission.ToolUse{Session: p.Session, Dir: p.Dir}
	if p.Session == "" {
		return nil, errors.New("the payload names no session")
	}
	if len(p.Server) > 0 {
		var s server
		if err := strictjson.Decode(p.Server, &s, strictjson.IgnoreUnknown); err != nil || s.Server == "" || s.Tool == "" {
			return nil, errors.New("the payload names no MCP server and tool")
		}
		e.ServerTool = hook.ServerTool(s.Server, s.Tool)
	}
	return e, nil
}

// rewritten is an allow with another input, which the host merges into its own.
type rewritten struct {
	Decision string `json:"decision"`
	Specific struct {
		Input json.RawMessage `json:"tool_input"`
	} `json:"hookSpecificOutput"`
}

func answer(e *hook.Event, v hook.Verdict) hook.Output {
	switch {
	case e.Kind != hook.Use:
		return hook.Output{}
	case !v.Allows():
		return hook.Block(v.Reason)
	case v.Input == nil:
		return hook.JSON(map[string]string{"decision": "allow"})
	}
	a := rewritten{Decision: "allow"}
	a.Specific.Input = v.Input
	return hook.JSON(a)
}
