package claude

import (
	"os"
	"path/filepath"

	"github.com/agent-wrapper/agent-wrapper/internal/lastdir"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// The shell of a command writes its directory to a file, by a name that the agent CLI has
// chosen, and the CLI reads it. With a sandbox that lies in agentDir, where no command inside can
// read or write: a command inside writes to another file, in the directory for temporary
// files, and what it has left there is read here. Otherwise one could have the CLI wait for a
// pipe or read what it cannot, and a shell outside write where a link leads.

// agentDir is the directory of the agent CLI's own temporary files, in the session's: the
// output of its tasks, sockets, and the temporary files of what runs outside the sandbox. Whoever
// could see there when a command begins could change what it was decided by at that very moment.
func (o *launch) agentDir() string {
	if o.Scratch == "" || o.Sandbox == nil {
		return ""
	}
	return filepath.Join(o.Scratch, agentName)
}

const agentName = ".agent"

// toldIn returns the name of the file in the session's directory for temporary files to which a
// command inside the sandbox writes in place of that of the CLI, "" if that lies elsewhere.
func (s *shells) toldIn(file string) string {
	if dir := s.o.agentDir(); s.scratch == nil || dir == "" || filepath.Dir(file) != dir {
		return ""
	}
	return filepath.Base(file)
}

// forget removes what is in the place of the file before the shell begins.
func (s *shells) forget(name string) error {
	if name == "" {
		return nil
	}
	return s.scratch.RemoveAll(name)
}

// look gives the CLI what a command inside the sandbox has left in the file if that is the directory
// of its shell; otherwise the CLI stays where it is.
func (s *shells) look(name string) {
	if name == "" {
		return
	}
	if dir, err := lastdir.Read(s.scratch, name); err == nil {
		if err := os.WriteFile(filepath.Join(s.o.agentDir(), name), []byte(dir+"\n"), 0o600); err != nil {
			s.tell(wrapper.Event{Type: wrapper.ErrorEvent, Message: "the agent stays where it was: " + err.Error()})
		}
	}
	_ = s.scratch.Chmod(".", 0o700) // it may have taken that from us, too
	if err := s.scratch.RemoveAll(name); err != nil {
		s.tell(wrapper.Event{Type: wrapper.ErrorEvent, Message: "what a command has left in the place of its shell's directory stays: " + err.Error()})
	}
}
