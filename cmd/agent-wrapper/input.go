package main

import (
	"github.com/agent-wrapper/agent-wrapper/internal/strictjson"
	"github.com/agent-wrapper/agent-wrapper/internal/visible"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// summary is what a tool use is about, in one line.
func summary(use *permission.ToolUse) string {
	members, err := strictjson.Object(use.Input)
	if text := patterns.Asked(use.Tool, members); err == nil && text != "" {
		return visible.Line(text)
	}
	return visible.Line(string(use.Input))
}
