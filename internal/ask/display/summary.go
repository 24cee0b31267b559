package display

import (
	"github.com/agent-wrapper/agent-wrapper/internal/text/strictjson"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Summary returns what a tool use is about, in one line.
func Summary(use *permission.ToolUse) string {
	members, err := strictjson.Object(use.Input)
	if text := tools.Asked(use.Tool, members); err == nil && text != "" {
		return visible.Line(text)
	}
	return visible.Line(string(use.Input))
}
