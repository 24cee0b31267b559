package doctor

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/golden"
)

// conversation is a part of one that a host has with the model. The requests were
// recorded from the hosts, and are cut to what the model reads of them.
type conversation struct {
	name string
	dialect
	call  call
	turns []asked
}

// asked is one request.
type asked struct{ path, body string }

func conversations() []conversation {
	touch := object{"command": "touch canary-1"}
	return []conversation{
		{"messages", messages{}, call{tool: "Bash", token: "canary-1", input: touch}, []asked{
			{"/v1/messages?beta=true", `{"model":"claude-haiku","stream":true,"messages":[{"role":"user","content":"Title of: main-1"}]}`},
			{"/v1/messages/count_tokens", `{"model":"claude-opus","messages":[]}`},
			{"/v1/messages?beta=true", `{"model":"claude-opus","stream":true,"tools":[{"name":"Bash"}],"messages":[{"role":"user","content":[{"type":"text","text":"main-1"}]}]}`},
			{"/v1/messages?beta=true", `{"model":"claude-opus","stream":true,"tools":[{"name":"Bash"}],"messages":[{"role":"user","content":[{"type":"text","text":"main-1"}]},{"role":"assistant","content":[{"type":"tool_use","id":"call_canary-1","name":"Bash","input":{"command":"touch canary-1"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_canary-1","is_error":true,"content":"stopped-1"}]}]}`},
			{"/v1/messages", `{"model":"claude-opus","tools":[{"name":"Bash"}],"messages":[{"role":"user","content":"main-1"}]}`},
			{"/api/event_logging/batch", `{}`},
		}},
		{"responses", responses{}, call{tool: "exec_command", space: "shell", token: "canary-1", input: object{"cmd": "touch canary-1"}}, []asked{
			{"/v1/responses", `{"model":"gpt-5.5","stream":true,"tools":[{"type":"function","name":"exec_command"}],"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"main-1"}]}]}`},
			{"/v1/responses", `{"model":"gpt-5.5","stream":true,"tools":[{"type":"function","name":"exec_command"}],"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"main-1"}]},{"type":"function_call","name":"exec_command","call_id":"call_canary-1","arguments":"{\"cmd\":\"touch canary-1\"}"},{"type":"function_call_output","call_id":"call_canary-1","output":"Command blocked by PreToolUse hook: stopped-1"}]}`},
		}},
		{"responses-free", responses{}, call{tool: "apply_patch", free: true, token: "canary-1", input: "*** Begin Patch\n*** Add File: canary-1\n"}, []asked{
			{"/v1/responses", `{"model":"gpt-5.5","stream":true,"tools":[{"type":"custom","name":"apply_patch"}],"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"main-1"}]}]}`},
		}},
		{"generate", generate{}, call{tool: "run_shell_command", token: "canary-1", input: touch}, []asked{
			{"/v1beta/models/gemini-2.5-pro:countTokens", `{"contents":[]}`},
			{"/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse", `{"tools":[{"functionDeclarations":[{"name":"run_shell_command"}]}],"contents":[{"role":"user","parts":[{"text":"main-1"}]}]}`},
			{"/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse", `{"tools":[{"functionDeclarations":[{"name":"run_shell_command"}]}],"contents":[{"role":"user","parts":[{"text":"main-1"}]},{"role":"model","parts":[{"functionCall":{"name":"run_shell_command","args":{"command":"touch canary-1"}}}]},{"role":"user","parts":[{"functionResponse":{"name":"run_shell_command","response":{"error":"Tool execution blocked: stopped-1"}}}]}]}`},
			{"/v1beta/models/gemini-2.5-flash:generateContent", `{"contents":[{"role":"user","parts":[{"text":"main-1"}]}]}`},
		}},
		{"chat", chat{}, call{tool: "bash", token: "canary-1", input: touch}, []asked{
			{"/v1/models", ``},
			{"/v1/chat/completions", `{"model":"m","stream":true,"tools":[{"type":"function","function":{"name":"bash"}}],"messages":[{"role":"user","content":"main-1"}]}`},
			{"/v1/chat/completions", `{"model":"m","tools":[{"type":"function","function":{"name":"bash"}}],"messages":[{"role":"user","content":"main-1"}]}`},
			{"/v1/chat/completions", `{"model":"m","stream":true,"tools":[{"type":"function","function":{"name":"bash"}}],"messages":[{"role":"user","content":"main-1"},{"role":"assistant","tool_calls":[{"id":"call_canary-1","type":"function","function":{"name":"bash","arguments":"{\"command\":\"touch canary-1\"}"}}]},{"role":"tool","tool_call_id":"call_canary-1","content":"stopped-1"}]}`},
		}},
	}
}

