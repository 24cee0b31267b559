package claude

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/text/strictjson"
)

// message is one line from the CLI. At most one field is set; none is set for a
// line of an unknown kind.
type message struct {
	request  *request
	response *response
	cancel   string // ID of a request that the CLI withdraws
	system   *system
	turn     *turn // an assistant or user line
	result   *result
	delta    string // text that the main agent has just written
}

// request is a control_request from the CLI.
type request struct {
	ID   string
	Kind string // the subtype
	// Broken is why the request is malformed, "" if it is not.
	Broken string
	can    *canUseTool
	hook   *hookCallback
}

type canUseTool struct {
	Tool  string          `json:"tool_name"`
	Input json.RawMessage `json:"input"`
	ID    string          `json:"tool_use_id"`
	Agent string          `json:"agent_id"`
}

type hookCallback struct {
	Callback string `json:"callback_id"`
	Input    struct {
		Event string          `json:"hook_event_name"`
		Dir   string          `json:"cwd"`
		Tool  string          `json:"tool_name"`
		Input json.RawMessage `json:"tool_input"`
		ID    string          `json:"tool_use_id"`
		Agent string          `json:"agent_id"`
		Kind  string          `json:"agent_type"` // SubagentStart
	} `json:"input"`
}

// response is the CLI's answer to a request of ours.
type response struct {
	Kind    string          `json:"subtype"` // success or error
	ID      string          `json:"request_id"`
	Error   string          `json:"error"`
	Content json.RawMessage `json:"response"`
}

type system struct {
	Kind    string `json:"subtype"`
	Session string `json:"session_id"`
	Version string `json:"claude_code_version"` // init
	Mode    string `json:"permissionMode"`      // init
	State   string `json:"state"`               // session_state_changed
	Task    string `json:"task_id"`             // task_*
	Kinds   string `json:"task_type"`           // task_started
	Patch   struct {
		Status string `json:"status"`
	} `json:"patch"` // task_updated
	Tool      string `json:"tool_name"`   // permission_denied
	ToolUseID string `json:"tool_use_id"` // permission_denied, task_*
	Message   string `json:"message"`     // permission_denied
	retry     *retry // api_retry; nil if it cannot be read
}

// retry is what the CLI tells of a request that the model did not answer.
type retry struct {
	Attempt int    `json:"attempt"`
	Most    int    `json:"max_retries"`
	Status  int    `json:"error_status"` // of HTTP, 0 for none
	Error   string `json:"error"`        // unknown, overloaded, authentication_failed ...
}

// turn is a message of the agent, or tool results.
type turn struct {
	Parent  string `json:"parent_tool_use_id"` // the Agent tool use that it belongs to
	Agent   string `json:"agent_id"`           // set by newer CLIs
	Message struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"message"`
	Meta   []resultMeta `json:"tool_result_meta"`
	blocks []block
}

// block is one part of a turn.
type block struct {
	Kind      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`   // tool_use
	Name      string          `json:"name"` // tool_use
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"` // tool_result
	Content   json.RawMessage `json:"content"`
	Error     bool            `json:"is_error"`
}

// resultMeta is what the CLI reports about why a tool use ran or did not run.
type resultMeta struct {
	ID       string `json:"id"`
	Decision struct {
		Decision string `json:"decision"` // accept or reject
		Source   string `json:"source"`
		Kind     string `json:"reason_type"` // rule, mode ...; other for an error of the tool itself
	} `json:"permission_decision"`
}

// account returns what the CLI reports about a tool use, nil if nothing. Of
// several reports, one that the tool use was allowed without us takes precedence.
func (t *turn) account(id string) *resultMeta {
	var found *resultMeta
	for i := range t.Meta {
		m := &t.Meta[i]
		if m.ID == id && m.Decision.Decision != "" && (found == nil || m.foreign()) {
			found = m
		}
	}
	return found
}

