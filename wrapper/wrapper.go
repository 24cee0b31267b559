// Package wrapper says how an agent is driven: what it is given to do, what is
// heard of it, and who decides its tool uses. Each package below it is a driver:
// claude drives the agent CLI, demo is an agent without a model.
//
// A driver lets no tool run that the Decider did not allow. What it cannot
// hold so ends the run with a [Breach].
package wrapper

import (
	"context"
	"fmt"
	"io"

	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Driver runs an agent.
type Driver interface {
	// Run runs the agent until it has finished, and has each tool use decided by
	// task.Decider. It returns an error if the agent could not be started, could
	// not be trusted, broke off, or if ctx ended; then the agent is dead. A
	// *Breach is the error of a run in which a tool ran without an approval.
	Run(ctx context.Context, task Task) (Outcome, error)
}

// Decider decides tool uses. permission.Evaluator and engine.Engine are two.
type Decider interface {
	// CanUseTool decides one tool use. It is called concurrently; it returns
	// when ctx ends. Whatever is not an allow without error denies.
	CanUseTool(ctx context.Context, use permission.ToolUse) (permission.Result, error)
}

// Task is what an agent is to do, and who decides and listens meanwhile.
type Task struct {
	Prompt  string // not empty
	Dir     string // the workspace, absolute
	Session string // id of the session to resume, "" for a new one

	// Decider decides every tool use.
	Decider Decider
	// Disallowed are the rules of the deny list. Those that the agent can read
	// are handed to it as a second wall.
	Disallowed []string
	// Paused returns why the agent is paused, "" if it is not; nil: it never
	// is. A paused agent is denied before anything is asked.
	Paused func() string
	// Outcome takes the outcome of each tool use that was allowed, and of one
	// that ran without; nil: nobody wants to know. An error is an event: what
	// has run has run.
	Outcome func(ToolOutcome) error
	// Events takes what happens, in order, from one goroutine at a time; nil:
	// nobody listens.
	Events func(Event)
}

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

// ToolOutcome is the outcome of a tool use that was allowed, or that ran without
// having been.
type ToolOutcome struct {
	Use    permission.ToolUse // without its input
	Failed bool
	Exit   *int   // exit code of a command, nil if it is not told
	Breach string // why it should not have run, "" if it should
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
