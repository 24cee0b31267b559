package claude

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// Limits on how long the agent may take.
const (
	startLimit  = 60 * time.Second  // from its start to the end of the preflight
	resumeLimit = 120 * time.Second // from the prompt to its first message, in a resumed session
	settleTime  = 2 * time.Second   // from the end of a background agent to the turn that follows it
	exitLimit   = 5 * time.Second   // from the end of its input to its exit
	stopLimit   = 5 * time.Second   // from an interrupt to its result
)

// maxPending is the largest number of open questions.
const maxPending = 1000

// phase is the state of a run.
type phase uint8

const (
	starting phase = iota // until the answer to initialize
	checking              // until the preflight has passed
	working
	closing // we send nothing more
)

// run is one run of the agent. All fields belong to the goroutine of loop.
type run struct {
	o       *launch
	process wrapper.Process
	writer  *writer
	log     *protocolLog
	version func() (version, error) // runs the CLI with --version
	shells  *shells

	phase    phase
	flight   preflight
	awaited  map[string]string // preflight requests by ID: their subtype
	uses     uses
	requests map[string]bool      // IDs of all requests of the CLI
	pending  map[string]*question // by request ID
	kept     []string             // delayed questions, in order
	answers  chan answer
	asking   sync.WaitGroup
	deciding context.Context // is cancelled when the questions end

	out       wrapper.Outcome
	prompted  bool // the prompt was sent
	started   bool // the session event was sent
	spoke     bool // the agent has written text
	finished  bool // a result came, and no turn since
	done      bool // its input was closed because it had finished
	results   int
	tasks     tasks
	stopping  bool // the caller has cancelled
	deaf      bool // the agent stopped reading its input and was killed
	retried   bool // it was told that the model does not answer
	noise     bool // the agent wrote lines that are not JSON objects
	corrupted bool // the session cannot be resumed
	talking

	timer   *time.Timer
	waiting purpose // what the timer is set for
}

// purpose is what the timer of a run is set for.
type purpose uint8

const (
	nothing purpose = iota
	toStart
	toResume
	toFinish
	toExit
	toStop
	toHear
)

// question is a can_use_tool request, or a call of the hook, that is not answered
// yet.
type question struct {
	use       permission.ToolUse
	at        os.FileInfo // the directory of the use, before it was decided; nil if unknown
	ctx       context.Context
	cancel    context.CancelCauseFunc
	hook      bool // it is a call of the hook, which comes before
	started   bool // the Decider has been called
	withdrawn bool // by the CLI; the answer is not sent
	over      bool // its turn was interrupted: it is not allowed any more
}

// drive runs the agent once.
func drive(ctx context.Context, o launch) (wrapper.Outcome, error) {
	r, err := newRun(ctx, &o)
	if err != nil {
		emit(o.Events, wrapper.Event{Type: wrapper.ErrorEvent, Message: err.Error()})
		return wrapper.Outcome{}, err
	}
	deciding, stop := context.WithCancelCause(ctx)
	r.deciding = deciding
	err = r.loop(ctx)
	stop(errOver)
	r.end(err)
	r.shells.close()
	r.shells.emit()
	err = r.explain(err)
	r.report(err)
	return r.out, err
}

func emit(events func(wrapper.Event), e wrapper.Event) {
	if events != nil {
		events(e)
	}
}

func newRun(ctx context.Context, o *launch) (_ *run, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	args, err := arguments(o)
	if err != nil {
		return nil, err
	}
	log := &protocolLog{w: o.Log, mask: o.Mask}
	start := o.Start
	var guard *shells
	if start == nil {
		if start, guard, err = o.starter(log); err != nil {
			return nil, err
		}
	}
	defer func() {
		if err != nil {
			guard.close()
		}
	}()
	if o.Sandbox != nil && guard == nil {
		return nil, errors.New("the agent's commands cannot run inside the sandbox here: that takes Linux and bash")
	}
	if err = o.brief(ctx); err != nil { // last: it may run something
		return nil, err
	}
	process, err := start(args)
	if err != nil {
		return nil, err
	}
	return &run{
		o: o, process: process, shells: guard, log: log, writer: newWriter(process, log),
		version: func() (version, error) { return askVersion(start) },
		flight:  preflight{acceptManaged: o.AcceptManaged, ours: isolation(o)},
		awaited: map[string]string{}, requests: map[string]bool{}, pending: map[string]*question{},
		answers: make(chan answer), talking: talking{talk: o.Talk}, out: wrapper.Outcome{Allowed: o.told.allowed, Denied: o.told.denied},
	}, nil
}

// check validates the options and fills in the defaults.
func (o *launch) check() error {
	if len(o.Command) == 0 {
		o.Command = []string{"claude"}
	}
	if o.Mask == nil {
		o.Mask = maskSecrets
	}
	if o.Linger == 0 {
		o.Linger = defaultLinger
	}
	switch {
	case strings.TrimSpace(o.Prompt) == "":
		return errors.New("the prompt is empty: say in Task.Prompt what the agent is to do")
	case o.Decider == nil:
		return errors.New("nobody decides: Task.Decider is nil")
	case !filepath.IsAbs(o.Dir):
		return fmt.Errorf("the workspace %q is not an absolute path", o.Dir)
	}
	return checkCommand(o.Command)
}

