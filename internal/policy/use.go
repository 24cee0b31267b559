package policy

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// parseUse parses the short form of a tool use: "Bash(rm -rf x)", or only the
// name of a tool, whose input is then empty. The text is the value of the
// tool's main field, such as the command or path, and ends at the last ")".
func parseUse(short string) (tool string, input json.RawMessage, err error) {
	name, rest, hasText := strings.Cut(short, "(")
	switch {
	case name == "" || strings.ContainsFunc(name, notName):
		return "", nil, fmt.Errorf("tool use %q: write Tool(text), as in Bash(ls -l) or Read(/etc/passwd)", short)
	case !hasText:
		return name, json.RawMessage("{}"), nil
	case !strings.HasSuffix(rest, ")"):
		return "", nil, fmt.Errorf("tool use %q has no ) at its end: add it", short)
	}
	return textUse(name, strings.TrimSuffix(rest, ")"))
}

func notName(r rune) bool {
	return r != '_' && r != '-' && (r < '0' || '9' < r) && (r < 'A' || 'Z' < r) && (r < 'a' || 'z' < r)
}

func textUse(tool, text string) (string, json.RawMessage, error) {
	field := tools.Builtin(tool).Main()
	if _, _, err := patterns.Parse(tool, patterns.Ask, patterns.Source{}); field == "" && err != nil {
		return "", nil, err // a tool's name with a slip
	}
	if field == "" {
		return "", nil, fmt.Errorf("tool use %s(...): this tool needs its whole input: tool = %q, input = { … }", tool, tool)
	}
	input, err := json.Marshal(map[string]string{field: text})
	return tool, input, err
}
