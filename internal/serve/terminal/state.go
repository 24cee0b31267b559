package terminal

import "errors"

// The states of a session: who has the terminal. Between the agent and a person
// there is always a state in which nobody has it.
const (
	agentControl  = "agent_control"  // commands of the agent run, approved if need be
	userInterrupt = "user_interrupt" // the agent is held; what a person types waits
	userControl   = "user_control"   // what a person types runs, without approval
	agentResume   = "agent_resume"   // the person has let go; nobody runs anything yet
	closed        = "closed"         // the session is gone: told, never stored
)

// phase is what becomes of the command that is at hand in a session.
type phase uint8

const (
	idle     phase = iota // there is none
	deciding              // it is being decided
	asked                 // and a person is asked about it
	running
)

// machine is the state machine of a session. It has no clock and does nothing: step
// gives the next state, and the session does it.
type machine struct {
	state   string
	phase   phase
	command string // the id of the one at hand, "" in phase idle
}

// event is what happens in a session.
type event uint8

const (
	execute   event = iota + 1 // the agent hands in a command
	ask                        // a person is asked about it
	answer                     // a person answers
	refuse                     // it will not run
	start                      // it runs from now on
	end                        // it has ended
	interrupt                  // a person takes the terminal
	granted                    // and has it
	release                    // lets go
	resumed                    // and the agent has it again
	typed                      // a person types
)

// The reasons why an event does not count.
var (
	//lint:ignore ST1005 these are the words of the HTTP API (S4-06)
	errNoControl = errors.New("Agent does not have control")
	errBusy      = errors.New("another command is pending or runs")
	errNothing   = errors.New("no command is waiting for approval")
	errWaits     = errors.New("the terminal is being handed over")
	errNotUser   = errors.New("the user does not have control")
	errTaken     = errors.New("the user has control already")
	errOrder     = errors.New("the session is in another state")
)

// step returns the state after an event. command names the one that the events
// execute to end are about. With an error nothing has changed.
func (m machine) step(e event, command string) (machine, error) {
	switch e {
	case execute, ask, answer, refuse, start, end:
		return m.work(e, command)
	}
	return m.hand(e)
}

// work is step for what happens to a command.
func (m machine) work(e event, command string) (machine, error) {
	mine := m.phase != idle && m.command == command
	waits := mine && (m.phase == deciding || m.phase == asked)
	switch {
	case e == end && mine && m.phase == running, e == refuse && waits:
		return machine{state: m.state}, nil
	case e == end || e == refuse:
		return m, errOrder
	case m.state != agentControl:
		return m, errNoControl
	case e == execute && m.phase == idle:
		return machine{m.state, deciding, command}, nil
	case e == execute:
		return m, errBusy
	case e == ask && waits:
		return machine{m.state, asked, command}, nil
	case e == answer && mine && m.phase == asked:
		return m, nil
	case e == answer:
		return m, errNothing
	case e == start && waits:
		return machine{m.state, running, command}, nil
	}
	return m, errOrder
}

// hand is step for who has the terminal. A command that waits does not outlast the
// agent's control; one that runs goes on.
func (m machine) hand(e event) (machine, error) {
	next := m
	switch {
	case e == interrupt && m.state == agentControl:
		next.state = userInterrupt
		if m.phase != running {
			next.phase, next.command = idle, ""
		}
	case e == interrupt && m.state == agentResume:
		return m, errOrder
	case e == interrupt:
		return m, errTaken
	case e == granted && m.state == userInterrupt:
		next.state = userControl
	case e == release && m.state == userControl:
		next.state = agentResume
	case e == resumed && m.state == agentResume:
		next.state = agentControl
	case e == typed && m.state == userInterrupt:
		return m, errWaits
	case e == typed && m.state == userControl:
	case e == typed || e == release:
		return m, errNotUser
	default:
		return m, errOrder
	}
	return next, nil
}
