package wrapper

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Conversation keeps an agent running between the turns of a conversation. One that
// has ended, for example because it failed, is started anew for the next turn and goes
// on with its session. If it failed between two turns, the next one is that error. Its
// methods may be called concurrently, except for Turn.
type Conversation struct {
	ctx   context.Context
	end   context.CancelCauseFunc
	drive func(ctx context.Context, task Task) (Outcome, error)

	mu      sync.Mutex
	run     *talked // nil: no agent runs
	session string  // of the agent, "" if none has begun
	lost    bool    // that of the task cannot be resumed
}

// talked is a run of the agent.
type talked struct {
	say    chan Say
	turned chan Outcome
	over   chan struct{} // closed when it has ended
	out    Outcome
	err    error
}

// NewConversation returns a conversation with an agent that drive runs, as
// engine.Engine.Drive does. It ends when ctx does.
func NewConversation(ctx context.Context, drive func(ctx context.Context, task Task) (Outcome, error)) *Conversation {
	ctx, end := context.WithCancelCause(ctx)
	return &Conversation{ctx: ctx, end: end, drive: drive}
}

// Turn has the agent take a turn with the Prompt of a task, and returns when the turn
// has ended. When ctx ends, the turn is interrupted, and the error wraps the cause. The
// other fields of the task count where an agent is started. An error without an end of
// ctx means that the agent has ended.
func (c *Conversation) Turn(ctx context.Context, task Task) (Outcome, error) {
	if err := c.ctx.Err(); err != nil {
		return Outcome{}, fmt.Errorf("the conversation has ended: %w", context.Cause(c.ctx))
	}
	run := c.takes(task)
	if run == nil {
		run = c.start(task)
	}
	var interrupt chan Say
	for cancelled := ctx.Done(); ; {
		select {
		case out := <-run.turned:
			return out, ended(ctx)
		case <-run.over:
			c.left(run)
			return run.out, errors.Join(ended(ctx), run.err)
		case <-cancelled:
			cancelled, interrupt = nil, run.say
		case interrupt <- Say{Interrupt: true}:
			interrupt = nil
		}
	}
}

// ended returns the error for a turn whose context has ended.
func ended(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("the turn was interrupted: %w", context.Cause(ctx))
}

// takes gives the prompt to the agent that runs, or has failed with an error that nobody
// was told. It returns nil if there is none.
func (c *Conversation) takes(task Task) *talked {
	run := c.running()
	if run == nil {
		return nil
	}
	select {
	case run.say <- Say{Prompt: task.Prompt}:
		return run
	case <-run.over:
		if run.err != nil {
			return run
		}
		c.left(run)
		return nil
	}
}

func (c *Conversation) running() *talked {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.run
}

// left forgets a run that has ended.
func (c *Conversation) left(run *talked) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.run == run {
		c.run = nil
	}
}

// start starts the agent.
func (c *Conversation) start(task Task) *talked {
	run := &talked{say: make(chan Say), turned: make(chan Outcome, 1), over: make(chan struct{})}
	c.mu.Lock()
	c.run = run
	if c.session != "" || c.lost {
		task.Session, task.Fork = c.session, false
	}
	c.mu.Unlock()
	events := task.Events
	task.Talk = run.say
	task.Turned = func(out Outcome) { run.turned <- out }
	task.Events = func(e Event) {
		switch e.Type {
		case SessionEvent:
			c.goOn(e.SessionID, false)
		case SessionCorruptedEvent:
			c.goOn("", true)
		}
		if events != nil {
			events(e)
		}
	}
	go func() {
		defer close(run.over)
		run.out, run.err = c.drive(c.ctx, task)
		if errors.Is(run.err, ErrInterrupted) {
			run.err = nil // the person knows
		}
	}()
	return run
}

func (c *Conversation) goOn(session string, lost bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session, c.lost = session, lost
}

// Session returns the ID of the agent's session, "" if none has begun.
func (c *Conversation) Session() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// Interrupt ends the turn that runs, also one that the agent has begun itself. It does
// nothing if none does.
func (c *Conversation) Interrupt() {
	run := c.running()
	if run == nil {
		return
	}
	select {
	case run.say <- Say{Interrupt: true}:
	case <-run.over:
	}
}

// Close ends the conversation, and returns once the agent has ended. The error is that
// with which it failed.
func (c *Conversation) Close() error {
	c.end(ErrInterrupted)
	run := c.running()
	if run == nil {
		return nil
	}
	<-run.over
	return run.err
}
