package ask

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/run/process"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Editor edits text on a terminal: by a program, or a line of text without one.
type Editor struct {
	words []string // the program; nil if there is none
	named bool     // the person has named it
	path  string
	tty   *os.File
}

// NewEditor returns the editor that $VISUAL or $EDITOR names, or else the first of
// editor, nano, vim and vi that is installed. path is the value of PATH for it: an agent's
// command should not be able to write there. It is run on the terminal without a shell; see
// process.Words. A command of one line needs none, and goes to one only if it is named.
func NewEditor(terminal *os.File, path string) *Editor {
	e := &Editor{path: path, tty: terminal}
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if words, err := process.Words(strings.TrimSpace(os.Getenv(name))); err == nil && len(words) > 0 {
			e.words, e.named = words, true
			return e
		}
	}
	for _, name := range []string{"editor", "nano", "vim", "vi"} {
		if program, err := e.find(name); err == nil {
			e.words = []string{program}
			return e
		}
	}
	return e
}

func (e *Editor) find(name string) (string, error) {
	return (&process.Command{Args: []string{name}, Env: []string{"PATH=" + e.path}}).Find()
}

// inline reports whether a text is edited without a program.
func (e *Editor) inline(name, text string) bool {
	line := strings.TrimSuffix(text, "\n")
	return !e.named && name == commandFile && len(line) <= maxField && visible.Line(line) == line
}

// commandFile is the name of the file in which a command is edited.
const commandFile = "command.sh"

// edit edits a text in a file that only this user can read.
func (e *Editor) edit(ctx context.Context, name, text string) (string, error) {
	dir, err := os.MkdirTemp("", "agent-wrapper-edit-") // readable by this user only
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", err
	}
	program, err := e.find(e.words[0])
	if err != nil {
		return "", fmt.Errorf("there is no %s on PATH where an agent's command cannot write (%w): give its path in EDITOR", e.words[0], err)
	}
	cmd := exec.CommandContext(ctx, program, append(e.words[1:len(e.words):len(e.words)], path)...)
	cmd.Env = append(os.Environ(), "PATH="+e.path)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = e.tty, e.tty, e.tty
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w", e.words[0], err)
	}
	edited, err := os.ReadFile(path)
	return string(edited), err
}

// editable returns the part of a tool use that a person edits: the command of
// Bash, otherwise the whole input.
func editable(use *permission.ToolUse) (name, text string) {
	var input map[string]json.RawMessage
	var command string
	if json.Unmarshal(use.Input, &input) == nil && json.Unmarshal(input["command"], &command) == nil && use.Tool == "Bash" {
		return commandFile, command + "\n"
	}
	var out bytes.Buffer
	if json.Indent(&out, use.Input, "", "  ") != nil {
		return "input.json", string(use.Input)
	}
	return "input.json", out.String() + "\n"
}

// edited returns the input with the edited text, nil if it means the same as
// before.
func edited(use *permission.ToolUse, name, before, text string) (json.RawMessage, error) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if text == before {
		return nil, nil
	}
	if name != commandFile {
		if !json.Valid([]byte(text)) || !strings.HasPrefix(strings.TrimSpace(text), "{") {
			return nil, errors.New("what was written is no JSON object")
		}
		return json.RawMessage(strings.TrimSpace(text)), nil
	}
	command := strings.TrimSuffix(text, "\n")
	if strings.TrimSpace(command) == "" {
		return nil, errors.New("nothing is left of the command: press d to deny it")
	}
	var input map[string]json.RawMessage
	if err := json.Unmarshal(use.Input, &input); err != nil {
		return nil, err
	}
	value, err := json.Marshal(command)
	if err != nil {
		return nil, err
	}
	input["command"] = value
	return json.Marshal(input)
}
