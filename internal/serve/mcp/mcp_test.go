package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-wrapper/agent-wrapper/internal/serve/mcp"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// decider allows what is named ls, and notes what it is asked.
type decider struct{ asked []permission.ToolUse }

func (d *decider) CanUseTool(_ context.Context, use permission.ToolUse) (permission.Result, error) {
	d.asked = append(d.asked, use)
	if strings.Contains(string(use.Input), "ls") {
		return permission.Result{Decision: permission.Decision{Behavior: permission.Allow}, UpdatedInput: json.RawMessage(`{"command":"ls -l"}`)}, nil
	}
	res := permission.Result{Decision: permission.Decision{Behavior: permission.Deny, Message: "Denied: no", Interrupt: strings.Contains(string(use.Input), "stop")}}
	return res, errors.New("the record is full")
}

// serve gives the server lines, and returns those that it writes.
func serve(t *testing.T, d mcp.Decider, in ...string) []string {
	t.Helper()
	var out strings.Builder
	var warned []string
	o := mcp.Options{Decider: d, Version: "1.2", Warn: func(err error) { warned = append(warned, err.Error()) }}
	if err := mcp.Serve(t.Context(), strings.NewReader(strings.Join(in, "\n")), &out, o); err != nil {
		t.Fatal(err)
	}
	return append(strings.Split(strings.TrimSpace(out.String()), "\n"), warned...)
}

func call(arguments string) string {
	return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"approve","arguments":` + arguments + `}}`
}

func TestServe(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"initialize", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{}}}`,
			`{"jsonrpc":"2.0","id":0,"result":{"capabilities":{"tools":{}},"protocolVersion":"2025-03-26","serverInfo":{"name":"agent-wrapper","version":"1.2"}}}`},
		{"a version of the future", `{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":"2999-01-01"}}`,
			`{"jsonrpc":"2.0","id":"a","result":{"capabilities":{"tools":{}},"protocolVersion":"2025-06-18","serverInfo":{"name":"agent-wrapper","version":"1.2"}}}`},
		{"ping", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`},
		{"a notification", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, ``},
		{"a response", `{"jsonrpc":"2.0","id":1,"result":{}}`, ``},
		{"allow", call(`{"tool_name":"Bash","input":{"command":"ls"},"tool_use_id":"u1"}`),
			`{"jsonrpc":"2.0","id":7,"result":{"content":[{"text":"{\"behavior\":\"allow\",\"updatedInput\":{\"command\":\"ls -l\"}}","type":"text"}]}}`},
		{"deny", call(`{"tool_name":"Bash","input":{"command":"rm"}}`),
			`{"jsonrpc":"2.0","id":7,"result":{"content":[{"text":"{\"behavior\":\"deny\",\"message\":\"Denied: no\"}","type":"text"}]}}` + "\nthe record is full"},
		{"deny and end the turn", call(`{"tool_name":"Bash","input":{"command":"stop"}}`),
			`{"jsonrpc":"2.0","id":7,"result":{"content":[{"text":"{\"behavior\":\"deny\",\"message\":\"Denied: no\",\"interrupt\":true}","type":"text"}]}}` + "\nthe record is full"},
		{"another method", `{"jsonrpc":"2.0","id":1,"method":"resources/list"}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"there is no method \"resources/list\" here"}}`},
		{"another tool", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"Approve","arguments":{}}}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"there is no tool \"Approve\" here"}}`},
		{"no JSON", `hello`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"1:1: 'h' where a value is expected"}}`},
		{"no request", `[]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the line is no request of JSON-RPC 2.0"}}`},
		{"an id that is none", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the line is no request of JSON-RPC 2.0"}}`},
		{"a method said twice", `{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the line is no request of JSON-RPC 2.0"}}`},
		{"a method in another case", `{"jsonrpc":"2.0","id":1,"Method":"ping"}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the line is no request of JSON-RPC 2.0"}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, strings.Join(serve(t, &decider{}, test.in), "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestSmuggled: a prompt that can be read in two ways is denied, and the decider is not
// asked.
func TestSmuggled(t *testing.T) {
	for _, arguments := range []string{
		`{}`, `[]`, `"x"`, `null`, `{"tool_name":"Bash"}`, `{"input":{"command":"ls"}}`, `{"tool_name":"","input":{"command":"ls"}}`,
		`{"tool_name":"Bash","input":{"command":"ls"},"tool_name":"Read"}`,
		`{"tool_name":"Bash","input":{"command":"ls"},"Input":{"command":"rm"}}`,
		`{"tool_name":"Bash","input":{"command":"ls"},"input":{"command":"rm"}}`,
		`{"tool_name":"Bash","ınput":{"command":"ls"}}`,
		`{"tool_name":1,"input":{"command":"ls"}}`,
	} {
		d := &decider{}
		got := strings.Join(serve(t, d, call(arguments)), "\n")
		if !strings.Contains(got, `{\"behavior\":\"deny\",`) && !strings.Contains(got, `"error":`) || len(d.asked) > 0 {
			t.Errorf("%s: %s, asked %v", arguments, got, d.asked)
		}
	}
}

// TestDirectory: a prompt does not tell the directory, so it is not known.
func TestDirectory(t *testing.T) {
	d := &decider{}
	serve(t, d, call(`{"tool_name":"Bash","input":{"command":"ls"},"tool_use_id":"u1","cwd":"/"}`))
	want := []permission.ToolUse{{ID: "u1", Tool: "Bash", Input: json.RawMessage(`{"command":"ls"}`)}}
	if diff := cmp.Diff(want, d.asked); diff != "" {
		t.Error(diff)
	}
}

func TestServeEnds(t *testing.T) {
	in, _ := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := mcp.Serve(ctx, in, io.Discard, mcp.Options{Decider: &decider{}}); err != nil {
		t.Error(err)
	}
	broken, w := io.Pipe()
	broken.Close()
	if err := mcp.Serve(t.Context(), strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), w, mcp.Options{}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("%v", err)
	}
}

func TestTools(t *testing.T) {
	got := serve(t, &decider{}, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`)
	var list struct {
		Result struct {
			Tools []struct {
				Name        string
				InputSchema struct{ Required []string }
			}
		}
	}
	if err := json.Unmarshal([]byte(got[0]), &list); err != nil || len(list.Result.Tools) != 1 || list.Result.Tools[0].Name != "approve" {
		t.Errorf("%s, %v", got, err)
	}
}
