package engine

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/agent-wrapper/agent-wrapper/policy"
	"github.com/agent-wrapper/agent-wrapper/whitelist"
)

// Dirs are the directories of a machine and its user; "" is none.
type Dirs struct {
	Managed string // the administrator's policy
	User    string // the user's policy
	// State is where trust, the record and the journal of hallucinated commands
	// are kept.
	State string
}

// UserDirs are the directories of the current user on this machine: below
// $XDG_CONFIG_HOME and $XDG_STATE_HOME, or ~/.config and ~/.local/state, by the
// XDG base directory specification.
func UserDirs() Dirs {
	return Dirs{
		Managed: "/etc/agent-wrapper",
		User:    userDir("XDG_CONFIG_HOME", ".config"),
		State:   userDir("XDG_STATE_HOME", ".local", "state"),
	}
}

// userDir is a directory of this program below that of a variable, or of the
// home; "" if there is neither.
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

// ErrNoState says that there is no directory to keep anything in.
var ErrNoState = errors.New("there is no home directory to keep the record of decisions in")

// state is the state directory.
func (d Dirs) state() (string, error) {
	if d.State == "" {
		return "", ErrNoState
	}
	return d.State, nil
}

// Trust reads the list of files whose settings this user trusts.
func (d Dirs) Trust() (*policy.Trust, error) {
	dir, err := d.state()
	if err != nil {
		return nil, err
	}
	return policy.ReadTrust(dir)
}

// Journal is this user's journal of hallucinated commands.
func (d Dirs) Journal() (*whitelist.Journal, error) {
	dir, err := d.state()
	if err != nil {
		return nil, err
	}
	return whitelist.NewJournal(filepath.Join(dir, "hallucinations", "journal.jsonl")), nil
}

// guarded are the files of these directories and of a workspace that say what the
// agent may do, wherever nobody named others, and all that is kept.
func (d Dirs) guarded(workspace string) []string {
	var files []string
	for _, f := range (policy.Dirs{Managed: d.Managed, User: d.User, Workspace: workspace}).Files() {
		files = append(files, f.Path)
	}
	if d.State != "" {
		files = append(files, d.State)
	}
	return append(files, filepath.Join(workspace, whitelist.FileName), filepath.Join(workspace, whitelist.LogFile))
}

// absolute makes a path absolute where that is possible.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}
