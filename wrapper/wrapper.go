// Package wrapper defines how an agent is driven: a [Driver] runs an agent on a
// [Task], has a [Decider] decide each of its tool uses, and reports what happens
// as a stream of [Event] values. Package claude below it drives the agent CLI;
// package demo is an agent without a model that claude can drive in its place.
//
// A driver runs no tool that the Decider did not allow. A tool that runs
// nevertheless ends the run with a [Breach].
//
// Most programs call engine.Engine.Drive, which fills in the Task from a policy.
package wrapper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/agent-wrapper/agent-wrapper/internal/sandbox"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Driver runs an agent.
type Driver interface {
	// Run runs the agent until it has finished and has task.Decider decide each
	// tool use. It returns an error if the agent cannot be started, fails the
	// driver's checks or ends early, or if ctx ends; the agent is then no longer
	// running. The error is a *Breach if a tool ran without an approval.
	Run(ctx context.Context, task Task) (Outcome, error)
}

// Decider decides tool uses. *permission.Evaluator and *engine.Engine implement
// it.
type Decider interface {
	// CanUseTool decides one tool use. It is called concurrently and must return
	// when ctx ends. Anything but an Allow without an error is a denial.
	CanUseTool(ctx context.Context, use permission.ToolUse) (permission.Result, error)
}

// Task says what an agent is to do, and who decides and observes its tool uses.
type Task struct {
	Prompt string // the agent's task; not empty
	// Typed says that a person has typed the prompt: a command or a file that it names
	// becomes part of it. Otherwise it is taken literally.
	Typed   bool
	Dir     string // the workspace, absolute
	Session string // ID of the session to resume, "" for a new one
	Fork    bool   // go on in a copy of Session, which gets an ID of its own
	// Scratch is the agent's private directory for temporary files, absolute; ""
	// for none. A driver names it to the agent, and makes it the value of TMPDIR in
	// the agent's environment and in its shells: ShellEnv is a file for them to read
	// before each command, since the user's start-up files may set the variable.
	Scratch, ShellEnv string
	// Private is a directory that only the driver uses, absolute; "" for none.
	Private string
	// Sandbox is what the kernel is to hold the agent's commands to; nil for none. A
	// driver that cannot do that starts no command.
	Sandbox *Sandbox

	// Decider decides every tool use; it must not be nil.
	Decider Decider
	// Explain returns what the Decider would decide, and asks nobody. If it is nil, the
	// agent is told nothing that somebody else than the caller has written.
	Explain func(permission.ToolUse) permission.Decision
	// Note records what was done for the run, by a name and in words. It may be nil.
	Note func(name, words string) error
	// Disallowed are the rules of the deny list. Those that the agent can express
	// itself are passed to it as a second line of defence.
	Disallowed []string
	// Paused returns why the agent is paused, "" if it is not. While it is
	// paused, every tool use is denied and nobody is asked. A nil Paused means
	// never.
	Paused func() string
	// Outcome is called for each tool use that was allowed, once its result is
	// known, and for each that ran without an approval. Its error is reported as
	// an event; it cannot stop what has already run. Outcome may be nil.
	Outcome func(ToolOutcome) error
	// Events is called for each event, in order and one at a time. It may be nil.
	Events func(Event)

	// Talk makes a conversation of the run, of which Prompt is the first turn: when a
	// turn has ended, the agent waits for what is said next. Once Talk is closed the
	// run ends as one without it does. It may be nil. Most programs use a Conversation.
	Talk <-chan Say
	// Turned is called with what the run came to so far whenever a turn that a prompt
	// began has ended. It may be nil.
	Turned func(Outcome)
}

// Sandbox is what the kernel holds the commands of an agent to.
type Sandbox struct {
	// Plan returns what a command may do, by the rules as they are now. It is called for
	// each, by several goroutines.
	Plan func() (*sandbox.Plan, error)
	// Reaches returns why a command may not reach a host, or nil.
	Reaches func(ctx context.Context, session, host, port string) error
	// Meets returns what the sandbox of a plan refused a command that has failed, for the
	// record, and what the agent is told about that, "" if nothing.
	Meets func(plan *sandbox.Plan, end *sandbox.End) (met []string, advice string)
	// Planted reports whether a program, by its name or path, may be a file that a command
	// inside has written. It may be nil.
	Planted func(program string) bool
	// Replaceable reports whether a program that runs outside, by its path, may be such a
	// file: the directories for temporary files are others inside. It may be nil.
	Replaceable func(program string) bool
	// Found returns the path at which a program was found on PATH, if commands inside can
	// write in a directory of PATH; else "". It may be nil.
	Found func(program string) string
	// Made returns what a command inside the sandbox of a plan has made that is protected
	// and was not there.
	Made func(plan *sandbox.Plan) []sandbox.Path
}

// Say is what is said to an agent in a conversation.
type Say struct {
	// Prompt begins a turn, behind the one that runs and those that wait; "" for none.
	Prompt string
	// Interrupt ends the turn that runs. The questions that are open are withdrawn.
	Interrupt bool
}

// Outcome is the outcome of a run.
type Outcome struct {
	Session string // the agent's session ID, for Task.Session of the next run
	Text    string // the agent's last message
	Denied  int    // number of tool uses that were denied, except with advice
	Allowed int    // number of tool uses that were allowed
	// Stopped is the message of the denial that ended the run, "" if none did.
	Stopped string
	// Failed is the reason that the agent gives for stopping early, "" if it did
	// not.
	Failed string
	// Limit names the limit that made it stop early: "max_turns", "max_budget", or
	// "structured_output" if it gave up on an answer of the form that was asked for.
	// It is "" if none did.
	Limit string
	// Structured is the answer in the form that was asked for, as JSON; nil if there
	// is none.
	Structured json.RawMessage
	// Spent is what the agent says that the run took, nil if it does not say.
	Spent *Spent
}

// Spent is what a run took, as the agent counts it.
type Spent struct {
	Turns   int
	CostUSD float64 // in US dollars
	// The tokens of all models, subagents included.
	InputTokens, OutputTokens, CacheReadTokens, CacheWriteTokens int64
}

// ToolOutcome is the outcome of a tool use that was allowed, or that ran without
// an approval.
type ToolOutcome struct {
	Use    permission.ToolUse // without its Input
	Failed bool
	Exit   *int     // exit code of a command, nil if unknown
	Breach string   // why it should not have run, "" if it was allowed to
	Met    []string // what the sandbox refused a command, as Sandbox.Meets names it
}

// Breach is the error of a run that was killed because a tool ran without the
// Decider's approval.
type Breach struct {
	ToolUseID, Tool string
	Reason          string
}

func (b *Breach) Error() string {
	return fmt.Sprintf("breach: %s (tool use %s) %s; the agent was killed", b.Tool, b.ToolUseID, b.Reason)
}

// ErrInterrupted is the cause with which the context of a run is cancelled to end the
// agent's turn because a person wants that. The run's error wraps it, and there is no
// ErrorEvent.
var ErrInterrupted = errors.New("it was interrupted by the person")

// Starter starts an agent with the given arguments, which do not include the
// program's name.
type Starter func(args []string) (Process, error)

// Process is a running agent. Read reads its standard output, Write writes its
// standard input, and Close closes that input.
type Process interface {
	io.ReadWriteCloser
	// Kill kills the agent and all of its descendants, without waiting.
	Kill()
	// Wait waits for the agent to exit. It may be called once.
	Wait() error
	// Complaints returns the last lines of the agent's standard error.
	Complaints() string
}
