package engine

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/atomicfile"
	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/internal/text/strictjson"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// What a person keeps for a session is written below the state directory, so that it
// counts again when that very session, of that workspace, is resumed. Each session
// has a directory of its own, which is locked while an engine uses it: a counted
// answer is used up once. Where it cannot be written it is removed, since what it
// says may be used up.

// The limits on what is kept.
const (
	maxSessions   = 1000                // sessions; the oldest go
	maxSessionAge = 90 * 24 * time.Hour // since its last answer
	maxAnswers    = 16 << 20            // size of a file that is read, in bytes
)

// sessionsName is the directory of sessions in the state directory, answersName the
// file in each of them.
const (
	sessionsName = "sessions"
	answersName  = "answers.json"
)

// kept is the form of the file.
type kept struct {
	V         int          `json:"v"`
	Workspace string       `json:"workspace"`
	Session   string       `json:"session"`
	Last      int          `json:"last"` // the highest ID of an answer so far
	Answers   []keptAnswer `json:"answers,omitempty"`
	Asked     *Asked       `json:"asked,omitempty"`
	// Counts and Advised are those of a session whose tool uses are decided by many
	// processes: see Enter.
	Counts  *permission.Counts `json:"counts,omitempty"`
	Advised []advisedOnce      `json:"advised,omitempty"`
	Turn    int                `json:"turn,omitempty"` // how many were advised in this turn
}

// keptAnswer is a permission.Grant.
type keptAnswer struct {
	ID       int        `json:"id"`
	Behavior string     `json:"behavior"`
	Rule     string     `json:"rule,omitempty"`
	Use      string     `json:"use,omitempty"`
	Exactly  string     `json:"exactly,omitempty"`
	Until    *time.Time `json:"until,omitempty"`
	Left     *int       `json:"left,omitempty"`
	Always   bool       `json:"always,omitempty"`
	Edits    bool       `json:"edits,omitempty"`
	UpTo     risk.Grade `json:"up_to,omitzero"`
}

// sessionStore holds what is kept for the session of an engine. The zero value keeps
// nothing.
type sessionStore struct {
	opening sync.Mutex // held while another session is begun; taken before mu
	mu      sync.Mutex
	dir     string // of the session, locked; "": nothing is kept
	unlock  func()
	now     kept
	warned  bool // that it cannot be written
}

// Resume has the engine go on with a session of the agent: what a person has kept for
// it counts again, if it is of this workspace and no other process uses it, but for what
// was for a turn that is over (EndOnce). An error
// says why nothing, or not everything, was restored; the engine can be used
// nevertheless. Without an earlier answer there is nothing to restore.
func (e *Engine) Resume(session string) error {
	return e.resume(session, atomicfile.TryLock, nil)
}

// resume is Resume with a session that lock locks. Where check, which may be nil, has an
// error for what was kept, nothing of it is restored.
func (e *Engine) resume(session string, lock locker, check func(was *kept) error) error {
	e.store.opening.Lock()
	defer e.store.opening.Unlock()
	if session == "" || e.store.of(session) {
		return nil
	}
	if err := e.begin(session, lock); err != nil {
		return err
	}
	was, err := e.store.reread()
	if err == nil && check != nil {
		err = check(&was)
	}
	if err != nil {
		return err
	}
	grants, err := was.grants()
	if err := errors.Join(err, e.Session.Restore(grants, was.Last), e.EndOnce()); err != nil {
		return fmt.Errorf("not all answers for the session were restored: %w", err)
	}
	return nil
}

// Began has the engine keep what a person answers for a session of the agent that has
// begun. If the engine went on with another one, nothing of that counts any more. An
// error says why nothing is kept.
func (e *Engine) Began(session string) error {
	e.store.opening.Lock()
	defer e.store.opening.Unlock()
	if session == "" || e.store.of(session) {
		return nil
	}
	if err := e.begin(session, atomicfile.TryLock); err != nil {
		return err
	}
	if all := e.Session.Grants(); len(all) > 0 { // said before there was a session
		return e.answersChanged(all)
	}
	return nil
}

// Allow has a rule of the person allow for the session, as an answer to a question that
// keeps it does. It returns what the person should know of the rule.
func (e *Engine) Allow(rule string) (warnings []string, err error) {
	return e.answer(rule, patterns.Allow, permission.Allow)
}

// Deny is Allow for a rule that denies.
func (e *Engine) Deny(rule string) (warnings []string, err error) {
	return e.answer(rule, patterns.Deny, permission.Deny)
}

