// Package process starts programs: one that runs for a limited time, in a process
// group of its own that ends with it (Command), and one that is talked with until
// it ends or is killed with all its descendants (Session). There is no shell.
package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Command is a program to be run.
type Command struct {
	// Args are the program and its arguments. A program without a slash is
	// looked for in the PATH of Env, in its absolute directories only: never in
	// the current one. One with a slash is relative to Dir.
	Args []string
	Dir  string   // where it runs; "" is our own directory
	Env  []string // all of its environment, "NAME=value"; nil is none

	// Stdin, Stdout and Stderr are its streams; nil is one that is empty, or
	// drops what is written. An *os.File is handed on as it is. Where Stdin is
	// the terminal in whose foreground we are, the program is put there and the
	// terminal is given back afterwards. On Linux ^Z then stops us too, and we go
	// on together.
	Stdin          io.Reader
	Stdout, Stderr io.Writer

	// Limit is how long it may take; 0 is for ever. Grace is how long after
	// SIGTERM its group gets SIGKILL; 0 is 5 s.
	Limit, Grace time.Duration
}

// defaultGrace is how long a group that is to end has for it.
const defaultGrace = 5 * time.Second

// Result is how a program ended.
type Result struct {
	Exit      int // its exit code; 128 and the number of the signal that ended it; -1: not known
	TimedOut  bool
	Cancelled bool // the context ended first
	Took      time.Duration
}

// NotStarted is the error of a program that was not started.
type NotStarted struct {
	Program string
	Err     error
}

func (e *NotStarted) Error() string { return fmt.Sprintf("start %s: %v", e.Program, e.Err) }

func (e *NotStarted) Unwrap() error { return e.Err }

// Run runs the program to its end. At the limit, and when ctx ends, its whole
// process group gets SIGTERM, and what is left of it after Grace SIGKILL. So
// does what is left of the group when the program itself has ended: nothing of
// it runs on. (A process that made a group of its own does, but it does not
// keep Run waiting.) On Linux and FreeBSD the program, not its children, also
// dies when we do.
//
// The error is a *NotStarted if the program was not started; any other is
// about its streams, or a group that could not be ended, and comes with the
// Result.
func (c *Command) Run(ctx context.Context) (Result, error) {
	cmd, err := c.command(ctx)
	if err != nil {
		return Result{}, err
	}
	s := &streams{}
	p := &child{cmd: cmd, streams: s, ended: make(chan struct{})}
	if err := s.connect(c, cmd); err != nil {
		s.abandon()
		return Result{}, &NotStarted{c.Args[0], err}
	}
	p.terminal = ownGroup(cmd)
	begun := time.Now()
	if err := p.start(); err != nil {
		s.abandon()
		return Result{}, &NotStarted{c.Args[0], err}
	}
	res, err := p.wait(ctx, c.Limit, c.grace())
	res.Took = time.Since(begun)
	p.terminal.giveBack(res.TimedOut || res.Cancelled || res.Exit > signalled)
	return res, errors.Join(err, s.finish())
}

func (c *Command) grace() time.Duration {
	if c.Grace > 0 {
		return c.Grace
	}
	return defaultGrace
}

// command is the program as package exec has it, not yet connected.
func (c *Command) command(ctx context.Context) (*exec.Cmd, error) {
	if len(c.Args) == 0 || c.Args[0] == "" {
		return nil, &NotStarted{`""`, errors.New("there is no program to run")}
	}
	if ctx.Err() != nil {
		return nil, &NotStarted{c.Args[0], context.Cause(ctx)}
	}
	path, err := c.find()
	if err != nil {
		return nil, &NotStarted{c.Args[0], err}
	}
	return &exec.Cmd{Path: path, Args: c.Args, Dir: c.Dir, Env: append([]string{}, c.Env...)}, nil
}

// find returns the absolute path of the program.
func (c *Command) find() (string, error) {
	name := c.Args[0]
	if filepath.IsAbs(name) {
		return exec.LookPath(name)
	}
	if strings.ContainsAny(name, `/`+string(filepath.Separator)) {
		path, err := filepath.Abs(filepath.Join(c.Dir, name))
		if err != nil {
			return "", err
		}
		return exec.LookPath(path)
	}
	for _, dir := range filepath.SplitList(variable(c.Env, "PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, nil
		}
	}
	return "", exec.ErrNotFound
}

// variable is the value of a variable: of several the last, as the program
// would have it.
func variable(env []string, name string) (value string) {
	for _, item := range env {
		n, v, _ := strings.Cut(item, "=")
		if n == name || runtime.GOOS == "windows" && strings.EqualFold(n, name) {
			value = v
		}
	}
	return value
}

// child is a program that was started.
type child struct {
	cmd      *exec.Cmd
	streams  *streams
	terminal *terminal
	ended    chan struct{} // closed when the program has ended and is reaped
}

// start starts the program.
func (p *child) start() error {
	err := launch(p.cmd, func() {
		p.attend()
		_ = p.cmd.Wait() // what it says is in ProcessState: the streams are files
		close(p.ended)
	})
	if err == nil {
		p.streams.begin()
	}
	return err
}

// launch starts a program, and has attend stay with it until it has ended. Both
// are on one system thread: the kernel ends the program when the thread that
// started it ends.
func launch(cmd *exec.Cmd, attend func()) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			attend()
		}
	}()
	return <-started
}

// wait waits for the end of the program and ends what is left of its group.
func (p *child) wait(ctx context.Context, limit, grace time.Duration) (res Result, err error) {
	var over <-chan time.Time
	if limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-p.ended:
	case <-over:
		res.TimedOut = true
	case <-ctx.Done():
		res.Cancelled = true
	}
	if err := p.end(grace); err != nil {
		res.Exit = -1
		return res, err
	}
	res.Exit = exitCode(p.cmd.ProcessState)
	return res, nil
}

// lookAgain is how often a group is looked at that is to end: nothing tells of
// its end.
const lookAgain = 10 * time.Millisecond

// end ends the group, if there still is one, and waits for the end of the
// program.
func (p *child) end(grace time.Duration) error {
	if p.gone() {
		return nil
	}
	group := p.cmd.Process
	terminate(group)
	late := time.NewTimer(grace)
	defer late.Stop()
	look := time.NewTicker(lookAgain)
	defer look.Stop()
	for !p.gone() {
		select {
		case <-look.C:
			continue
		case <-late.C:
		}
		err := kill(group)
		select {
		case <-p.ended:
			return nil
		case <-time.After(afterKill):
			return fmt.Errorf("%s cannot be ended: %w", p.cmd.Path, err)
		}
	}
	return nil
}

// afterKill is how long a killed program may take to be gone: one that belongs
// to another user cannot be killed.
const afterKill = 2 * time.Second

// gone reports whether nothing of the group is left.
func (p *child) gone() bool {
	select {
	case <-p.ended:
		return !lives(p.cmd.Process)
	default:
		return false
	}
}
