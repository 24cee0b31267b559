package terminal

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
)

// Handover is who has the terminal after it was handed over.
type Handover struct {
	Status        string `json:"status"` // success
	PreviousState string `json:"previous_state"`
	NewState      string `json:"new_state"`
	SessionID     string `json:"session_id"`
}

// Interrupt gives the terminal to a person. What waits for an answer is cancelled, and
// what the agent runs goes on, with the person's keyboard; with signal it is ended
// first.
func (m *Manager) Interrupt(ctx context.Context, id, person string, signal bool) (Handover, error) {
	s, err := m.session(id)
	if err != nil {
		return Handover{}, err
	}
	runs, err := s.hold(ctx, person)
	if err != nil {
		return Handover{}, err
	}
	if runs != nil && signal {
		runs.console.stop(s.options.Grace)
		<-runs.ended
	}
	if err := s.grant(ctx); err != nil {
		return Handover{}, err
	}
	s.note("interrupt", person+" has taken over terminal "+s.id)
	return Handover{"success", agentControl, userControl, s.id}, nil
}

// hold takes the terminal from the agent, and returns the command that runs. It does so
// even if that cannot be stored.
func (s *session) hold(ctx context.Context, person string) (*command, error) {
	if err := s.lock(); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	next, err := s.machine.step(interrupt, "")
	if err != nil {
		return nil, refusal(err)
	}
	s.rec.Person = person
	s.warn(s.enter(ctx, next))
	s.recorder.mark("taken over by " + visible.Line(person))
	s.withdraw(person + " has taken over the terminal")
	return s.at, nil
}

// grant gives the terminal to the person.
func (s *session) grant(ctx context.Context) error {
	if err := s.lock(); err != nil {
		return err
	}
	defer s.mu.Unlock()
	next, err := s.machine.step(granted, "")
	if err != nil {
		return refusal(err)
	}
	s.tell("[" + visible.Line(s.rec.Person) + " has the terminal]")
	s.warn(s.enter(ctx, next))
	if s.machine.phase == idle {
		s.warn(s.startShell()) // whoever types hears of it, too
	}
	return nil
}

// Release gives the terminal back to the agent and ends the person's shell. While a job
// of the person has the foreground it does not, except with signal.
func (m *Manager) Release(ctx context.Context, id, person string, signal bool) (Handover, error) {
	s, err := m.session(id)
	if err != nil {
		return Handover{}, err
	}
	sh, err := s.letGo(ctx, signal)
	if err != nil {
		return Handover{}, err
	}
	if sh != nil {
		sh.end()
	}
	s.note("release", person+" has released terminal "+s.id)
	if err := s.resume(ctx, sh, person); err != nil {
		return Handover{}, err
	}
	return Handover{"success", userControl, agentControl, s.id}, nil
}

// note records who has the terminal.
func (s *session) note(name, words string) {
	s.warn(s.options.Note(s.id, "terminal "+name, words))
}

// letGo takes the terminal from the person, and returns the person's shell.
func (s *session) letGo(ctx context.Context, signal bool) (*shell, error) {
	if err := s.lock(); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	next, err := s.machine.step(release, "")
	if err != nil {
		return nil, refusal(err)
	}
	if s.shell != nil && !signal && s.shell.console.busy() {
		return nil, failure(Conflict, errors.New("a job runs in the foreground of the person's shell: end it, or release with signal"))
	}
	s.warn(s.enter(ctx, next))
	return s.shell, nil
}

// resume gives the terminal to the agent.
func (s *session) resume(ctx context.Context, sh *shell, person string) error {
	if err := s.lock(); err != nil {
		return err
	}
	defer s.mu.Unlock()
	next, err := s.machine.step(resumed, "")
	if err != nil {
		return refusal(err)
	}
	if sh != nil && sh.directory() != "" {
		s.rec.Dir = sh.directory()
	}
	s.shell, s.rec.Person = nil, ""
	s.recorder.mark("released by " + visible.Line(person))
	s.tell("[" + visible.Line(person) + " has released the terminal]")
	return s.enter(ctx, next)
}

// maxTyped is the most that is typed at once.
const maxTyped = 4 << 10

// Input types bytes for the person who has the terminal: to the command that runs, or
// else to a shell of the person. While the terminal is being handed over they wait. What
// is secret is not recorded.
func (m *Manager) Input(ctx context.Context, id, person string, data []byte, secret bool) error {
	s, err := m.session(id)
	if err != nil {
		return err
	}
	if len(data) > maxTyped {
		return failure(Invalid, fmt.Errorf("more than %d bytes are typed at once", maxTyped))
	}
	s.typing.Lock()
	defer s.typing.Unlock()
	c, err := s.keyboard(ctx, person)
	if err != nil {
		return err
	}
	if s.options.RecordInput && !secret && echoes(c.master) {
		s.recorder.typed(data)
	}
	if err := c.write(data); err != nil {
		return failure(Conflict, err)
	}
	return nil
}

// keyboard returns the program that gets what a person types.
func (s *session) keyboard(ctx context.Context, person string) (*console, error) {
	for {
		if err := s.lock(); err != nil {
			return nil, err
		}
		_, err := s.machine.step(typed, "")
		turn := s.turn
		if !errors.Is(err, errWaits) {
			defer s.mu.Unlock()
			if err != nil {
				return nil, refusal(err)
			}
			return s.front(person)
		}
		s.mu.Unlock()
		select {
		case <-turn:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// front returns the program in front of the person who has the terminal.
func (s *session) front(person string) (*console, error) {
	if s.rec.Person != person {
		return nil, failure(NoControl, fmt.Errorf("%s has the terminal", s.rec.Person))
	}
	s.rec.Active = time.Now()
	if s.machine.phase == running {
		return s.at.console, nil
	}
	if s.shell == nil || s.shell.over() {
		if err := s.startShell(); err != nil {
			return nil, err
		}
	}
	return s.shell.console, nil
}

// signals are the signals that a person may send.
var signals = map[string]syscall.Signal{
	"SIGINT": syscall.SIGINT, "SIGTERM": syscall.SIGTERM, "SIGKILL": syscall.SIGKILL, "SIGHUP": syscall.SIGHUP, "SIGQUIT": syscall.SIGQUIT,
}

// Signal sends a signal, such as SIGINT, to the program in front of the person who has
// the terminal.
func (m *Manager) Signal(ctx context.Context, id, person, name string) error {
	s, err := m.session(id)
	if err != nil {
		return err
	}
	sig, ok := signals["SIG"+strings.TrimPrefix(strings.ToUpper(name), "SIG")]
	if !ok {
		return failure(Invalid, fmt.Errorf("%q is no signal that can be sent", name))
	}
	c, err := s.keyboard(ctx, person)
	if err != nil {
		return err
	}
	c.leader.SignalFront(c.master, sig)
	return nil
}

// Resize sets the size of the session's terminals, for whoever has control.
func (m *Manager) Resize(id, person string, columns, rows uint16) error {
	s, err := m.session(id)
	if err != nil {
		return err
	}
	if err := s.lock(); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if _, err := s.machine.step(typed, ""); err != nil {
		return refusal(err)
	}
	s.size = size{columns, rows}
	c, err := s.front(person)
	if err != nil {
		return err
	}
	s.recorder.resize(s.size)
	return c.resize(s.size)
}
