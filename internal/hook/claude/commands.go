package claude

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/agent-wrapper/agent-wrapper/internal/hook"
	"github.com/agent-wrapper/agent-wrapper/wrapper/claude/command"
)

// commandLines returns the command lines that a command runs by itself.
func commandLines(e *hook.Event, project, home string) ([]string, error) {
	if e.Command == "" {
		return nil, errors.New("the payload names no command")
	}
	file, err := commandFile(e.Command, project, home)
	if err == nil && file == "" && !slices.Contains(own, e.From) {
		err = fmt.Errorf("the file of the command %.60q cannot be found, so it is not known what it runs", e.Command)
	}
	if err != nil || file == "" {
		return nil, err
	}
	text, err := command.Read(file)
	if err != nil {
		return nil, err
	}
	lines := command.Lines(string(text))
	for _, line := range lines {
		if e.Words != "" && command.Placeholder.MatchString(line) {
			return nil, fmt.Errorf("%s: the words after /%s become part of the command line %.60q, which is not known then", file, e.Command, line)
		}
	}
	return lines, nil
}

// own are the sources of commands that have no file: the host's own, and prompts of MCP
// servers.
var own = []string{"", "builtin", "bundled", "mcp"}

// commandFile returns the file of a command, "" if there is none. One of a
// plugin (plugin:name) is looked for among all plugins.
func commandFile(name, project, home string) (string, error) {
	file, err := command.Find(name, filepath.Join(project, ".claude"), filepath.Join(home, ".claude"))
	if err != nil || file != "" {
		return file, err
	}
	return pluginFile(command.Last(name), home)
}

// pluginFile returns the file of a command or skill of a plugin.
func pluginFile(name, home string) (string, error) {
	root := filepath.Join(home, ".claude", "plugins")
	found, err := command.Below(root, name+".md")
	if err != nil || found != "" {
		return found, err
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == name {
			if _, err := os.Stat(filepath.Join(path, "SKILL.md")); err == nil {
				found = filepath.Join(path, "SKILL.md")
				return filepath.SkipAll
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	return found, err
}
