package engine

import (
	"context"
	"errors"
	"sync"

	"github.com/agent-wrapper/agent-wrapper/audit"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// Engine decides tool uses by rules, records each decision before it is told,
// counts hallucinated commands and pauses the agent that makes too many. It is
// safe for concurrent use.
type Engine struct {
	*Rules
	record    *record // nil: nothing is recorded
	counter   *counter
	evaluator *permission.Evaluator
	approver  permission.Approver // nil: nobody is there
}

// Open makes an engine of options. Whoever opens one closes it.
func Open(o Options) (*Engine, error) {
	r, err := Load(o)
	if err != nil {
		return nil, err
	}
	return r.Open()
}

// Open makes an engine that decides by the rules. Its options are those that the
// rules were loaded with.
func (r *Rules) Open() (*Engine, error) {
	e := &Engine{Rules: r, evaluator: r.Evaluator()}
	e.SetApprover(r.options.Approver)
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

// keepRecord has decisions recorded, and counted where a whitelist binds.
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
		return err // without a whitelist there is nothing to count
	}
	return nil
}

// SetApprover says who is asked from now on; nil: nobody. It is for an approver
// that needs the engine, and is called before the first decision.
func (e *Engine) SetApprover(a permission.Approver) { e.approver, e.evaluator.Approver = a, a }

// CanUseTool decides a tool use: by the rules, and by the approver where they
// leave it to a person. A result that allows has the input that runs, as
// UpdatedInput. An error always comes with a result that denies.
func (e *Engine) CanUseTool(ctx context.Context, use permission.ToolUse) (permission.Result, error) {
	return e.evaluator.CanUseTool(ctx, use)
}

// Outcome records what became of a tool use that was allowed.
func (e *Engine) Outcome(o audit.Outcome) error {
	if e.record == nil {
		return nil
	}
	return e.record.Outcome(o)
}

// GateEnded records the outcome of a gate of a plan that was allowed. It makes an
// Engine a gates.Recorder.
func (e *Engine) GateEnded(use permission.ToolUse, failed bool, exit *int) error {
	return e.Outcome(audit.Outcome{Session: use.Session, Agent: use.Agent, Use: use.ID, Tool: use.Tool, Failed: failed, Exit: exit})
}

// toolEnded records the outcome of a tool use that was allowed.
func (e *Engine) toolEnded(o wrapper.ToolOutcome) error {
	return e.Outcome(audit.Outcome{
		Session: o.Use.Session, Agent: o.Use.Agent, Use: o.Use.ID, Tool: o.Use.Tool, Failed: o.Failed, Exit: o.Exit, Breach: o.Breach,
	})
}

// Note records words about the run itself.
func (e *Engine) Note(name, words string) error {
	if e.record == nil {
		return nil
	}
	return e.record.Note(name, words)
}

// Drive has a driver run an agent under the rules and returns when the run has
// ended; the error is the driver's. Of task it takes Prompt, Session, Disallowed
// and Events and sets the rest: Dir is the workspace, the engine decides, records
// and pauses. The engine's warnings come first among the events. An engine drives
// one run at a time and decides nothing else meanwhile.
func (e *Engine) Drive(ctx context.Context, d wrapper.Driver, task wrapper.Task) (wrapper.Outcome, error) {
	task.Events = inTurn(task.Events)
	for _, w := range e.Warnings {
		task.Events(wrapper.Event{Type: wrapper.WarningEvent, Message: w})
	}
	task.Dir, task.Decider, task.Paused, task.Outcome = e.Place.Workspace, e, e.Session.Paused, e.toolEnded
	for _, item := range e.Spec.Deny {
		task.Disallowed = append(task.Disallowed, item.Text)
	}
	defer e.SetApprover(e.approver)
	e.evaluator.Approver = wrapper.Announce(task.Events, e.approver)
	return d.Run(ctx, task)
}

// inTurn calls events, which may be nil, for one event at a time: a question to a
// person is announced where it is decided, beside what the driver tells.
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

// Close waits, for a minute at most, until a person was told of a pause, and
// closes the record.
func (e *Engine) Close() error {
	if e.counter != nil {
		e.counter.close()
	}
	if e.record == nil {
		return nil
	}
	return e.record.Close()
}
