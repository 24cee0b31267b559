package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// streamRoutes are the WebSockets.
func streamRoutes() []route {
	return []route{
		{method: "GET", path: "/api/events", access: agents | people, about: "WebSocket: pending questions, and every change to approvals, sessions and commands; an agent sees only its own",
			query:  []param{{"after", "the cursor of the last message seen; approvals that changed since then come first"}},
			stream: (*Server).showEvents, answer: "messages: see docs/reference/api.md", errors: []int{http.StatusTooManyRequests}},
		{method: "GET", path: "/api/terminal/ws/{pty_session_id}", access: agents | people, about: "WebSocket: the output of a session, and input from the person who controls it; an agent sees only its own and cannot type",
			query:  []param{{"cursor", "the cursor of the last output seen (default: everything that is kept)"}},
			stream: (*Server).showTerminal, answer: "messages: see docs/reference/api.md", errors: []int{http.StatusNotFound, http.StatusTooManyRequests}},
	}
}

// The limits of a WebSocket.
const (
	maxMessage  = 16 << 10         // that is read; 4 KiB of input, however it is escaped
	maxSockets  = 512              // of a credential
	writeTime   = 15 * time.Second // for one message: who does not read for so long is gone
	pingEvery   = 30 * time.Second // also the idle limit: who does not answer within writeTime is gone
	goodbyeTime = time.Second
)

// protocol is the subprotocol of our WebSockets. A page names it beside its signature,
// since browsers want one of the protocols back that they have named.
const protocol = "agent-wrapper"

// sockets counts the open WebSockets, by credential.
type sockets struct {
	mu    sync.Mutex
	open  map[string]int
	ended bool
	all   sync.WaitGroup
}

// enter takes a place for a credential's WebSocket, until leave is called.
func (s *sockets) enter(credential string) (leave func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || s.open[credential] >= maxSockets {
		return nil, false
	}
	if s.open == nil {
		s.open = map[string]int{}
	}
	s.open[credential]++
	s.all.Add(1)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.open[credential]--; s.open[credential] == 0 {
			delete(s.open, credential)
		}
		s.all.Done()
	}, true
}

// close lets nobody in any more, and waits until all have left.
func (s *sockets) close() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.all.Wait()
}

// socket is an open WebSocket. Only one goroutine sends events or output.
type socket struct {
	conn *websocket.Conn
	ctx  context.Context // ends with the connection, the credential or the server
	end  context.CancelCauseFunc
}

// upgrade makes a WebSocket of a request. What comes from the peer is given to hear, and
// what watch does is sent to it; the first of them that returns an error ends the
// connection. Whether the credential, the host and the origin may is checked before (see
// Server.serve and own); Accept checks the origin once more.
func (s *Server) upgrade(w http.ResponseWriter, c *call, hear func(*socket, []byte) error, watch func(*socket) error) {
	leave, ok := s.sockets.enter(c.who.ID)
	if !ok {
		s.refuse(w, c.Request, fail(http.StatusTooManyRequests, "too_many_streams", "a credential can have at most %d streams open: close one", maxSockets))
		return
	}
	defer leave()
	conn, err := websocket.Accept(w, c.Request, &websocket.AcceptOptions{Subprotocols: []string{protocol}})
	if err != nil {
		return // Accept has answered
	}
	conn.SetReadLimit(maxMessage)
	ctx, end := context.WithCancelCause(c.Context())
	defer end(nil)
	o := &socket{conn, ctx, end}
	if err := o.prove(c); err != nil {
		end(err)
	}
	var reading sync.WaitGroup
	reading.Go(func() { end(o.listen(hear)) })
	if err := watch(o); err != nil {
		end(err)
	}
	o.goodbye()
	_ = conn.CloseNow() // it may be closed already
	reading.Wait()
}

// prove sends a page, which sees no headers, the proof that it talks to the server.
func (o *socket) prove(c *call) error {
	if c.stamp == nil || c.Header.Get("Authorization") != "" {
		return nil
	}
	return o.send(proved{"proof", c.stamp.Proof(c.who.Hash, c.Host)})
}

// proved is the first message to a page.
type proved struct {
	Type  string `json:"type"` // proof
	Proof string `json:"proof"`
}

// listen reads messages until the connection ends. The context of a read is not that of
// the socket: one that ends would end the connection without a goodbye.
func (o *socket) listen(hear func(*socket, []byte) error) error {
	ctx := context.WithoutCancel(o.ctx)
	for {
		kind, text, err := o.conn.Read(ctx)
		switch {
		case err != nil:
			return errLeft
		case kind != websocket.MessageText:
			return fail(http.StatusBadRequest, "bad_request", "send text messages, not binary")
		}
		if err := hear(o, text); err != nil {
			return err
		}
	}
}

// errLeft is why a WebSocket ends that the peer has left.
var errLeft = errors.New("the peer is gone")

// goodbye tells why a WebSocket ends, to who still listens.
func (o *socket) goodbye() {
	code, why := websocket.StatusNormalClosure, ""
	var f *failure
	switch cause := context.Cause(o.ctx); {
	case errors.Is(cause, errRevoked):
		code, why = websocket.StatusPolicyViolation, errRevoked.Error()
	case errors.As(cause, &f):
		code, why = websocket.StatusPolicyViolation, f.fault.Message
	case errors.Is(cause, context.Canceled):
		code, why = websocket.StatusGoingAway, "the server is stopping"
	case cause != nil:
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(o.ctx), goodbyeTime)
	defer cancel()
	text, err := json.Marshal(closing{"closed", why})
	if err == nil && o.conn.Write(ctx, websocket.MessageText, text) == nil {
		closed := time.AfterFunc(goodbyeTime, func() { _ = o.conn.CloseNow() }) // Close would wait longer for its echo
		defer closed.Stop()
		_ = o.conn.Close(code, why[:min(len(why), 120)]) // nobody is left to tell
	}
}

// closing is the last message.
type closing struct {
	Type   string `json:"type"` // closed
	Reason string `json:"reason,omitempty"`
}

// timely returns a context for one message. What has begun when the socket ends has a
// moment to finish: a context that ends would end the connection without a goodbye.
func (o *socket) timely() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(o.ctx), writeTime)
	stop := context.AfterFunc(o.ctx, func() { time.AfterFunc(goodbyeTime, cancel) })
	return ctx, func() {
		stop()
		cancel()
	}
}

// write writes a message.
func (o *socket) write(text []byte) error {
	ctx, cancel := o.timely()
	defer cancel()
	return o.conn.Write(ctx, websocket.MessageText, text)
}

// send writes a value as a message.
func (o *socket) send(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return o.write(text)
}

// pinging pings until stop is called, and ends the socket if nobody is there.
func (o *socket) pinging() (stop func()) {
	quit := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		t := time.NewTicker(pingEvery)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				if err := o.ping(); err != nil {
					o.end(errLeft)
				}
			case <-o.ctx.Done():
				return
			case <-quit:
				return
			}
		}
	})
	return func() {
		close(quit)
		running.Wait()
	}
}

// ping finds out whether somebody is there.
func (o *socket) ping() error {
	ctx, cancel := o.timely()
	defer cancel()
	return o.conn.Ping(ctx)
}
