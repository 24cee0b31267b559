package claude

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/run/process"
	"github.com/agent-wrapper/agent-wrapper/internal/sandbox/kernel"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
	"github.com/agent-wrapper/agent-wrapper/wrapper/claude/briefing"
)

// The limits on a command line in the text of a command.
const (
	lineLimit = 2 * time.Minute
	maxOutput = 256 << 10 // of its output, in bytes
)

// briefed is what the agent is told at its start, and with its prompt.
type briefed struct {
	briefing.Given
	reader          *briefing.Reader // nil: nothing is given
	session         string           // of the agent, once it has begun
	prompt          briefing.Prompt
	allowed, denied int             // tool uses of the prompt
	outside         map[string]bool // the command lines of them that run outside the sandbox
}

// brief reads what the agent is told. The agent does not run yet: what is decided here is
// done by us, for the person who has typed the prompt.
func (o *launch) brief(ctx context.Context) error {
	o.told.prompt.Text = o.Prompt
	if !o.Briefed || o.Explain == nil {
		return nil
	}
	home, config := homes(os.Environ())
	r := &briefing.Reader{
		Dir: o.Dir, Home: home, Config: config, Explain: o.Explain, Decide: o.decideTyped, Run: o.runLine, Ended: o.ended,
		Warn: func(words string) {
			emit(o.Events, wrapper.Event{Type: wrapper.WarningEvent, Message: words})
		},
	}
	o.told.reader, o.told.session = r, o.Session
	o.told.Given = r.Start()
	if o.Note != nil && len(o.told.Files) > 0 {
		if err := o.Note("briefing", "the agent was given "+strings.Join(o.told.Files, ", ")); err != nil {
			return err
		}
	}
	if !o.Typed {
		return nil
	}
	var err error
	o.told.prompt, err = r.Prompt(ctx, o.Prompt)
	return err
}

// uninstructed are the agents of the CLI that it does not give CLAUDE.md to either: they look
// for something, and report. (Measured on 2.1.197, 2.1.268 and 2.1.330.)
var uninstructed = []string{"Explore", "Plan"}

// maxContext is how much a hook may tell a subagent, in bytes. Of more than 10,000 the CLI
// gives it the beginning.
const maxContext = 9_000

// instructions returns what a subagent of a kind is told: if the instructions are too long,
// where they are.
func (o *launch) instructions(kind string) string {
	if _, custom := o.told.Agents[kind]; !custom && slices.Contains(uninstructed, kind) {
		return ""
	}
	if len(o.told.Instructions) <= maxContext {
		return o.told.Instructions
	}
	if len(o.told.Sources) == 0 { // nothing but the list of skills
		return ""
	}
	text := "The instructions of the user and of the project are in these files. Read them with the Read tool before you begin. They grant no permissions.\n\n"
	for i, name := range o.told.Sources {
		if len(text)+len(name) > maxContext {
			return text + fmt.Sprintf("\nand %d more files", len(o.told.Sources)-i)
		}
		text += "- " + name + "\n"
	}
	return text
}

// HasCommand reports whether a name is that of a command or skill of the person or of the
// project in a directory. One that cannot be read is one: what is wrong with it is said when
// it is used.
func HasCommand(dir, name string) bool {
	home, config := homes(os.Environ())
	return (&briefing.Reader{Dir: dir, Home: home, Config: config}).Has(name)
}

// Commands returns the names of the commands and skills of the person and of the project in
// a directory.
func Commands(dir string) []string {
	home, config := homes(os.Environ())
	return (&briefing.Reader{Dir: dir, Home: home, Config: config}).Names()
}

// homes returns the home directory of the agent CLI, and its directory of the person; ""
// for one that is not known.
func homes(env []string) (home, config string) {
	home, err := homeOf(env, user.Current)
	if err != nil {
		return "", valueOf(env, "CLAUDE_CONFIG_DIR")
	}
	if config = valueOf(env, "CLAUDE_CONFIG_DIR"); config == "" {
		config = filepath.Join(home, ".claude")
	}
	return home, config
}

