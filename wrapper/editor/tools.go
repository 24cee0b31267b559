package editor

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// The values of Later.Display.
const (
	DisplayNone    = "none"
	DisplayCompact = "compact"
	DisplayFull    = "full"
)

// maxCompact is the length of a result in compact form, in characters.
const maxCompact = 100

// tools adds to the events of a turn the lines about tools that stand in the text.
type tools struct {
	display string
	markers map[string]string

	mu      sync.Mutex
	about   map[string]wrapper.Event // by ID of the tool use: what is told with its decision
	started map[string]string        // subagents that work, by ID: their names
	uses    map[string]int           // of a subagent
}

// markers of tools where the editor gives none.
var usual = map[string]string{"Task": "▶", "TaskComplete": "✓", "default": "⏺"}

func (t *tools) marker(tool string) string {
	for _, name := range []string{tool, "default"} {
		for _, all := range []map[string]string{t.markers, usual} {
			if sign := all[name]; strings.TrimSpace(sign) != "" {
				return sign
			}
		}
	}
	return ""
}

// tellWith has an event told before the decision about a tool use.
func (t *tools) tellWith(id string, e wrapper.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.about == nil {
		t.about = map[string]wrapper.Event{}
	}
	t.about[id] = e
}

// with returns an event with those that go with it, in order.
func (t *tools) with(e wrapper.Event) []wrapper.Event {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case e.Type == wrapper.DecisionEvent:
		if asked, ok := t.about[e.ToolUseID]; ok {
			delete(t.about, e.ToolUseID)
			return []wrapper.Event{asked, e}
		}
	case e.Type == wrapper.StatusEvent && e.State == "tool_use":
		return t.text(e, t.begins(&e))
	case e.Type == wrapper.ToolResultEvent:
		return t.text(e, t.ends(&e))
	}
	return []wrapper.Event{e}
}

// text returns an event, followed by text.
func (t *tools) text(e wrapper.Event, text string) []wrapper.Event {
	if text == "" {
		return []wrapper.Event{e}
	}
	return []wrapper.Event{e, {Type: wrapper.ChunkEvent, Text: text}}
}

// subagent reports whether a tool starts one.
func subagent(tool string) bool { return tool == "Task" || tool == "Agent" }

// begins returns the line for a tool that begins.
func (t *tools) begins(e *wrapper.Event) string {
	if t.started == nil {
		t.started, t.uses = map[string]string{}, map[string]int{}
	}
	if subagent(e.Tool) {
		t.started[e.ToolUseID] = e.InputSummary
		return fmt.Sprintf("\n%s Task(%s) ...\n", t.marker("Task"), e.InputSummary)
	}
	by := ""
	if name, known := t.started[e.Agent]; known {
		t.uses[e.Agent]++
		by = " by Task(" + name + ")"
	}
	return fmt.Sprintf("\n%s %s(%s)%s\n", t.marker(e.Tool), e.Tool, e.InputSummary, by)
}

// ends returns the lines for the result of a tool.
func (t *tools) ends(e *wrapper.Event) string {
	if name, known := t.started[e.ToolUseID]; known {
		n := t.uses[e.ToolUseID]
		delete(t.started, e.ToolUseID)
		delete(t.uses, e.ToolUseID)
		return fmt.Sprintf("%s Task(%s) (%d tools used)\n", t.marker("TaskComplete"), name, n)
	}
	result := strings.TrimSpace(e.Text)
	if t.display == DisplayNone || result == "" {
		return ""
	}
	if short := []rune(result); t.display != DisplayFull && len(short) > maxCompact {
		result = string(short[:maxCompact]) + "..."
	}
	return "  ⎿  " + strings.ReplaceAll(result, "\n", "\n     ") + "\n"
}

// ParseMarkers reads the value of --tool-markers: an object whose members that are
// text, and not blank, count.
func ParseMarkers(text string) (map[string]string, error) {
	if text == "" {
		return nil, nil
	}
	var all map[string]any
	if err := json.Unmarshal([]byte(text), &all); err != nil || all == nil {
		return nil, fmt.Errorf("it is no JSON object: %.100q", text)
	}
	markers := map[string]string{}
	for name, value := range all {
		if sign, ok := value.(string); ok {
			markers[name] = sign
		}
	}
	return markers, nil
}
