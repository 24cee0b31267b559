package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/visible"
)

// field is one field of a tool's input, fit to be shown.
type field struct{ name, text string }

// first are the fields that say what a tool use is about, in this order.
var first = []string{"command", "file_path", "notebook_path", "path", "pattern", "url", "query", "skill", "subagent_type", "description", "prompt"}

// maxLines is how many lines of one field are shown; a command is shown whole.
const maxLines = 40

// inputFields are all fields of an input, and whether each is shown whole.
func inputFields(input json.RawMessage) (fields []field, whole bool) {
	var values map[string]json.RawMessage
	if json.Unmarshal(input, &values) != nil {
		return []field{{"input", visible.Line(string(input))}}, true
	}
	var names []string
	for name := range values {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	whole = true
	for _, name := range names {
		text, all := visible.Indent(valueText(values[name]), "    | "), true
		if name != "command" {
			text, all = shorten(valueText(values[name]))
		}
		fields = append(fields, field{visible.Line(name), text})
		whole = whole && all
	}
	return fields, whole
}

func rank(name string) int {
	if i := slices.Index(first, name); i >= 0 {
		return i
	}
	return len(first)
}

// valueText is a string as it is, anything else as JSON.
func valueText(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

// shorten returns text for the screen, and whether it is all of it.
func shorten(text string) (string, bool) {
	lines := strings.Split(text, "\n")
	if len(lines) <= maxLines {
		return visible.Indent(text, "    | "), true
	}
	head := visible.Indent(strings.Join(lines[:maxLines], "\n"), "    | ")
	return fmt.Sprintf("%s\n    (%d more lines are not shown)", head, len(lines)-maxLines), false
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
