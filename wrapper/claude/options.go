package claude

import (
	"context"
	"io"
	"time"

	"github.com/agent-wrapper/agent-wrapper/shell"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// Agent is the agent CLI, and how it is started. It is a wrapper.Driver.
type Agent struct {
	// Command is the agent CLI and its first arguments; empty: claude.
	Command []string
	Model   string
	// MCPConfig are files or JSON texts with MCP servers; no others are used.
	MCPConfig []string
	// AddDirs are further directories that the agent's file tools may use.
	AddDirs            []string
	AppendSystemPrompt string
	// AcceptManaged lets the run go on although the machine's managed settings
	// hold more than is known to be harmless.
	AcceptManaged bool
	// Dialect is the shell that command lines are decided for. For Bash the
	// CLI is told to use bash.
	Dialect shell.Dialect

	// Log takes every protocol line, secrets masked; nil: none is kept.
	Log io.Writer
	// Mask hides secrets in a line before it is logged; nil: MaskSecrets.
	Mask func(line []byte) []byte

	// Start starts the agent; nil: Command is run as a process.
	Start wrapper.Starter
	// Linger is how long a run waits for shell commands in the background
	// once the agent has finished; 0: DefaultLinger.
	Linger time.Duration
}

// launch is an agent with its task.
type launch struct {
	Agent
	wrapper.Task
}

// Run runs the agent until it has finished, and has every question that it asks
// answered by task.Decider. See wrapper.Driver for its errors.
func (a Agent) Run(ctx context.Context, task wrapper.Task) (wrapper.Outcome, error) {
	return drive(ctx, launch{a, task})
}

// DefaultLinger is how long a run waits for background commands.
const DefaultLinger = 10 * time.Second

// MinVersion is the oldest agent CLI that is accepted.
const MinVersion = "2.1.197"
