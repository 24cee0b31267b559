package terminal

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/audit"
	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// memory is a store in memory.
type memory struct {
	mu       sync.Mutex
	sessions map[string]store.Session
	commands []store.Command
	chats    []store.Chat
	entries  map[string]*approval.Entry
	change   chan struct{} // closed at the next change
	seq      int64         // of the last one
	broken   error         // of every write
	slow     chan struct{} // AppendChat waits for it
	history  []stored      // of sessions and commands, in the order of the writes
}

func newMemory() *memory {
	return &memory{sessions: map[string]store.Session{}, entries: map[string]*approval.Entry{}, change: make(chan struct{})}
}

// stored is a change of a session, or of one of its commands.
type stored struct {
	session, state string
	command        *store.Command
	from           store.CommandState
}

// write locks the store for a change.
func (m *memory) write() (func(), error) {
	m.mu.Lock()
	if m.broken != nil {
		defer m.mu.Unlock()
		return func() {}, m.broken
	}
	return func() {
		m.seq++
		close(m.change)
		m.change = make(chan struct{})
		m.mu.Unlock()
	}, nil
}

func (m *memory) CreateSession(_ context.Context, s store.Session) (store.Session, error) {
	done, err := m.write()
	defer done()
	if err == nil {
		s.Version = 1
		m.sessions[s.ID] = s
	}
	return s, err
}

func (m *memory) Sessions(_ context.Context, f store.SessionFilter) (all []store.Session, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.sessions {
		if s.Server == f.Server {
			all = append(all, s)
		}
	}
	return all, nil
}

func (m *memory) UpdateSession(_ context.Context, s store.Session) (store.Session, error) {
	done, err := m.write()
	defer done()
	if err != nil {
		return s, err
	}
	if m.sessions[s.ID].Version != s.Version {
		return s, store.ErrChanged
	}
	s.Version++
	m.sessions[s.ID] = s
	m.history = append(m.history, stored{session: s.ID, state: s.State})
	return s, nil
}

func (m *memory) DeleteSession(_ context.Context, s store.Session) error {
	done, err := m.write()
	defer done()
	if err == nil {
		delete(m.sessions, s.ID)
	}
	return err
}

var unsettled = []store.CommandState{store.CommandPending, store.CommandApproved, store.CommandExecuting}

func (m *memory) CreateCommand(_ context.Context, c store.Command) error {
	done, err := m.write()
	defer done()
	if err != nil {
		return err
	}
	for _, other := range m.commands {
		if other.SessionID == c.SessionID && slices.Contains(unsettled, other.State) {
			return store.ErrBusy
		}
	}
	m.commands = append(m.commands, c)
	m.history = append(m.history, stored{session: c.SessionID, command: &c})
	return nil
}

func (m *memory) Commands(_ context.Context, f store.CommandFilter) (all []store.Command, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.commands {
		if c.SessionID == f.SessionID && (f.States == nil || slices.Contains(f.States, c.State)) {
			all = append(all, c)
		}
	}
	return all, nil
}

func (m *memory) UpdateCommand(_ context.Context, from store.CommandState, c store.Command) error {
	done, err := m.write()
	defer done()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(m.commands, func(x store.Command) bool { return x.ID == c.ID && x.State == from })
	if i < 0 {
		return store.ErrChanged
	}
	m.commands[i] = c
	m.history = append(m.history, stored{session: c.SessionID, command: &c, from: from})
	return nil
}

func (m *memory) Recover(_ context.Context, _ string, at time.Time) (all []store.Command, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.commands {
		if c := &m.commands[i]; c.State == store.CommandExecuting {
			c.State, c.Changed = store.CommandUnknown, at
			all = append(all, *c)
		}
	}
	return all, nil
}

func (m *memory) AppendChat(_ context.Context, entries ...store.Chat) ([]store.Chat, error) {
	if m.slow != nil {
		<-m.slow
	}
	done, err := m.write()
	defer done()
	if err == nil {
		m.chats = append(m.chats, entries...)
	}
	return entries, err
}

func (m *memory) step(id string, e approval.Event, reply json.RawMessage) (approval.Entry, error) {
	done, err := m.write()
	defer done()
	if err != nil {
		return approval.Entry{}, err
	}
	entry := m.entries[id]
	if entry == nil {
		return approval.Entry{}, approval.ErrUnknown
	}
	e.ID, e.At = id, time.Now()
	next, err := approval.Step(entry.State, e)
	if err == nil {
		entry.State = next
		if reply != nil {
			entry.Reply = reply
		}
	}
	return *entry, err
}