// foreign reports whether the tool use was allowed without us.
func (m *resultMeta) foreign() bool {
	return m.Decision.Decision == "accept" && m.Decision.Source != "user_temporary"
}

type result struct {
	Kind    string   `json:"subtype"`
	Error   bool     `json:"is_error"`
	Text    string   `json:"result"`
	Errors  []string `json:"errors"`
	Session string   `json:"session_id"`
	Denials []denied `json:"permission_denials"`
	// Structured is the answer to --json-schema.
	Structured json.RawMessage `json:"structured_output"`
	bill       *bill
}

// bill is what a result says of its costs. Turns is that of the result, the rest
// that of the whole run so far.
type bill struct {
	Turns  int     `json:"num_turns"`
	Cost   float64 `json:"total_cost_usd"`
	Models map[string]struct {
		Input      int64 `json:"inputTokens"`
		Output     int64 `json:"outputTokens"`
		CacheRead  int64 `json:"cacheReadInputTokens"`
		CacheWrite int64 `json:"cacheCreationInputTokens"`
	} `json:"modelUsage"`
}

// denied is a tool use that the CLI reports as denied.
type denied struct {
	Tool  string          `json:"tool_name"`
	ID    string          `json:"tool_use_id"`
	Input json.RawMessage `json:"tool_input"`
}

// errNoMessage is the error for a line that is not a JSON object.
var errNoMessage = errors.New("not a protocol line")

// decode reads one line. Unknown kinds and unknown fields are ignored. Duplicate
// keys, and keys that differ only in letter case from a known one, are errors.
func decode(line []byte) (*message, error) {
	line = bytes.TrimLeft(line, " \t")
	switch {
	case len(line) > 0 && line[0] == '{':
	case bytes.Contains(line, []byte(`"type"`)) && bytes.ContainsRune(line, '{'):
		return nil, errors.New("a line of it stands behind other text")
	default:
		return nil, errNoMessage
	}
	line, broken := whole(line)
	var head struct {
		Type string `json:"type"`
	}
	if err := decodeLoose(line, &head); err != nil {
		return nil, err
	}
	m := &message{}
	switch head.Type {
	case "control_request":
		return m, m.readRequest(line, broken)
	case "control_response":
		return m, m.readResponse(line)
	case "control_cancel_request":
		return m, m.readCancel(line)
	case "system":
		m.system = &system{}
		return m, m.readSystem(line)
	case "assistant", "user":
		m.turn = &turn{}
		return m, m.readTurn(line)
	case "result":
		m.result = &result{}
		return m, m.readResult(line)
	case "stream_event":
		m.delta = delta(line)
	}
	return m, nil
}

// delta returns the text in a piece of a message of the main agent. One that cannot be
// read is left out: the message itself follows.
func delta(line []byte) string {
	var piece struct {
		Parent string `json:"parent_tool_use_id"`
		Event  struct {
			Type  string `json:"type"`
			Delta struct {
				Type string `json:"type"`
				Text string `json:"text"`
			} `json:"delta"`
		} `json:"event"`
	}
	if decodeLoose(line, &piece) != nil || piece.Parent != "" || piece.Event.Type != "content_block_delta" || piece.Event.Delta.Type != "text_delta" {
		return ""
	}
	return piece.Event.Delta.Text
}

func decodeLoose(data []byte, v any) error {
	return strictjson.Decode(data, v, strictjson.IgnoreUnknown, strictjson.NullAbsent, strictjson.MaxSize(maxLine))
}

func (m *message) readRequest(line []byte, broken bool) error {
	var outer struct {
		ID      string          `json:"request_id"`
		Request json.RawMessage `json:"request"`
	}
	if err := decodeLoose(line, &outer); err != nil {
		return err
	}
	if outer.ID == "" {
		return errors.New("control_request without a request_id")
	}
	r := &request{ID: outer.ID}
	m.request = r
	if broken {
		r.Broken = "its text holds half a character"
	}
	if err := r.readBody(outer.Request); err != nil {
		r.Broken = err.Error()
	}
	return nil
}

