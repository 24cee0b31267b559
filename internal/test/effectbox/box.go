//go:build linux

// Package effectbox runs command lines with real programs inside a disposable
// root, and reports which programs were started and which files were changed.
// It is for tests only.
//
// The root is a new tmpfs with its own mount, process, network and IPC
// namespaces. Lines run as an unprivileged user. The programs of the machine
// are available read-only, but every name on PATH and in /bin is a logger
// (directory logger) that first records its arguments. A name without a real
// program is a stub. Lines can write to the directories of Tree only, which are
// compared before and after, and recreated if anything changed.
package effectbox

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// boxEnv marks the process that is the box.
const boxEnv = "AGENT_WRAPPER_EFFECT_BOX"

// Main turns the process into the box if it was started as one, or into the agent of a
// box, which new makes; call it first in TestMain. Without Config.Agent new may be nil.
func Main(new func() (Agent, error)) {
	var serving func() error
	switch {
	case os.Getenv(agentEnv) != "":
		serving = func() error { return serveAgent(new, os.Stdin, os.Stdout) }
	case os.Getenv(boxEnv) != "":
		serving = func() error { return serve(os.Getenv(boxEnv), os.Stdin, os.Stdout) }
	default:
		return
	}
	if err := serving(); err != nil {
		fmt.Fprintln(os.Stderr, "effect box:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Config describes the contents of the box.
type Config struct {
	// Real lists the programs that are real; those missing on the machine are
	// omitted. Stubs lists names that only log.
	Real, Stubs []string
	// Tree is the initial state for each line, Dir its working directory, Home its
	// home.
	Tree      []File
	Dir, Home string
	Timeout   time.Duration // of one line; 0 is 2 s
	// Agent has lines decided and run by an Agent: see Box.Session. Every program of
	// the machine is then itself, and no start is logged. Scripts are more programs.
	Agent   bool
	Scripts map[string]string
	// Env are more variables of the environment of lines.
	Env []string
	// Setuid are programs of the machine, by name, that are in /opt as root's, and act as
	// root whoever starts them.
	Setuid []string
	// User runs the lines and owns the tree; 0 is an unprivileged user, -1 is root.
	User int
	// Secrets are files of the tree: each of them has Secret in it.
	Secrets []string
	// Keep are files of the tree, relative to Dir: if a line takes one of them away, they
	// are made anew before the next one.
	Keep []string
}

// user returns the id of the user that runs lines.
func (c *Config) user() int {
	switch c.User {
	case 0:
		return nobody
	case -1:
		return 0
	}
	return c.User
}

// File is one entry of the tree.
type File struct {
	Path string // absolute
	Kind Kind
	Data []byte // the content, or the target of a link
	Mode os.FileMode
	Root bool // it is root's, not the user's
}

// Kind is the kind of an entry.
type Kind uint8

// The kinds.
const (
	Regular Kind = iota
	Dir
	Link
	Other // a pipe or a socket
)

// Started is a program that a line started.
type Started struct {
	Name   string // of the file that was started; "run" for a script in the tree
	Argv   []string
	Dir    string
	Parent int // index of its parent, -1 for the shell
}

// Change is a path that a line created, changed or removed.
type Change struct {
	Path string
	What string // "created", "removed", "content", "mode", "kind", "target", "time"
}

// Result holds the effects of a line.
type Result struct {
	Started  []Started
	Changes  []Change
	TimedOut bool
	Err      string // the box is broken
	Session  *Outcome
}

// Request is one line, or a session of several.
type Request struct {
	Line    string
	Session *Session `json:",omitempty"`
	Extra   []File   // in addition to the tree
	// Bare disables the shell's own echo, printf, test …, so that the programs
	// with these names are started and logged.
	Bare bool
}

// ErrNotRoot is returned if the user is not root, who alone can create a box.
var ErrNotRoot = errors.New("the box needs root")

// Box is a running box.
type Box struct {
	// Real lists the programs that are real.
	Real []string

	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// Open starts a box. It requires root, to create the namespaces and to change
// the user. dir is an empty directory for the root of the box.
func Open(conf Config, dir string) (*Box, error) {
	if os.Geteuid() != 0 {
		return nil, ErrNotRoot
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	logger := filepath.Join(dir, "logger")
	if !conf.Agent {
		if err := buildLogger(logger); err != nil {
			return nil, err
		}
	}
	root := filepath.Join(dir, "root")
	if err := os.Mkdir(root, 0o755); err != nil {
		return nil, err
	}
	cmd := exec.Command(exe)
	cmd.Env = []string{boxEnv + "=" + root, "PATH=" + os.Getenv("PATH")}
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = isolated()
	b := &Box{cmd: cmd}
	if b.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	b.out = bufio.NewReaderSize(out, 1<<16)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the box: %w", err)
	}
	if err := b.call(setup{Config: conf, Logger: logger}, &b.Real); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// isolated returns the attributes of a process with its own namespaces.
func isolated() *syscall.SysProcAttr {
	flags := syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS
	return &syscall.SysProcAttr{Cloneflags: uintptr(flags), Pdeathsig: syscall.SIGKILL}
}

func buildLogger(to string) error {
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", to, "github.com/agent-wrapper/agent-wrapper/internal/test/effectbox/logger")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the logger: %w\n%s", err, out)
	}
	return nil
}

// Run runs a line in the shell, with -c.
func (b *Box) Run(req Request) (Result, error) {
	var r Result
	if err := b.call(req, &r); err != nil {
		return r, err
	}
	if r.Err != "" {
		return r, errors.New(r.Err)
	}
	return r, nil
}

func (b *Box) call(req, answer any) error {
	if err := json.NewEncoder(b.in).Encode(req); err != nil {
		return err
	}
	line, err := b.out.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("the box ended: %w", err)
	}
	return json.Unmarshal(line, answer)
}

// Hold has lines decided and run by the agent of the box.
func (b *Box) Hold(s *Session, extra []File) (*Outcome, error) {
	var r Result
	if err := b.call(Request{Session: s, Extra: extra}, &r); err != nil {
		return nil, err
	}
	if r.Err != "" {
		return nil, errors.New(r.Err)
	}
	return r.Session, nil
}

// Close ends the box and everything in it.
func (b *Box) Close() error {
	b.in.Close()
	return b.cmd.Wait()
}
