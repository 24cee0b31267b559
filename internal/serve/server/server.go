package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/server/api"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/server/page"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/signed"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/terminal"
)

// Options say what a Server serves.
type Options struct {
	Store store.Store
	// Name is that of this server in the store. It is the same after a restart.
	Name string
	// Instance is the name of this start of the server, see NewInstance, and Before that of
	// the one before it. "" makes one up.
	Instance, Before string
	// Open opens an engine for one session of an agent, by the agent's name and role. The
	// server closes it. Warn is for its Options.
	Open func(agent, role string, warn func(string)) (*engine.Engine, error)
	// Enclose has rules decide about commands of terminal sessions with a sandbox around them,
	// if the rules say so; nil: there is no sandbox. An error: no command runs.
	Enclose func(r *engine.Rules) error
	// Rules loads the rules by which Open decides for agents of a role, without a record.
	Rules func(role string) (*engine.Rules, error)
	// Record is the file to which the engines record, Head that of its head.
	Record, Head string
	// Workspace is the absolute directory in which sessions begin.
	Workspace string
	// Private is a directory for files of terminal sessions that only this user can read.
	Private string
	// Recordings is a directory for recordings of terminal sessions that only this user
	// can read; "" keeps none. RecordInput has them hold also what people type.
	Recordings  string
	RecordInput bool
	// MostSessions is how many terminal sessions there may be at once; 0 means 10.
	MostSessions int
	// Environ is the environment of which terminal sessions are given a part, see
	// terminal.Options; nil is that of this process.
	Environ []string
	// Hosts are further names, with a port unless it is the scheme's own, under which
	// the server is reached. The address that it listens on counts anyway.
	Hosts []string
	// TLS says that it is reached by https.
	TLS bool
	// Log gets what an operator should know; nil discards it. It never gets a secret.
	Log *slog.Logger
	// Rate is how many requests a second a credential may make for long, and twice as
	// many at once; 0 means 500.
	Rate float64
}

// Server is the approval service. Its methods are safe for concurrent use.
type Server struct {
	options     Options
	log         *slog.Logger
	credentials *credentials
	rates       *limiter // of credentials
	failures    *limiter // of addresses that have none
	metrics     *metrics
	changes     *changes
	leases      *leases
	feed        feed
	sockets     sockets
	audience    audience
	deciders    *deciders
	decisions   *decisions
	works       works
	grants      grants
	chain       chain
	trying      chan struct{} // is sent to while a rule is tried
	shells      *shells
	terminals   *terminal.Manager
	notes       notes
	hashes      hashes
	mux         *http.ServeMux
	openapi     []byte
	hosts       []string // that a request may name
	port        string   // on which it listens
	sendTimes   sendTimes
	ctx         context.Context
	end         context.CancelFunc
	running     sync.WaitGroup
}

// The limits on requests. A request has to be there soon, whatever its pace; an answer
// has to be read before the longest wait is over by far.
const (
	maxBody     = 1 << 20
	maxHeader   = 16 << 10
	checkTime   = 5 * time.Second // of the store
	maxWait     = 55 * time.Second
	answerTime  = maxWait + 20*time.Second
	idleTime    = 2 * time.Minute
	failureRate = 20
)

// sendTimes is how long a client may take to send a request.
type sendTimes struct{ header, body time.Duration }