func (e *Engine) answer(rule string, list patterns.List, b permission.Behavior) (warnings []string, err error) {
	_, told, err := patterns.ParseWith(e.Session.Tools, rule, list, patterns.Source{Name: "session"})
	if err != nil {
		return nil, err
	}
	for _, w := range told {
		warnings = append(warnings, w.String())
	}
	if list == patterns.Allow {
		if err := e.refuses(rule); err != nil {
			return warnings, err
		}
	}
	all := e.Session.Grants()
	g := permission.Grant{ID: e.nextAnswer(all), Behavior: b, Rule: rule}
	all = append(all, g)
	if err := e.answersChanged(all); err != nil {
		return warnings, err
	}
	return warnings, e.Session.Restore(all, g.ID)
}

// refuses returns why a rule of the session could never allow what it names, with the line
// for the policy if a rule there could. It is nil if the session's may.
func (e *Engine) refuses(rule string) error {
	why, err := e.inert(rule, func(s *policy.Spec, item policy.Item) { s.Approved = []policy.Item{item} })
	if err != nil || why == "" {
		return err
	}
	if inert, _ := e.inert(rule, func(s *policy.Spec, item policy.Item) { s.Allow = []policy.Item{item} }); inert == "" {
		return fmt.Errorf("a session rule cannot allow %s: %s; add this line to %s: allow = [%q]", rule, why, policy.FileName, rule)
	}
	return fmt.Errorf("no rule can allow %s: %s", rule, why)
}

// inert returns why a rule that put adds to the rules in force allows nothing, "" if it may.
func (e *Engine) inert(rule string, put func(*policy.Spec, policy.Item)) (string, error) {
	spec := *e.Rules.Spec
	spec.Allow, spec.Ask, spec.SessionAllow, spec.Rules, spec.Approved, spec.Further = nil, nil, nil, nil, nil, nil
	put(&spec, policy.Item{Text: rule, Source: patterns.Source{Name: triedSource, Line: 1}})
	findings, err := policy.LintOf(&spec, triedSource)
	for _, f := range findings {
		if f.Check == "no-effect" || f.Check == "overruled" {
			return f.Why, err
		}
	}
	return "", err
}

// Leave ends the use of the session that the engine goes on with, so that another
// process may go on with it. What is answered from then on is not kept.
func (e *Engine) Leave() { e.store.leave(kept{}) }

// begin locks the directory of a session. What was kept for another one counts no more.
// Without a state directory, nothing is kept.
func (e *Engine) begin(session string, lock locker) error {
	another := e.store.leave(kept{V: 1, Workspace: e.Place.Workspace, Session: session})
	if another {
		if err := e.Session.Restore(nil, 0); err != nil {
			return err
		}
	}
	state := e.options.dirs().State
	if state == "" || e.options.NoRecord || e.options.Uncounted {
		return nil
	}
	parent := filepath.Join(state, sessionsName)
	dir := sessionDir(parent, e.Place.Workspace, session)
	unlock, err := lockSession(dir, lock)
	if err != nil {
		return notKept(err)
	}
	e.store.enter(dir, unlock)
	atomicfile.Sweep(parent, dir, maxSessions-1, maxSessionAge)
	return nil
}

var errSessionUsed = errors.New("another process is using this session")

// locker locks a directory, as atomicfile.TryLock does.
type locker func(dir string) (unlock func(), free bool, err error)

// lockSession makes and locks the directory of a session. Another process that ends, or
// sweeps, may remove it in between.
func lockSession(dir string, lock locker) (unlock func(), err error) {
	const tries = 100
	for range tries {
		if err = os.MkdirAll(dir, 0o700); errors.Is(err, fs.ErrExist) { // removed before MkdirAll looked what it is
			continue
		}
		if err != nil {
			return nil, err
		}
		var free bool
		unlock, free, err = lock(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && !free {
			err = errSessionUsed
		}
		return unlock, err
	}
	return nil, err
}

// of reports whether the store is of a session.
func (s *sessionStore) of(session string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now.Session == session
}

// leave ends the use of a session, if there is one, for the next, which keeps nothing
// yet. It reports whether there was one.
func (s *sessionStore) leave(next kept) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.now.Session != ""
	s.close()
	s.now = next
	return was
}

// enter begins to keep what is answered.
func (s *sessionStore) enter(dir string, unlock func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dir, s.unlock = dir, unlock
}

