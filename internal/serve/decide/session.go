package decide

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/desk"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// session is a session of an agent, with its own rules and answers.
type session struct {
	*engine.Engine
	name, prefix string
	desk         *desk.Desk
	uses         sync.WaitGroup // tool uses that are being decided
	allowed      allowed
}

// maxSessions is the maximum number of sessions that are open at once.
const maxSessions = 1000

// session returns a session, and opens it at its first use.
func (s *server) session(name string) (*session, error) { return s.sessionOr(name, false) }

// sessionOr returns a session, and opens or resumes it at its first use.
func (s *server) sessionOr(name string, resume bool) (*session, error) {
	s.mu.Lock()
	found, open := s.sessions[name], len(s.sessions)
	s.mu.Unlock()
	switch {
	case found != nil:
		return found, nil
	case len(name) > maxID:
		return nil, wrong(codeParams, "params: session: it is longer than %d bytes", maxID)
	case open >= maxSessions:
		return nil, wrong(codeInternal, "%d sessions are open: close one", open)
	}
	return s.open(name, resume)
}

// open opens a session. It is called by one goroutine at a time. With resume, what a
// person kept for it before counts again.
func (s *server) open(name string, resume bool) (*session, error) {
	warn := func(message string) { s.notify("warning", warning{message, name}) }
	e, err := s.options.Open(warn)
	if err != nil {
		return nil, err
	}
	s.opened++
	prefix := fmt.Sprintf("q%d.", s.opened)
	one := &session{Engine: e, name: name, prefix: prefix}
	one.desk = desk.New(desk.Options{
		Menu: one.menu(), File: desk.EditedFile, Prefix: prefix, By: "client",
		Asked: s.ask, Withdrawn: s.withdraw,
	})
	switch {
	case s.options.Ask:
		e.SetApprover(&asking{server: s, to: one.desk})
	case s.options.Elsewhere != nil:
		e.SetApprover(&asking{server: s, to: s.options.Elsewhere(e, one.menu(), warn)})
	}
	s.mu.Lock()
	s.sessions[name], s.numbered[prefix] = one, one
	s.mu.Unlock()
	for _, w := range e.Warnings {
		warn(w)
	}
	begin := e.Began
	if resume {
		begin = e.Resume
	}
	if err := begin(name); err != nil {
		warn(err.Error())
	}
	return one, nil
}

// menu returns what is offered beside an answer to one tool use.
func (one *session) menu() desk.Menu {
	m := desk.Menu{Session: one.Session, Edit: true}
	if one.Keeps() {
		m.Keep, m.Into = one.Keep, one.KeepsIn
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

// managed are the parameters of session.
type managed struct {
	Action  string `json:"action"`
	Session string `json:"session"`
	Grant   int    `json:"grant"`  // of revoke: the id of a lasting answer
	Reason  string `json:"reason"` // of pause
}

// state is what is in force for a session beside its policy: the result of session.
type state struct {
	Session   string  `json:"session"`
	Workspace string  `json:"workspace"`
	Version   string  `json:"version"` // of the policy
	Paused    string  `json:"paused,omitempty"`
	Grants    []grant `json:"grants"`
	Waiting   int     `json:"waiting"` // questions
	Closed    bool    `json:"closed,omitempty"`
}

// grant is a lasting answer of a person.
type grant struct {
	ID       int    `json:"id"`
	Behavior string `json:"behavior"`
	Rule     string `json:"rule,omitempty"`
	Use      string `json:"use,omitempty"` // exactly this tool use
	Until    string `json:"until,omitempty"`
	Left     *int   `json:"left,omitempty"`
}

// actions are the values of managed.Action, with what each does to a session.
var actions = map[string]func(*session, *managed) error{
	"open":   func(*session, *managed) error { return nil },
	"resume": func(*session, *managed) error { return nil },
	"rules":  func(*session, *managed) error { return nil },
	"revoke": func(in *session, p *managed) error {
		if !in.Session.Revoke(p.Grant) {
			return wrong(codeParams, "params: grant: %d is none of the session: see the action rules", p.Grant)
		}
		return nil
	},
	"pause": func(in *session, p *managed) error {
		in.Session.Pause(cmp.Or(p.Reason, "paused by the client"))
		return nil
	},
	"unpause": func(in *session, _ *managed) error { in.Session.Resume(); return nil },
}

// manage opens, changes or closes a session, and returns its state.
func (s *server) manage(_ context.Context, p *managed) (any, error) {
	act := actions[p.Action]
	switch {
	case p.Action == "close":
		return s.close(p.Session)
	case act == nil:
		return nil, wrong(codeParams, "params: action: it is open, resume, rules, revoke, pause, unpause or close")
	case p.Action == "resume":
		if err := s.resume(p.Session); err != nil {
			return nil, err
		}
	}
	in, err := s.session(p.Session)
	if err != nil {
		return nil, err
	}
	if err := act(in, p); err != nil {
		return nil, err
	}
	return in.state(), nil
}

// resume opens a session with what a person kept for it before.
func (s *server) resume(name string) error {
	s.mu.Lock()
	open := s.sessions[name] != nil
	s.mu.Unlock()
	switch {
	case name == "":
		return wrong(codeParams, "params: session: it is missing")
	case open:
		return wrong(codeParams, "params: session: it is open: resume it before its first use")
	}
	_, err := s.sessionOr(name, true)
	return err
}

// close closes a session: what waits is denied, what was begun is decided.
func (s *server) close(name string) (any, error) {
	s.mu.Lock()
	in := s.sessions[name]
	delete(s.sessions, name)
	s.mu.Unlock()
	if in == nil {
		return nil, wrong(codeParams, "params: session: %q is not open", name)
	}
	return later(func() (any, error) {
		in.desk.Close("the session was closed")
		in.uses.Wait()
		s.mu.Lock()
		delete(s.numbered, in.prefix)
		s.mu.Unlock()
		now := in.state()
		now.Closed = true
		return now, in.Close()
	}), nil
}

// state returns what is in force for a session.
func (in *session) state() state {
	out := state{
		Session: in.name, Workspace: in.Place.Workspace, Version: in.Policy.Version,
		Paused: in.Session.Paused(), Grants: []grant{}, Waiting: len(in.desk.Waiting()),
	}
	for _, g := range in.Session.Grants() {
		out.Grants = append(out.Grants, newGrant(g))
	}
	return out
}

func newGrant(g permission.Grant) grant {
	out := grant{ID: g.ID, Behavior: g.Behavior.String(), Rule: g.Rule, Use: g.Use}
	if !g.Until.IsZero() {
		out.Until = g.Until.UTC().Format(time.RFC3339)
	}
	if g.Counted {
		out.Left = &g.Left
	}
	return out
}
