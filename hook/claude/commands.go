package claude

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/hook"
	"github.com/agent-wrapper/agent-wrapper/internal/lazyregexp"
)

// inline matches what the host runs of the text of a command: !`git status`.
var inline = lazyregexp.New("!`([^`]*)`")

// block matches the form of several lines: ```! to ```.
var block = lazyregexp.New("(?s)```!\\s*\n(.*?)```")

// maxCommand is the maximum size of the file of a command in bytes.
const maxCommand = 1 << 20

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
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxCommand {
		return nil, fmt.Errorf("%s: it is no file of at most %d bytes", file, maxCommand)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	lines := linesOf(string(text))
	for _, line := range lines {
		if e.Words != "" && placeholder.MatchString(line) {
			return nil, fmt.Errorf("%s: the words after /%s become part of the command line %.60q, which is not known then", file, e.Command, line)
		}
	}
	return lines, nil
}

// placeholder matches what the host replaces by the arguments of a command.
var placeholder = lazyregexp.New(`\$(ARGUMENTS|[0-9])`)

// own are the sources of commands that have no file: the host's own, and prompts of MCP
// servers.
var own = []string{"", "builtin", "bundled", "mcp"}

// linesOf returns the command lines in the text of a command.
func linesOf(text string) []string {
	var lines []string
	for _, m := range slices.Concat(inline.FindAllSubmatch([]byte(text), -1), block.FindAllSubmatch([]byte(text), -1)) {
		if line := strings.TrimSpace(string(m[1])); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// commandFile returns the file of a command, "" if there is none. One of a
// plugin (plugin:name) is looked for among all plugins.
func commandFile(name, project, home string) (string, error) {
	if strings.ContainsAny(name, `\`) || slices.Contains(strings.Split(name, "/"), "..") {
		return "", fmt.Errorf("the command %.60q has no usual name", name)
	}
	parts := strings.Split(name, ":")
	last := parts[len(parts)-1]
	for _, root := range []string{filepath.Join(project, ".claude"), filepath.Join(home, ".claude")} {
		for _, file := range []string{
			filepath.Join(append([]string{root, "commands"}, append(slices.Clone(parts[:len(parts)-1]), last+".md")...)...),
			filepath.Join(root, "skills", last, "SKILL.md"),
		} {
			if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
				return file, err
			}
		}
	}
	for _, root := range []string{project, home} {
		if found, err := below(filepath.Join(root, ".claude", "commands"), last+".md"); err != nil || found != "" {
			return found, err
		}
	}
	return pluginFile(last, home)
}

// below returns the file with a name anywhere below a directory: a command in a
// subdirectory may be called without it. "" is none.
func below(dir, name string) (found string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == name {
			found = path
			return filepath.SkipAll
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	return found, err
}

// pluginFile returns the file of a command or skill of a plugin.
func pluginFile(name, home string) (string, error) {
	root := filepath.Join(home, ".claude", "plugins")
	found, err := below(root, name+".md")
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
