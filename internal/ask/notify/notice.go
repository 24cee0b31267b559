package notify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/display"
	"github.com/agent-wrapper/agent-wrapper/internal/mask"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// notice is what is told, without control characters. In JSON it is the standard input of the program and the body of
// the webhook request; chat services show the key "text".
type notice struct {
	Title   string `json:"title"`
	Text    string `json:"text"`
	Tool    string `json:"tool"`
	Summary string `json:"summary"` // what the tool use is about, secrets masked
	Session string `json:"session"`
	Dir     string `json:"dir"`
	Waited  int    `json:"waited_s"`
	Waiting int    `json:"waiting"` // how many questions wait, this one included
}

// maxSummary is the length of the longest summary, in characters.
const maxSummary = 200

// about returns the notice about a tool use. Secrets are masked before anything is cut,
// since the beginning of a secret may not look like one.
func about(use *permission.ToolUse) notice {
	shown := permission.ToolUse{Tool: visible.Line(hidden(use.Tool))}
	var compact bytes.Buffer
	if json.Compact(&compact, use.Input) == nil {
		shown.Input, _ = mask.JSON(compact.Bytes(), mask.Command)
	}
	return notice{Tool: short(shown.Tool), Summary: short(hidden(display.Summary(&shown))), Session: short(visible.Line(hidden(use.Session))), Dir: short(visible.Line(hidden(use.Dir)))}
}

func hidden(text string) string {
	text, _ = mask.Text(text)
	return text
}

func short(text string) string {
	if runes := []rune(text); len(runes) > maxSummary {
		return string(runes[:maxSummary]) + "…"
	}
	return text
}

// complete adds how long the question has waited, and how many do.
func (x *notice) complete(waited time.Duration, all int) {
	x.Waited, x.Waiting = int(waited/time.Second), all
	x.Title = "agent-wrapper: a question waits"
	if all > 1 {
		x.Title = fmt.Sprintf("agent-wrapper: %d questions wait", all)
	}
	x.Text = x.Title + ": " + x.body()
}

// body returns what the question is about, in a line.
func (x *notice) body() string { return x.Tool + ": " + x.Summary }
