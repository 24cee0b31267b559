// Package process starts programs, without a shell. A [Command] runs a program
// for a limited time, in a process group that is killed when it ends. A [Session]
// is a running program with pipes to talk to it, which can be killed with all of
// its descendants.
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
	"sync/atomic"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/text/plain"
)

// Command is a program to be run.
type Command struct {
	// Args are the program and its arguments. A program without a slash is
	// searched in the absolute directories of the PATH in Env, and never in the
	// current directory. One with a slash is relative to Dir.
	Args []string
	Dir  string   // where it runs; "" is the current directory
	Env  []string // the complete environment, "NAME=value"; nil is an empty one

	// Stdin, Stdout and Stderr are its streams. A nil Stdin is empty, a nil
	// Stdout or Stderr discards what is written. An *os.File is passed on as it
	// is. If Stdin is the terminal in whose foreground we are, the program gets
	// the foreground until it ends. On Linux, ^Z then stops us together with the
	// program, as the shell expects.
	Stdin          io.Reader
	Stdout, Stderr io.Writer

	// Prepare changes the program right before it is started, for a caller that starts
	// another one, which starts this one elsewhere; nil changes nothing. What it
	// returns, unless it is an error, is called when the program has been started, or
	// could not be. Where the program that is started cannot be stopped itself, Stops
	// tells that what it has started was: ^Z then stops us too.
	Prepare func(*exec.Cmd) (begun func(), err error)
	Stops   <-chan struct{}

	// Limit is how long the program may run; 0 means no limit. Grace is the time
	// between SIGTERM and SIGKILL when its group has to end; 0 means 5 s.
	Limit, Grace time.Duration
}

// defaultGrace is the default of Command.Grace.
const defaultGrace = 5 * time.Second

// Result is how a program ended.
type Result struct {
	Exit      int // exit code; 128 plus the number of the signal that ended it; -1 if unknown
	TimedOut  bool
	Cancelled bool // the context ended first
	Took      time.Duration
}

// NotStarted is the error of Run if the program could not be started.
type NotStarted struct {
	Program string
	Err     error
}

func (e *NotStarted) Error() string { return plain.Text(&exec.Error{Name: e.Program, Err: e.Err}) }

func (e *NotStarted) Unwrap() error { return e.Err }

// Run runs the program and waits for its end. At the limit, or when ctx ends, the
// program's process group gets SIGTERM, and SIGKILL after Grace. The same happens
// to the rest of the group when the program itself has ended, so that nothing of
// it runs on. A process that has left the group is not killed, and Run does not
// wait for it. On Linux and FreeBSD the program itself, not its children, is also
// killed when we die.
//
// The error is a *NotStarted if the program was not started. Any other error is
// about its streams, or about a group that could not be killed, and comes with a
// valid Result.
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
	if err := c.launch(p); err != nil {
		p.terminal.giveBack(false)
		s.abandon()
		return Result{}, &NotStarted{c.Args[0], err}
	}
	go p.follow(c.Stops)
	res, err := p.wait(ctx, c.Limit, c.grace())
	res.Took = time.Since(begun)
	p.terminal.giveBack(res.TimedOut || res.Cancelled || res.Exit > signalled)
	return res, errors.Join(err, s.finish())
}

// launch prepares and starts the program.
func (c *Command) launch(p *child) error {
	if c.Prepare != nil {
		begun, err := c.Prepare(p.cmd)
		if err != nil {
			return err
		}
		defer begun()
	}
	return p.start()
}

func (c *Command) grace() time.Duration {
	if c.Grace > 0 {
		return c.Grace
	}
	return defaultGrace
}

// command returns the program without its streams.
func (c *Command) command(ctx context.Context) (*exec.Cmd, error) {
	if len(c.Args) == 0 || c.Args[0] == "" {
		return nil, &NotStarted{`""`, errors.New("there is no program to run")}
	}
	if ctx.Err() != nil {
		return nil, &NotStarted{c.Args[0], context.Cause(ctx)}
	}
	path, err := c.Find()
	if err != nil {
		return nil, &NotStarted{c.Args[0], err}
	}
	return &exec.Cmd{Path: path, Args: c.Args, Dir: c.Dir, Env: append([]string{}, c.Env...)}, nil
}

// Find returns the absolute path of the program.
func (c *Command) Find() (string, error) {
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

// variable returns the value of an environment variable, the last of several.
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
	ending   atomic.Bool   // its group was asked to end
}

// start starts the program.
func (p *child) start() error {
	err := launch(p.cmd, func() {
		p.attend()
		_ = p.cmd.Wait() // the error says no more than ProcessState, because the streams are files
		close(p.ended)
	})
	if err == nil {
		p.streams.begin()
	}
	return err
}

// launch starts a program and runs attend, which returns when the program has
// ended, on the same system thread: with Pdeathsig the kernel kills the program
// when the thread that started it ends.
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

// follow stops us whenever stops tells that the program was stopped.
func (p *child) follow(stops <-chan struct{}) {
	for {
		select {
		case <-p.ended:
			return
		case _, open := <-stops:
			if !open {
				return
			}
			p.stop()
		}
	}
}

// wait waits for the program and ends what is left of its group.
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

// lookAgain is the interval at which a group is polled, because no event tells of
// its end.
const lookAgain = 10 * time.Millisecond

// end ends the group, if any of it is left, and waits for the program.
func (p *child) end(grace time.Duration) error {
	if p.gone() {
		return nil
	}
	group := p.cmd.Process
	p.ending.Store(true)
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

// afterKill is how long end waits after SIGKILL. A program that runs as another
// user cannot be killed.
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