// New returns a Server. The error is the store's. Close it at the end.
func New(o Options) (*Server, error) {
	s := &Server{
		options: o, log: o.Log, credentials: newCredentials(o.Store, cmp.Or(o.Instance, NewInstance())),
		rates: newLimiter(cmp.Or(o.Rate, 500)), failures: newLimiter(failureRate),
		mux: http.NewServeMux(), changes: newChanges(o.Store), leases: newLeases(time.Now()), trying: make(chan struct{}, 1),
		sendTimes: sendTimes{header: 5 * time.Second, body: 10 * time.Second},
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.ctx, s.end = context.WithCancel(context.Background())
	s.metrics = newMetrics(s.credentials.open)
	s.deciders = &deciders{server: s, open: map[deciderKey]*decider{}}
	s.decisions = &decisions{byID: map[string]*waiting{}, waiting: map[string]int{}}
	s.shells = &shells{server: s, open: map[string]*decider{}}
	if err := s.begin(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	for i := range routes() {
		rt := &routes()[i]
		s.mux.HandleFunc(rt.method+" "+rt.path, s.serve(rt))
	}
	s.mux.Handle("/{$}", page.Handler())
	s.mux.Handle("/static/", page.Handler())
	s.mux.HandleFunc("/", s.nowhere)
	s.openapi = describe(routes())
	return s, nil
}

// begin looks at the store, and goes on with what waits there.
func (s *Server) begin() error {
	if err := errors.Join(s.credentials.endOld(s.ctx, s.options.Before), s.credentials.look(s.ctx), s.changes.begin(s.ctx), s.lookAtGrants(s.ctx)); err != nil {
		return err
	}
	s.running.Go(func() { s.credentials.watch(s.ctx, s.lookAtGrants, s.lookFailed) })
	s.running.Go(func() { s.follow(s.ctx) })
	s.running.Go(func() {
		s.changes.follow(s.ctx, func(err error) { s.log.Error("changes of approvals cannot be followed", "error", err.Error()) })
	})
	s.running.Go(func() { s.watchLeases(s.ctx) })
	var err error
	if s.terminals, err = terminal.Open(s.ctx, s.shells.options()); err != nil {
		return err
	}
	s.running.Go(s.watchRevoked)
	return s.resume(s.ctx)
}

// watchRevoked withdraws what credentials wait for in terminals that do not count any
// more, until the server ends.
func (s *Server) watchRevoked() {
	every := time.NewTicker(lookEvery)
	defer every.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-every.C:
			s.terminals.WithdrawRevoked()
		}
	}
}

// lookFailed tells that the store cannot be looked at.
func (s *Server) lookFailed(err error) {
	s.log.Error("credentials and rules cannot be checked", "error", err.Error())
}

// Close ends what is open.
func (s *Server) Close() error {
	s.end()
	s.sockets.close()
	var err error
	if s.terminals != nil {
		err = s.terminals.Close()
	}
	s.running.Wait()
	s.works.close()
	for _, w := range s.decisions.all() {
		s.leave(w)
	}
	return errors.Join(err, s.deciders.close(), s.notes.close(), s.hashes.close())
}

// Serve answers requests until ctx ends. Then those that are under way have a while to
// finish; what waits is told that the server ends.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	s.hosts, s.port = hostsOf(l.Addr(), s.options.Hosts), portOf(l.Addr())
	web := &http.Server{
		Handler: s, ReadHeaderTimeout: s.sendTimes.header, WriteTimeout: answerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		// Requests end with the server, not with ctx: those that are under way finish.
		BaseContext: func(net.Listener) context.Context { return s.ctx },
		ConnContext: withConn,
	}
	served := make(chan error, 1)
	go func() { served <- web.Serve(&conns{Listener: l}) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	s.end()
	late, cancel := context.WithTimeout(context.Background(), s.sendTimes.body)
	defer cancel()
	err := web.Shutdown(late)
	if errors.Is(err, context.DeadlineExceeded) {
		err = web.Close()
	}
	<-served
	return err
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out := &answered{ResponseWriter: w}
	defer s.recovered(out, r)
	if c := connOf(r); c != nil {
		c.working(1)
		defer c.working(-1)
	}
	s.hurry(w, r)
	s.protect(out.Header())
	if err := s.own(r); err != nil {
		s.metrics.refused("other_host_or_origin")
		s.refuse(out, r, err)
		return
	}
	s.mux.ServeHTTP(out, r)
}

// hurry gives the body of a request its time, so that a slow client keeps nothing. It
// counts also if nobody reads the body: net/http awaits the rest before it answers.
func (s *Server) hurry(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.sendTimes.body)) // fails on a connection that is closed
	}
}

// protection are the headers of every answer. Their values are shared, and not changed.
var protection = http.Header{
	api.VersionHeader:              {api.Version},
	"Cache-Control":                {"no-store"},
	"Content-Security-Policy":      {"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"},
	"Cross-Origin-Opener-Policy":   {"same-origin"},
	"Cross-Origin-Resource-Policy": {"same-origin"},
	"Referrer-Policy":              {"no-referrer"},
	"X-Content-Type-Options":       {"nosniff"},
	"X-Frame-Options":              {"DENY"},
}