// starter returns the Starter for o.Command, after a warning about the variables
// that are withheld, and what the CLI's commands ask; nil if they do not.
func (o *launch) starter(log *protocolLog) (start wrapper.Starter, guard *shells, err error) {
	if info, err := os.Stat(o.Dir); err != nil || !info.IsDir() {
		return nil, nil, fmt.Errorf("the workspace %s is not a directory", o.Dir)
	}
	bash := ""
	if o.Dialect == shell.Bash {
		bash = findBash(o.Sandbox)
		if bash == "" {
			emit(o.Events, wrapper.Event{Type: wrapper.WarningEvent, Message: "there is no bash on PATH: the agent will run its commands in another shell, but they are decided as bash would read them"})
		}
	}
	env, left := cleaned(os.Environ(), bash)
	env = o.withScratch(env)
	if len(left) > 0 {
		emit(o.Events, wrapper.Event{Type: wrapper.WarningEvent, Message: "not passed on to the agent: " + strings.Join(left, ", ")})
	}
	own, err := findProgram(o.Command[0])
	if err == nil {
		err = checkHome(env, o.Session)
	}
	if err == nil && o.Sandbox != nil && o.Sandbox.Replaceable != nil && o.Sandbox.Replaceable(own) {
		err = fmt.Errorf("the agent CLI may be a file that a command inside the sandbox has written: %s: install it, and its interpreter, elsewhere than in the workspace and in caches, or run it with --sandbox=off", own)
	}
	if err != nil {
		return nil, nil, err
	}
	if o.guarded(bash) {
		if guard, err = openShells(o, env, bash); err != nil {
			return nil, nil, err
		}
		env = append(env, "CLAUDE_CODE_SHELL_PREFIX="+guard.prefix())
	}
	start, err = starter(o.Command, o.Dir, env, func(line []byte) { log.line("! ", line) })
	return start, guard, err
}

// findBash returns the first bash on PATH that no command inside the sandbox can replace, "" if there
// is none.
func findBash(around *wrapper.Sandbox) string {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		path, err := exec.LookPath(filepath.Join(dir, "bash"))
		if err != nil || !filepath.IsAbs(path) {
			continue
		}
		if around == nil || around.Planted == nil || !around.Planted(path) {
			return path
		}
	}
	return ""
}

// versionLimit is the limit for a run with --version.
const versionLimit = 20 * time.Second

// askVersion runs the CLI with --version, for those that do not report their
// version in the protocol.
func askVersion(start wrapper.Starter) (version, error) {
	p, err := start([]string{"--version"})
	if err != nil {
		return version{}, err
	}
	p.Close()
	timer := time.AfterFunc(versionLimit, p.Kill)
	defer timer.Stop()
	var said string
	err = readLines(p, maxComplaint, func(line []byte) bool {
		said += string(line) + "\n"
		return len(said) < 1<<10
	})
	p.Kill()
	p.Wait()
	if err != nil {
		return version{}, err
	}
	return parseVersion(said)
}

// loop handles the agent's output until it ends.
func (r *run) loop(ctx context.Context) error {
	lines, ended, quit := make(chan []byte), make(chan error, 1), make(chan struct{})
	defer close(quit)
	go func() {
		ended <- readLines(r.process, maxLine, func(line []byte) bool {
			select {
			case lines <- line:
				return true
			case <-quit:
				return false
			}
		})
	}()
	r.timer = time.NewTimer(startLimit)
	defer r.timer.Stop()
	r.waiting = toStart
	r.writer.send(controlling("initialize", initialization(r.o)))
	cancelled, deaf := ctx.Done(), r.writer.failed
	for {
		var err error
		select {
		case line := <-lines:
			err = r.line(line)
		case a := <-r.answers:
			err = r.answered(a)
		case say, more := <-r.talk:
			err = r.said(say, more)
		case c := <-r.composed:
			r.take(c)
		case <-r.shells.heard():
			r.shells.emit()
		case <-r.timer.C:
			err = r.late()
		case err := <-ended:
			return r.over(ctx, err)
		case <-cancelled:
			cancelled = nil
			err = r.stop(ctx)
		case <-deaf:
			deaf = nil
			r.phase = closing
			r.arm(toHear, exitLimit) // it may be about to exit
		}
		if err != nil {
			return err
		}
		r.mayFinish()
	}
}

// over returns the error for the end of the agent's output.
func (r *run) over(ctx context.Context, err error) error {
	switch {
	case r.stopping:
		return interrupted(ctx)
	case r.deaf:
		return errDeaf
	case err != nil:
		return fmt.Errorf("reading from the agent CLI: %w", err)
	case r.results == 0 || !r.done && r.owes():
		return errBrokeOff
	case !r.done && r.o.Talk != nil:
		emit(r.o.Events, wrapper.Event{Type: wrapper.WarningEvent, Message: "the agent CLI has ended by itself, with its shell and what ran in the background: the next prompt starts it again"})
	}
	return nil
}

