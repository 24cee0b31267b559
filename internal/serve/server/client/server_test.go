package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/broker"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/desk"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/display"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/server"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/server/client"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store/sqlite"
	"github.com/agent-wrapper/agent-wrapper/internal/test/brokertest"
)

// service is a real server over SQLite.
type service struct {
	t     *testing.T
	url   string
	store store.Store
}

func serve(t *testing.T, kept store.Store) *service {
	t.Helper()
	s, err := server.New(server.Options{Store: kept, Rate: 1e6, Name: "server", Private: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		end()
		if err := <-served; err != nil && !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &service{t, "http://" + l.Addr().String(), kept}
}

// client returns the client of a new credential.
func (s *service) client(p approval.Principal) *client.Client {
	s.t.Helper()
	role, agentRole := server.RolePerson, ""
	if p.Role == approval.Agent {
		role, agentRole = server.RoleAgent, "chat"
	}
	tok, secret, err := server.Mint(role, agentRole, p.Name, time.Now(), time.Time{})
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.store.CreateToken(s.t.Context(), tok); err != nil {
		s.t.Fatal(err)
	}
	c, err := client.New(client.Options{URL: s.url, Token: secret})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(c.Close)
	return c
}

// everybody is a broker as the suite has it, one for all: each call goes through the
// client of who makes it. Questions and replies are given the form that the server
// demands, and taken out of it again.
type everybody struct {
	*client.Client // of the agent
	service        *service
	mu             sync.Mutex
	clients        map[approval.Principal]*client.Client
}

var theAgent = approval.Principal{Role: approval.Agent, Name: "main"}

func (e *everybody) of(p approval.Principal) *client.Client {
	e.mu.Lock()
	defer e.mu.Unlock()
	if p.Name == "" {
		p = theAgent
	}
	if e.clients[p] == nil {
		e.clients[p] = e.service.client(p)
	}
	return e.clients[p]
}

type wrapped struct {
	ID      string           `json:"id"`
	Digest  string           `json:"digest"`
	Choices []display.Choice `json:"choices"`
	Suite   json.RawMessage  `json:"suite"`
}

// choices are all that the suite's answers need.
var choices = []display.Choice{
	{Name: desk.Once}, {Name: desk.While, Rungs: []display.Rung{{Label: "any make", Rules: []string{"Bash(make:*)"}}}}, {Name: desk.Edit}, {Name: desk.Deny},
}

func (e *everybody) Submit(ctx context.Context, entry approval.Entry) (approval.Entry, error) {
	if entry.Asker != theAgent || entry.ID == "" { // the server cannot be told so
		return approval.Entry{}, approval.ErrTerms
	}
	text, err := json.Marshal(wrapped{entry.ID, entry.Digest, choices, entry.Question})
	if err != nil {
		return approval.Entry{}, err
	}
	entry.Question = text
	return plain(e.Client.Submit(ctx, entry))
}

func (e *everybody) Answer(ctx context.Context, event approval.Event, reply json.RawMessage) (approval.Entry, error) {
	if event.By == (approval.Principal{Role: approval.Person}) { // who has no credential
		return approval.Entry{}, approval.ErrNoSay
	}
	r := desk.Reply{ID: event.ID, Digest: event.Digest, Rules: event.Rules, For: int(event.For / time.Second), Times: event.Times, Input: event.Input}
	r.Choice = map[approval.Kind]string{approval.Approve: desk.Once, approval.Deny: desk.Deny, approval.Edit: desk.Edit}[event.Kind]
	if event.Times > 0 {
		r.Choice = desk.While
	}
	text, err := json.Marshal(r)
	if err != nil {
		return approval.Entry{}, err
	}
	got, err := plain(e.of(event.By).Answer(ctx, event, text))
	if err != nil && r.Choice == desk.Edit && r.Input == nil { // the server says that the reply needs one
		err = approval.ErrEvent
	}
	return got, err
}

func (e *everybody) Withdraw(ctx context.Context, id string, by approval.Principal, reason string) (approval.Entry, error) {
	return plain(e.of(by).Withdraw(ctx, id, by, reason))
}

func (e *everybody) Consume(ctx context.Context, id, digest string) (approval.Entry, error) {
	return plain(e.Client.Consume(ctx, id, digest))
}

func (e *everybody) Get(ctx context.Context, id string) (approval.Entry, error) {
	return plain(e.Client.Get(ctx, id))
}

func (e *everybody) Await(ctx context.Context, id string) (approval.Entry, error) {
	return plain(e.Client.Await(ctx, id))
}

func (e *everybody) List(ctx context.Context, f approval.Filter) ([]approval.Entry, error) {
	all, err := e.Client.List(ctx, f)
	for i := range all {
		all[i], _ = plain(all[i], nil)
	}
	return all, err
}

// plain returns an entry with the suite's own question and reply.
func plain(entry approval.Entry, err error) (approval.Entry, error) {
	var w wrapped
	if json.Unmarshal(entry.Question, &w) == nil {
		entry.Question = w.Suite
	}
	var r desk.Reply
	if json.Unmarshal(entry.Reply, &r) == nil && r.By != "" {
		entry.Reply = json.RawMessage(`{"by":"` + r.By + `","choice":"once"}`)
	}
	entry.Lease, entry.Heard = 0, time.Time{} // the client's
	for i := range entry.Votes {
		entry.Votes[i].Credential = "" // the server's to say
	}
	return entry, err
}

func open(t *testing.T) store.Store {
	t.Helper()
	kept, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "serve.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := kept.Close(); err != nil {
			t.Error(err)
		}
	})
	return kept
}

// clocked is a store whose approvals have a clock of their own.
type clocked struct {
	store.Store
	broker approval.Broker
}

func (c *clocked) Submit(ctx context.Context, e approval.Entry) (approval.Entry, error) {
	return c.broker.Submit(ctx, e)
}

func (c *clocked) Answer(ctx context.Context, e approval.Event, reply json.RawMessage) (approval.Entry, error) {
	return c.broker.Answer(ctx, e, reply)
}

func (c *clocked) Withdraw(ctx context.Context, id string, by approval.Principal, reason string) (approval.Entry, error) {
	return c.broker.Withdraw(ctx, id, by, reason)
}

func (c *clocked) Consume(ctx context.Context, id, digest string) (approval.Entry, error) {
	return c.broker.Consume(ctx, id, digest)
}

func (c *clocked) Get(ctx context.Context, id string) (approval.Entry, error) {
	return c.broker.Get(ctx, id)
}

func (c *clocked) List(ctx context.Context, f approval.Filter) ([]approval.Entry, error) {
	return c.broker.List(ctx, f)
}

func (c *clocked) Wait(ctx context.Context, after int64) (int64, error) {
	return c.broker.Wait(ctx, after)
}

// through returns the broker of a new server.
func through(t *testing.T, now func() time.Time) approval.Broker {
	kept := open(t)
	if now != nil { // which SQLite's has not
		local, err := broker.OpenLocal(filepath.Join(t.TempDir(), "approvals"), now)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := local.Close(); err != nil {
				t.Error(err)
			}
		})
		kept = &clocked{kept, local}
	}
	s := serve(t, kept)
	mine := s.client(theAgent)
	return &everybody{Client: mine, service: s, clients: map[approval.Principal]*client.Client{theAgent: mine}}
}

// A client is a broker like any other.
func TestBroker(t *testing.T) { brokertest.Run(t, through) }

// Of many people who answer over the network, one wins.
func TestOneWinner(t *testing.T) { brokertest.Race(t, through, 10, 30) }
