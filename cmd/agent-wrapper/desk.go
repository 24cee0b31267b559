package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/agent-wrapper/agent-wrapper/display"
	"github.com/agent-wrapper/agent-wrapper/internal/tty"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/workspace"
)

// approver is the person at the terminal, or nil if there is none.
func (a *app) approver(noInput bool, events *stream, s *screen, c *compiled) permission.Approver {
	in, isFile := a.in.(*os.File)
	if noInput || !isFile || !isTerminal(in) {
		return nil
	}
	out := a.out
	if events.json || !isTerminal(out) {
		out, s = a.err, &screen{out: a.err}
	}
	if !isTerminal(out) {
		return nil
	}
	file := out.(*os.File) // a terminal is one
	d := c.desk()
	d.colour = colours()
	d.editor = newEditor(in)
	d.interrupt = interrupt
	return newAsker(tty.New(in, file), s, d)
}

// interrupt ends the run as ^C does.
func interrupt() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Signal(os.Interrupt) // where that is not possible the question is denied all the same
	}
}

// desk is what questions under a policy need.
func (c *compiled) desk() desk {
	env := workspace.Env{Place: c.place}
	trace := func(use permission.ToolUse) *permission.Trace {
		var t permission.Trace
		permission.Evaluate(c.policy, c.session, &use, env, &t)
		return &t
	}
	return desk{
		trace: trace,
		explain: func(use permission.ToolUse) string {
			var out strings.Builder
			explain(&out, c, &use, trace(use))
			return out.String()
		},
		file: editedFile,
	}
}

// maxFile is how large a file may be to be compared, in bytes.
const maxFile = 4 << 20

// editedFile is the file that a tool use would edit, as it is; nil if it edits
// none.
func editedFile(use *permission.ToolUse) *display.File {
	path := display.Path(use)
	if path == "" || !filepath.IsAbs(path) && use.Dir == "" {
		return nil
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(use.Dir, path)
	}
	text, err := readText(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &display.File{}
	case err != nil:
		return &display.File{Exists: true, Problem: err.Error()}
	}
	return &display.File{Exists: true, Text: text}
}

// readText reads a file that is a text of no great size.
func readText(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", errors.New("it is no file")
	case info.Size() > maxFile:
		return "", errors.New("it is larger than 4 MiB")
	}
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	switch {
	case err != nil:
		return "", err
	case len(data) > maxFile:
		return "", errors.New("it is larger than 4 MiB")
	case !utf8.Valid(data):
		return "", errors.New("it is no UTF-8 text")
	}
	return string(data), nil
}
