package claude

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// command is an agent CLI as a process.
type command struct {
	cmd      *exec.Cmd
	in       *os.File // its input
	out, err *os.File // what it says
	tail     tail
	ended    chan struct{} // closed when it has ended
	problem  error         // of its end; set before ended is closed

	mu   sync.Mutex
	gone bool // reaped: its pid may be another's
}

// afterEnd is how long the streams of an agent that has ended are read on:
// what it left running may hold them open.
const afterEnd = time.Second

// starter returns the starter for an agent command. The environment is the
// wrapper's own, cleaned; complain takes its complaints line by line.
func starter(words []string, dir string, env []string, complain func([]byte)) (Starter, error) {
	path, err := findProgram(words[0])
	if err != nil {
		return nil, err
	}
	return func(args []string) (Process, error) {
		cmd := exec.Command(path, append(words[1:len(words):len(words)], args...)...)
		cmd.Dir, cmd.Env = dir, append(env[:len(env):len(env)], "PWD="+dir)
		return startCommand(cmd, complain)
	}, nil
}

// NoAgent is the error of a run whose agent CLI is not there or is no program.
type NoAgent struct {
	Name   string // as it was given
	reason string
}

func (e *NoAgent) Error() string { return e.reason }

// findProgram returns the absolute path of the agent CLI.
func findProgram(name string) (string, error) {
	path, err := exec.LookPath(name)
	missing := func(format string, args ...any) (string, error) {
		return "", &NoAgent{name, fmt.Sprintf(format, args...)}
	}
	const advice = "install it (npm install -g @anthropic-ai/claude-code), or name it with --agent-command"
	switch {
	case err == nil:
		return filepath.Abs(path)
	case !strings.ContainsRune(name, filepath.Separator):
		return missing("the agent CLI %q is not on PATH: %s, or try %q", name, advice, "agent-wrapper demo")
	case errors.Is(err, fs.ErrNotExist):
		return missing("there is no agent CLI %s: %s", name, advice)
	case errors.Is(err, fs.ErrPermission):
		return missing("the agent CLI %s may not be run: make it executable (chmod +x), or name another with --agent-command", name)
	}
	return missing("the agent CLI %s is no program (%v): name another with --agent-command", name, errors.Unwrap(err))
}

func startCommand(cmd *exec.Cmd, complain func([]byte)) (*command, error) {
	c := &command{cmd: cmd, ended: make(chan struct{})}
	var theirs [3]*os.File
	var err error
	if theirs[0], c.in, err = os.Pipe(); err != nil {
		return nil, err
	}
	if c.out, theirs[1], err = os.Pipe(); err != nil {
		return nil, err
	}
	if c.err, theirs[2], err = os.Pipe(); err != nil {
		return nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs[0], theirs[1], theirs[2]
	dieWithUs(cmd)
	started := make(chan error)
	go c.live(started)
	err = <-started
	closeAll(theirs[:]...)
	if err != nil {
		closeAll(c.in, c.out, c.err)
		return nil, fmt.Errorf("start the agent CLI: %w", err)
	}
	go readLines(complaints{c}, maxComplaint, func(line []byte) bool {
		c.tail.add(line)
		complain(line)
		return true
	})
	return c, nil
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		f.Close()
	}
}

const maxComplaint = 1 << 20

// live starts the process and stays until it has ended, on one system thread:
// the kernel ends the child when the thread that started it ends.
func (c *command) live(started chan<- error) {
	lockThread()
	err := c.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	c.reap()
	close(c.ended)
	c.out.SetReadDeadline(time.Now().Add(afterEnd))
	c.err.SetReadDeadline(time.Now().Add(afterEnd))
}

// reap waits for the process to end. Where the system can tell of the end
// before the process is reaped, Kill never meets a pid that is another's.
func (c *command) reap() {
	if waitFor(c.cmd.Process.Pid) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.problem = c.cmd.Wait()
		c.gone = true
		return
	}
	c.problem = c.cmd.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = true
}

func (c *command) Read(p []byte) (int, error) { return c.readFrom(c.out, p) }

// readFrom reads a stream; once the process has ended, a stream that stays
// silent has ended too.
func (c *command) readFrom(f *os.File, p []byte) (int, error) {
	select {
	case <-c.ended:
		f.SetReadDeadline(time.Now().Add(afterEnd))
	default:
	}
	n, err := f.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = io.EOF
	}
	return n, err
}

// complaints is the stream of what it writes to standard error.
type complaints struct{ c *command }

func (s complaints) Read(p []byte) (int, error) { return s.c.readFrom(s.c.err, p) }

func (c *command) Write(p []byte) (int, error) { return c.in.Write(p) }

func (c *command) Close() error { return c.in.Close() }

func (c *command) Wait() error {
	<-c.ended
	c.in.Close()
	return c.problem
}

func (c *command) Kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.gone {
		killTree(c.cmd.Process.Pid)
	}
}

func (c *command) Complaints() string { return c.tail.String() }

// tail keeps the end of what was said.
type tail struct {
	mu    sync.Mutex
	lines []string
}

const tailLines = 8

func (t *tail) add(line []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := string(line[:min(len(line), 400)])
	t.lines = append(t.lines, strings.ToValidUTF8(text, "?"))
	t.lines = t.lines[max(0, len(t.lines)-tailLines):]
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines, "\n")
}
