package desk

import (
	"encoding/json"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/display"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Question is a question for a program, in the form in which the protocols have it.
// ID and Digest of the display.Ask belong to an answer. Its texts are safe to show;
// Input is not: it is what the agent sent.
type Question struct {
	display.Ask
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Factors   []string        `json:"factors,omitempty"` // why the risk is what it is, as classify names them
	Input     json.RawMessage `json:"input"`
}

// maxShown is the size of the largest input in bytes that is shown whole. Choices that
// allow more than this tool use are not offered for a larger one.
const maxShown = 256 << 10

// question returns a question as it is now.
func (d *Desk) question(ask *permission.Request, id, digest string, choices []display.Choice) Question {
	s := display.Source{Request: *ask, ID: id, Digest: digest, Choices: choices, All: len(ask.Use.Input) <= maxShown}
	if d.options.File != nil {
		s.File = d.options.File(&ask.Use)
	}
	return Question{
		Ask: *display.New(s), ToolUseID: ask.Use.ID, Factors: ask.Decision.Factors(), Input: ask.Use.Input,
	}
}
