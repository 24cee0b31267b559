package server

import (
	"context"
	"sync"

	"github.com/agent-wrapper/agent-wrapper/approval"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/store"
	"github.com/agent-wrapper/agent-wrapper/terminal"
)

// handover is Interrupt or Release of a terminal.Manager.
type handover func(ctx context.Context, id, person string, signal bool) (terminal.Handover, error)

// shells are the deciders of terminal sessions, by session.
type shells struct {
	server *Server

	mu   sync.Mutex
	open map[string]*decider
}

// options returns the options of the manager.
func (t *shells) options() terminal.Options {
	o := &t.server.options
	return terminal.Options{
		Store: o.Store, Server: o.Name, Private: o.Private, Most: o.MostSessions, Environ: o.Environ,
		Recordings: o.Recordings, RecordInput: o.RecordInput, Note: t.server.note,
		Decider: t.decider, Approver: t.approver, Changed: t.server.terminalChanged,
		Counts: t.server.credentials.counts,
		Warn:   func(text string) { t.server.log.Warn(text) },
	}
}

// decider opens the decider of a session. It asks a, which asks the one of approver.
func (t *shells) decider(s store.Session, a permission.Approver) (terminal.Decider, error) {
	d, err := t.server.newDecider(t.server.credentials.agent(s.Owner), s.AgentRole)
	if err != nil {
		return nil, err
	}
	d.SetApprover(a)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open[s.ID] = d
	return &shell{d, t, s.ID}, nil
}

// approver returns who asks about a command of a session.
func (t *shells) approver(s store.Session, b approval.Broker) permission.Approver {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := t.open[s.ID]
	d.approver = d.asks(t.server, b, t.server.credentials.agent(s.Owner), questionID)
	return d
}

// shell is the decider of a session.
type shell struct {
	*decider
	shells *shells
	id     string
}

// CanUseTool decides a command.
func (s *shell) CanUseTool(ctx context.Context, use permission.ToolUse) (permission.Result, error) {
	s.recall(s.shells.server)
	return s.decider.CanUseTool(ctx, use)
}

// Close closes the decider.
func (s *shell) Close() error {
	s.shells.mu.Lock()
	delete(s.shells.open, s.id)
	s.shells.mu.Unlock()
	return s.decider.Close()
}