// protect sets the headers of every answer.
func (s *Server) protect(h http.Header) {
	maps.Copy(h, protection)
	if s.options.TLS {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}

// recovered answers a request whose handler has panicked. The stack is for the log.
func (s *Server) recovered(w *answered, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	s.log.Error("a request panicked", "method", r.Method, "path", r.Pattern, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	if w.status == 0 {
		s.refuse(w, r, errInternal)
	}
}

// nowhere answers a request that no route takes.
func (s *Server) nowhere(w http.ResponseWriter, r *http.Request) {
	var methods []string
	for _, rt := range routes() {
		other := r.Clone(r.Context())
		other.Method = rt.method
		if _, pattern := s.mux.Handler(other); pattern == rt.method+" "+rt.path {
			methods = append(methods, rt.method)
		}
	}
	if len(methods) > 0 {
		w.Header().Set("Allow", strings.Join(methods, ", "))
		s.refuse(w, r, fail(http.StatusMethodNotAllowed, "method_not_allowed", "this path accepts only %s", strings.Join(methods, ", ")))
		return
	}
	s.refuse(w, r, fail(http.StatusNotFound, "not_found", "this path does not exist: see /openapi.json"))
}

// serve returns the handler of a route.
func (s *Server) serve(rt *route) http.HandlerFunc {
	measured := s.metrics.route(rt)
	return func(w http.ResponseWriter, r *http.Request) {
		out, _ := w.(*answered)
		done := measured()
		defer func() { done(out.status) }()
		c, err := s.admit(rt, out, r)
		if err != nil {
			s.refuse(out, r, err)
			return
		}
		if c.who != nil {
			ctx, release := s.credentials.hold(r.Context(), c.who.ID)
			defer release()
			c = c.with(ctx)
		}
		if rt.stream != nil {
			rt.stream(s, out, c)
			return
		}
		result, err := s.act(rt, out, c)
		if err != nil {
			s.refuse(out, r, cmp.Or(ended(c.Context()), err))
			return
		}
		write(out, http.StatusOK, result)
	}
}

// ended returns why a context has ended, if its credential has.
func ended(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), errRevoked) {
		return errRevoked
	}
	return nil
}

// act reads the body and does what the route is for.
func (s *Server) act(rt *route, w *answered, c *call) (any, error) {
	var data []byte
	if c.ContentLength != 0 {
		var err error
		if data, err = body(w, c.Request); err != nil {
			return nil, err
		}
	}
	if c.stamp != nil && c.stamp.Digest != signed.DigestOf(data) {
		return nil, fail(http.StatusBadRequest, "other_body", "the body is not the one that was signed")
	}
	return rt.action.run(s, c, data)
}

// admit checks whether a request may be made.
func (s *Server) admit(rt *route, w http.ResponseWriter, r *http.Request) (*call, error) {
	if err := rt.known(r); err != nil {
		return nil, err
	}
	if rt.access == anyone {
		return &call{r, nil, nil}, nil
	}
	who, stamp, err := s.identify(r)
	if c := connOf(r); c != nil {
		c.admitted(err == nil)
	}
	if err != nil {
		s.metrics.refused("no_credential")
		if !s.failures.take(address(r), time.Now()) {
			return nil, tooMany
		}
		return nil, err
	}
	if stamp != nil {
		w.Header().Set(signed.ProofHeader, stamp.Proof(who.Hash, r.Host))
	}
	c := &call{r, who, stamp}
	switch {
	case !s.rates.take(who.ID, time.Now()):
		s.metrics.refused("rate")
		return nil, tooMany
	case rt.access&c.role() == 0:
		s.metrics.refused("role")
		s.log.Warn("SECURITY: a credential was used for what it may not do", "credential", who.ID, "role", who.Role, "method", r.Method, "route", rt.path)
		return nil, errForbidden
	}
	return c, nil
}

var tooMany = fail(http.StatusTooManyRequests, "too_many_requests", "too many requests: wait a second")

// known checks the names in the query, so that none is taken for one that counts.
func (rt *route) known(r *http.Request) error {
	if r.URL.RawQuery == "" {
		return nil
	}
	for name, values := range r.URL.Query() {
		if !slices.ContainsFunc(rt.query, func(p param) bool { return p.name == name }) {
			return fail(http.StatusBadRequest, "bad_request", "the query: this path does not accept one of these parameters: see /openapi.json")
		}
		if len(values) > 1 {
			return fail(http.StatusBadRequest, "bad_request", "the query: %s appears more than once", name)
		}
	}
	return nil
}

// answered is an answer, with its status; 0 before there is one.
type answered struct {
	http.ResponseWriter
	status int
}

// WriteHeader begins the answer.
func (a *answered) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (a *answered) Unwrap() http.ResponseWriter { return a.ResponseWriter }
