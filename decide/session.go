package decide

import (
	"fmt"
	"sync"

	"github.com/agent-wrapper/agent-wrapper/desk"
	"github.com/agent-wrapper/agent-wrapper/engine"
)

// session is a session of an agent, with its own rules and answers.
type session struct {
	*engine.Engine
	name string
	desk *desk.Desk
	uses sync.WaitGroup // tool uses that are being decided
}

// maxSessions is the maximum number of sessions that are open at once.
const maxSessions = 1000

// session returns a session, and opens it at its first use.
func (s *server) session(name string) (*session, error) {
	s.mu.Lock()
	found, open := s.sessions[name], len(s.sessions)
	s.mu.Unlock()
	switch {
	case found != nil:
		return found, nil
	case open >= maxSessions:
		return nil, wrong(codeInternal, "%d sessions are open: close one", open)
	}
	return s.open(name)
}

// open opens a session. It is called by one goroutine at a time.
func (s *server) open(name string) (*session, error) {
	warn := func(message string) { s.notify("warning", warning{message, name}) }
	e, err := s.options.Open(warn)
	if err != nil {
		return nil, err
	}
	s.opened++
	prefix := fmt.Sprintf("q%d.", s.opened)
	one := &session{Engine: e, name: name}
	one.desk = desk.New(desk.Options{
		Menu: one.menu(), File: desk.EditedFile, Prefix: prefix, By: "client",
		Asked: s.ask, Withdrawn: s.withdraw,
	})
	if s.options.Ask {
		e.SetApprover(&asking{server: s, desk: one.desk})
	}
	s.mu.Lock()
	s.sessions[name], s.numbered[prefix] = one, one
	s.mu.Unlock()
	for _, w := range e.Warnings {
		warn(w)
	}
	if err := e.Began(name); err != nil {
		warn(err.Error())
	}
	return one, nil
}

// menu returns what is offered beside an answer to one tool use.
func (one *session) menu() desk.Menu {
	m := desk.Menu{Session: one.Session, Edit: true}
	if one.Keeps() {
		m.Keep = one.Keep
	}
	return m
}

// all returns the sessions that are open.
func (s *server) all() []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*session
	for _, one := range s.sessions {
		all = append(all, one)
	}
	return all
}
