// Package audit keeps a record of every decision: a file of JSON lines in which
// each line carries the hash of the one before, so that a change, a deletion, a
// swap or a cut shows. Several processes may write to one record.
//
// # The chain
//
// A record is one line that ends with a line feed. Each has
//
//	v     2, the version of this form
//	seq   its number; the first is 1
//	prev  "sha256:…" of the line before it, without its line feed
//	time  when it was recorded, UTC, RFC 3339 with nanoseconds
//	kind  begin, decision, outcome, note or torn
//
// The first record is of kind begin. Its prev is the hash of all that stands
// before it in the file: of nothing in a new one, else of the lines of version
// 1, which had no chain; they are sealed from then on. "lost" says that another
// record stood at this place, and how far it went.
//
// A writer that dies in mid-write leaves part of a line. The next one ends that
// line and adds a record of kind torn with the length and the hash of all that
// stands between it and the record before, to whose line its prev refers.
//
// # The head
//
// A second file holds the number, the place and the hash of the last record
// that has surely reached the disk. It is written after the record and before
// the decision is answered, but with SyncNone, where it comes every now and
// then. So the record may be longer than its head says, never shorter: what is
// missing was cut off.
//
// # Records
//
// A decision has, in this order, as far as they apply:
//
//	session   of the agent; agent: the subagent; use: the agent's id of the
//	          tool use; tool; dir: the directory that the agent's shell was in
//	input     what the agent sent, without blanks between its parts; as a
//	          string if it is no JSON. Secrets are masked (package mask), and
//	          characters that do not show stand as escapes, as in all texts
//	masked    how many were, in the whole record
//	cut       the length of input, updated or a text that was too long; then
//	          only its beginning stands here, as a string
//	digest    "sha256:…" of input as it would stand here whole. It is taken
//	          after masking: who guesses a secret cannot test the guess with it
//	actions   what the shell's line would do ("run git push"), of the input
//	          that would have run; more: how many are left out
//	behavior  allow, ask or deny
//	layer     that decided; rule and source ("file:line:col") if one did
//	reason    for a person; message: what the model was told
//	risk, tier
//	by        who decided: rule, person, timeout
//	held      true: only a person could allow it
//	objection what a whitelist has against the line, "not_whitelisted: …";
//	          would_block: true if it only would have stopped it (dry run)
//	updated   the input that the tool ran with, where it is another one; of a
//	          denial what a person had made of it, which was decided
//
// An outcome has session, agent, use, tool, and
//
//	of        the seq of its decision
//	outcome   ran or failed; breach: it ran and should not have
//	reason    why that is so, where it is not told by the rest
//	exit      the exit code of a command, where it is known
//	took_ms   how long a command ran, in milliseconds, where it is known
//
// A note is about no single tool use, and has
//
//	note      what happened: "whitelist_bypass"
//	reason    in words
//
// Later versions only add keys and notes.
package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Log is an open record. It is safe for concurrent use.
type Log struct {
	path string
	now  func() time.Time
	sync Sync
	head head

	mu   sync.Mutex // of all below, and of the lock that keeps other processes out
	file file
	walk walker
	seen stamp          // of the file after the last look at it
	bad  error          // the disk failed us: nothing is taken any more
	uses map[use]uint64 // decisions whose outcome is to come
	late int            // records that the head does not have yet

	kept struct { // by group commit
		sync.Mutex
		position
	}
}

// file is what a Log needs of an *os.File.
type file interface {
	io.Writer
	io.ReaderAt
	io.Closer
	Sync() error
	Stat() (os.FileInfo, error)
	Fd() uintptr
}

// use names a tool use.
type use struct{ session, id string }

// maxUses is how many decisions wait for their outcome at most; those beyond
// get an outcome that does not name its decision.
const maxUses = 10_000

// Options are the settings of a Log.
type Options struct {
	Head string // the head's file; "": the record's with ".head" added
	Sync Sync
}

// Open opens the record at path for appending and makes it, readable by its
// owner only, if it is not there. A record that was cut, or whose last lines
// are not those that were written, is an error.
func Open(path string, o Options) (*Log, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the record: %w", err)
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
			return fmt.Errorf("the record %s is no regular file", l.path)
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
			if err := syncDir(filepath.Dir(l.path)); err != nil {
				return err
			}
			return l.write(first)
		}
		return l.head.raise(l.path, l.walk.at, true)
	})
}

// syncDir brings the names in a directory to the disk, as far as the system can.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}

// resume goes on from the head, which is quicker than from the start.
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

// Close brings the head up to date and closes the file.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	if l.late > 0 && l.bad == nil {
		err = l.head.raise(l.path, l.walk.at, false)
	}
	l.bad = errors.New("the record is closed")
	return errors.Join(err, l.file.Close())
}

// Record adds a decision. An error means that it is not surely in the record.
func (l *Log) Record(ctx context.Context, r permission.Record) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("record the decision: %w", err)
	}
	e := decision(r)
	if err := l.add(e); err != nil {
		return fmt.Errorf("record the decision: %w", err)
	}
	if len(r.Result.UpdatedInput) > 0 { // it is going to run
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

// Outcome is what became of a tool use that was allowed, or that ran without.
type Outcome struct {
	Session, Agent, Use, Tool string
	Failed                    bool
	Exit                      *int          // of a command; nil: not known
	Took                      time.Duration // of a command; 0: not known
	Note                      string        // what ended it, if not itself
	Breach                    string        // why it should not have run, "" if it should
}

// Outcome adds what became of a tool use.
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
	if o.Breach != "" {
		e.Outcome, e.Reason = "breach", e.hide(o.Breach)
	}
	if err := l.add(e); err != nil {
		return fmt.Errorf("record the outcome: %w", err)
	}
	return nil
}

// Note adds what happened beside the decisions: a name for programs, and words.
// An error means that it is not surely in the record.
func (l *Log) Note(name, words string) error {
	e := &Entry{Kind: kindNote, Note: name}
	e.Reason = e.hide(words)
	if err := l.add(e); err != nil {
		return fmt.Errorf("record the %s: %w", name, err)
	}
	return nil
}

// decisionOf is the number of the decision that let a tool use run, 0 if it is
// not known. It is told once.
func (l *Log) decisionOf(u use) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	seq := l.uses[u]
	delete(l.uses, u)
	return seq
}

// add writes a record and waits until it is kept.
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
