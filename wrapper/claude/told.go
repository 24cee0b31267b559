package claude

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/agent-wrapper/agent-wrapper/internal/lastdir"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// The shell of a command writes its directory to a file, by a name that the agent CLI has
// chosen, and the CLI reads it. It lies in the session's directory for temporary files, in
// which each command inside walls can write: without what is done here, one could have the
// CLI wait for a pipe or read what it cannot, and a shell outside write where a link leads.

// inScratch returns the name of a file in the session's directory for temporary files, "" if
// it lies elsewhere, where no command inside walls writes.
func (s *shells) inScratch(file string) string {
	name, err := filepath.Rel(s.o.Scratch, file)
	if s.scratch == nil || err != nil || !filepath.IsLocal(name) {
		return ""
	}
	return name
}

// forget removes what is in the place of the file before the shell begins.
func (s *shells) forget(name string) error {
	if name == "" {
		return nil
	}
	return s.scratch.RemoveAll(name)
}

// look removes what a command inside walls has left in the place of the file if that is not
// the directory of its shell, so that the CLI stays where it is.
func (s *shells) look(name string) {
	if name == "" {
		return
	}
	if _, err := lastdir.Read(s.scratch, name); err == nil || errors.Is(err, fs.ErrNotExist) {
		return
	}
	_ = s.scratch.Chmod(".", 0o700) // it may have taken that from us, too
	if err := s.scratch.RemoveAll(name); err != nil {
		s.tell(wrapper.Event{Type: wrapper.ErrorEvent, Message: "what a command has left in the place of its shell's directory stays: " + err.Error()})
	}
}
