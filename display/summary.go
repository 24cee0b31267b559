package display

import (
	"github.com/agent-wrapper/agent-wrapper/internal/strictjson"
	"github.com/agent-wrapper/agent-wrapper/internal/visible"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/tools"
)

// Summary returns what a tool use is about, in one line.
func Summary(use *permission.ToolUse) string {
	members, err := strictjson.Object(use.Input)
	if text := tools.Asked(use.Tool, members); err == nil && text != "" {
		return visible.Line(text)
	}
	return visible.Line(string(use.Input))
}
