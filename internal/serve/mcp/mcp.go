// Package mcp is a server of the Model Context Protocol with one tool, approve, which
// answers the permission prompts of the agent CLI:
//
//	claude -p --permission-prompt-tool mcp__agent-wrapper__approve --mcp-config …
//
// The CLI calls it only for what it would ask a person about: what it lets run by
// itself is not seen. docs/sdks.md says what that is.
package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/agent-wrapper/agent-wrapper/internal/text/lines"
	"github.com/agent-wrapper/agent-wrapper/internal/text/strictjson"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Decider decides tool uses. An error comes with a denial.
type Decider interface {
	CanUseTool(ctx context.Context, use permission.ToolUse) (permission.Result, error)
}

// Options say who decides.
type Options struct {
	Decider Decider
	Version string      // of this program, as the client is told
	Warn    func(error) // of what a person should know; nil for nobody
}

// Serve answers requests, one after the other, until the input or ctx ends. The error
// is one of reading or writing.
func Serve(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	s := &server{Options: o, ctx: ctx, out: lines.NewWriter(out, nil)}
	served := make(chan error, 1)
	go func() { served <- s.serve(lines.NewReader(in)) }() // ends with the input or, after ctx, with the process
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
		s.busy.Lock() // what is being decided is answered; nothing is any more
		return nil
	}
}

// server is the state of a connection.
type server struct {
	Options
	ctx  context.Context
	out  *lines.Writer
	busy sync.Mutex // held while a request is answered
}

// message is a request, or a notification, which has no id and no answer.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

type response struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result,omitempty"`
	Error   *failure        `json:"error,omitempty"`
}

// failure is the error of a request.
type failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (f *failure) Error() string { return f.Message }

// The codes of errors, which are those of JSON-RPC.
const (
	codeParse   = -32700
	codeInvalid = -32600
	codeUnknown = -32601
	codeParams  = -32602
)

// serve answers the lines of the input.
func (s *server) serve(in *lines.Reader) error {
	for {
		line, err := in.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, lines.ErrLong):
			err = s.respond(nil, nil, &failure{codeInvalid, err.Error()})
		case err == nil:
			err = s.line(line)
		}
		if err != nil {
			return err
		}
	}
}

// line answers one line. The error is one of writing.
func (s *server) line(line []byte) error {
	s.busy.Lock()
	defer s.busy.Unlock()
	var m message
	switch err := decode(line, &m); {
	case err != nil && !json.Valid(line):
		return s.respond(nil, nil, &failure{codeParse, err.Error()})
	case err != nil || m.JSONRPC != "2.0" || len(m.ID) > 0 && bytes.IndexByte([]byte(`"-0123456789`), m.ID[0]) < 0:
		return s.respond(nil, nil, &failure{codeInvalid, "the line is no request of JSON-RPC 2.0"})
	case len(m.ID) == 0 || m.Method == "":
		return nil // a notification, or the answer to nothing that we asked
	}
	result, failed := s.call(&m)
	return s.respond(m.ID, result, failed)
}

func (s *server) respond(id json.RawMessage, result any, failed *failure) error {
	return s.out.Write(response{"2.0", id, result, failed})
}

// object is a JSON object.
type object = map[string]any

// call returns the result of a method.
func (s *server) call(m *message) (any, *failure) {
	switch m.Method {
	case "initialize":
		return s.initialize(m.Params), nil
	case "ping":
		return object{}, nil
	case "tools/list":
		return object{"tools": []any{approve}}, nil
	case "tools/call":
		return s.use(m.Params)
	}
	return nil, &failure{codeUnknown, fmt.Sprintf("there is no method %q here", m.Method)}
}

// versions are those of the protocol, the newest first. What is used here is the same
// in all of them.
var versions = []string{"2025-06-18", "2025-03-26", "2024-11-05"}

func (s *server) initialize(params json.RawMessage) any {
	var p struct {
		Version string `json:"protocolVersion"`
	}
	if decode(params, &p) != nil || !slices.Contains(versions, p.Version) {
		p.Version = versions[0]
	}
	return object{
		"protocolVersion": p.Version, "capabilities": object{"tools": object{}},
		"serverInfo": object{"name": "agent-wrapper", "version": s.Version},
	}
}

// approve is the tool.
var approve = object{
	"name":        "approve",
	"description": "Decides whether a tool may be used. It is for the permission prompts of the agent CLI, and runs nothing.",
	"inputSchema": object{
		"type": "object", "required": []string{"tool_name", "input"},
		"properties": object{
			"tool_name": object{"type": "string"}, "input": object{"type": "object"}, "tool_use_id": object{"type": "string"},
		},
	},
	"annotations": object{"readOnlyHint": true},
}

// prompt is the input of the tool.
type prompt struct {
	Tool  string          `json:"tool_name"`
	Input json.RawMessage `json:"input"`
	ID    string          `json:"tool_use_id"`
}

// answer is its output, as the CLI reads it.
type answer struct {
	Behavior     string          `json:"behavior"`
	UpdatedInput json.RawMessage `json:"updatedInput,omitempty"`
	Message      string          `json:"message,omitempty"`
	Interrupt    bool            `json:"interrupt,omitempty"`
}

// use decides a tool use.
func (s *server) use(params json.RawMessage) (any, *failure) {
	var p struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if err := decode(params, &p); err != nil {
		return nil, &failure{codeParams, "params: " + err.Error()}
	}
	if p.Name != approve["name"] {
		return nil, &failure{codeParams, fmt.Sprintf("there is no tool %q here", p.Name)}
	}
	text, err := json.Marshal(s.decide(p.Arguments))
	if err != nil {
		return nil, &failure{codeParams, err.Error()}
	}
	return object{"content": []any{object{"type": "text", "text": string(text)}}}, nil
}

// decide answers a prompt. The directory of the agent's shell is not known: no prompt
// tells it, and the shell keeps the one that an earlier command went to.
func (s *server) decide(arguments json.RawMessage) answer {
	var p prompt
	if err := decode(arguments, &p); err != nil || p.Tool == "" || len(p.Input) == 0 {
		return answer{Behavior: "deny", Message: "Denied: the permission prompt cannot be read"}
	}
	res, err := s.Decider.CanUseTool(s.ctx, permission.ToolUse{ID: p.ID, Tool: p.Tool, Input: p.Input})
	if err != nil && s.Warn != nil {
		s.Warn(err)
	}
	return answer{res.Behavior.String(), res.UpdatedInput, res.Message, res.Interrupt}
}

// decode decodes what the client sent. Unknown keys are ignored, since a client may be
// newer, but not those that are misspelled in case.
func decode(data []byte, v any) error {
	return strictjson.Decode(data, v, strictjson.IgnoreUnknown, strictjson.NullAbsent, strictjson.MaxSize(lines.Max))
}
