package install

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Machine is what the package needs to know of the machine and its user.
type Machine struct {
	Home   string // the user's home directory
	State  string // the state directory of agent-wrapper, in which backups are kept
	Binary string // the program that hooks start, an absolute path
	// Getenv returns a variable, as os.Getenv does.
	Getenv func(name string) string
	// LookPath finds a program, as exec.LookPath does.
	LookPath func(name string) (string, error)
	// Codex starts "codex app-server" and returns its standard input and output; nil
	// starts the program.
	Codex func(ctx context.Context, program string) (io.ReadWriteCloser, error)

	root string             // before /etc, in tests
	step func(string) error // called before each write, in tests
}

// NewMachine returns this machine, with the hook started as binary.
func NewMachine(state, binary string) (*Machine, error) {
	home, err := os.UserHomeDir()
	switch {
	case err != nil || !filepath.IsAbs(home):
		return nil, errors.New("there is no home directory: set HOME")
	case state == "":
		return nil, errors.New("there is no state directory: set HOME or XDG_STATE_HOME")
	case !filepath.IsAbs(binary):
		return nil, fmt.Errorf("the path of agent-wrapper is not absolute: %s", binary)
	}
	return &Machine{Home: home, State: state, Binary: binary, Getenv: os.Getenv, LookPath: exec.LookPath}, nil
}

// Scope is whose configuration is changed.
type Scope string

// The scopes.
const (
	User    Scope = "user"    // the user's own
	Managed Scope = "managed" // the machine's, which projects and flags do not switch off
	// Packaged is that of a plugin or extension: see WritePackage.
	Packaged Scope = "package"
)

// Options are what a person may choose. They are remembered for the next time.
type Options struct {
	// NoAutoMode switches the modes of claude off in which it asks nobody.
	NoAutoMode bool `json:"no_auto_mode,omitempty"`
	// NoWebSearch switches the web search of codex off, which no hook sees.
	NoWebSearch bool `json:"no_web_search,omitempty"`
}

// below returns a path below a directory that a variable names, or below the home
// directory if it is not set. Relative directories count as not set.
func (m *Machine) below(variable, otherwise string, names ...string) string {
	dir := filepath.Join(m.Home, filepath.FromSlash(otherwise))
	if set := m.Getenv(variable); filepath.IsAbs(set) {
		dir = set
	}
	return filepath.Join(append([]string{dir}, names...)...)
}

// system returns a path of the machine's configuration.
func (m *Machine) system(path string) string { return m.root + path }

// program returns where the program of a host is, "" if it is not on PATH.
func (m *Machine) program(name string) string {
	path, err := m.LookPath(name)
	if err != nil {
		return ""
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return path
}

// hookNameFor returns a name that a repository does not know: that of a host that
// switches off hooks by their names.
func hookNameFor() string { return hookName + strings.ToLower(rand.Text()[:10]) }

// before is called before something is written.
func (m *Machine) before(what string) error {
	if m.step == nil {
		return nil
	}
	return m.step(what)
}

// exists reports whether there is a file or directory; one that cannot be looked at
// exists.
func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
