package main

import (
	"encoding/json"

	"github.com/agent-wrapper/agent-wrapper/internal/visible"
)

// first are the fields that say what a tool use is about, in this order.
var first = []string{"command", "file_path", "notebook_path", "path", "pattern", "url", "query", "skill", "subagent_type", "description", "prompt"}

// valueText is a string as it is, anything else as JSON.
func valueText(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

// summary is what a tool use is about, in one short line.
func summary(input json.RawMessage) string {
	var values map[string]json.RawMessage
	if json.Unmarshal(input, &values) != nil {
		return ""
	}
	for _, name := range first {
		if value, ok := values[name]; ok {
			return visible.Line(valueText(value))
		}
	}
	return ""
}