func (m *memory) Answer(_ context.Context, e approval.Event, reply json.RawMessage) (approval.Entry, error) {
	return m.step(e.ID, e, reply)
}

func (m *memory) Withdraw(_ context.Context, id string, by approval.Principal, _ string) (approval.Entry, error) {
	return m.step(id, approval.Event{Kind: approval.Cancel, By: by}, nil)
}

func (m *memory) Get(_ context.Context, id string) (approval.Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.entries[id]; e != nil {
		got := *e
		got.Seq = m.seq
		return got, nil
	}
	return approval.Entry{}, approval.ErrUnknown
}

// Submit begins an approval, or returns the one that is there.
func (m *memory) Submit(_ context.Context, e approval.Entry) (approval.Entry, error) {
	done, err := m.write()
	defer done()
	if err != nil {
		return e, err
	}
	if old := m.entries[e.ID]; old != nil {
		if old.Digest != e.Digest {
			return *old, approval.ErrBegun
		}
		return *old, nil
	}
	if e.State, err = approval.Step(approval.State{}, approval.Event{Kind: approval.Ask, Terms: e.Terms, At: time.Now()}); err != nil {
		return e, err
	}
	m.entries[e.ID] = &e
	return e, nil
}

func (m *memory) Consume(_ context.Context, id, digest string) (approval.Entry, error) {
	return m.step(id, approval.Event{Kind: approval.Consume, Digest: digest}, nil)
}

func (m *memory) List(context.Context, approval.Filter) ([]approval.Entry, error) { return nil, nil }

// Wait waits for a change after one.
func (m *memory) Wait(ctx context.Context, after int64) (int64, error) {
	m.mu.Lock()
	change, seq := m.change, m.seq
	m.mu.Unlock()
	if seq > after {
		return seq, nil
	}
	select {
	case <-change:
		return after, nil
	case <-ctx.Done():
		return after, context.Cause(ctx)
	}
}

// until waits until the store fulfils a condition.
func (m *memory) until(t *testing.T, what string, is func() bool) {
	t.Helper()
	late := time.After(20 * time.Second)
	for {
		m.mu.Lock()
		ok, change := is(), m.change
		m.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-change:
		case <-late:
			t.Fatalf("never: %s; %+v", what, m.commands)
		}
	}
}

// command returns a command. The store is locked.
func (m *memory) command(id string) *store.Command {
	for i := range m.commands {
		if m.commands[i].ID == id {
			return &m.commands[i]
		}
	}
	return &store.Command{}
}

// ends waits until a command is in a state, and returns it.
func (m *memory) ends(t *testing.T, id string, state store.CommandState) store.Command {
	t.Helper()
	m.until(t, id+" is "+string(state), func() bool { return m.command(id).State == state })
	m.mu.Lock()
	defer m.mu.Unlock()
	return *m.command(id)
}

// chat returns all the text of the chat, without prefixes.
func (m *memory) chat() (all string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.chats {
		all += c.Text[len(chatPrefix):]
	}
	return all
}

// person asks by a broker, as broker.Approver does.
type person struct{ approval.Broker }

var askingAgent = approval.Principal{Role: approval.Agent, Name: "bot"}

func (p person) Approve(ctx context.Context, ask permission.Request) (permission.Answer, error) {
	digest, err := approval.Digest(&ask)
	if err != nil {
		return permission.Answer{}, err
	}
	id := ask.Use.ID
	if ask.Version == again {
		id += again
	}
	e, err := p.Submit(ctx, approval.Entry{State: approval.State{Terms: approval.Terms{ID: id, Digest: digest, Asker: askingAgent}}, Session: ask.Use.Session})
	if err != nil {
		return permission.Answer{}, err
	}
	if e.Status == approval.Pending {
		e, err = approval.Await(ctx, p, e.ID)
		if err != nil {
			_, _ = p.Withdraw(context.WithoutCancel(ctx), e.ID, askingAgent, "it was cancelled")
			return permission.Answer{}, err
		}
	}
	if e.Status == approval.Approved {
		if _, err := p.Consume(ctx, e.ID, digest); err != nil {
			return permission.Answer{}, err
		}
	}
	return e.Answer()
}

// again is the version of a question that changed after the first answer.
const again = "-again"

