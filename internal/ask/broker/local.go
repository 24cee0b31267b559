package broker

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/atomicfile"
	"github.com/agent-wrapper/agent-wrapper/internal/text/lazyregexp"
	"github.com/agent-wrapper/agent-wrapper/internal/text/strictjson"
)

// Local is an approval.Broker for the processes of one user on one machine: files in a
// directory, and locks. There is no daemon. An entry is abandoned when the process that
// submitted it has ended, and removed a day after it was settled.
//
// Everybody who can write the directory can answer: it is no boundary between processes
// of the same user.
type Local struct {
	// Warn is told of a file that should be that of an entry and cannot be read, once. The
	// entry is not listed, and cannot be answered or used up; the others go on. It is set
	// before use; nil is nobody.
	Warn func(error)

	dir string
	now func() time.Time

	warning sync.Mutex
	warned  map[string]bool // by ID

	mu    sync.Mutex // one change at a time, before the lock of the directory
	asker string     // the name of this process as one that asks; "" before
	leave func()     // releases the lock of asker
}

// The files in the directory of a Local.
const (
	entriesDir = "entries" // a file for each entry
	askersDir  = "askers"  // a directory for each process that asks, which holds its lock
	seqFile    = "seq"     // the Seq of the last change
)

const (
	// poll is how often a Wait looks whether something has changed.
	poll = 100 * time.Millisecond
	// look is how often a Wait looks for entries whose time is over or whose asker has
	// ended. Nobody writes anything then.
	look = time.Second
	// kept is how long an entry is kept after it was settled.
	kept = 24 * time.Hour
	// maxEntry is the maximum size in bytes of the file of an entry, which holds what
	// the agent sent, at most 16 MiB, three times.
	maxEntry = 64 << 20
)

// OpenLocal opens the broker of a directory, which is made if necessary. Now is its
// clock; nil is time.Now.
func OpenLocal(dir string, now func() time.Time) (*Local, error) {
	for _, d := range []string{dir, filepath.Join(dir, entriesDir), filepath.Join(dir, askersDir)} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s can be read or written by others (mode %#o): run chmod 700 on it", dir, info.Mode().Perm())
	}
	if now == nil {
		now = time.Now
	}
	return &Local{dir: dir, now: now}, nil
}

