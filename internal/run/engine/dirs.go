package engine

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/whitelist"
)

// Dirs are the directories that the engine reads and writes outside the
// workspace. An empty one does not exist.
type Dirs struct {
	Managed string // the administrator's policy
	User    string // the user's policy
	// State holds the list of trusted files, the audit log, the heads
	// of all records and the journal of hallucinated commands. It is made if
	// necessary.
	State string
}

// UserDirs returns the directories of the current user: /etc/agent-wrapper, and
// agent-wrapper below $XDG_CONFIG_HOME and $XDG_STATE_HOME, by default ~/.config
// and ~/.local/state (XDG Base Directory Specification).
func UserDirs() Dirs {
	return Dirs{
		Managed: "/etc/agent-wrapper",
		User:    userDir("XDG_CONFIG_HOME", ".config"),
		State:   userDir("XDG_STATE_HOME", ".local", "state"),
	}
}

// userDir returns our directory below that of a variable, or else below the home
// directory; "" if there is neither.
func userDir(variable string, below ...string) string {
	if dir := os.Getenv(variable); filepath.IsAbs(dir) {
		return filepath.Join(dir, "agent-wrapper")
	}
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return ""
	}
	return filepath.Join(append(append([]string{home}, below...), "agent-wrapper")...)
}

// ErrNoState is the error of Open if Dirs.State is empty and Options.Record does
// not name a file.
var ErrNoState = errors.New("there is no home directory in which to keep the audit log, trust and sessions")

// state returns the state directory.
func (d Dirs) state() (string, error) {
	if d.State == "" {
		return "", ErrNoState
	}
	return d.State, nil
}

// Trust reads the list of files whose settings the user trusts.
func (d Dirs) Trust() (*policy.Trust, error) {
	dir, err := d.state()
	if err != nil {
		return nil, err
	}
	return policy.ReadTrust(dir)
}

// Journal returns the user's journal of hallucinated commands.
func (d Dirs) Journal() (*whitelist.Journal, error) {
	dir, err := d.state()
	if err != nil {
		return nil, err
	}
	return whitelist.NewJournal(filepath.Join(dir, "hallucinations", "journal.jsonl")), nil
}

// guarded returns the files of these directories, of a workspace and of those
// above it that decide what the agent may do, at their default places, and the
// state directory.
func (d Dirs) guarded(workspace string, above []policy.Above) []string {
	var files []string
	for _, f := range (policy.Dirs{Managed: d.Managed, User: d.User, Workspace: workspace, Above: above}).Files() {
		files = append(files, f.Path)
	}
	if d.State != "" {
		files = append(files, d.State)
	}
	for _, up := range above {
		files = append(files, filepath.Join(up.Dir, whitelist.FileName))
	}
	return append(files, filepath.Join(workspace, whitelist.FileName), filepath.Join(workspace, whitelist.LogFile))
}

// Credentials returns the file with the credentials by which the user answers at
// servers, "" if there is no state directory. Agents do not read it unasked.
func (d Dirs) Credentials() string {
	if d.State == "" {
		return ""
	}
	return filepath.Join(d.State, "credentials.json")
}

// absolute makes a path absolute, if the current directory is known.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}