// rules is a decider that knows a command by its first word: "ask", "deny" and "break"
// stand for a decision about what follows, and everything else is allowed.
type rules struct {
	approver permission.Approver
	mu       *sync.Mutex
	outcomes *[]audit.Outcome
	version  string
}

func (r rules) CanUseTool(ctx context.Context, use permission.ToolUse) (permission.Result, error) {
	var in bashInput
	if err := json.Unmarshal(use.Input, &in); err != nil {
		return permission.Result{}, err
	}
	d := permission.Decision{Behavior: permission.Allow, Risk: risk.Safe, Reason: "it is safe"}
	switch {
	case in.Command == ": deny":
		d = permission.Decision{Behavior: permission.Deny, Risk: risk.Forbidden, Reason: "never"}
	case in.Command == ": break":
		return permission.Result{}, errors.New("the decision cannot be recorded")
	case use.ForceAsk || strings.HasPrefix(in.Command, ": ask"):
		d = permission.Decision{Behavior: permission.Ask, Risk: risk.High, Reason: "it is dangerous"}
		ans, err := r.approver.Approve(ctx, permission.Request{Use: use, Decision: d, Version: r.version})
		if err != nil || ctx.Err() != nil {
			d.Behavior, d.Message = permission.Deny, "nobody answered"
			return permission.Result{Decision: d, By: "rule"}, nil
		}
		if in.Command == ": ask twice" {
			ans, err = r.approver.Approve(ctx, permission.Request{Use: use, Decision: d, Version: again})
			if err != nil {
				return permission.Result{}, err
			}
		}
		d.Behavior, d.Message = ans.Behavior, ans.Message
	}
	return permission.Result{Decision: d, UpdatedInput: use.Input}, nil
}

func (r rules) Outcome(o audit.Outcome) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	*r.outcomes = append(*r.outcomes, o)
	return nil
}

func (rules) Close() error { return nil }

// bench is a manager over a memory.
type bench struct {
	*Manager
	t        *testing.T
	store    *memory
	options  Options
	mu       sync.Mutex
	outcomes []audit.Outcome
	said     []string
	notes    []string
	version  string
}

func newBench(t *testing.T, change ...func(*Options)) *bench {
	t.Helper()
	b := &bench{t: t, store: newMemory()}
	b.options = Options{
		Store: b.store, Server: "one", Private: t.TempDir(), Most: 200, Grace: 100 * time.Millisecond,
		Decider: func(_ store.Session, a permission.Approver) (Decider, error) {
			return rules{a, &b.mu, &b.outcomes, b.version}, nil
		},
		Approver: func(_ store.Session, broker approval.Broker) permission.Approver { return person{broker} },
		Note: func(_, name, words string) error {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.notes = append(b.notes, name+": "+words)
			return nil
		},
		Warn: func(s string) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.said = append(b.said, s)
		},
	}
	for _, f := range change {
		f(&b.options)
	}
	b.open()
	t.Cleanup(func() { b.Close() })
	return b
}

func (b *bench) open() {
	b.t.Helper()
	m, err := Open(b.t.Context(), b.options)
	if err != nil {
		b.t.Fatal(err)
	}
	b.Manager = m
}

// begin creates a session.
func (b *bench) begin() string {
	b.t.Helper()
	info, err := b.Create(b.t.Context(), store.Session{AgentID: "bot", AgentRole: "chat_agent", ConversationID: "talk", Dir: b.t.TempDir()})
	if err != nil {
		b.t.Fatal(err)
	}
	return info.ID
}

// execute hands in a command.
func (b *bench) execute(id, line string) Result {
	b.t.Helper()
	r, err := b.Execute(b.t.Context(), id, Request{Command: line})
	if err != nil {
		b.t.Fatalf("%s: %v", line, err)
	}
	return r
}

// shows waits until the output of a session has a text.
func (b *bench) shows(id, want string) string {
	b.t.Helper()
	s := newScreen()
	v, err := b.Subscribe(id, 0)
	if err != nil {
		b.t.Fatal(err)
	}
	go func() {
		for {
			out, err := v.Next(b.t.Context())
			if err != nil {
				return
			}
			s.put(out.Data)
		}
	}()
	s.until(b.t, want)
	return s.text()
}

func answerOf(kind approval.Kind) approval.Event {
	return approval.Event{Kind: kind, By: approval.Principal{Role: approval.Person, Name: "anna"}, Scope: permission.ScopeOnce}
}
