// Package decide serves decisions on tool uses to a program that runs an agent itself,
// as JSON-RPC 2.0 with one object a line: the program asks before each tool use, and
// puts the questions that the policies leave to a person. docs/reference/protocol.md describes
// the methods.
//
// Every request is answered once, in any order. An error is a denial, and so is a
// program that goes away: what waits is denied, and the records are closed.
package decide

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/desk"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/text/lines"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Options say who decides, and who is asked.
type Options struct {
	// Open opens an engine: one at the start, for tool uses without a session, and one
	// at the first use of each session. Warn is for its Options.
	Open func(warn func(string)) (*engine.Engine, error)
	// Ask puts the questions to the client.
	Ask bool
	// Elsewhere, without Ask, returns who is asked the questions of an engine. With nil
	// nobody can be asked.
	Elsewhere func(e *engine.Engine, menu desk.Menu, warn func(string)) permission.Approver
}

// server is the state of a connection.
type server struct {
	options Options
	methods map[string]handler
	out     *lines.Writer
	ctx     context.Context // ends the decisions
	budget  *budget         // of requests that are worked on
	asks    *budget         // of questions that wait
	running sync.WaitGroup

	mu       sync.Mutex
	calls    map[string]context.CancelCauseFunc // in flight, by callID
	sessions map[string]*session                // by name
	numbered map[string]*session                // by the prefix of their questions
	digests  map[string]string                  // of the questions that the client has not responded to, by id
	opened   int                                // how many were
}

// The limits on what a client can have in flight. At those of work, no more is read
// until something is done; a question too many is denied.
const (
	maxWork  = 10_000
	maxAsks  = 10_000
	maxBytes = 64 << 20
)

// grace is how long the end of a context waits for a client that does not read.
const grace = 5 * time.Second

// Serve answers requests until the input or ctx ends. Then what waits is denied, and
// what was begun is answered, for a while. The error is that of opening the first
// engine, or of reading or writing.
func Serve(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	ctx, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	var lost error
	s := &server{
		options: o, methods: methods(), ctx: ctx, budget: newBudget(maxWork, maxBytes), asks: newBudget(maxAsks, maxBytes),
		calls: map[string]context.CancelCauseFunc{}, sessions: map[string]*session{}, numbered: map[string]*session{}, digests: map[string]string{},
	}
	s.out = lines.NewWriter(out, func(err error) {
		lost = fmt.Errorf("standard output cannot be written: %w", err)
		lose(errGone)
	})
	if _, err := s.session(""); err != nil {
		return err
	}
	served, late := make(chan error, 1), s.late()
	go func() { served <- s.serve(in) }()
	var err error
	select {
	case err = <-served:
	case <-late:
	}
	return errors.Join(err, s.end(late), lost)
}

// errGone is why nothing is allowed any more.
var errGone = errors.New("the client is gone")

// serve answers the lines of the input until it or the context ends.
func (s *server) serve(in io.Reader) error {
	type input struct {
		line []byte
		err  error
	}
	inputs := make(chan input)
	go func() { // ends with the input or, if that does not end, with the process
		r := lines.NewReader(in)
		for {
			line, err := r.Next()
			select {
			case inputs <- input{line, err}:
			case <-s.ctx.Done():
				return
			}
			if err != nil && !errors.Is(err, lines.ErrLong) {
				return
			}
		}
	}()
	for {
		select {
		case <-s.ctx.Done():
			return nil
		case in := <-inputs:
			switch {
			case in.err == nil:
				s.line(in.line)
			case errors.Is(in.err, lines.ErrLong):
				s.respond(nil, nil, wrong(codeInvalid, "%v", in.err))
			case errors.Is(in.err, io.EOF):
				return nil
			default:
				return fmt.Errorf("standard input: %w", in.err)
			}
		}
	}
}

// end denies what waits, waits for what was begun and closes the sessions.
func (s *server) end(late <-chan struct{}) error {
	for _, one := range s.all() {
		one.desk.Close(errGone.Error())
	}
	done := make(chan struct{})
	go func() {
		s.running.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-late:
	}
	var errs []error
	for _, one := range s.all() {
		errs = append(errs, one.Close())
	}
	return errors.Join(errs...)
}

// late returns a channel that is closed when nobody waits any more for a client that
// does not read: a while after the end of the context.
func (s *server) late() <-chan struct{} {
	late := make(chan struct{})
	context.AfterFunc(s.ctx, func() { time.AfterFunc(grace, func() { close(late) }) })
	return late
}

// line handles one line of the client.
func (s *server) line(line []byte) {
	m, wrong := read(line)
	switch {
	case wrong != nil:
		s.respond(m.ID, nil, wrong)
	case m.Method == nil:
		s.answered(m)
	case m.ID == nil:
		s.notified(*m.Method, m)
	default:
		s.request(m, len(line))
	}
}

// request begins a request.
func (s *server) request(m *message, size int) {
	handle := s.methods[*m.Method]
	if handle == nil {
		s.respond(m.ID, nil, s.unknown(*m.Method))
		return
	}
	ctx, err := s.begin(callID(m.ID))
	if err != nil {
		s.respond(m.ID, nil, err)
		return
	}
	s.budget.take(size)
	ctx = context.WithValue(ctx, workKey{}, &work{s.budget, size, sync.Once{}})
	result, failed := handle(s, ctx, m.Params)
	rest, more := result.(later)
	if !more {
		s.finish(ctx, m, result, failed)
		return
	}
	s.running.Go(func() {
		result, failed := rest()
		s.finish(ctx, m, result, failed)
	})
}

// begin registers a request that is in flight, and returns its context.
func (s *server) begin(id string) (context.Context, *rpcError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls[id] != nil {
		return nil, wrong(codeInvalid, "id: a request with this id is in flight")
	}
	ctx, cancel := context.WithCancelCause(s.ctx)
	s.calls[id] = cancel
	return ctx, nil
}

// finish answers a request. Its id may be used again before the client has read that.
func (s *server) finish(ctx context.Context, m *message, result any, err error) {
	s.mu.Lock()
	id := callID(m.ID)
	cancel := s.calls[id]
	delete(s.calls, id)
	s.mu.Unlock()
	cancel(nil)
	s.respond(m.ID, result, err)
	free(ctx)
}

// respond writes a response.
func (s *server) respond(id []byte, result any, err error) {
	r := response{JSONRPC: version, ID: id, Result: result}
	if err != nil {
		r.Result, r.Error = nil, asError(err)
	}
	_ = s.out.Write(r) // an error has ended the connection
}

// notify writes a notification.
func (s *server) notify(method string, params any) {
	_ = s.out.Write(request{JSONRPC: version, Method: method, Params: params}) // see respond
}

// warning is the notification of what a person should know.
type warning struct {
	Message string `json:"message"`
	Session string `json:"session,omitempty"`
}

// notified handles a notification.
func (s *server) notified(method string, m *message) {
	switch handle := s.methods[method]; {
	case handle == nil:
		s.notify("warning", warning{Message: s.unknown(method).Message})
	case method != "cancel" && method != "outcome":
		s.notify("warning", warning{Message: method + " without an id has no answer, so nothing was done"})
	default:
		if _, err := handle(s, s.ctx, m.Params); err != nil {
			s.notify("warning", warning{Message: method + ": " + err.Error()})
		}
	}
}
