package server

import (
	"context"
	"net/http"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/server/api"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/terminal"
)

// approvalMessage is a message about an approval, as it is now.
type approvalMessage struct {
	Type     string       `json:"type"` // approval
	Cursor   int64        `json:"cursor"`
	Approval api.Approval `json:"approval"`
}

// stateMessage frames the messages that say how everything is: snapshot before and
// current behind them, lost if the client was too slow for some of the changes.
type stateMessage struct {
	Type   string `json:"type"`
	Cursor int64  `json:"cursor"`
}

// sessionMessage is a message about a terminal session, as it is when it is sent: like
// GET of the session, with the command that runs or waits. One that is closed has neither.
type sessionMessage struct {
	Type    string      `json:"type"` // session
	Session sessionInfo `json:"session"`
}

// commandMessage is a message about a command, as it is now.
type commandMessage struct {
	Type    string      `json:"type"` // command
	Command commandInfo `json:"command"`
}

// commandStatus is a message about what became of the approval of a command.
type commandStatus struct {
	Type              string `json:"type"` // command_approval_status
	ConversationID    string `json:"conversation_id"`
	TerminalSessionID string `json:"terminal_session_id"`
	Command           string `json:"command"`
	Status            string `json:"status"` // pre_approved, approved, denied
	Approved          bool   `json:"approved"`
	Comment           string `json:"comment,omitempty"`
}

// stateOf returns the form of a session's record.
func stateOf(rec *store.Session) sessionInfo {
	return newSessionInfo(&terminal.Info{Session: *rec})
}

func approvalEvent(e *approval.Entry) (event, error) {
	out, err := newEvent(approvalMessage{"approval", e.Seq, formFor(true, *e)})
	if err != nil {
		return out, err
	}
	own, err := newEvent(approvalMessage{"approval", e.Seq, formFor(false, *e)})
	out.own, out.asker, out.cursor = own.text, e.Asker, e.Seq
	return out, err
}

// showEvents sends how everything is, and then what changes.
func (s *Server) showEvents(w http.ResponseWriter, c *call) {
	after, err := number(c, "after", 0, 1<<62, -1)
	if err != nil {
		s.refuse(w, c.Request, err)
		return
	}
	s.upgrade(w, c, deaf, func(o *socket) error {
		v := &viewer{server: s, out: o, call: c.with(o.ctx), cursor: after}
		return v.watch()
	})
}

// deaf hears nothing.
func deaf(*socket, []byte) error {
	return fail(http.StatusBadRequest, "bad_request", "this stream accepts no messages: only receive from it")
}

// viewer is who watches the events.
type viewer struct {
	server *Server
	out    *socket
	call   *call
	cursor int64 // of the last approval that was sent, -1: none
	at     int64 // the number of the next event
}

// watch sends events until the connection ends.
func (v *viewer) watch() error {
	if err := v.snapshot("snapshot"); err != nil {
		return err
	}
	pings := time.NewTicker(pingEvery)
	defer pings.Stop()
	for {
		e, wait, lost := v.server.feed.at(v.at)
		switch {
		case lost:
			if err := v.snapshot("lost"); err != nil {
				return err
			}
			continue
		case wait == nil:
			if err := v.pass(&e); err != nil {
				return err
			}
			continue
		}
		select {
		case <-wait:
		case <-pings.C:
			if err := v.out.ping(); err != nil {
				return err
			}
		case <-v.out.ctx.Done():
			return nil
		}
	}
}

// pass sends an event, if it is for this viewer and was not sent with a snapshot.
func (v *viewer) pass(e *event) error {
	v.at++
	if e.cursor > 0 {
		if e.cursor <= v.cursor {
			return nil
		}
		v.cursor = e.cursor
	}
	if !v.server.shows(v.call, e) {
		return nil
	}
	if e.whole {
		if i, err := v.server.terminals.Get(e.session.ID); err == nil {
			return v.out.send(sessionMessage{"session", newSessionInfo(&i)})
		} // it is closed: its record is all that there is
	}
	if e.own != nil && !v.call.person() {
		return v.out.write(e.own)
	}
	return v.out.write(e.text)
}

// snapshot sends how everything is: what waits, or, to a client that has been here
// before, all approvals that changed since then. What changes meanwhile comes after it,
// perhaps once more.
func (v *viewer) snapshot(kind string) error {
	v.at = v.server.feed.end()
	newest, err := v.server.changes.latest(v.out.ctx)
	if err != nil {
		return err
	}
	if v.cursor > newest { // it is another store's
		v.cursor = -1
	}
	if err := v.out.send(stateMessage{kind, max(v.cursor, 0)}); err != nil {
		return err
	}
	if err := v.approvals(); err != nil {
		return err
	}
	if err := v.sessions(); err != nil {
		return err
	}
	v.cursor = newest
	return v.out.send(stateMessage{"current", v.cursor})
}

// approvals sends approvals one by one, so that no snapshot is held as a whole.
func (v *viewer) approvals() error {
	f := approval.Filter{After: max(v.cursor, 0), Limit: pageOfEvents}
	if v.cursor < 0 {
		f.Status = []approval.Status{approval.Pending, approval.Approved}
	}
	for {
		entries, err := v.server.options.Store.List(v.out.ctx, f)
		if err != nil {
			return err
		}
		for i := range entries {
			e := &entries[i]
			f.After = e.Seq
			if !v.call.sees(e) {
				continue
			}
			if err := v.out.send(approvalMessage{"approval", e.Seq, formFor(v.call.person(), *e)}); err != nil {
				return err
			}
		}
		if len(entries) < pageOfEvents {
			return nil
		}
	}
}

// sessions sends the terminal sessions.
func (v *viewer) sessions() error {
	for _, i := range v.server.terminals.List() {
		if !v.server.owns(v.call, &i.Session) {
			continue
		}
		if err := v.out.send(sessionMessage{"session", newSessionInfo(&i)}); err != nil {
			return err
		}
	}
	return nil
}

// sleep waits; false if ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