// reread reads what was kept for the session.
func (s *sessionStore) reread() (kept, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir == "" {
		return s.now, nil
	}
	was, err := s.read(s.now)
	if err == nil {
		s.now = was
	}
	return was, err
}

// sessionDir returns the directory of a session of a workspace.
func sessionDir(parent, workspace, session string) string {
	return filepath.Join(parent, fmt.Sprintf("%x", sha256.Sum256([]byte(workspace+"\x00"+session))))
}

func notKept(err error) error {
	return fmt.Errorf("answers for the session will not be kept for a later run: %w", err)
}

// answersChanged writes the answers. It is an error if a file that says more cannot be
// removed either.
func (e *Engine) answersChanged(all []permission.Grant) error {
	e.store.mu.Lock()
	defer e.store.mu.Unlock()
	return e.keepAnswers(all)
}

// keepAnswers writes the answers. The caller holds mu of the store.
func (e *Engine) keepAnswers(all []permission.Grant) error {
	answers := make([]keptAnswer, len(all))
	for i, g := range all {
		answers[i] = keepable(g)
		e.store.now.Last = max(e.store.now.Last, g.ID)
	}
	e.store.now.Answers = answers
	return e.writeAnswers()
}

// writeAnswers writes the file and, if it could not, warns once.
func (e *Engine) writeAnswers() error {
	why, err := e.store.write()
	if why != nil && !e.store.warned && e.options.Warn != nil {
		e.store.warned = true
		e.options.Warn(notKept(why).Error())
	}
	return err
}

// write writes the file, or removes it; why is the reason. It is an error if it can do
// neither.
func (s *sessionStore) write() (why, err error) {
	if s.dir == "" {
		return nil, nil
	}
	path := filepath.Join(s.dir, answersName)
	data, why := json.MarshalIndent(s.now, "", "  ")
	if why == nil {
		why = atomicfile.Write(path, append(data, '\n'), 0o600)
	}
	if why == nil {
		return nil, nil
	}
	if gone := os.Remove(path); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
		return why, notKept(errors.Join(why, gone))
	}
	return why, nil
}

// read reads the file, none of which is that of a new session. It must be about the
// session that it is read for.
func (s *sessionStore) read(of kept) (kept, error) {
	path := filepath.Join(s.dir, answersName)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return of, nil
	}
	var was kept
	if err == nil {
		err = strictjson.Decode(data, &was, strictjson.MaxSize(maxAnswers))
	}
	if err == nil && (was.V != of.V || was.Workspace != of.Workspace || was.Session != of.Session) {
		err = errors.New("it belongs to another session, or to a newer agent-wrapper")
	}
	if err != nil {
		return of, fmt.Errorf("no answer for the session was restored: %s: %w", path, err)
	}
	return was, nil
}

// close ends the use of a session. mu is held.
func (s *sessionStore) close() {
	if s.unlock == nil {
		return
	}
	_ = os.Remove(s.dir) // if it is empty
	s.unlock()
	s.dir, s.unlock = "", nil
}

// keepable returns a grant for the file.
func keepable(g permission.Grant) keptAnswer {
	a := keptAnswer{ID: g.ID, Behavior: g.Behavior.String(), Rule: g.Rule, Use: g.Use, Exactly: g.Exactly, Always: g.Always, Edits: g.Edits, UpTo: g.UpTo}
	if !g.Until.IsZero() {
		until := g.Until.Round(0)
		a.Until = &until
	}
	if g.Counted {
		a.Left = &g.Left
	}
	return a
}

// grants returns the answers of a file.
func (k *kept) grants() ([]permission.Grant, error) {
	var all []permission.Grant
	var errs []error
	for _, a := range k.Answers {
		g := permission.Grant{ID: a.ID, Rule: a.Rule, Use: a.Use, Exactly: a.Exactly, Always: a.Always, Edits: a.Edits, UpTo: a.UpTo}
		switch a.Behavior {
		case permission.Allow.String():
			g.Behavior = permission.Allow
		case permission.Deny.String():
			g.Behavior = permission.Deny
		default:
			errs = append(errs, fmt.Errorf("answer %d: behavior %q", a.ID, a.Behavior))
			continue
		}
		if a.Until != nil {
			g.Until = *a.Until
		}
		if a.Left != nil {
			g.Counted, g.Left = true, *a.Left
		}
		all = append(all, g)
	}
	return all, errors.Join(errs...)
}
