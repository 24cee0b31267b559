package claude

import (
	"fmt"

	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// talking is what a run holds of a conversation. The agent CLI takes one prompt after
// the other on its input, keeps its shell, its background tasks and its MCP servers
// between them, and may begin turns of its own when such a task ends.
type talking struct {
	talk         <-chan wrapper.Say // nil: nothing more is said
	says         []string           // prompts that wait
	asked        bool               // the turn that runs was begun by a prompt
	interrupts   int                // how many turns were interrupted
	interrupting string             // ID of the interrupt that is not answered yet
}

// said takes what is said to the agent; more is false when nothing more will be.
func (r *run) said(say wrapper.Say, more bool) error {
	if !more {
		r.talk = nil
		return nil
	}
	if say.Interrupt {
		if r.phase < working {
			return interrupted(r.deciding)
		}
		r.interrupt()
	}
	if say.Prompt != "" {
		r.says = append(r.says, say.Prompt)
		r.next()
	}
	return nil
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
	r.asked, r.finished, r.spoke = true, false, false
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
