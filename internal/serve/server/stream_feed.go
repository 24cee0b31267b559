package server

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
)

// The limits of a feed: what it keeps for those who are slower.
const (
	maxEvents     = 1024
	maxEventBytes = 8 << 20
)

// feed carries events to the WebSockets. It keeps the last ones, once for all of them;
// nobody who publishes waits for one who reads.
type feed struct {
	mu     sync.Mutex
	kept   []event
	first  int64 // the number of kept[0]
	bytes  int
	waiter chan struct{} // closed at the next event; nil if nobody waits
}

// event is an event as it is sent.
type event struct {
	text    []byte
	own     []byte             // the text for the asker, of an approval
	asker   approval.Principal // whose question it is about; or
	session *store.Session     // what it is about
	whole   bool               // the session itself: text is its record alone
	cursor  int64              // of an approval
}

// shows reports whether the owner of a credential may see an event: an agent what is
// its own.
func (s *Server) shows(c *call, e *event) bool {
	if e.session != nil {
		return s.owns(c, e.session)
	}
	return c.person() || e.asker == c.principal()
}

// publish publishes an event.
func (f *feed) publish(e event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kept = append(f.kept, e)
	f.bytes += len(e.text) + len(e.own)
	drop := 0
	for n := len(f.kept); n-drop > maxEvents || f.bytes > maxEventBytes && n-drop > 1; drop++ {
		f.bytes -= len(f.kept[drop].text) + len(f.kept[drop].own)
	}
	clear(f.kept[:drop])
	f.kept, f.first = f.kept[drop:], f.first+int64(drop)
	if f.waiter != nil {
		close(f.waiter)
		f.waiter = nil
	}
}

// end returns the number of the next event.
func (f *feed) end() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.first + int64(len(f.kept))
}

// at returns the event with a number. Without one there is a channel that is closed
// when there is; lost says that it is no longer kept.
func (f *feed) at(n int64) (e event, wait <-chan struct{}, lost bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch i := n - f.first; {
	case i < 0:
		return event{}, nil, true
	case i < int64(len(f.kept)):
		return f.kept[i], nil, false
	}
	if f.waiter == nil {
		f.waiter = make(chan struct{})
	}
	return event{}, f.waiter, false
}

// follow publishes the changes of approvals until ctx ends. Several changes of one that
// came together are the last one.
func (s *Server) follow(ctx context.Context) {
	seq, err := s.changes.newest(ctx, 0)
	for err == nil && s.changes.wait(ctx, seq) {
		var next int64
		if next, err = s.publishAfter(ctx, seq); err != nil && ctx.Err() == nil {
			s.log.Error("changes of approvals cannot be followed", "error", err.Error())
			err = nil
			if !sleep(ctx, pause) {
				return
			}
		}
		seq = max(seq, next)
	}
}

// pageOfEvents is how many approvals are read at once.
const pageOfEvents = 100

// publishAfter publishes the approvals that changed after a seq, and returns the last.
func (s *Server) publishAfter(ctx context.Context, seq int64) (int64, error) {
	for {
		entries, err := s.options.Store.List(ctx, approval.Filter{After: seq, Limit: pageOfEvents})
		if err != nil {
			return seq, err
		}
		for i := range entries {
			e, err := approvalEvent(&entries[i])
			if err != nil {
				return seq, err
			}
			s.feed.publish(e)
			seq = entries[i].Seq
		}
		if len(entries) < pageOfEvents {
			return seq, nil
		}
	}
}

// newEvent returns an event with a value as its text.
func newEvent(v any) (event, error) {
	text, err := json.Marshal(v)
	return event{text: text}, err
}

// terminalChanged publishes a session or a command that has changed. What became of the
// question about a command is one more event.
func (s *Server) terminalChanged(rec store.Session, c *store.Command) {
	s.audience.touch(rec.ID)
	var all []any
	if c != nil {
		all = append(all, commandMessage{"command", newCommandInfo(c)})
		if status := approvalStatus(c); status != "" {
			all = append(all, commandStatus{
				"command_approval_status", c.ConversationID, c.SessionID, c.Command, status, status != "denied", c.Comment,
			})
		}
	}
	all = append(all, sessionMessage{"session", stateOf(&rec)}) // with what runs or waits in it
	for i, v := range all {
		e, err := newEvent(v)
		if err != nil {
			s.log.Error("an event cannot be written", "error", err.Error())
			continue
		}
		e.session, e.whole = &rec, i == len(all)-1
		s.feed.publish(e)
	}
}

// approvalStatus returns what became of the approval of a command that has just
// changed, "" if that is not new.
func approvalStatus(c *store.Command) string {
	switch {
	case c.State == store.CommandExecuting && c.ApprovalID == "":
		return "pre_approved"
	case c.State == store.CommandApproved:
		return "approved"
	case c.State == store.CommandDenied:
		return "denied"
	}
	return ""
}
