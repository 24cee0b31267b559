package terminal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
)

// session is a session that this server holds.
type session struct {
	*Manager
	id       string
	owner    string
	created  time.Time
	stream   stream
	named    string // the stream, see Info
	chat     *chat
	recorder *recorder  // nil if nothing is recorded
	typing   sync.Mutex // one after another types

	mu      sync.Mutex // of what follows; it is not held while anybody is asked or anything runs
	rec     store.Session
	machine machine
	at      *command      // the one at hand
	turn    chan struct{} // closed at the next change of machine.state
	since   time.Time     // of that state; zero if it was entered at an earlier server
	shell   *shell
	size    size
	decider Decider
	gone    bool
	before  answerers // of the question before, nil if there was none, at an earlier server neither; see plain
}

func (m *Manager) newSession(rec store.Session) *session {
	s := &session{
		Manager: m, id: rec.ID, owner: rec.Owner, created: rec.Created, rec: rec, machine: machine{state: rec.State}, turn: make(chan struct{}),
		named: random(),
	}
	s.chat = m.chats.open(rec)
	s.recorder = m.newRecorder(rec)
	s.stream.shown = s.recorder.output
	return s
}

// Info is a session as it is now.
type Info struct {
	store.Session
	Pending *Pending // nil if nobody is asked
	Running string   // the id of the command that runs, "" if none does
	// Since is when State was entered; zero if that was before a restart of the server.
	Since time.Time
	// Columns and Rows are the size of the terminal.
	Columns, Rows uint16
	// Stream names the output: a position counts only in the stream that it is of. After
	// a restart it is another one.
	Stream string
}

// Pending is a command that waits for an answer.
type Pending struct {
	CommandID   string    `json:"command_id"`
	Command     string    `json:"command"`
	Description string    `json:"description"`
	Risk        string    `json:"risk"`
	Reasons     []string  `json:"reasons"`
	Timestamp   time.Time `json:"timestamp"`
	ApprovalID  string    `json:"approval_id"`
	Digest      string    `json:"digest"`
	NeedsInput  []string  `json:"needs_input,omitempty"`
}

func (s *session) info() Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.size.orUsual()
	i := Info{Session: s.rec, Since: s.since, Columns: at.columns, Rows: at.rows, Stream: s.named}
	switch c := s.at; s.machine.phase {
	case asked:
		i.Pending = &Pending{
			c.rec.ID, c.rec.Command, c.rec.Description, c.rec.Risk, c.rec.Reasons, c.rec.Created, c.rec.ApprovalID, c.digest, c.input,
		}
	case running:
		i.Running = c.rec.ID
	}
	return i
}

// lock locks a session that is not being closed.
func (s *session) lock() error {
	s.mu.Lock()
	if s.gone {
		s.mu.Unlock()
		return failure(Gone, errors.New("the session is being closed"))
	}
	return nil
}

// save stores the session.
func (s *session) save(ctx context.Context) error {
	s.rec.Active = time.Now()
	rec, err := s.options.Store.UpdateSession(context.WithoutCancel(ctx), s.rec)
	if err != nil {
		return fmt.Errorf("the session cannot be stored: %w", err)
	}
	s.rec = rec
	s.options.Changed(s.rec, nil)
	return nil
}

// enter sets the state of the machine, and stores it.
func (s *session) enter(ctx context.Context, next machine) error {
	s.machine, s.rec.State, s.since = next, next.state, time.Now()
	close(s.turn)
	s.turn = make(chan struct{})
	return s.save(ctx)
}

// update stores a command that was in a state.
func (s *session) update(from store.CommandState, c *store.Command) error {
	c.Changed = time.Now()
	if err := s.options.Store.UpdateCommand(context.Background(), from, *c); err != nil {
		return fmt.Errorf("the command cannot be stored: %w", err)
	}
	s.options.Changed(s.rec, c)
	return nil
}

// output is what the session's programs write.
func (s *session) output(p []byte) {
	s.stream.Write(p)
	s.recorder.wait()
	s.chat.write(p)
}

