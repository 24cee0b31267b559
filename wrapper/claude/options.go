package claude

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/shell"
)

// Decider decides tool uses. permission.Evaluator is one.
type Decider interface {
	// CanUseTool decides one tool use. It is called concurrently; it returns
	// when ctx ends. Whatever is not an allow without error denies.
	CanUseTool(ctx context.Context, use permission.ToolUse) (permission.Result, error)
}

// Options says what to run and who decides.
type Options struct {
	Prompt string // what the agent is to do; not empty
	Dir    string // the workspace, absolute
	// Command is the agent CLI and its first arguments; empty: claude.
	Command []string
	Model   string
	Session string // id of the session to resume, "" for a new one
	// MCPConfig are files or JSON texts with MCP servers; no others are used.
	MCPConfig []string
	// AddDirs are further directories that the agent's file tools may use.
	AddDirs            []string
	AppendSystemPrompt string
	// Disallowed are the rules of the deny list. Those that the CLI can read
	// are handed to it as a second wall.
	Disallowed []string
	// AcceptManaged lets the run go on although the machine's managed settings
	// hold more than is known to be harmless.
	AcceptManaged bool
	// Dialect is the shell that command lines are decided for. For Bash the
	// CLI is told to use bash.
	Dialect shell.Dialect

	// Decider decides every tool use.
	Decider Decider
	// Paused returns why the agent is paused, "" if it is not; nil: it never
	// is. A paused agent is denied already at the hook.
	Paused func() string
	// Outcome takes what became of each tool use that was allowed, and of one
	// that ran without; nil: nobody wants to know. An error is an event: what
	// has run has run.
	Outcome func(ToolOutcome) error
	// Events takes what happens, in order, from one goroutine at a time; nil:
	// nobody listens.
	Events func(Event)
	// Log takes every protocol line, secrets masked; nil: none is kept.
	Log io.Writer
	// Mask hides secrets in a line before it is logged; nil: MaskSecrets.
	Mask func(line []byte) []byte

	// Start starts the agent; nil: Command is run as a process.
	Start Starter
	// Linger is how long a run waits for shell commands in the background
	// once the agent has finished; 0: DefaultLinger.
	Linger time.Duration
}

// Starter starts an agent with the given arguments (the program's name is not
// among them).
type Starter func(args []string) (Process, error)

// Process is a running agent. Read gives what it says, Write what it hears,
// Close ends its input.
type Process interface {
	io.ReadWriteCloser
	// Kill ends the agent and all that it started, at once.
	Kill()
	// Wait returns when the agent has ended. It may be called once.
	Wait() error
	// Complaints are the last lines that it wrote to standard error.
	Complaints() string
}

// DefaultLinger is how long a run waits for background commands.
const DefaultLinger = 10 * time.Second

// MinVersion is the oldest agent CLI that is accepted.
const MinVersion = "2.1.197"

// Outcome is how a run ended.
type Outcome struct {
	Session string // the agent's session id, for the next run
	Text    string // the agent's last words
	Denied  int    // tool uses that were denied
	Allowed int    // tool uses that were allowed
	// Stopped is the message of the denial that ended the run, "" if none did.
	Stopped string
	// Failed is the agent's own account of why it gave up, "" if it did not.
	Failed string
}

// Breach is the error of a run that was killed because a tool ran without an
// approval of ours.
type Breach struct {
	ToolUseID, Tool string
	Reason          string
}

func (b *Breach) Error() string {
	return fmt.Sprintf("breach: %s (tool use %s) %s; the agent was killed", b.Tool, b.ToolUseID, b.Reason)
}
