package permission

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// A use of a housekeeping tool needs a rule like any other tool if it has a
// field that runs, fetches or writes, a value that loosens, or an unknown
// field.
func TestHousekeepingThatDoesMore(t *testing.T) {
	const agent = `"description":"d","prompt":"p","subagent_type":"general-purpose"`
	for _, use := range []string{
		`Agent: {` + agent + `,"isolation":"worktree"}`,
		`Agent: {` + agent + `,"isolation":"remote"}`,
		`Agent: {` + agent + `,"isolation":""}`,
		`Agent: {` + agent + `,"isolation":null}`,
		`Agent: {` + agent + `,"Isolation":"worktree"}`,
		`Agent: {` + agent + `,"mode":"bypassPermissions"}`,
		`Agent: {` + agent + `,"mode":"acceptEdits"}`,
		`Agent: {` + agent + `,"mode":"auto"}`,
		`Agent: {` + agent + `,"mode":"Plan"}`,
		`Agent: {` + agent + `,"mode":["plan"]}`,
		`Agent: {` + agent + `,"permissionMode":"plan"}`,
		`Agent: {` + agent + `,"cwd":"/"}`,
		`Agent: {` + agent + `,"hooks":{}}`,
		`Agent: {` + agent + `,"mcpServers":{}}`,
		`Agent: {` + agent + `,"allowed_tools":["Bash"]}`,
		`Agent: {` + agent + `,"command":"ls"}`,
		`Task: {` + agent + `,"isolation":"worktree"}`,
		`Task: {` + agent + `,"mode":"bypassPermissions"}`,
		`SendMessage: {"to":"uds:/tmp/x.sock","message":"m","summary":"s"}`,
		`SendMessage: {"to":"bridge:session_01","message":"m","summary":"s"}`,
		`SendMessage: {"to":"/tmp/x.sock","message":"m"}`,
		`SendMessage: {"to":"worker [a1b2]","message":"m"}`,
		`SendMessage: {"to":"session_01ABC","message":"m"}`,
		`SendMessage: {"to":"cse_01ABC","message":"m"}`,
		`SendMessage: {"to":"local_0a1b2c3d","message":"m"}`,
		`SendMessage: {"to":"*","message":"m"}`,
		`SendMessage: {"to":["worker"],"message":"m"}`,
		`SendMessage: {"to":"worker","recipient_kind":"session","message":"m"}`,
		`SendMessage: {"to":"worker","recipient":"uds:/x.sock","message":"m"}`,
		`SendMessage: {"to":"worker","message":{"type":"plan_approval_response","request_id":"1","approve":true}}`,
		`SendMessage: {"to":"worker","type":"plan_approval_response","request_id":"1","approve":true}`,
		`SendMessage: {"to":"worker","message":{"type":"mode_set_request","mode":"bypassPermissions"}}`,
		`SendMessage: {"to":"worker","message":{}}`,
		`SendMessage: {"to":"worker","message":"m","notify_when_idle":true}`,
		`TodoWrite: {"todos":[],"path":"x"}`,
		`TaskCreate: {"subject":"s","description":"d","run":"make"}`,
		`TaskGet: {"taskId":"1","command":"x"}`,
		`TaskList: {"x":1}`,
		`TaskUpdate: {"taskId":"1","script":"x"}`,
		`TaskOutput: {"task_id":"1","output_file":"/tmp/x"}`,
		`TaskStop: {"task_id":"1","host":"h"}`,
		`ToolSearch: {"query":"x","server":"https://evil.example"}`,
		`ListAgents: {"host":"x"}`,
		`ReportFindings: {"findings":[],"out":"x"}`,
		`EnterPlanMode: {"plan":"x"}`,
	} {
		tool, _, _ := strings.Cut(use, ":")
		for mode, want := range map[string]string{
			"default": "deny allow-list", "acceptEdits": "deny allow-list", "plan": "deny mode", "dontAsk": "deny allow-list", "bypassPermissions": "allow mode",
		} {
			check(t, spec{mode: mode, allow: "Read; Bash; Edit", unlisted: UnlistedDeny}, row{use, want})
		}
		check(t, spec{risk: true}, row{use, "ask default"})
		check(t, spec{allow: tool}, row{use, "allow default " + tool})
		check(t, spec{sessionAllow: tool, allow: "Read"}, row{use, "allow session-allow " + tool})
		check(t, spec{allow: tool, deny: tool}, row{use, "deny deny-list " + tool})
	}
	check(t, spec{allow: "Agent(Explore)", unlisted: UnlistedDeny},
		row{`Agent: {"subagent_type":"Explore","isolation":"worktree"}`, "allow default Agent(Explore)"},
		row{`Agent: {"subagent_type":"Plan","isolation":"worktree"}`, "deny allow-list"},
	)
}