// tell writes a line of our own to the output.
func (s *session) tell(line string) {
	s.stream.Write([]byte(line + "\r\n"))
	s.chat.note([]byte(line + "\r\n"))
}

// idleSince reports whether nothing has happened since a time.
func (s *session) idleSince(t time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.gone && s.machine.phase == idle && s.rec.Active.Before(t)
}

// withdraw cancels the command that waits, which the machine has let go of already.
func (s *session) withdraw(why string) {
	c := s.at
	if c == nil || c.console != nil {
		return
	}
	s.at = nil
	s.passed(c)
	c.cancel(errors.New(why))
	from := c.rec.State
	c.rec.State, c.rec.Comment = store.CommandCancelled, why
	s.warn(s.update(from, &c.rec))
	c.finish(Result{Status: statusCancelled, Message: why})
	if c.rec.ApprovalID == "" {
		return
	}
	defer s.settled(c)
	// The question goes away for those who look at it. If it is settled already, there
	// is nothing to withdraw, and what was settled is not done any more.
	if e, err := s.options.Store.Get(context.Background(), c.rec.ApprovalID); err == nil {
		_, _ = s.options.Store.Withdraw(context.Background(), e.ID, e.Asker, why)
	}
}

// errRevoked is why a command does not run whose agent is one no more.
var errRevoked = errors.New("the credential with which it was handed in was revoked, or has expired")

// WithdrawRevoked cancels the commands that wait and were handed in by credentials that
// do not count any more.
func (m *Manager) WithdrawRevoked() {
	for _, s := range m.all() {
		s.mu.Lock()
		if c := s.at; c != nil && !s.gone && c.console == nil && !s.options.Counts(c.credential) {
			s.withdraw(errRevoked.Error())
			s.machine.phase, s.machine.command = idle, ""
		}
		s.mu.Unlock()
	}
}

// close ends the session, and returns its record.
func (s *session) close(ctx context.Context, why string) (store.Session, error) {
	if err := s.lock(); err != nil {
		return store.Session{}, err
	}
	s.gone = true
	if s.machine.phase == deciding || s.machine.phase == asked {
		s.withdraw("the session was closed: " + why)
		s.machine.phase, s.machine.command = idle, ""
	}
	s.mu.Unlock()
	s.end("closed: "+why, "0")
	for _, name := range []string{directory, startup, shellStartup, shellSaid} {
		if err := os.Remove(s.private(name)); !errors.Is(err, os.ErrNotExist) {
			s.warn(err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rec, nil
}

// errStopped is why nothing waits for an answer while the server stops.
var errStopped = errors.New("the server is being stopped")

// leave ends what runs because the server stops. What waits for an answer stays.
func (s *session) leave() {
	if s.lock() != nil {
		return
	}
	s.gone = true
	s.mu.Unlock()
	s.end("the server was stopped", "")
}

// end ends what runs in a session that is gone, and its output. Why is for its recording,
// and so is exit, the exit code of a session that was closed.
func (s *session) end(why, exit string) {
	s.mu.Lock()
	c, sh, d := s.at, s.shell, s.decider
	close(s.turn)
	s.turn = make(chan struct{})
	s.mu.Unlock()
	switch {
	case c != nil && c.console != nil:
		c.console.stop(s.options.Grace)
		<-c.ended
	case c != nil:
		c.cancel(errStopped)
	}
	if sh != nil {
		sh.end()
	}
	s.stream.close()
	s.recorder.close(why, exit)
	s.chat.close()
	if d != nil {
		s.warn(d.Close())
	}
}

// The names of private files.
const (
	directory    = "dir"  // to which a command writes the directory that it ended in
	startup      = "env"  // which the shell of a command reads at its start
	shellStartup = "rc"   // which a person's shell reads
	shellSaid    = "said" // to which it tells what it runs
)

// private returns the path of a private file of the session.
func (s *session) private(name string) string {
	return filepath.Join(s.options.Private, s.id+"."+name)
}
