package claude

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/sandbox"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper/claude/shelltext"
)

// A command outside the sandbox was decided by files that commands inside can change, which an
// earlier one does in the background: what lies on PATH in the workspace, where a link leads.
// So no code inside sees when it begins (hide), it is decided again then (anew), and finds its
// programs where they were found.

// socketsName is the directory of the agent CLI's sockets, in agentDir.
const socketsName = "cc-socks"

// hold makes agentDir, before anybody can put something else in its place.
func (s *shells) hold() error {
	if s.scratch == nil || s.o.agentDir() == "" {
		return nil
	}
	_ = s.scratch.Chmod(".", 0o700) // a command inside may have taken that from us
	for _, name := range []string{agentName, filepath.Join(agentName, socketsName)} {
		if err := s.scratch.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if info, err := s.scratch.Lstat(name); err != nil || !info.IsDir() {
			return fmt.Errorf("%s is no directory: begin the run again", filepath.Join(s.o.Scratch, name))
		}
	}
	return nil
}

// hide returns a plan that hides agentDir. A command that only reads sees the output of the
// CLI's tasks, as agents do.
func (o *launch) hide(from *sandbox.Plan, plain bool) *sandbox.Plan {
	plan := *from
	agent := sandbox.Path{Path: o.agentDir(), Why: "files of the agent CLI, and of what runs outside"}
	switch {
	case agent.Path == "":
	case plain:
		plan.ReadOnly = append(slices.Clone(plan.ReadOnly), agent)
		plan.Denied = append(slices.Clone(plan.Denied), sandbox.Path{Path: filepath.Join(agent.Path, socketsName), Why: "the agent CLI listens there"})
	default:
		plan.Empty = append(slices.Clone(plan.Empty), agent)
	}
	return &plan
}

// anew returns what decides a tool use again that was allowed outside the sandbox. The error says
// what is not as it was.
func (s *shells) anew(use *permission.ToolUse, res *permission.Result) func() (*permission.Decision, error) {
	if s.o.Explain == nil {
		return func() (*permission.Decision, error) {
			return nil, errors.New("nobody decides it again: Task.Explain is nil")
		}
	}
	again := *use
	again.Input = res.UpdatedInput
	was := s.o.Explain(again) // a person may have allowed what is asked about
	return func() (*permission.Decision, error) {
		now := s.o.Explain(again)
		if !now.Still(&was) {
			return nil, fmt.Errorf("what it was allowed by has changed since (%s): it has to be decided again", now.Reason)
		}
		return &now, nil
	}
}

// inward returns the text of a command inside the sandbox, whose shell leaves its directory where
// it can write.
func (s *shells) inward(text *shelltext.Text, p *permit) (string, error) {
	changes := &shelltext.Changes{Directory: text.Directory}
	if p.plain { // it sees what others do not
		changes.First = s.pinned(p.programs)
	}
	if p.told = s.toldIn(text.Directory); p.told != "" {
		changes.Directory = filepath.Join(s.o.Scratch, p.told)
	}
	return text.With(changes), s.forget(p.told)
}

// outward returns the text of a command outside the sandbox, if it is still allowed: its programs
// are those that were found, and what it starts has no temporary files among those of commands
// inside. A line that names TMPDIR was decided with the value that it has inside: its shell
// alone has that.
func (s *shells) outward(text *shelltext.Text, p *permit) (string, error) {
	d, err := p.again()
	if err != nil {
		return "", err
	}
	changes := &shelltext.Changes{First: s.pinned(d.Programs), Directory: text.Directory}
	switch dir := s.o.agentDir(); {
	case dir == "":
	case strings.Contains(text.Command, "TMPDIR"):
		changes.Environment = `\builtin unset TMPDIR; TMPDIR=` + shelltext.Quote(s.o.Scratch)
	default:
		changes.Environment = "export TMPDIR=" + shelltext.Quote(dir)
	}
	return text.With(changes), nil
}

// pinned returns a command by which bash does not look for programs again, "" for none.
func (s *shells) pinned(programs []string) string {
	if s.o.Sandbox.Found == nil {
		return ""
	}
	var pins []string
	for _, name := range programs {
		if path := s.o.Sandbox.Found(name); path != "" {
			pins = append(pins, "-p "+shelltext.Quote(path)+" "+shelltext.Quote(name))
		}
	}
	if len(pins) == 0 {
		return ""
	}
	const hashes = `\builtin set -h` // a person's files may have turned that off
	return hashes + ` && \builtin hash ` + strings.Join(pins, ` && \builtin hash `)
}
