package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/agent-wrapper/agent-wrapper/audit"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/policy"
)

// Options says which policies count, what is guarded and where decisions are
// recorded. The zero value is an engine for the current directory, with the
// policies of the machine, the user and the directory, and the user's record.
type Options struct {
	Dir  string // the workspace; "": the current directory
	Dirs *Dirs  // nil: UserDirs

	Policy      string // a policy file in place of the workspace's own
	FrontMatter string // a chat file with permission settings at its head
	// Isolated: no policy of the machine, the user or the workspace counts.
	Isolated bool
	// Base are policies that stand before those that are found.
	Base []policy.Source
	// Settings are the caller's own, trusted, and stand after all others: flags of
	// a command line, or what a Go program demands. nil: none. Origin is what
	// they are called in decisions; "": "settings".
	Settings *policy.Spec
	Origin   string
	// Unbound: no whitelist binds commands.
	Unbound bool

	// Guard are further files that say what the agent may do: they are asked for
	// in every mode.
	Guard []string
	// Protect are further files that make a program run another.
	Protect []string

	// Record is the file of the record; "": audit.jsonl in the state directory.
	Record string
	// Head is the file of the record's head; "": in the state directory.
	Head string
	Sync audit.Sync
	// NoRecord: decisions are not recorded. It is for tests and dry runs.
	NoRecord bool
	// Uncounted: hallucinated commands are not counted.
	Uncounted bool

	// Approver asks a person; nil: nobody is there, and what would be asked is
	// denied.
	Approver permission.Approver
	// Agent and Plan say under which names hallucinated commands are counted;
	// "": "agent" and the workspace. Warn is told what a person should know at
	// once, a pause for example; nil: nobody.
	Agent, Plan string
	Warn        func(string)
}

// OptionError is an error in a file or a directory that an option names.
type OptionError struct {
	Option string // the field of Options
	Err    error
}

func (e *OptionError) Error() string { return e.Option + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *OptionError) Unwrap() error { return e.Err }

// PolicyError is the error of a policy that cannot be used. Its text names the
// file, the line and what to do.
type PolicyError struct{ Err error }

func (e *PolicyError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *PolicyError) Unwrap() error { return e.Err }

// dirs are the directories that count.
func (o *Options) dirs() Dirs {
	if o.Dirs != nil {
		return *o.Dirs
	}
	return UserDirs()
}

// Place is what the rules' paths are relative to: the workspace, absolute and
// without symbolic links, and the home.
func (o *Options) Place() (patterns.Place, error) {
	if info, err := os.Stat(o.Dir); o.Dir != "" && (err != nil || !info.IsDir()) {
		return patterns.Place{}, &OptionError{"Dir", fmt.Errorf("there is no directory %s", o.Dir)}
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return patterns.Place{}, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return patterns.Place{}, err
	}
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		home = ""
	}
	fold := runtime.GOOS == "darwin" || runtime.GOOS == "windows"
	return patterns.Place{Workspace: dir, Home: home, Fold: fold}, nil
}
