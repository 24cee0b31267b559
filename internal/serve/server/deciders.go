package server

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/broker"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/desk"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// decider decides the tool uses of one session of an agent, and has people asked at the
// store.
type decider struct {
	*engine.Engine
	approver *broker.Approver
	agent    string
	uses     int // that are being decided; guarded by deciders.mu
	last     time.Time
	ask      atomic.Pointer[permission.Request] // that waits; of a terminal session, which has one at a time

	recalling sync.Mutex
	recalled  int // the version of the grants that count
}

// newDecider opens an engine for a session of the agent with a name.
func (s *Server) newDecider(agent, role string) (*decider, error) {
	e, err := s.options.Open(agent, role, func(text string) { s.log.Warn("from the policy", "agent", agent, "warning", text) })
	if err != nil {
		return nil, err
	}
	d := &decider{Engine: e, agent: agent}
	d.approver = d.asks(s, s.options.Store, agent, nil)
	e.SetApprover(d)
	return d, nil
}

// asks returns who asks the questions of a decider at a broker. Id gives the ID of a
// question that is put again after a restart; nil: each that is not parked has a new one.
func (d *decider) asks(s *Server, b approval.Broker, agent string, id func(*permission.Request) string) *broker.Approver {
	menu := desk.Menu{Session: d.Session, Edit: true}
	if d.Keeps() {
		menu.Keep, menu.Into = d.Keep, d.KeepsIn
	}
	demands, asker := d.Demands(), approval.Principal{Role: approval.Agent, Name: agent}
	return broker.New(broker.Options{
		Broker: &link{b, s}, Agent: agent, Menu: menu, File: desk.EditedFile, Project: d.Place.Workspace,
		Terms: func(ask *permission.Request) approval.Terms {
			t, err := demands.Terms(ask, "", asker, time.Now())
			if err == nil && id != nil {
				t.ID = id(ask)
			}
			return t // without a digest there is no question, and the approver says so
		},
		Warn: func(text string) { s.log.Warn("about a question", "agent", agent, "warning", text) },
	})
}

// Approve asks. Whoever decides learns of the question by an asking; without one, it
// waits for the answer.
func (d *decider) Approve(ctx context.Context, ask permission.Request) (permission.Answer, error) {
	if a, ok := ctx.Value(askingKey{}).(*asking); ok {
		if a.answered == nil {
			a.answered = d.Waits(&ask)
		}
		answer, err := d.approver.Park(ctx, ask, a.id)
		if !errors.Is(err, permission.ErrParked) {
			a.id = "" // the next question is another one
			a.answered()
			a.answered = nil
		}
		return answer, err
	}
	defer d.Waits(&ask)()
	d.ask.Store(&ask)
	defer d.ask.Store(nil)
	return d.approver.Approve(context.WithValue(ctx, watchKey{}, new(atomic.Pointer[watch])), ask)
}

// askingKey is the key of the asking in a context, and watchKey that of the watch on a
// question for whose answer Approve waits.
type (
	askingKey struct{}
	watchKey  struct{}
)

// asking is what a tool use that may have to wait needs to know of its questions.
type asking struct {
	asked func(approval.Entry)                  // is called with each that is put
	mark  func(question []byte) ([]byte, error) // adds to a question what a restart needs
	id    string                                // of the present one; "": there is none
	seq   int64                                 // of its last change that is known
	watch *watch                                // is told of the next one

	answered func() // ends the wait of the present one; nil: none waits
}

// link is the store to the approvers of this server. A question is watched by its id,
// so that a change of one does not wake up all, and outlasts the server.
type link struct {
	approval.Broker
	server *Server
}

// Submit puts a question.
func (l *link) Submit(ctx context.Context, e approval.Entry) (approval.Entry, error) {
	a, parks := ctx.Value(askingKey{}).(*asking)
	if parks {
		var err error
		if e.Question, err = a.mark(e.Question); err != nil {
			return approval.Entry{}, err
		}
	}
	w := l.server.changes.watch(e.ID)
	got, err := l.Broker.Submit(ctx, e)
	switch {
	case err != nil:
		l.server.changes.forget(w)
		return got, err
	case parks:
		l.server.changes.forget(a.watch)
		a.id, a.seq, a.watch = got.ID, got.Seq, w
		a.asked(got)
	default:
		context.AfterFunc(ctx, func() { l.server.changes.forget(w) })
		ctx.Value(watchKey{}).(*atomic.Pointer[watch]).Store(w)
	}
	return got, nil
}

// Wait waits for a change of the question.
func (l *link) Wait(ctx context.Context, after int64) (int64, error) {
	if at, ok := ctx.Value(watchKey{}).(*atomic.Pointer[watch]); ok {
		return at.Load().wait(ctx, after)
	}
	return l.Broker.Wait(ctx, after)
}

// errStays is why a question is not withdrawn.
var errStays = errors.New("the server is stopping: the question waits until it starts again")

// Withdraw withdraws a question, unless it is only the server that ends.
func (l *link) Withdraw(ctx context.Context, id string, by approval.Principal, reason string) (approval.Entry, error) {
	if l.server.ctx.Err() != nil {
		return approval.Entry{}, errStays
	}
	return l.Broker.Withdraw(ctx, id, by, reason)
}

// deciders are the deciders of POST /api/decisions: one for each agent, session and
// role, since what a person answers for a session is for that one.
type deciders struct {
	server *Server

	mu   sync.Mutex
	open map[deciderKey]*decider
}

type deciderKey struct{ credential, session, role string }

// maxDeciders is how many are open at once. Those that nobody uses make room. In half of
// them one agent may have tool uses that wait, so that another finds room.
const maxDeciders = 200

var errDeciders = fail(429, "too_many_sessions", "too many sessions are open: wait until some of their decisions are made")

// use returns the decider for a key, until release is called.
func (d *deciders) use(key deciderKey, agent string) (one *decider, release func(), err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	one = d.open[key]
	if one == nil {
		if err := d.room(agent); err != nil {
			return nil, nil, err
		}
		if one, err = d.server.newDecider(agent, key.role); err != nil {
			return nil, nil, err
		}
		d.open[key] = one
	}
	one.uses++
	return one, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		one.uses--
		one.last = time.Now()
	}, nil
}

// room closes the decider that was used longest ago, if there are too many. The error is
// that none may be closed, or that the agent uses as many as it may.
func (d *deciders) room(agent string) error {
	var oldest deciderKey
	found, own := false, 0
	for key, one := range d.open {
		if one.uses > 0 && one.agent == agent {
			own++
		}
		if one.uses == 0 && (!found || one.last.Before(d.open[oldest].last)) {
			oldest, found = key, true
		}
	}
	switch {
	case own >= maxDeciders/2:
		return errDeciders
	case len(d.open) < maxDeciders:
		return nil
	case !found:
		return errDeciders
	}
	one := d.open[oldest]
	delete(d.open, oldest)
	return one.Close()
}

// close closes all. Nothing is decided any more.
func (d *deciders) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	for key, one := range d.open {
		errs = append(errs, one.Close())
		delete(d.open, key)
	}
	return errors.Join(errs...)
}
