package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/agent-wrapper/agent-wrapper/display"
	"github.com/agent-wrapper/agent-wrapper/internal/tty"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/policy"
)

// approver is the person at the terminal, or nil if there is none.
func (a *app) approver(noInput bool, events *stream, s *screen, d desk) permission.Approver {
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
	decider := c.evaluator()
	return desk{
		explain: func(use permission.ToolUse) string {
			var trace permission.Trace
			decider.Explain(use, &trace)
			var out strings.Builder
			explain(&out, c, &use, &trace)
			return out.String()
		},
		file: editedFile,
	}
}

// keeper writes rules for good: into the workspace's local policy if there is
// none yet or it is trusted, else into the user's. It is nil where neither
// would be read.
func (p *policyFlags) keeper(c *compiled) func(rule string) (patterns.Source, error) {
	if p.isolated {
		return nil
	}
	local := ""
	if p.file == "" {
		local = filepath.Join(c.place.Workspace, policy.LocalName)
	}
	return func(rule string) (patterns.Source, error) { return keepRule(rule, local, configDir()) }
}

// approvedKey is the list of a policy file that "always" adds to.
const approvedKey = "approved"

// keepRule adds a rule to the local policy, "" for none, or the user's in a
// directory.
func keepRule(rule, local, user string) (patterns.Source, error) {
	if local != "" {
		place, kept, err := keepLocal(rule, local)
		if kept || err != nil {
			return place, err
		}
	}
	if user == "" {
		return patterns.Source{}, errors.New("there is no home directory for a policy")
	}
	if err := os.MkdirAll(user, 0o700); err != nil {
		return patterns.Source{}, err
	}
	return policy.AddRule(filepath.Join(user, policy.FileName), approvedKey, rule)
}

// keepLocal adds a rule to a local policy that is trusted as it is now, or not
// there, and trusts what comes of it. Not kept: it is not trusted.
func keepLocal(rule, path string) (place patterns.Source, kept bool, err error) {
	dir, err := stateDir()
	if err != nil {
		return place, false, nil // nothing is trusted
	}
	trust, err := policy.ReadTrust(dir)
	if err != nil {
		return place, false, nil
	}
	before, ok := trusted(trust, path)
	if !ok {
		return place, false, nil
	}
	if place, err = policy.AddRule(path, approvedKey, rule); err != nil {
		return place, false, err
	}
	real, err := policy.RealPath(path)
	if err != nil {
		return place, false, err
	}
	settings, err := policy.ReadFile(path)
	switch {
	case err != nil:
	case !grownBy(rule, before, settings):
		err = errors.New("something else changed it at the same time")
	default:
		err = trust.Set(real, settings)
	}
	if err != nil {
		return place, false, fmt.Errorf("it is written to %s, which is not trusted: %w", display.Place(place), err)
	}
	return place, true, nil
}

// trusted returns the settings of a file that is trusted as it is now; of one
// that is not there, none.
func trusted(trust *policy.Trust, path string) (*policy.Spec, bool) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return &policy.Spec{}, true
	}
	settings, err := policy.ReadFile(path)
	if err != nil {
		return nil, false
	}
	covered, err := trust.Covers(path, settings)
	return settings, covered && err == nil
}

// grownBy reports whether settings are those of before, with no more than an
// approved rule added.
func grownBy(rule string, before, settings *policy.Spec) bool {
	parsed, _, err := patterns.Parse(rule, patterns.Allow, patterns.Source{})
	if err != nil {
		return false
	}
	more := *before
	more.Approved = append(slices.Clip(more.Approved), policy.Item{Text: parsed.String()})
	now := settings.Digest()
	return now == before.Digest() || now == more.Digest() // it may have stood there
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
	case info.IsDir():
		return "", &fs.PathError{Op: "read", Path: path, Err: syscall.EISDIR}
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