// owes reports whether somebody waits for the end of a turn: of a prompt that was sent, or
// waits, or is made. In a conversation nobody does for one that the agent began by itself.
func (r *run) owes() bool {
	return !r.finished && (r.asked || r.o.Talk == nil) || len(r.says) > 0 || r.composing != nil
}

var (
	// errBrokeOff is the error of an agent that exits without a result.
	errBrokeOff = errors.New("the agent CLI broke off")
	// errOver cancels the questions that are open when a run ends.
	errOver = errors.New("the run has ended")
	// errDeaf is the error of an agent that no longer reads its input.
	errDeaf = errors.New("the agent CLI does not take our answers any more; it was killed")
)

// end returns once the agent has exited and no question is open. Answers that
// come meanwhile are reported, but not sent.
func (r *run) end(err error) {
	if err != nil {
		r.process.Kill()
	}
	r.phase = closing
	r.writer.close()
	timer := time.AfterFunc(exitLimit, r.process.Kill)
	r.process.Wait()
	timer.Stop()
	<-r.writer.done
	for _, q := range r.pending {
		q.withdrawn = true
	}
	r.startKept()
	go func() {
		r.asking.Wait()
		close(r.answers)
	}()
	for a := range r.answers {
		r.answered(a)
	}
	for _, id := range r.uses.unanswered() {
		r.foreign(denied{ID: id}, errUnasked)
	}
}

// explain adds the end of standard error to the error of a run that broke off.
func (r *run) explain(err error) error {
	if !errors.Is(err, errBrokeOff) {
		return err
	}
	when := "before it had finished"
	if !r.prompted {
		when = "before it could be given the prompt"
	}
	if said := r.process.Complaints(); said != "" {
		return fmt.Errorf("%w %s; it said: %s", err, when, said)
	}
	return fmt.Errorf("%w %s: see what --agent-command starts, or what it says with --log FILE", err, when)
}

// report emits the event for the end of the run.
func (r *run) report(err error) {
	switch {
	case errors.Is(err, wrapper.ErrInterrupted):
		emit(r.o.Events, wrapper.Event{Type: wrapper.DoneEvent})
	case err != nil && !r.corrupted:
		emit(r.o.Events, wrapper.Event{Type: wrapper.ErrorEvent, Message: err.Error()})
	case err == nil:
		emit(r.o.Events, wrapper.Event{Type: wrapper.DoneEvent})
	}
}

// arm sets the timer, which has one purpose at a time.
func (r *run) arm(p purpose, d time.Duration) {
	r.waiting = p
	r.timer.Reset(d)
}

// late handles the expiry of the timer.
func (r *run) late() error {
	p := r.waiting
	r.waiting = nothing
	switch p {
	case toStart:
		return fmt.Errorf("the agent CLI was not ready after %v", startLimit)
	case toResume:
		r.corrupt("stream_timeout")
		return fmt.Errorf("the agent CLI said nothing for %v when it resumed session %s", resumeLimit, r.o.Session)
	case toFinish:
		r.finish()
	case toHear:
		r.deaf = true
		r.process.Kill()
	case toExit:
		r.process.Kill()
	case toStop:
		return interrupted(r.deciding)
	}
	return nil
}

func (r *run) corrupt(reason string) {
	r.corrupted = true
	emit(r.o.Events, wrapper.Event{Type: wrapper.SessionCorruptedEvent, OldSessionID: r.o.Session, Reason: reason})
}

// interrupted returns the error of a run that the caller cancelled, with the cause
// that the caller gave.
func interrupted(ctx context.Context) error {
	cause := context.Cause(ctx)
	if cause == nil {
		cause = wrapper.ErrInterrupted // of a turn
	}
	return fmt.Errorf("the run was interrupted: %w", cause)
}

// stop interrupts the agent. The questions end with the caller's context.
func (r *run) stop(ctx context.Context) error {
	if r.phase != working {
		return interrupted(ctx)
	}
	if r.talk != nil && r.finished { // nothing is to be interrupted
		r.finish()
		return nil
	}
	r.talk, r.stopping = nil, true
	r.writer.send(controlling("interrupt", subtype{"interrupt"}))
	r.arm(toStop, stopLimit)
	return nil
}

// mayFinish closes the agent's input once it has finished for good: it has sent
// its result, is idle, and no subagent works in the background. Shell commands in
// the background get some time, because the agent is told when they end.
func (r *run) mayFinish() {
	over := r.phase == working && r.finished && len(r.pending) == 0 && r.tasks.idle() && r.talk == nil && len(r.says) == 0 && r.composing == nil
	switch {
	case !over && r.waiting == toFinish:
		r.timer.Stop()
		r.waiting = nothing
	case !over, r.waiting == toFinish:
	case r.stopping, !r.tasks.expectsMore():
		r.finish()
	default:
		r.arm(toFinish, r.patience())
	}
}

func (r *run) patience() time.Duration {
	if len(r.tasks.shells) > 0 {
		return r.o.Linger
	}
	return settleTime
}

// finish closes the agent's input, so that it exits.
func (r *run) finish() {
	r.phase, r.done = closing, true
	r.writer.close()
	r.arm(toExit, exitLimit)
}
