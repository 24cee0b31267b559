package entry

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

//go:embed plugin.js
var pluginText string

// The lines of the plugin that name the binary and its limit, and the first words.
const (
	pluginBinary = "const BINARY = "
	pluginLimit  = "const LIMIT_MS = "
	pluginHead   = "// agent-wrapper decides every tool use of OpenCode."
)

// Plugin returns the plugin for OpenCode that starts a binary and waits for it for so
// long.
func Plugin(binary string, limit time.Duration) string {
	name, err := json.Marshal(binary)
	if err != nil {
		return "" // a text has JSON
	}
	text := strings.Replace(pluginText, `"@BINARY@"`, string(name), 1)
	return strings.Replace(text, `"@LIMIT_MS@"`, fmt.Sprint(limit.Milliseconds()), 1)
}

// OfPlugin reports whether a file is our plugin, of whatever version, and the binary
// that it starts.
func OfPlugin(text []byte) (binary string, ok bool) {
	if !strings.HasPrefix(string(text), pluginHead) {
		return "", false
	}
	_, rest, _ := strings.Cut(string(text), "\n"+pluginBinary)
	line, _, _ := strings.Cut(rest, "\n")
	if json.Unmarshal([]byte(line), &binary) != nil {
		binary = ""
	}
	return binary, true
}

// MovedPlugin returns a plugin of ours with another program in place of ours, for a
// proof, and with another limit if it is not 0.
func MovedPlugin(text, binary string, limit time.Duration) string {
	name, err := json.Marshal(binary)
	if err != nil {
		return "" // a text has JSON
	}
	text = withLine(text, pluginBinary, string(name))
	if limit != 0 {
		text = withLine(text, pluginLimit, fmt.Sprint(limit.Milliseconds()))
	}
	return text
}

// withLine returns a text with another value in the line that begins so.
func withLine(text, begins, value string) string {
	before, rest, ok := strings.Cut(text, "\n"+begins)
	if !ok {
		return text
	}
	_, after, _ := strings.Cut(rest, "\n")
	return before + "\n" + begins + value + "\n" + after
}
