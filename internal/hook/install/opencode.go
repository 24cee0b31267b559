package install

import (
	"fmt"
	"path/filepath"
)

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
