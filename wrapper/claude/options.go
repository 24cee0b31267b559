package claude

import (
	"context"
	"io"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// Agent is a [wrapper.Driver] that runs the agent CLI. The zero value runs claude
// from PATH.
type Agent struct {
	// Command is the agent CLI and its first arguments; empty means claude.
	Command []string
	// Model is the value of --model; "" means the CLI's default.
	Model string
	// MCPConfig are files, or JSON texts, that define MCP servers. The agent gets
	// no other servers.
	MCPConfig []string
	// AddDirs are directories outside the workspace that the agent's file tools
	// may use.
	AddDirs []string
	// AppendSystemPrompt is added to the CLI's system prompt.
	AppendSystemPrompt string
	// Briefed has the agent told what the person and the project have written for it:
	// CLAUDE.md, custom agents, skills, and what a typed prompt names. Package briefing
	// says what counts of it.
	Briefed bool
	// MaxTurns is how many turns the agent may take, MaxBudgetUSD how many US dollars
	// it may spend; 0 means no limit.
	MaxTurns     int
	MaxBudgetUSD float64
	// OutputSchema is a JSON Schema, as JSON text, that the agent's answer has to
	// meet; "" for none. The answer is wrapper.Outcome.Structured.
	OutputSchema string
	// Options are further options for the agent CLI with their values, as on its
	// command line. Run returns the error of CheckOptions for them.
	Options []string
	// Stream has a DeltaEvent sent for each piece of text that the agent writes.
	Stream bool
	// AcceptManaged lets a run proceed although the machine's managed settings
	// contain keys that are not known to be harmless.
	AcceptManaged bool
	// Dialect is the shell by whose grammar command lines are decided. For
	// shell.Bash, the zero value, the CLI is told to use bash.
	Dialect shell.Dialect

	// Log receives every line of the protocol, with secrets masked, one Write at
	// a time. It may be nil.
	Log io.Writer
	// Mask replaces the secrets of a line before it is logged. nil means a default
	// that replaces tokens of known forms, and values whose name suggests a secret.
	Mask func(line []byte) []byte

	// Start starts the agent in place of Command; nil means that Command is run.
	Start wrapper.Starter
	// Linger is how long a run waits for shell commands in the background once
	// the agent has finished; 0 means 10 s.
	Linger time.Duration
}

// launch is an agent with its task.
type launch struct {
	Agent
	wrapper.Task
	told briefed
}

// Run implements [wrapper.Driver]. The error is a *NoAgent if the agent CLI
// cannot be found.
func (a Agent) Run(ctx context.Context, task wrapper.Task) (wrapper.Outcome, error) {
	return drive(ctx, launch{Agent: a, Task: task})
}

// defaultLinger is the default of Agent.Linger.
const defaultLinger = 10 * time.Second

// minVersion is the oldest version of the agent CLI that Run accepts.
const minVersion = "2.1.197"
