package decide

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/text/lines"
	"github.com/agent-wrapper/agent-wrapper/internal/text/strictjson"
)

// message is a line from the client: a request, a notification, which has no id, or
// the response to a request of ours.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  *string         `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

// response is our answer to a request.
type response struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

// request is a request of ours or, without an id, a notification.
type request struct {
	JSONRPC string `json:"jsonrpc"`
	ID      string `json:"id,omitempty"`
	Method  string `json:"method"`
	Params  any    `json:"params"`
}

// version is that of JSON-RPC.
const version = "2.0"

// The codes of errors: those of JSON-RPC, and one of our own.
const (
	codeParse    = -32700 // the line is no JSON
	codeInvalid  = -32600 // it is no request
	codeUnknown  = -32601 // there is no such method
	codeParams   = -32602 // the parameters are wrong
	codeInternal = -32603 // it could not be done
	codeRefused  = -32000 // the answer to a question does not count
)

// rpcError is the error of a request.
type rpcError struct {
	Code    int      `json:"code"`
	Message string   `json:"message"`
	Data    *refusal `json:"data,omitempty"`
}

// refusal says why the answer to a question does not count.
type refusal struct {
	Reason string `json:"reason"`
}

func (e *rpcError) Error() string { return e.Message }

// wrong returns an error with a code.
func wrong(code int, format string, args ...any) *rpcError {
	return &rpcError{Code: code, Message: fmt.Sprintf(format, args...)}
}

// asError returns an error as the client gets it.
func asError(err error) *rpcError {
	var e *rpcError
	if errors.As(err, &e) {
		return e
	}
	return wrong(codeInternal, "%v", err)
}

// later is the part of a request that does not have to be done before the next line is
// read.
type later func() (any, error)

// handler begins a request. Its result may be a later.
type handler func(s *server, ctx context.Context, params json.RawMessage) (any, error)

// with returns a handler that decodes its parameters.
func with[P any](f func(*server, context.Context, *P) (any, error)) handler {
	return func(s *server, ctx context.Context, params json.RawMessage) (any, error) {
		var p P
		if len(params) == 0 {
			params = json.RawMessage("{}")
		}
		if params[0] != '{' {
			return nil, wrong(codeParams, "params: it is an object")
		}
		if err := decode(params, &p); err != nil {
			return nil, wrong(codeParams, "params: %v", err)
		}
		return f(s, ctx, &p)
	}
}

// decode decodes what the client sent. Unknown keys are ignored, since a client may be
// newer, but not those that are misspelled in case.
func decode(data []byte, v any) error {
	return strictjson.Decode(data, v, strictjson.IgnoreUnknown, strictjson.NullAbsent, strictjson.MaxSize(lines.Max))
}

// read decodes a line. The error comes with the id, if one can be told.
func read(line []byte) (*message, *rpcError) {
	m := &message{}
	err := decode(line, m)
	switch {
	case err != nil:
		return loose(line, err)
	case !validID(m.ID):
		m.ID = nil
		return m, wrong(codeInvalid, "id: it is a string or a whole number")
	case m.JSONRPC != version:
		return m, wrong(codeInvalid, `jsonrpc: it is "2.0"`)
	case m.Method == nil && m.Result == nil && m.Error == nil:
		return m, wrong(codeInvalid, "method: it is missing")
	case m.Method == nil && m.ID == nil:
		return m, wrong(codeInvalid, "id: a response has that of its request")
	}
	return m, nil
}

// loose returns the error about a line that cannot be read, with its id if the line is
// JSON.
func loose(line []byte, err error) (*message, *rpcError) {
	var m struct{ ID json.RawMessage }
	switch {
	case line[0] == '[' && json.Valid(line):
		return &message{}, wrong(codeInvalid, "the line is a batch: write one object a line")
	case !json.Valid(line):
		return &message{}, wrong(codeParse, "the line is no JSON (one object a line, without headers): %v", err)
	case line[0] != '{' || json.Unmarshal(line, &m) != nil || !validID(m.ID):
		return &message{}, wrong(codeInvalid, "the line is no request: %v", err)
	}
	return &message{ID: m.ID}, wrong(codeInvalid, "the line is no request: %v", err)
}

// maxID is the length of the longest id in bytes.
const maxID = 1024

// validID reports whether an id is a string or a whole number, or is missing. A number
// with a fraction or an exponent is none: a client reads 1.0 as 1.
func validID(id json.RawMessage) bool {
	switch {
	case len(id) == 0:
		return true
	case len(id) > maxID:
		return false
	}
	return id[0] == '"' || len(bytes.Trim(id, "0123456789")) == 0 || id[0] == '-' && !bytes.ContainsAny(id, ".eE") && string(id) != "-0"
}

// callID returns the key of a request in flight: of an id that can be written in
// several ways, the same for all.
func callID(id json.RawMessage) string {
	var text string
	if json.Unmarshal(id, &text) != nil {
		return string(id)
	}
	return `"` + text
}

// unknown returns the error for a method that does not exist.
func (s *server) unknown(name string) *rpcError {
	return wrong(codeUnknown, "there is no method %q: it is one of %s", name, strings.Join(slices.Sorted(maps.Keys(s.methods)), ", "))
}