// decideTyped has a tool use decided that a typed prompt leads to, and reports it.
func (o *launch) decideTyped(ctx context.Context, use permission.ToolUse) (permission.Result, error) {
	use.Session, use.Dialect, use.OwnShell = o.told.session, o.Dialect, true
	for _, e := range wrapper.Wanted(use.ID, use.Tool, "", use.Input) {
		emit(o.Events, e)
	}
	if o.paused() {
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		cancel(errPaused)
	}
	a := decide(ctx, o.Decider, use)
	if a.allowed {
		o.told.allowed++
	} else if a.result.By != permission.ByAdvice {
		o.told.denied++
	}
	emit(o.Events, wrapper.Decided(use, a.result))
	if a.err != nil {
		return a.result, a.err
	}
	if a.allowed && a.result.Sandbox == permission.Outside {
		if o.told.outside == nil {
			o.told.outside = map[string]bool{}
		}
		o.told.outside[field(a.result.UpdatedInput, "command")] = true
	}
	if a.result.Reason == "" {
		a.result.Reason = a.message()
	}
	return a.result, nil
}

// runLine runs a command line in the workspace, with the environment of the agent.
func (o *launch) runLine(ctx context.Context, line string) (string, int, error) {
	bash := findBash(o.Sandbox)
	if bash == "" {
		return "", 0, errors.New("there is no bash on PATH to run it")
	}
	env, _ := cleaned(os.Environ(), bash)
	temp := o.Scratch
	if o.told.outside[line] {
		temp = cmp.Or(o.agentDir(), temp)
	}
	if temp != "" {
		env = append(env, "TMPDIR="+temp)
	}
	out := &limited{most: maxOutput}
	c := process.Command{Args: []string{bash, "-c", line}, Dir: o.Dir, Env: env, Stdout: out, Stderr: out, Limit: lineLimit}
	res, err := o.runSandboxed(ctx, &c, line)
	switch {
	case err != nil:
	case res.TimedOut:
		err = fmt.Errorf("it took more than %v", lineLimit)
	case res.Cancelled:
		err = context.Cause(ctx)
	case out.more:
		err = fmt.Errorf("it wrote more than %d bytes", maxOutput)
	}
	return strings.ToValidUTF8(out.text.String(), "\ufffd"), res.Exit, err
}

// runSandboxed runs the command of a line, inside the sandbox if there is one, unless it was
// decided to run outside.
func (o *launch) runSandboxed(ctx context.Context, c *process.Command, line string) (process.Result, error) {
	process.DefaultSignals()
	if o.Sandbox == nil || o.told.outside[line] {
		return c.Run(ctx)
	}
	plan, err := o.Sandbox.Plan()
	if err != nil {
		return process.Result{}, fmt.Errorf("the sandbox cannot be planned: %w", err)
	}
	held, done := kernel.Around(o.hide(plan, false), func(ctx context.Context, host, port string) error {
		return o.Sandbox.Reaches(ctx, o.told.session, host, port)
	})
	defer done()
	return held.Run(ctx, c)
}

// limited keeps the begin of what is written.
type limited struct {
	text bytes.Buffer
	most int
	more bool // was written
}

func (l *limited) Write(p []byte) (int, error) {
	room := min(len(p), l.most-l.text.Len())
	l.text.Write(p[:room])
	l.more = l.more || room < len(p)
	return len(p), nil
}

// ended reports what became of a tool use that a typed prompt has led to.
func (o *launch) ended(use permission.ToolUse, out string, exit *int, failed bool) {
	emit(o.Events, wrapper.Event{Type: wrapper.ToolResultEvent, Tool: use.Tool, ToolUseID: use.ID, Text: out, IsError: failed})
	if o.Outcome == nil {
		return
	}
	use.Input, use.Session = nil, o.told.session
	if err := o.Outcome(wrapper.ToolOutcome{Use: use, Failed: failed, Exit: exit}); err != nil {
		emit(o.Events, wrapper.Event{Type: wrapper.ErrorEvent, ToolUseID: use.ID, Message: err.Error()})
	}
}
