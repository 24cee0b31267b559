package server

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/sandbox"
	"github.com/agent-wrapper/agent-wrapper/internal/sandbox/kernel"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/terminal"
	"github.com/agent-wrapper/agent-wrapper/permission"
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
	if enclose := t.server.options.Enclose; enclose != nil {
		if err := enclose(d.Rules); err != nil {
			return nil, errors.Join(err, d.Close())
		}
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

// Enclose prepares the program of a command for the sandbox.
func (s *shell) Enclose(use *permission.ToolUse, cmd *exec.Cmd, scratch string) (over func() ([]string, error), err error) {
	plan, err := s.Sandbox(use.Dir)
	if err != nil {
		return nil, fmt.Errorf("the sandbox cannot be planned: %w", err)
	}
	plan.Writable = append(plan.Writable, sandbox.Path{Path: scratch, Why: "where the shell tells its directory"})
	held, done := kernel.Around(plan, func(ctx context.Context, host, port string) error {
		return s.Reaches(ctx, use.Session, host, port)
	})
	ended, err := held.Hand(cmd)
	if err != nil {
		done()
		return nil, err
	}
	return func() (says []string, err error) {
		defer done()
		if err := ended(); err != nil {
			return nil, err
		}
		for _, p := range s.Made(plan) {
			says = append(says, p.Made())
		}
		return says, nil
	}, nil
}

// Close closes the decider.
func (s *shell) Close() error {
	s.shells.mu.Lock()
	delete(s.shells.open, s.id)
	s.shells.mu.Unlock()
	return s.decider.Close()
}