// Asks makes known that the processes below root ask here, until Close: see Answerable.
func (l *Local) Asks(root int) error {
	unlock, err := l.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if l.asker != "" {
		return nil
	}
	if err := l.forget(); err != nil {
		return err
	}
	name := strconv.Itoa(root) + "-" + strings.ToLower(rand.Text())
	dir := filepath.Join(l.dir, askersDir, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	leave, err := atomicfile.Lock(dir)
	if err != nil {
		return err
	}
	l.asker, l.leave = name, leave
	return nil
}

// forget removes the directories of askers that have ended without Close. The lock is
// held.
func (l *Local) forget() error {
	names, err := os.ReadDir(filepath.Join(l.dir, askersDir))
	for _, d := range names {
		if !l.lives(d.Name()) {
			err = errors.Join(err, os.Remove(filepath.Join(l.dir, askersDir, d.Name())))
		}
	}
	return err
}

// Close ends what this process asks: its entries are abandoned.
func (l *Local) Close() error {
	l.mu.Lock()
	name, leave := l.asker, l.leave
	l.asker, l.leave = "", nil
	l.mu.Unlock()
	if name == "" {
		return nil
	}
	leave()
	_, err := l.all() // which abandons them
	return errors.Join(err, os.Remove(filepath.Join(l.dir, askersDir, name)))
}

// Answerable returns an error for a process with these ancestors if one of them asks
// here: an agent does not answer what it, or another one, asks.
func (l *Local) Answerable(ancestors []int) error {
	names, err := os.ReadDir(filepath.Join(l.dir, askersDir))
	if err != nil {
		return err
	}
	for _, d := range names {
		root, _, _ := strings.Cut(d.Name(), "-")
		if pid, err := strconv.Atoi(root); err == nil && slices.Contains(ancestors, pid) && l.lives(d.Name()) {
			return fmt.Errorf("this was started below process %d, which asks: only a person may answer, from a terminal that no agent has started", pid)
		}
	}
	return nil
}

// lives reports whether a process that asks still runs.
func (l *Local) lives(asker string) bool {
	unlock, free, err := atomicfile.TryLock(filepath.Join(l.dir, askersDir, asker))
	if free {
		unlock()
	}
	return err == nil && !free || err != nil && !errors.Is(err, fs.ErrNotExist)
}

// stored is the file of an entry.
type stored struct {
	V     int            `json:"v"`
	Asker string         `json:"asker"` // which asks; see askersDir
	Entry approval.Entry `json:"entry"`
}

// fileID is the form of the IDs that can be file names.
var fileID = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

func (l *Local) file(id string) string { return filepath.Join(l.dir, entriesDir, id+".json") }

// read reads an entry.
func (l *Local) read(id string) (*stored, error) {
	if !fileID.MatchString(id) {
		return nil, approval.ErrUnknown
	}
	data, err := os.ReadFile(l.file(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, approval.ErrUnknown
	}
	if err != nil {
		return nil, err
	}
	s := new(stored)
	if err := strictjson.Decode(data, s, strictjson.MaxSize(maxEntry)); err != nil {
		return nil, fmt.Errorf("%s:%w", l.file(id), err)
	}
	if s.V != 1 || s.Entry.ID != id {
		return nil, fmt.Errorf("%s: it is not an approval of version 1 with this id", l.file(id))
	}
	return s, nil
}

// lock waits for the lock of the directory.
func (l *Local) lock() (unlock func(), err error) {
	l.mu.Lock()
	others, err := atomicfile.Lock(l.dir)
	if err != nil {
		l.mu.Unlock()
		return nil, err
	}
	return func() { others(); l.mu.Unlock() }, nil
}

// write writes an entry with the next Seq. The lock is held. The number is taken before
// it is used, so that a process that dies in between does not let it be used twice.
func (l *Local) write(s *stored) error {
	seq, err := l.seq()
	if err != nil {
		return err
	}
	seq++
	if err := l.setSeq(seq); err != nil {
		return err
	}
	s.V, s.Entry.Seq, s.Entry.Changed = 1, seq, l.now()
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return atomicfile.Write(l.file(s.Entry.ID), data, 0o600)
}

// seqDigits is the size of the file of the Seq, so that it is written at once.
const seqDigits = 20

func (l *Local) setSeq(seq int64) error {
	f, err := os.OpenFile(filepath.Join(l.dir, seqFile), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%0*d\n", seqDigits, seq)
	return errors.Join(err, f.Close())
}

// seq returns the Seq of the last change. If the file is lost, as in a crash of the
// machine, the entries have it.
func (l *Local) seq() (int64, error) {
	data, err := os.ReadFile(filepath.Join(l.dir, seqFile))
	if err == nil && len(data) == seqDigits+1 {
		if seq, err := strconv.ParseInt(string(data[:seqDigits]), 10, 64); err == nil {
			return seq, nil
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	all, err := l.readAll(nil) // one that cannot be read may have the last Seq
	last := int64(0)
	for _, s := range all {
		last = max(last, s.Entry.Seq)
	}
	return last, err
}

// due returns the event that has happened to an entry by itself, with kind 0 if there
// is none.
func (l *Local) due(s *stored) approval.Event {
	now, e := l.now(), &s.Entry
	switch {
	case e.Final():
	case !e.Expires.IsZero() && !now.Before(e.Expires):
		return approval.Event{Kind: approval.Tick, At: now}
	case s.Asker != l.asker && !l.lives(s.Asker):
		return approval.Event{Kind: approval.Die, At: now}
	}
	return approval.Event{}
}

// change lets an event happen to an entry, after what happened to it by itself. Note
// takes down what belongs to the event, if it counts; it may be nil.
func (l *Local) change(ctx context.Context, id string, event approval.Event, note func(*approval.Entry)) (approval.Entry, error) {
	if err := ctx.Err(); err != nil {
		return approval.Entry{}, err
	}
	s, err := l.read(id)
	if err != nil {
		return approval.Entry{}, err
	}
	event.At = l.now()
	if s.Entry.Final() { // for ever
		_, err := approval.Step(s.Entry.State, event)
		return s.Entry, err
	}
	unlock, err := l.lock()
	if err != nil {
		return approval.Entry{}, err
	}
	defer unlock()
	if s, err = l.locked(id); err != nil {
		return approval.Entry{}, err
	}
	err = l.step(s, event, note)
	return s.Entry, err
}

// locked reads an entry and lets happen to it what has happened by itself. The lock is
// held.
func (l *Local) locked(id string) (*stored, error) {
	s, err := l.read(id)
	if err != nil {
		return nil, err
	}
	if event := l.due(s); event.Kind != 0 {
		err = l.step(s, event, nil)
	}
	return s, err
}

// step lets an event happen to an entry, and writes what has changed. The lock is held.
func (l *Local) step(s *stored, event approval.Event, note func(*approval.Entry)) error {
	next, err := approval.Step(s.Entry.State, event)
	if err != nil && next.Status == s.Entry.Status {
		return err
	}
	s.Entry.State = next
	if err == nil && note != nil {
		note(&s.Entry)
	}
	return cmp.Or(l.write(s), err)
}

// Submit begins an approval. If this process has not called Asks, it does now.
func (l *Local) Submit(ctx context.Context, e approval.Entry) (approval.Entry, error) {
	if err := ctx.Err(); err != nil {
		return approval.Entry{}, err
	}
	if err := l.Asks(os.Getpid()); err != nil {
		return approval.Entry{}, err
	}
	if !fileID.MatchString(e.ID) {
		return approval.Entry{}, fmt.Errorf("%w: the id %q is not of letters, digits and points", approval.ErrTerms, e.ID)
	}
	if err := object(e.Question); err != nil {
		return approval.Entry{}, fmt.Errorf("%w: the question: %w", approval.ErrTerms, err)
	}
	unlock, err := l.lock()
	if err != nil {
		return approval.Entry{}, err
	}
	defer unlock()
	if s, err := l.locked(e.ID); err == nil && s.Entry.Digest == e.Digest {
		return s.Entry, nil
	} else if err == nil {
		return s.Entry, approval.ErrBegun
	} else if !errors.Is(err, approval.ErrUnknown) {
		return approval.Entry{}, err
	}
	now := l.now()
	state, err := approval.Step(approval.State{}, approval.Event{Kind: approval.Ask, At: now, Terms: e.Terms})
	if err != nil {
		return approval.Entry{}, err
	}
	s := &stored{Asker: l.asker, Entry: e}
	s.Entry.State, s.Entry.Asked, s.Entry.Reply, s.Entry.Reason = state, now, nil, ""
	err = l.write(s)
	return s.Entry, err
}

// object returns an error for a text that is not empty, and no JSON object as read
// accepts it: it would make the file of its entry unreadable.
func object(text json.RawMessage) error {
	if len(text) == 0 {
		return nil
	}
	_, err := strictjson.Object(text, strictjson.MaxSize(maxEntry/3))
	return err
}

// Answer is the answer of a person.
func (l *Local) Answer(ctx context.Context, event approval.Event, reply json.RawMessage) (approval.Entry, error) {
	if event.Kind != approval.Approve && event.Kind != approval.Deny && event.Kind != approval.Edit {
		return approval.Entry{}, approval.ErrEvent
	}
	if err := object(reply); err != nil {
		return approval.Entry{}, fmt.Errorf("%w: the reply: %w", approval.ErrEvent, err)
	}
	return l.change(ctx, event.ID, event, func(e *approval.Entry) { e.Reply = reply })
}

// Withdraw cancels an approval.
func (l *Local) Withdraw(ctx context.Context, id string, by approval.Principal, reason string) (approval.Entry, error) {
	return l.change(ctx, id, approval.Event{Kind: approval.Cancel, ID: id, By: by}, func(e *approval.Entry) { e.Reason = reason })
}

// Consume uses up an approval.
func (l *Local) Consume(ctx context.Context, id, digest string) (approval.Entry, error) {
	return l.change(ctx, id, approval.Event{Kind: approval.Consume, ID: id, Digest: digest}, nil)
}

// Get returns an entry.
func (l *Local) Get(ctx context.Context, id string) (approval.Entry, error) {
	if err := ctx.Err(); err != nil {
		return approval.Entry{}, err
	}
	s, err := l.read(id)
	if err == nil {
		s, err = l.current(s)
	}
	if err != nil {
		return approval.Entry{}, err
	}
	return s.Entry, nil
}

// current returns an entry after what has happened to it by itself.
func (l *Local) current(s *stored) (*stored, error) {
	l.mu.Lock()
	event := l.due(s)
	l.mu.Unlock()
	if event.Kind == 0 {
		return s, nil
	}
	unlock, err := l.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	return l.locked(s.Entry.ID)
}

// readAll reads all entries. One that is gone meanwhile is left out, and so is one that
// cannot be read, of which bad is told; without bad that is an error.
func (l *Local) readAll(bad func(id string, err error)) ([]*stored, error) {
	names, err := os.ReadDir(filepath.Join(l.dir, entriesDir))
	if err != nil {
		return nil, err
	}
	var all []*stored
	for _, d := range names {
		id, ours := strings.CutSuffix(d.Name(), ".json")
		if !ours || !fileID.MatchString(id) {
			continue
		}
		s, err := l.read(id)
		switch {
		case err == nil:
			all = append(all, s)
		case errors.Is(err, approval.ErrUnknown):
		case bad == nil:
			return nil, err
		default:
			bad(id, err)
		}
	}
	return all, nil
}

// unreadable tells of an entry that cannot be read, once.
func (l *Local) unreadable(id string, err error) {
	l.warning.Lock()
	known := l.warned[id]
	if l.warned == nil {
		l.warned = map[string]bool{}
	}
	l.warned[id] = true
	l.warning.Unlock()
	if !known && l.Warn != nil {
		l.Warn(fmt.Errorf("a question cannot be read, and is not shown or answered: %w", err))
	}
}

// all returns the entries after what has happened to them by itself, and removes old
// ones.
func (l *Local) all() ([]approval.Entry, error) {
	found, err := l.readAll(l.unreadable)
	if err != nil {
		return nil, err
	}
	var all []approval.Entry
	for _, s := range found {
		if s, err = l.current(s); errors.Is(err, approval.ErrUnknown) {
			continue
		} else if err != nil {
			return nil, err
		}
		if s.Entry.Final() && l.now().Sub(s.Entry.Changed) > kept {
			if err := os.Remove(l.file(s.Entry.ID)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
			continue
		}
		all = append(all, s.Entry)
	}
	return all, nil
}

// List returns the entries that a filter selects.
func (l *Local) List(ctx context.Context, f approval.Filter) ([]approval.Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	all, err := l.all()
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(e approval.Entry) bool {
		return e.Seq <= f.After || f.Project != "" && e.Project != f.Project || f.Session != "" && e.Session != f.Session ||
			len(f.Status) > 0 && !slices.Contains(f.Status, e.Status)
	})
	slices.SortFunc(all, func(a, b approval.Entry) int { return cmp.Compare(a.Seq, b.Seq) })
	if f.Limit > 0 && len(all) > f.Limit {
		all = all[:f.Limit]
	}
	return all, nil
}

// Wait waits for a change. It looks at one small file ten times a second, and at the
// entries once a second.
func (l *Local) Wait(ctx context.Context, after int64) (int64, error) {
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for n := 0; ; n++ {
		if n%int(look/poll) == 0 {
			if _, err := l.all(); err != nil {
				return 0, err
			}
		}
		if seq, err := l.seq(); err != nil || seq > after {
			return l.written(seq, err)
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-ticker.C:
		}
	}
}

// written returns a Seq once the entry that has it is written.
func (l *Local) written(seq int64, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	unlock, err := l.lock()
	if err != nil {
		return 0, err
	}
	defer unlock()
	return l.seq()
}
