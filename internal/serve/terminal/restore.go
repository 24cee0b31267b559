package terminal

import (
	"context"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
)

// restore takes over the sessions that a server of this name held before.
func (m *Manager) restore(ctx context.Context) error {
	lost, err := m.options.Store.Recover(ctx, m.options.Server, time.Now())
	if err != nil {
		return err
	}
	recs, err := m.options.Store.Sessions(ctx, store.SessionFilter{Server: m.options.Server})
	if err != nil {
		return err
	}
	for _, rec := range recs {
		if err := m.restoreSession(ctx, rec); err != nil {
			return err
		}
	}
	for _, c := range lost {
		if s := m.sessions[c.SessionID]; s != nil {
			s.tell("[whether this has ended is unknown since the server was restarted: $ " + line(c.Command) + "]")
		}
		m.options.Changed(store.Session{ID: c.SessionID, ConversationID: c.ConversationID}, &c)
	}
	return nil
}

// settled are the states in which nothing is being handed over.
var settled = map[string]string{agentResume: agentControl, userInterrupt: userControl}

// restoreSession goes on with a session: a handover is finished, and what waited for
// an answer is decided again.
func (m *Manager) restoreSession(ctx context.Context, rec store.Session) error {
	s := m.newSession(rec)
	s.before = answerers{} // people may look at a question from before still
	if next := settled[rec.State]; next != "" {
		if err := s.enter(ctx, machine{state: next}); err != nil {
			return err
		}
	}
	m.sessions[rec.ID] = s
	waiting, err := m.options.Store.Commands(ctx, store.CommandFilter{
		SessionID: rec.ID, States: []store.CommandState{store.CommandPending, store.CommandApproved},
	})
	if err != nil {
		return err
	}
	for _, c := range waiting {
		s.again(c)
	}
	return nil
}

// again decides a command that was pending when the server ended. If it is allowed now
// without a question it is cancelled, see allowed.
func (s *session) again(rec store.Command) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := newCommand(s.owner, rec)
	c.restored = true
	s.at = c
	next, err := s.machine.step(execute, rec.ID)
	if err != nil {
		s.withdraw("a person has taken over the terminal")
		return
	}
	s.machine = next
	go s.decide(c)
}
