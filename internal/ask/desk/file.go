package desk

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/display"
	"github.com/agent-wrapper/agent-wrapper/internal/workspace"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// EditedFile returns the current content of the file that a tool use would edit,
// nil if it edits none. It is for Options.File and ask.Options.File.
func EditedFile(use *permission.ToolUse) *display.File {
	path := display.Path(use)
	if path == "" || !filepath.IsAbs(path) && use.Dir == "" {
		return nil
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(use.Dir, path)
	}
	text, err := workspace.ReadText(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &display.File{}
	case err != nil:
		return &display.File{Exists: true, Problem: err.Error()}
	}
	return &display.File{Exists: true, Text: text}
}