// readBody reads the body of a request. Kind is set even if the rest is
// malformed, because the form of the answer depends on it.
func (r *request) readBody(body []byte) error {
	var kind struct {
		Kind string `json:"subtype"`
	}
	if err := decodeLoose(body, &kind); err != nil {
		return err
	}
	r.Kind = kind.Kind
	switch r.Kind {
	case "can_use_tool":
		r.can = &canUseTool{}
		return readOrGuess(body, r.can)
	case "hook_callback":
		r.hook = &hookCallback{}
		return readOrGuess(body, r.hook)
	}
	return nil
}

// readOrGuess decodes body into v. After an error v holds what could be decoded;
// it is good enough to record a denial, and for nothing else.
func readOrGuess(body []byte, v any) error {
	err := decodeLoose(body, v)
	if err != nil {
		_ = json.Unmarshal(body, v) // as far as possible
	}
	return err
}

func (m *message) readResponse(line []byte) error {
	var outer struct {
		Response response `json:"response"`
	}
	err := decodeLoose(line, &outer)
	m.response = &outer.Response
	return err
}

func (m *message) readCancel(line []byte) error {
	var c struct {
		ID string `json:"request_id"`
	}
	err := decodeLoose(line, &c)
	m.cancel = c.ID
	return err
}

// systemKinds are the kinds of system lines that are decoded. The fields of other
// kinds may have any type.
var systemKinds = []string{"init", "session_state_changed", "task_started", "task_updated", "task_notification", "permission_denied"}

func (m *message) readSystem(line []byte) error {
	var kind struct {
		Kind string `json:"subtype"`
	}
	if err := decodeLoose(line, &kind); err != nil {
		return err
	}
	if !slices.Contains(systemKinds, kind.Kind) {
		m.system.Kind = kind.Kind
		if t := (&retry{}); kind.Kind == "api_retry" && decodeLoose(line, t) == nil {
			m.system.retry = t
		}
		return nil
	}
	return decodeLoose(line, m.system)
}

func (m *message) readTurn(line []byte) error {
	if err := decodeLoose(line, m.turn); err != nil {
		return err
	}
	content := m.turn.Message.Content
	if len(content) == 0 || content[0] != '[' {
		return nil // a string
	}
	if err := decodeLoose(content, &m.turn.blocks); err != nil {
		return fmt.Errorf("message content: %w", err)
	}
	return nil
}

// readResult reads a result. A run does not fail for what it cost: a bill that
// cannot be read counts as none.
func (m *message) readResult(line []byte) error {
	b := &bill{Turns: -1}
	if decodeLoose(line, b) == nil && b.Turns >= 0 {
		m.result.bill = b
	}
	return decodeLoose(line, m.result)
}

// plain returns the text of a tool result, which is a string or a list of blocks.
func plain(content json.RawMessage) string {
	var text string
	if decodeLoose(content, &text) == nil {
		return text
	}
	var blocks []struct {
		Kind string `json:"type"`
		Text string `json:"text"`
	}
	if decodeLoose(content, &blocks) != nil {
		return ""
	}
	var parts []string
	for _, b := range blocks {
		if b.Kind != "text" {
			b.Text = "[" + b.Kind + "]"
		}
		parts = append(parts, b.Text)
	}
	return strings.Join(parts, "\n")
}

// field returns a string field of a tool input, "" if there is none.
func field(input json.RawMessage, name string) string {
	members, err := strictjson.Object(input, strictjson.MaxSize(maxLine))
	if err != nil {
		return ""
	}
	text, _ := members[name].(string)
	return text
}

// isSet returns a boolean field of a JSON object; false if there is none.
func isSet(input json.RawMessage, name string) bool {
	members, err := strictjson.Object(input, strictjson.MaxSize(maxLine))
	if err != nil {
		return false
	}
	set, _ := members[name].(bool)
	return set
}