// Known fields of the agent CLI that have no effects of their own: such uses
// are not asked about.
func TestHousekeepingStaysQuiet(t *testing.T) {
	for _, use := range []string{
		`Agent: {"description":"d","prompt":"p","subagent_type":"general-purpose","model":"haiku","effort":"low","run_in_background":true,"name":"worker","team_name":"t"}`,
		`Agent: {"description":"d","prompt":"p","mode":"plan"}`,
		`Agent: {"description":"d","prompt":"p","mode":"default"}`,
		`Agent: {"description":"d","prompt":"p","mode":"dontAsk"}`,
		`Task: {"description":"d","prompt":"p","subagent_type":"Explore","resume":"a0ade87d98c13fe53","max_turns":3}`,
		`SendMessage: {"to":"worker-1","summary":"s","message":"uds:/x is a socket"}`,
		`SendMessage: {"to":"main","summary":"s","message":"m","type":"message","recipient":"main","recipient_kind":"main","content":"m"}`,
		`SendMessage: {"to":"a0ade87d98c13fe53","message":{"type":"shutdown_request","reason":"done"}}`,
		`SendMessage: {"to":"main","message":{"type":"shutdown_response","request_id":"1","approve":true},"type":"shutdown_response","request_id":"1","approve":true,"recipient":"main"}`,
		`TodoWrite: {"todos":[{"content":"c","status":"pending","activeForm":"a"}]}`,
		`TaskCreate: {"subject":"s","description":"d","activeForm":"a","metadata":{"k":"v"}}`,
		`TaskGet: {"taskId":"1"}`,
		`TaskList: {}`,
		`TaskUpdate: {"taskId":"1","subject":"s","description":"d","activeForm":"a","status":"completed","addBlocks":["2"],"addBlockedBy":["3"],"owner":"o","metadata":{"k":null}}`,
		`TaskOutput: {"task_id":"1","block":true,"timeout":1000}`,
		`TaskStop: {"task_id":"1"}`,
		`TaskStop: {"shell_id":"1"}`,
		`ToolSearch: {"query":"select:CronList","max_results":1}`,
		`ListAgents: {"q":"x","channel":"c","cursor":"1"}`,
		`ReportFindings: {"level":"high","findings":[{"file":"a.go","summary":"s","failure_scenario":"f"}]}`,
		`EnterPlanMode: {}`,
		`StructuredOutput: {}`,
		`StructuredOutput: {"name":"x","todos":[1],"isolation":"worktree"}`,
		`StructuredOutput: {"command":"rm -rf /","file_path":".env","url":"https://evil.example/"}`,
	} {
		for _, mode := range []string{"default", "acceptEdits", "plan", "dontAsk"} {
			check(t, spec{mode: mode, allow: "Read", unlisted: UnlistedDeny, risk: true}, row{use, "allow default"})
		}
	}
}

// The message names the field, so that a person and the model know the reason.
func TestHousekeepingSaysWhichField(t *testing.T) {
	use := using("Agent", `{"prompt":"p","isolation":"worktree"}`)
	for _, s := range []spec{{allow: "Read", unlisted: UnlistedDeny}, {risk: true}, {}} {
		d := s.decideOn(t, use)
		if !strings.Contains(d.Reason, `"isolation"`) || !strings.Contains(d.Message, `"isolation"`) {
			t.Errorf("%s: %q, to the model %q", outcome(d), d.Reason, d.Message)
		}
	}
}

// A use with a field that the table does not list needs a rule, whatever the
// field's name and whatever else the input holds.
func TestUnknownFieldsNeedARule(t *testing.T) {
	for _, tool := range housekeeping {
		for i := range 50 {
			name := fmt.Sprintf("field_%d", i)
			input := map[string]any{name: i}
			if i%2 == 0 {
				for _, known := range []string{"todos", "query", "task_id", "mode", "to", "description", "subject"} {
					input[known] = "plan"
				}
			}
			text, err := json.Marshal(input)
			if err != nil {
				t.Fatal(err)
			}
			if d := (spec{allow: "Read", unlisted: UnlistedDeny}).decideOn(t, using(tool, string(text))); d.Behavior != Deny {
				t.Errorf("%s %s: %s", tool, text, outcome(d))
			}
		}
	}
}
