package terminal

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/audit"
	"github.com/agent-wrapper/agent-wrapper/internal/run/execution"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Store keeps sessions, commands and chat, and carries approvals. What it has
// acknowledged lasts. Every store.Store is one.
type Store interface {
	approval.Broker
	CreateSession(ctx context.Context, s store.Session) (store.Session, error)
	Sessions(ctx context.Context, f store.SessionFilter) ([]store.Session, error)
	UpdateSession(ctx context.Context, s store.Session) (store.Session, error)
	DeleteSession(ctx context.Context, s store.Session) error
	CreateCommand(ctx context.Context, c store.Command) error
	Commands(ctx context.Context, f store.CommandFilter) ([]store.Command, error)
	UpdateCommand(ctx context.Context, from store.CommandState, c store.Command) error
	Recover(ctx context.Context, server string, at time.Time) ([]store.Command, error)
	AppendChat(ctx context.Context, entries ...store.Chat) ([]store.Chat, error)
}

// Decider decides the commands of one session, asks about them, and records both, and how
// they ended. An engine.Engine is one.
type Decider interface {
	CanUseTool(ctx context.Context, use permission.ToolUse) (permission.Result, error)
	Outcome(o audit.Outcome) error
	Close() error
}

// encloser is a Decider that can have commands run inside the sandbox. Without it, what was
// decided to run there does not run.
type encloser interface {
	// Enclose prepares the program of a command for that, which writes to the directory scratch
	// too. over is called once it was started, or could not be: it returns when the command has
	// ended, with what a person is told of it, or with the error if there was no sandbox.
	Enclose(use *permission.ToolUse, cmd *exec.Cmd, scratch string) (over func() (says []string, err error), err error)
}

// Options say where sessions are kept and who decides.
type Options struct {
	Store  Store
	Server string // the name of this server in the store
	// Decider returns the decider of a session, which asks a.
	Decider func(s store.Session, a permission.Approver) (Decider, error)
	// Approver returns who asks about the commands of a session by b, which is the Store
	// as long as the command waits. The ID of a question is that of the tool use: after
	// a restart it is the same question.
	Approver func(s store.Session, b approval.Broker) permission.Approver
	// Private is a directory for files of the sessions that only this user can read. It
	// is made if necessary.
	Private string
	// Recordings is a directory for recordings of the sessions, which only this user can
	// read and which is made if necessary; "" keeps none. RecordInput has them hold also
	// what people type while the terminal shows it.
	Recordings  string
	RecordInput bool
	// Note records who has the terminal of a session, and the hash of its recording; name
	// says which.
	Note func(session, name, words string) error
	// Environ is the environment that commands are given a part of (see
	// execution.Environ); nil is that of this process.
	Environ []string
	// Most is how many sessions there may be at once, Idle how long one is kept in which
	// nothing happens; 0 means 10 and an hour. Grace is the time between SIGTERM and
	// SIGKILL for a command that is to end; 0 means 5 s.
	Most        int
	Idle, Grace time.Duration
	// Counts reports whether a credential does, by which a command was handed in. One
	// that was revoked has nothing run any more; nil is for all that count.
	Counts func(credential string) bool
	// Changed is called after a session or a command has changed and is stored; the
	// command is nil if only the session has. It must not call the Manager.
	Changed func(s store.Session, c *store.Command)
	// Warn is called with what a person should know: forbidden commands, and what
	// could not be stored.
	Warn func(string)
}

// withDefaults fills in what is not set.
func (o Options) withDefaults() Options {
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if o.Most == 0 {
		o.Most = 10
	}
	if o.Idle == 0 {
		o.Idle = time.Hour
	}
	if o.Grace == 0 {
		o.Grace = 5 * time.Second
	}
	if o.Note == nil {
		o.Note = func(_, _, _ string) error { return nil }
	}
	if o.Counts == nil {
		o.Counts = func(string) bool { return true }
	}
	if o.Changed == nil {
		o.Changed = func(store.Session, *store.Command) {}
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	return o
}

// Manager holds the sessions of a server. It is safe for concurrent use.
type Manager struct {
	options Options
	env     []string // of commands
	chats   *chats
	stop    chan struct{} // closed when the manager is
	closing sync.WaitGroup

	recordingsMost int64 // see the constant; tests have less
	trimming       sync.Mutex

	mu       sync.Mutex
	sessions map[string]*session
	coming   map[string]int // sessions that are being created, by owner
	closed   bool
}

// Open returns a manager with the sessions that a server of this name held before.
// Commands that ran then are unknown from now on, and what waited for an answer
// waits again. The caller must close it.
func Open(ctx context.Context, o Options) (*Manager, error) {
	o = o.withDefaults()
	env, _, err := execution.Environ(o.Environ, nil)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Private, 0o700); err != nil {
		return nil, fmt.Errorf("files of terminal sessions cannot be kept: %w", err)
	}
	m := &Manager{
		options: o, env: append(env, "TERM=xterm-256color"), chats: newChats(o), stop: make(chan struct{}),
		sessions: map[string]*session{}, coming: map[string]int{}, recordingsMost: recordingsMost,
	}
	if err := m.settleRecordings(); err != nil {
		return nil, err
	}
	if err := m.restore(ctx); err != nil {
		m.Close()
		return nil, err
	}
	m.closing.Go(m.watch)
	return m, nil
}

