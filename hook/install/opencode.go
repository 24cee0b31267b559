package install

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
)

//go:embed plugin.js
var pluginText string

// The line of the plugin that names the binary, and its first words.
const (
	pluginBinary = "const BINARY = "
	pluginHead   = "// agent-wrapper decides every tool use of OpenCode."
)

// plugin returns the plugin that starts a binary.
func plugin(binary string) string {
	return strings.Replace(pluginText, `"@BINARY@"`, string(encode(binary)), 1)
}

// isPlugin reports whether a file is our plugin, and the binary that it starts.
func isPlugin(text []byte) (binary string, ok bool) {
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

// foreignFile is the error that a file with the name of ours is somebody else's.
func foreignFile(name string) error {
	return fmt.Errorf("%s is not a file that agent-wrapper wrote: remove it, or move it out of the way", name)
}

// pluginDependency is what OpenCode installs at its start if it is not there.
const pluginDependency = "node_modules/@opencode-ai/plugin"

// openCodeNotes says what a person should know of the plugin's directory.
func openCodeNotes(dir string) []string {
	if exists(filepath.Join(dir, filepath.FromSlash(pluginDependency))) {
		return nil
	}
	return []string{"opencode installs " + pluginDependency + " at its next start; without a network that start takes over a minute"}
}
