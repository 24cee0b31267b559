package claude

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/agent-wrapper/agent-wrapper/internal/run/process"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// command is the agent CLI as a process.
type command struct {
	*process.Session
	tail tail
}

// starter returns a Starter that runs words in dir. env is the complete
// environment; complain is called for each line of standard error.
func starter(words []string, dir string, env []string, complain func([]byte)) (wrapper.Starter, error) {
	path, err := findProgram(words[0])
	if err != nil {
		return nil, err
	}
	return func(args []string) (wrapper.Process, error) {
		cmd := exec.Command(path, append(words[1:len(words):len(words)], args...)...)
		cmd.Dir, cmd.Env = dir, append(env[:len(env):len(env)], "PWD="+dir)
		return startCommand(cmd, complain)
	}, nil
}

// NoAgent is the error of a run whose agent CLI does not exist or cannot be run.
type NoAgent struct {
	Name   string // as given in Agent.Command
	reason string
}

func (e *NoAgent) Error() string { return e.reason }

// findProgram returns the absolute path of the agent CLI. The error is a
// *NoAgent.
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
		return missing("the agent CLI %q is not on PATH: %s, or try agent-wrapper demo", name, advice)
	case errors.Is(err, fs.ErrNotExist):
		return missing("there is no agent CLI %s: %s", name, advice)
	case errors.Is(err, fs.ErrPermission):
		return missing("the agent CLI %s is not executable: make it so (chmod +x), or name another with --agent-command", name)
	}
	return missing("the agent CLI cannot be %s (%v): name another with --agent-command", name, errors.Unwrap(err))
}

func startCommand(cmd *exec.Cmd, complain func([]byte)) (*command, error) {
	session, err := process.StartSession(cmd)
	if err != nil {
		return nil, fmt.Errorf("the agent CLI: %w", &process.NotStarted{Program: cmd.Path, Err: err})
	}
	c := &command{Session: session}
	go readLines(session.Stderr(), maxComplaint, func(line []byte) bool {
		c.tail.add(line)
		complain(line)
		return true
	})
	return c, nil
}

const maxComplaint = 1 << 20

func (c *command) Complaints() string { return c.tail.String() }

// tail keeps the last lines that are added.
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
