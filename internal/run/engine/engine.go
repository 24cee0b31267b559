package engine

import (
	"context"
	"errors"
	"sync"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/notify"
	"github.com/agent-wrapper/agent-wrapper/internal/audit"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// Engine decides tool uses by its Rules. It records each decision before it
// returns it, counts hallucinated commands and pauses an agent that makes too
// many. Its methods are safe for concurrent use, except as noted and except those
// of Rules that change what decides.
type Engine struct {
	*Rules
	record    *record // nil if nothing is recorded
	counter   *counter
	evaluator *permission.Evaluator
	approver  permission.Approver // nil if there is nobody to ask
	notifier  *notify.Notifier    // nil: no question is told of
	advised   advised
	store     sessionStore
	trees     *worktrees // nil: none are looked for
}

// Open loads the policies that the options select and opens the record. The error
// is an *OptionError, a *PolicyError, a *StateError, an *audit.Damage for a
// record that was modified, or wraps ErrNoState. The caller must close the
// engine.
func Open(o Options) (*Engine, error) {
	r, err := Load(o)
	if err != nil {
		return nil, err
	}
	return r.Open()
}

// Open returns an engine that decides by the rules, with the options that they
// were loaded with. Its errors are those of the function Open about the record.
func (r *Rules) Open() (*Engine, error) {
	e := &Engine{Rules: r, evaluator: r.Evaluator()}
	e.SetApprover(r.options.Approver)
	e.Session.Changed = e.answersChanged
	if !r.options.NoAdvice && r.Spec.Advice != "off" {
		e.evaluator.Adviser = &e.advised
	}
	e.notifier = r.newNotifier()
	if r.options.NoRecord {
		e.evaluator.Recorder = recordFunc(func(context.Context, permission.Record) error { return nil })
		return e, nil
	}
	record, err := r.options.openRecord()
	if err != nil {
		return nil, err
	}
	if err := e.keepRecord(record); err != nil {
		return nil, errors.Join(err, record.Close())
	}
	return e, nil
}

// keepRecord sets up the record and, if a whitelist binds, the count.
func (e *Engine) keepRecord(record *record) error {
	e.record = record
	e.Guard(record.files...)
	e.evaluator.Recorder = record
	if e.options.Uncounted {
		return nil
	}
	counter, err := e.newCounter(record)
	switch {
	case err == nil:
		e.counter = counter
		e.evaluator.Recorder, e.evaluator.Pauser = counter.recorder(), counter
	case len(e.gates) > 0:
		return err // without a whitelist nothing is counted
	}
	return nil
}

// SetApprover sets who is asked, nil for nobody. It is for an approver that needs
// the engine, and must be called before the first decision.
func (e *Engine) SetApprover(a permission.Approver) { e.approver, e.evaluator.Approver = a, a }

// CanUseTool decides a tool use by the rules, and asks the approver if they leave
// it to a person. The Behavior of the result is Allow or Deny, or Ask if the approver's
// error is permission.ErrHanded. With Allow, the
// tool is to run with UpdatedInput, which a person may have edited. With Deny,
// Message says why, for the agent. A result with an error is always a Deny; it
// also is one once ctx has ended.
func (e *Engine) CanUseTool(ctx context.Context, use permission.ToolUse) (permission.Result, error) {
	if more := e.trees.madeFor(use.Dir); more != nil {
		e.Session.Worktrees(more...)
	}
	res, err := e.evaluator.CanUseTool(ctx, use)
	if err == nil && e.options.Within != "" {
		err = e.rewrite(use, &res, e.options.Within)
	}
	return res, err
}

// Outcome records the outcome of a tool use that was allowed.
func (e *Engine) Outcome(o audit.Outcome) error {
	if e.record == nil {
		return nil
	}
	return e.record.Outcome(o)
}

// GateEnded records the outcome of an allowed gate of a plan; exit is its exit
// code, nil if unknown. It implements gates.Recorder.
func (e *Engine) GateEnded(use permission.ToolUse, failed bool, exit *int, met []string) error {
	return e.Outcome(audit.Outcome{Session: use.Session, Agent: use.Agent, Use: use.ID, Tool: use.Tool, Failed: failed, Exit: exit, Met: met})
}

// toolEnded records the outcome of a tool use that was allowed.
func (e *Engine) toolEnded(o wrapper.ToolOutcome) error {
	return e.Outcome(audit.Outcome{
		Session: o.Use.Session, Agent: o.Use.Agent, Use: o.Use.ID, Tool: o.Use.Tool, Failed: o.Failed, Exit: o.Exit, Breach: o.Breach, Met: o.Met,
	})
}

// Note records a note about a session, "" for the run itself; name says what happened.
func (e *Engine) Note(session, name, words string) error {
	if e.record == nil {
		return nil
	}
	return e.record.Note(session, name, words)
}

// Drive has a driver run an agent under the rules and returns when the run has
// ended; the error is the driver's. Of task it takes Prompt, Typed, Session,
// Fork, Disallowed and Events and sets the rest: Dir is the workspace, the engine decides, records
// and pauses. The engine's warnings come first among the events. For the time of
// the run the agent has a private directory for temporary files. What a person keeps
// for the agent's session counts again when a later run resumes it, but not in a fork
// of it. An engine drives one run at a time and decides nothing else meanwhile.
func (e *Engine) Drive(ctx context.Context, d wrapper.Driver, task wrapper.Task) (wrapper.Outcome, error) {
	task.Events = inTurn(task.Events)
	for _, w := range e.Warnings {
		task.Events(wrapper.Event{Type: wrapper.WarningEvent, Message: w})
	}
	scratch, err := e.openScratch()
	if err != nil {
		task.Events(wrapper.Event{Type: wrapper.WarningEvent, Message: "the agent has no private directory for temporary files: " + err.Error()})
	}
	defer scratch.remove()
	task.Scratch, task.ShellEnv, task.Private = scratch.dir, scratch.env, scratch.own
	task.Sandbox = e.around(scratch.dir)
	task.Dir, task.Decider, task.Paused, task.Outcome = e.Place.Workspace, e, e.Session.Paused, e.toolEnded
	task.Explain = func(use permission.ToolUse) permission.Decision { return e.evaluator.Explain(use, nil) }
	task.Note = func(name, words string) error { return e.Note(task.Session, name, words) }
	for _, item := range e.Spec.Deny {
		if item.Source.Dir != "" && e.relative(item.Text) {
			continue // the agent would take it as relative to its own directory
		}
		task.Disallowed = append(task.Disallowed, item.Text)
	}
	if !task.Fork {
		warnOf(task.Events, e.Resume(task.Session))
	}
	task.Events = e.following(task.Events)
	e.advised.begin()
	if e.trees == nil {
		e.trees = newWorktrees(e.Place.Workspace)
	}
	defer e.SetApprover(e.approver)
	e.evaluator.Approver = wrapper.Announce(task.Events, e.approver)
	return d.Run(ctx, task)
}

// following returns a function that calls events and has the engine keep what is
// answered for the session that begins, before it is told.
func (e *Engine) following(events func(wrapper.Event)) func(wrapper.Event) {
	return func(event wrapper.Event) {
		var err error
		if event.Type == wrapper.SessionEvent {
			err = e.Began(event.SessionID)
		}
		events(event)
		warnOf(events, err)
	}
}

// warnOf reports an error that does not end the run.
func warnOf(events func(wrapper.Event), err error) {
	if err != nil {
		events(wrapper.Event{Type: wrapper.WarningEvent, Message: err.Error()})
	}
}

// inTurn returns a function that calls events, which may be nil, for one event
// at a time: questions are announced by the goroutine that decides,
// concurrently with the driver's events.
func inTurn(events func(wrapper.Event)) func(wrapper.Event) {
	if events == nil {
		return func(wrapper.Event) {}
	}
	var mu sync.Mutex
	return func(e wrapper.Event) {
		mu.Lock()
		defer mu.Unlock()
		events(e)
	}
}

// Close closes the record, after escalations that are under way have ended, which
// may take up to a minute.
func (e *Engine) Close() error {
	e.Leave()
	e.notifier.Close()
	if e.counter != nil {
		e.counter.close()
	}
	if e.record == nil {
		return nil
	}
	return e.record.Close()
}