// TestDialects: what the model answers in each dialect, byte for byte.
func TestDialects(t *testing.T) {
	for _, c := range conversations() {
		t.Run(c.name, func(t *testing.T) {
			m := started(t, c.dialect, script{key: "main-1", subKey: "sub-1", calls: []call{c.call}})
			var out strings.Builder
			for _, a := range c.turns {
				out.WriteString("> " + a.path + "\n" + a.body + "\n" + post(t, m, a) + "\n")
			}
			golden.Check(t, "testdata/dialects/"+c.name+".txt", out.String())
			if !m.made(c.call) || m.made(call{token: "other"}) {
				t.Error("the model does not know which calls it made")
			}
			if c.name != "responses-free" && (!m.heard(c.call.token) || !m.heard("stopped-1")) {
				t.Error("the model did not hear what came back")
			}
			if m.heard("something else") {
				t.Error("the model heard what was not said")
			}
		})
	}
}

func started(t *testing.T, d dialect, s script) *model {
	t.Helper()
	m, err := startModel(d, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// post sends a request and returns the answer, with its status if that is not 200.
func post(t *testing.T, m *model, a asked) string {
	t.Helper()
	res, err := http.Post(m.url+a.path, "application/json", strings.NewReader(a.body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK {
		return res.Status + " " + string(text)
	}
	return res.Header.Get("Content-Type") + "\n" + string(text)
}

// TestSubagent: each conversation gets its own calls, and a stranger gets none.
func TestSubagent(t *testing.T) {
	settled := 0
	m := started(t, messages{}, script{
		key: "main-1", subKey: "sub-1", settle: func(*model) { settled++ },
		calls: []call{{tool: "Agent", token: "outer-1", input: object{"description": "outer-1", "prompt": "sub-1"}}},
		sub:   []call{{tool: "Bash", token: "canary-1", input: object{"command": "touch canary-1"}}},
	})
	for _, tt := range []struct{ said, tool string }{
		{"main-1", "Agent"},
		{"main-1", "Agent"}, // a host may repeat a request
		{"sub-1", "Bash"},
		{"sub-1 canary-1", ""},
		{"main-1 outer-1 sub-1", ""},
		{"a stranger", ""},
	} {
		body := encode(object{"model": "m", "tools": []any{object{"name": "x"}}, "messages": []any{object{"role": "user", "content": tt.said}}})
		var answer struct {
			Content []struct{ Name string }
		}
		text := post(t, m, asked{"/v1/messages", body})
		if err := json.Unmarshal([]byte(text[strings.IndexByte(text, '\n'):]), &answer); err != nil || answer.Content[0].Name != tt.tool {
			t.Errorf("%s: %s, %v, want %q", tt.said, text, err, tt.tool)
		}
	}
	if settled != 1 {
		t.Errorf("settled %d times", settled)
	}
	if got := post(t, m, asked{"/v1/messages", "{"}); !strings.HasPrefix(got, "400") {
		t.Errorf("what is no JSON: %s", got)
	}
}

// TestTold: words count for the call before them only.
func TestTold(t *testing.T) {
	m := &model{bodies: []string{"main a: fine. b: stopped. c: fine", "sub d: stopped"}}
	for _, tt := range []struct {
		token, next string
		want        bool
	}{
		{"a:", "b:", false}, {"b:", "c:", true}, {"c:", "", false}, {"d:", "", true}, {"e:", "", false},
		{"a:", "", true}, {"b:", "never:", true},
	} {
		if got := m.told("stopped", call{token: tt.token}, tt.next); got != tt.want {
			t.Errorf("%s before %q: %v", tt.token, tt.next, got)
		}
	}
}

// TestCanaryServer: the MCP server answers what hosts send it, and leaves its mark.
func TestCanaryServer(t *testing.T) {
	b := testBox(t, answering)
	command, err := b.server()
	if err != nil {
		t.Fatal(err)
	}
	lines := `{"method":"initialize","params":{"protocolVersion":"2025-06-18"},"jsonrpc":"2.0","id":0}
{"method":"notifications/initialized","jsonrpc":"2.0"}
{"method":"tools/list","jsonrpc":"2.0","id":1}
{"jsonrpc":"2.0","id":2,"method":"ping"}
`
	out := runWith(t, lines, command...)
	if exists(b.marker(byMCP)) || strings.Count(out, "\n") != 3 || !strings.Contains(out, `"id":1,"result":{"tools":[{"name":"mark"`) {
		t.Errorf("before the call: %s", out)
	}
	out = runWith(t, `{"method":"tools/call","params":{"name":"mark","arguments":{"name":"x"},"_meta":{"progressToken":3}},"jsonrpc":"2.0","id":3}`+"\n", command...)
	if !exists(b.marker(byMCP)) || !strings.Contains(out, `"id":3,`) {
		t.Errorf("after the call: %s", out)
	}
	if entries, _ := os.ReadDir(filepath.Dir(b.marker(byMCP))); len(entries) != 1 {
		t.Errorf("%d files", len(entries))
	}
}
