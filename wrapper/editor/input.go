package editor

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/desk"
	"github.com/agent-wrapper/agent-wrapper/internal/text/lines"
	"github.com/agent-wrapper/agent-wrapper/internal/text/strictjson"
)

// input is a line of the editor. The fields that a type does not use are ignored.
type input struct {
	Type       string            `json:"type"`
	ApprovalID string            `json:"approval_id"`
	Digest     string            `json:"digest"`
	Choice     string            `json:"choice"`
	Rung       *int              `json:"rung"`
	Rules      []string          `json:"rules"`
	For        int               `json:"for"`
	Times      int               `json:"times"`
	Input      json.RawMessage   `json:"input"`
	Message    string            `json:"message"`
	Answers    map[string]string `json:"answers"`
	Text       string            `json:"text"`
	Mode       string            `json:"mode"`
}

// The types of lines.
const (
	approvalResponse = "approval_response"
	choicesResponse  = "choices_response"
	userMessage      = "user_message"
	interrupt        = "interrupt"
	setMode          = "set_mode"
	shutdown         = "shutdown"
)

// simple are the values of the options of approval_required, for editors that show no
// more than those.
var simple = map[string]string{
	"allow_once": desk.Once, "deny_once": desk.Deny, "allow_for_session": desk.Session, "deny_for_session": desk.Never,
}

// decode reads a line.
func decode(line []byte) (input, error) {
	var in input
	if err := strictjson.Decode(line, &in, strictjson.IgnoreUnknown, strictjson.NullAbsent, strictjson.MaxSize(lines.Max)); err != nil {
		return input{}, fmt.Errorf("the line cannot be read: %w", err)
	}
	if in.Type == "" {
		return input{}, errors.New("the line has no type")
	}
	return in, nil
}

// reply returns the answer of a line to a question.
func (in *input) reply() desk.Reply {
	choice := in.Choice
	if name := simple[choice]; name != "" {
		choice = name
	}
	if in.Type == choicesResponse {
		return desk.Reply{ID: in.ApprovalID, Digest: in.Digest, Choice: desk.Answers, Answers: in.Answers}
	}
	return desk.Reply{
		ID: in.ApprovalID, Digest: in.Digest, Choice: choice, Rung: in.Rung, Rules: in.Rules,
		For: in.For, Times: in.Times, Input: in.Input, Message: in.Message,
	}
}
