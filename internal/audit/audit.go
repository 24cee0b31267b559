// Package audit records every decision in a file of JSON lines. Each line
// contains the hash of the one before, so that a change, deletion, swap or
// truncation is detected. Several processes may write to the same file.
//
// # The chain
//
// Each record is one line, ended by a line feed, and has
//
//	v     2, the version of this format
//	seq   its number; the first is 1
//	prev  "sha256:…" of the line before it, without its line feed
//	time  when it was recorded, UTC, RFC 3339 with nanoseconds
//	kind  begin, decision, outcome, note or torn
//
// The first record is of kind begin. Its prev is the hash of everything before
// it in the file: of nothing in a new file, otherwise of the lines of version
// 1, which had no chain and are sealed by it. "lost" says that another record
// was at this path, and how far it went.
//
// A writer that dies in the middle of a write leaves an incomplete line. The
// next writer ends that line and adds a record of kind torn, with the length
// and the hash of everything between it and the last record; its prev refers to
// that record.
//
// # The head
//
// A second file holds the number, position and hash of the last record that is
// certainly on disk. It is written after the record and before the decision is
// answered, except with SyncNone, where it is written now and then. So the
// record may extend beyond its head but never end before it: that shows a
// truncation.
//
// # Records
//
// A decision has, in this order, where they apply:
//
//	session   of the agent; agent: the subagent; use: the agent's id of the
//	          tool use; tool; dir: the directory of the agent's shell
//	input     what the agent sent, in compact form; a string if it is not JSON.
//	          Secrets are masked (package mask), and invisible characters are
//	          escaped, as in all texts
//	masked    the number of secrets masked in the whole record
//	cut       the length of an input, updated or text that was too long; only
//	          its beginning is recorded then, as a string
//	digest    "sha256:…" of input as it would be recorded in full. It is taken
//	          after masking, so that it cannot confirm a guess of a secret
//	actions   what the command line would do ("run git push"), of the input
//	          that would have run; more: how many are left out
//	behavior  allow, ask or deny
//	layer     that decided; rule and source ("file:line:col") if one did
//	reason    for a person; message: what the model was told
//	risk, tier
//	by        who decided: rule, person, timeout
//	held      true: only a person could allow it
//	grants    the lasting answers of a person that allowed it: id in the session,
//	          rule, or use (exactly this one); until, and left: how many more tool
//	          uses, if they are limited; from: the id of one that was
//	          remembered beyond a session, whose own id is 0
//	approval  the id of the question, if it was put to others than the person at
//	          the agent; answered: who answered, name and credential (its id) of
//	          each in order; comment: of the last of them
//	objection the refusal of a whitelist, "not_whitelisted: …"; would_block:
//	          true if it did not take effect (dry run)
//	updated   the input that the tool ran with, if it differs; of a denial, the
//	          edited input that was decided
//
// An outcome has session, agent, use, tool, and
//
//	of        the seq of its decision
//	outcome   ran or failed; breach: it ran although it should not have
//	reason    why, if the other keys do not say so
//	exit      the exit code of a command, if known
//	took_ms   how long a command ran, in milliseconds, if known
//	met       what the sandbox refused a command, as far as that is known ("write /etc")
//
// A note is not about a tool use, and has
//
//	note      what happened: "whitelist_bypass"; "no_head": the entries before it had
//	          no head when the record was opened
//	reason    in words
//
// Future versions only add keys and notes.
package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/atomicfile"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Log is an open record. It is safe for concurrent use.
type Log struct {
	path string
	now  func() time.Time
	sync Sync
	head head

	mu   sync.Mutex // guards the fields below; held while the file is locked
	file file
	walk walker
	seen stamp          // of the file after the last access
	bad  error          // the disk failed; nothing is accepted any more
	uses map[use]uint64 // decisions without an outcome yet
	late int            // number of records that the head lacks

	kept struct { // state of group commit
		sync.Mutex
		position
	}
}

// file is the part of *os.File that a Log needs.
type file interface {
	io.Writer
	io.ReaderAt
	io.Closer
	Sync() error
	Stat() (os.FileInfo, error)
	Fd() uintptr
}

// use identifies a tool use.
type use struct{ session, id string }

// maxUses is the maximum number of decisions that are remembered until their
// outcome; outcomes of others do not name their decision.
const maxUses = 10_000

// Options are the settings of a Log.
type Options struct {
	Head string // the head's file; "" means the record's path with ".head" appended
	Sync Sync
}

// Open opens the record at path for appending, and creates it with access for
// its owner only if it does not exist. It is an error if the record was
// truncated or its last lines were changed.
func Open(path string, o Options) (*Log, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the audit log: %w", err)
	}
	if o.Head == "" {
		o.Head = path + ".head"
	}
	l := &Log{path: path, now: time.Now, sync: o.Sync, head: head{path: o.Head}, file: f, uses: map[use]uint64{}}
	if err := l.start(); err != nil {
		f.Close()
		return nil, err
	}
	return l, nil
}

