package claude

import (
	"context"
	"fmt"

	"github.com/agent-wrapper/agent-wrapper/wrapper"
	"github.com/agent-wrapper/agent-wrapper/wrapper/claude/briefing"
)

// talking is what a run holds of a conversation. The agent CLI takes one prompt after
// the other on its input, keeps its shell, its background tasks and its MCP servers
// between them, and may begin turns of its own when such a task ends.
type talking struct {
	talk         <-chan wrapper.Say      // nil: nothing more is said
	composing    context.CancelCauseFunc // of the prompt that is made of what was typed; nil: none is
	composed     chan composed
	says         []briefing.Prompt // prompts that wait
	asked        bool              // the turn that runs was begun by a prompt
	interrupts   int               // how many turns were interrupted
	interrupting string            // ID of the interrupt that is not answered yet
}

// said takes what is said to the agent; more is false when nothing more will be.
func (r *run) said(say wrapper.Say, more bool) error {
	if !more {
		r.talk = nil
		return nil
	}
	if say.Interrupt && r.composing != nil {
		r.composing(wrapper.ErrInterrupted)
		return nil
	}
	if say.Interrupt {
		if r.phase < working {
			return interrupted(r.deciding)
		}
		r.interrupt()
	}
	if say.Prompt != "" {
		r.compose(say.Prompt)
	}
	return nil
}

// composed is what a typed prompt has come to.
type composed struct {
	prompt briefing.Prompt
	err    error
}

// compose makes a prompt of what was typed. It may take as long as a person thinks.
func (r *run) compose(typed string) {
	if r.o.told.reader == nil || !r.o.Typed {
		r.says = append(r.says, briefing.Prompt{Text: typed})
		r.next()
		return
	}
	ctx, cancel := context.WithCancelCause(r.deciding)
	r.composing, r.composed = cancel, make(chan composed, 1)
	r.o.told.allowed, r.o.told.denied, r.o.told.session = 0, 0, r.out.Session
	go func(to chan<- composed) {
		var c composed
		c.prompt, c.err = r.o.told.reader.Prompt(ctx, typed)
		to <- c
	}(r.composed)
}

// take takes a prompt that was made. One that cannot be sent is a turn that has failed.
func (r *run) take(c composed) {
	r.composing(nil)
	r.composing, r.composed = nil, nil
	r.out.Allowed, r.out.Denied = r.out.Allowed+r.o.told.allowed, r.out.Denied+r.o.told.denied
	if c.err == nil {
		r.says = append(r.says, c.prompt)
		r.next()
		return
	}
	emit(r.o.Events, wrapper.Event{Type: wrapper.ErrorEvent, Message: c.err.Error()})
	if r.o.Turned != nil {
		failed := r.out
		failed.Text, failed.Failed = "", c.err.Error()
		r.o.Turned(failed)
	}
}

// interrupt ends the turn that runs. No prompt is sent before the CLI has answered, or
// it could meet that one.
func (r *run) interrupt() {
	if r.phase != working || r.finished || r.stopping {
		return
	}
	r.stopping = true
	r.interrupts++
	r.interrupting = fmt.Sprintf("interrupt-%d", r.interrupts)
	r.writer.send(controlling(r.interrupting, subtype{"interrupt"}))
	r.arm(toStop, stopLimit)
	for _, q := range r.pending {
		q.over = true
		q.cancel(wrapper.ErrInterrupted)
	}
}

// turned takes the end of a turn.
func (r *run) turned() {
	if r.stopping && r.deciding.Err() == nil {
		r.stopping = false
		r.disarm(toStop)
	}
	if r.asked && r.o.Turned != nil {
		r.o.Turned(r.out)
	}
	r.asked = false
	r.next()
}

// next begins the turn of the prompt that has waited longest, if the agent is free.
func (r *run) next() {
	if len(r.says) == 0 || r.phase != working || !r.finished || r.stopping || r.interrupting != "" {
		return
	}
	r.disarm(toFinish)
	prompt := r.says[0]
	r.says = r.says[1:]
	r.asked, r.finished, r.spoke, r.retried = true, false, false, false
	r.out.Text, r.out.Stopped, r.out.Failed, r.out.Limit, r.out.Structured = "", "", "", "", nil
	emit(r.o.Events, wrapper.Event{Type: wrapper.StatusEvent, State: "thinking"})
	r.writer.send(prompting(prompt, r.flight.version))
}

// disarm stops the timer if that is what it is set for.
func (r *run) disarm(p purpose) {
	if r.waiting == p {
		r.waiting = nothing
		r.timer.Stop()
	}
}
