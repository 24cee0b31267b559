package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/agent-wrapper/agent-wrapper/internal/audit"
	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/text/subpath"
	"github.com/agent-wrapper/agent-wrapper/internal/workspace"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Options say which policies count, what is guarded and where decisions are
// recorded. With the zero value, an engine works in the current directory, obeys
// the policies of the machine, the user and that directory, records in the user's
// record and asks nobody.
type Options struct {
	Dir string // the workspace; "" means the current directory
	// Roots are the directories of the workspace, if that is not Dir alone. Dir must
	// be in one of them; the agent starts there, and relative paths in Settings and in
	// the user's policy refer to it.
	Roots []string
	Dirs  *Dirs // nil means UserDirs()

	Policy      string // a policy file that replaces those of the workspace, and is trusted
	FrontMatter string // a chat file with permission settings at its head
	// Isolated leaves out the policies of the machine, the user and the workspace.
	Isolated bool
	// Base are policies that precede those that are found.
	Base []policy.Source
	// Frozen are policies in place of those that would be found, see Freeze; nil: they
	// are looked for.
	Frozen []policy.Frozen
	// Compiled is a policy in place of all others: see Rules.Compiled. The caller checks
	// by a digest that it is as it was written.
	Compiled []byte
	// Settings is the caller's own policy, which is trusted and follows all others:
	// the flags of a command line, or what a Go program demands (see policy.Parse).
	// It may be nil. Origin is its name in decisions; "" means "settings".
	Settings *policy.Spec
	Origin   string
	// Unbound leaves out the whitelists of commands.
	Unbound bool

	// Guard are further files that decide what the agent may do. Like those that
	// the engine knows, they are not written without a question, in any mode.
	Guard []string
	// Hide are further files and directories with what is not for agents: credentials, or
	// what people and other agents do. They are not read without a question, in any mode.
	Hide []string
	// Protect are further files that can make a program run another; see protect
	// in package policy.
	Protect []string

	// Record is the file of the record; "" means audit.jsonl in Dirs.State.
	Record string
	// Head is the file of the record's head; "" means a file in Dirs.State.
	Head string
	Sync audit.Sync
	// NoRecord does not record decisions, for tests and dry runs.
	NoRecord bool
	// Uncounted does not count hallucinated commands, and keeps nothing for a session
	// that is resumed.
	Uncounted bool

	// NoAdvice has a person asked also about what the agent could say more plainly,
	// as the policy's advice = "off" does.
	NoAdvice bool

	// Within is the path of agent-wrapper, for whoever hands command lines to the shell of
	// another program that runs what it is told: a line that was decided to run inside the sandbox
	// (Rules.Within) is allowed as one that starts Within there. "": lines stay as they are.
	Within string
	// WithinBuild is what agent-wrapper within --build prints there; "": it is of the same
	// build as this program.
	WithinBuild string

	// Approver asks a person. With nil there is nobody to ask, and what the
	// policies leave to a person is denied. It must be safe for concurrent use.
	Approver permission.Approver
	// Agent and Plan are the names under which hallucinated commands are counted;
	// "" means "agent" and the workspace. Warn is called with what a person should
	// know at once, such as a pause; it may be nil and must be safe for concurrent
	// use.
	Agent, Plan string
	Warn        func(string)
}

// OptionError is an error about the file or directory that an option names.
type OptionError struct {
	Option string // the field of Options
	Err    error
}

func (e *OptionError) Error() string { return "engine: Options." + e.Option + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *OptionError) Unwrap() error { return e.Err }

// PolicyError is the error of a policy that cannot be used. Its text names the
// file and the line, and says what to do.
type PolicyError struct{ Err error }

func (e *PolicyError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *PolicyError) Unwrap() error { return e.Err }

// StateDir returns the directory in which the engine keeps its state, "" if there is none.
func (o *Options) StateDir() string { return o.dirs().State }

// dirs returns Dirs or its default.
func (o *Options) dirs() Dirs {
	if o.Dirs != nil {
		return *o.Dirs
	}
	return UserDirs()
}

// Place returns what paths in rules are relative to: the workspace, as an absolute
// path without symbolic links, and the home directory. The error is an *OptionError
// if there is no such workspace.
func (o *Options) Place() (patterns.Place, error) {
	if info, err := os.Stat(o.Dir); o.Dir != "" && (err != nil || !info.IsDir()) {
		return patterns.Place{}, &OptionError{"Dir", fmt.Errorf("there is no directory %s: name one that exists", o.Dir)}
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
	roots, err := o.roots(dir)
	if err != nil {
		return patterns.Place{}, err
	}
	place := patterns.Place{Workspace: dir, Roots: roots, Home: home, Fold: runtime.GOOS == "darwin" || runtime.GOOS == "windows"}
	if real, err := filepath.EvalSymlinks(home); err == nil && home != "" && real != filepath.Clean(home) {
		place.RealHome = real
	}
	return place, nil
}

// roots returns Roots as absolute paths without symbolic links.
func (o *Options) roots(dir string) ([]string, error) {
	var roots []string
	within := len(o.Roots) == 0
	for _, name := range o.Roots {
		root, err := filepath.EvalSymlinks(absolute(name))
		if info, statErr := os.Stat(root); name == "" || err != nil || statErr != nil || !info.IsDir() {
			return nil, &OptionError{"Roots", fmt.Errorf("there is no directory %s: name one that exists", name)}
		}
		within = within || subpath.Inside(dir, root)
		if root != dir && !slices.Contains(roots, root) {
			roots = append(roots, root)
		}
	}
	for _, name := range o.Roots {
		if link := workspace.LinkWithin(absolute(name), append([]string{dir}, roots...)); link != "" {
			return nil, &OptionError{"Roots", fmt.Errorf("%s leads through the link %s in the workspace, which a command can replace: name the directory itself", name, link)}
		}
	}
	if !within {
		return nil, &OptionError{"Roots", fmt.Errorf("%s, where the agent starts, is not inside any of them: add it", dir)}
	}
	return roots, nil
}