// start finds the end of the chain, or begins one.
func (l *Log) start() error {
	return l.locked(func() error {
		info, err := l.file.Stat()
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("the audit log %s is not a regular file", l.path)
		}
		known, err := l.head.position()
		if err != nil {
			return err
		}
		if err := l.resume(known, info.Size()); err != nil {
			return err
		}
		if err := l.follow(); err != nil {
			return err
		}
		if l.walk.at.Seq == 0 {
			first := &Entry{Kind: kindBegin, Before: l.walk.lines}
			if known.Seq > 0 {
				first.Lost = &known
			}
			if err := errors.Join(l.head.claim(), atomicfile.SyncDir(filepath.Dir(l.path))); err != nil {
				return err
			}
			if err := l.write(first); err != nil {
				return err
			}
			return l.commit(l.walk.at)
		}
		if known.Seq == 0 && !(l.walk.at.Seq == 1 && l.head.claimed()) {
			return l.headless()
		}
		return l.head.raise(l.path, l.walk.at, true)
	})
}

// headless records that the entries before it had no head, so nobody can tell whether
// more followed them. Verify reports it from then on.
func (l *Log) headless() error {
	if err := l.write(&Entry{Kind: kindNote, Note: noteHeadless, Reason: "the audit log had entries and no head: entries may have been cut off its end"}); err != nil {
		return err
	}
	return l.commit(l.walk.at)
}

// resume continues from the head, which is faster than from the start.
func (l *Log) resume(known position, size int64) error {
	l.walk = newWalker()
	if known.Seq == 0 || size == 0 {
		return nil
	}
	if err := known.holds(l.file, size); err != nil {
		return &Damage{l.path, l.head.path, err}
	}
	l.walk.at = known
	return nil
}

// Close writes the head and closes the file.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	if l.late > 0 && l.bad == nil {
		err = l.head.raise(l.path, l.walk.at, false)
	}
	l.bad = errors.New("the audit log is closed")
	return errors.Join(err, l.file.Close())
}

// Record adds a decision. After an error it may not be in the record.
func (l *Log) Record(ctx context.Context, r permission.Record) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("record the decision: %w", err)
	}
	e := decision(r)
	if err := l.add(e); err != nil {
		return fmt.Errorf("record the decision: %w", err)
	}
	if len(r.Result.UpdatedInput) > 0 { // it is what runs
		l.expect(use{r.Use.Session, r.Use.ID}, e.Seq)
	}
	return nil
}

func (l *Log) expect(u use, seq uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.uses) < maxUses {
		l.uses[u] = seq
	}
}

// Outcome is the outcome of a tool use that was allowed, or that ran although
// it was not.
type Outcome struct {
	Session, Agent, Use, Tool string
	Failed                    bool
	Exit                      *int          // of a command; nil: unknown
	Took                      time.Duration // of a command; 0: unknown
	Note                      string        // what ended it, other than itself
	Met                       []string      // what the sandbox refused it
	Breach                    string        // why it should not have run; "" if it should
}

// Outcome adds the outcome of a tool use.
func (l *Log) Outcome(o Outcome) error {
	e := &Entry{
		Kind: kindOutcome, Outcome: "ran", Exit: o.Exit, Of: l.decisionOf(use{o.Session, o.Use}),
	}
	e.named(o.Session, o.Agent, o.Use, o.Tool)
	if o.Failed {
		e.Outcome = "failed"
	}
	if o.Took > 0 {
		ms := o.Took.Milliseconds()
		e.TookMS = &ms
	}
	if o.Note != "" {
		e.Reason = e.hide(o.Note)
	}
	for _, refusal := range o.Met {
		e.Met = append(e.Met, e.hide(refusal))
	}
	if o.Breach != "" {
		e.Outcome, e.Reason = "breach", e.hide(o.Breach)
	}
	if err := l.add(e); err != nil {
		return fmt.Errorf("record the outcome: %w", err)
	}
	return nil
}

// Note adds an event that is not a decision: the session that it is about, "" if none, a
// name for programs, and words. After an error it may not be in the record.
func (l *Log) Note(session, name, words string) error {
	e := &Entry{Kind: kindNote, Note: name}
	e.Session, e.Reason = e.hide(session), e.hide(words)
	if err := l.add(e); err != nil {
		return fmt.Errorf("record the %s: %w", name, err)
	}
	return nil
}

// decisionOf returns the seq of the decision that let a tool use run, 0 if it
// is unknown, and forgets it.
func (l *Log) decisionOf(u use) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	seq := l.uses[u]
	delete(l.uses, u)
	return seq
}

// add writes a record and waits until it is durable.
func (l *Log) add(e *Entry) error {
	err := l.locked(func() error {
		if err := l.follow(); err != nil {
			return err
		}
		return l.write(e)
	})
	if err != nil {
		return err
	}
	return l.keep(e.Seq)
}