// watch closes sessions in which nothing happens any more.
func (m *Manager) watch() {
	tick := time.NewTicker(max(m.options.Idle/60, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-m.stop:
			return
		case now := <-tick.C:
			for _, s := range m.all() {
				if s.idleSince(now.Add(-m.options.Idle)) {
					m.warn(m.CloseSession(context.Background(), s.id, "it was idle"))
				}
			}
		}
	}
}

func (m *Manager) warn(err error) {
	if err != nil {
		m.options.Warn(err.Error())
	}
}

func (m *Manager) all() []*session {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.SortedFunc(maps.Values(m.sessions), func(a, b *session) int { return a.created.Compare(b.created) })
}

// Close ends what runs. Sessions stay in the store, and so does what waits for an
// answer: a later Open goes on with both.
func (m *Manager) Close() error {
	m.mu.Lock()
	closed := m.closed
	m.closed = true
	m.mu.Unlock()
	if closed {
		return nil
	}
	close(m.stop)
	var group sync.WaitGroup
	for _, s := range m.all() {
		group.Go(func() { s.leave() })
	}
	group.Wait()
	m.closing.Wait()
	m.chats.close()
	return nil
}

// session returns a session.
func (m *Manager) session(id string) (*session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.sessions[id]; s != nil && !m.closed {
		return s, nil
	}
	//lint:ignore ST1005 these are the words of the HTTP API (S4-05)
	return nil, failure(NotFound, fmt.Errorf("Session not found: %s", id))
}

// Create begins a session, with the fields of s that say whose it is: AgentID,
// AgentRole, ConversationID, Host ("" is main), Owner, Dir (absolute), Project and
// Metadata.
func (m *Manager) Create(ctx context.Context, s store.Session) (Info, error) {
	if !filepath.IsAbs(s.Dir) {
		return Info{}, failure(Invalid, fmt.Errorf("the directory %q is not absolute", s.Dir))
	}
	if err := m.admit(s.Owner); err != nil {
		return Info{}, err
	}
	defer m.admitted(s.Owner)
	if s.Host == "" {
		s.Host = "main"
	}
	s.ID, s.PTYID, s.Server = "session-"+random(), "pty-"+random(), m.options.Server
	s.State, s.Created = agentControl, time.Now()
	s.Active = s.Created
	rec, err := m.options.Store.CreateSession(ctx, s)
	if err != nil {
		return Info{}, err
	}
	live := m.newSession(rec)
	live.since = rec.Created
	m.mu.Lock()
	m.sessions[rec.ID] = live
	m.mu.Unlock()
	m.options.Changed(rec, nil)
	return live.info(), nil
}

// admit takes the place of one more session of an owner. One that is known takes no more
// than half of the places, so that another finds one.
func (m *Manager) admit(owner string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	all, own := len(m.sessions), m.coming[owner]
	for _, n := range m.coming {
		all += n
	}
	for _, s := range m.sessions {
		if s.owner == owner {
			own++
		}
	}
	switch {
	case m.closed:
		return failure(Gone, errStopped)
	case all >= m.options.Most:
		return failure(Limit, fmt.Errorf("there are %d sessions already", m.options.Most))
	case owner != "" && own >= (m.options.Most+1)/2:
		return failure(Limit, fmt.Errorf("this agent has %d of the %d sessions that there may be: the others are for other agents", own, m.options.Most))
	}
	m.coming[owner]++
	return nil
}

func (m *Manager) admitted(owner string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.coming[owner]--; m.coming[owner] == 0 {
		delete(m.coming, owner)
	}
}

// Get returns a session.
func (m *Manager) Get(id string) (Info, error) {
	s, err := m.session(id)
	if err != nil {
		return Info{}, err
	}
	return s.info(), nil
}

// List returns the sessions of this server, the oldest first.
func (m *Manager) List() []Info {
	all := []Info{}
	for _, s := range m.all() {
		all = append(all, s.info())
	}
	return all
}

// CloseSession ends a session and what runs in it. Its commands and its chat stay in
// the store. Why is for a person.
func (m *Manager) CloseSession(ctx context.Context, id, why string) error {
	s, err := m.session(id)
	if err != nil {
		return err
	}
	rec, err := s.close(ctx, why)
	if err != nil {
		return err
	}
	m.mu.Lock()
	delete(m.sessions, id)
	m.mu.Unlock()
	if err := m.options.Store.DeleteSession(ctx, rec); err != nil {
		return err
	}
	rec.State = closed
	m.options.Changed(rec, nil)
	return nil
}

// Subscribe returns a viewer of a session's output from a position on, 0 for all that
// is kept.
func (m *Manager) Subscribe(id string, from int64) (*View, error) {
	s, err := m.session(id)
	if err != nil {
		return nil, err
	}
	return s.stream.view(from), nil
}

func random() string {
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

// Kind is the kind of an Error.
type Kind uint8

// The kinds of errors. The zero value is not one.
const (
	NotFound  Kind = iota + 1 // there is no such session
	NoControl                 // who asks does not have the terminal
	Conflict                  // the session or the question has changed
	Gone                      // the session is being closed
	Limit                     // there are too many sessions
	Invalid                   // what was given cannot be used
)

// Error is why something was not done. Nothing has changed then.
type Error struct {
	Kind Kind
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func failure(kind Kind, err error) error { return &Error{kind, err} }

// kinds of the errors of the state machine.
var kinds = map[error]Kind{
	errNoControl: NoControl, errNotUser: NoControl,
	errBusy: Conflict, errNothing: Conflict, errTaken: Conflict, errOrder: Conflict, errWaits: Conflict,
}

// refusal returns an error of the state machine as an Error.
func refusal(err error) error { return failure(kinds[err], err) }
