package sqldb

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
)

const approvalColumns = `SELECT seq, project, session, asked, changed, heard, state, question, reply, reason FROM approvals`

func scanEntry(row scanner) (e approval.Entry, err error) {
	var state, question, reply, reason []byte
	if err := row.Scan(&e.Seq, &e.Project, &e.Session, instant{&e.Asked}, instant{&e.Changed}, instant{&e.Heard}, &state, &question, &reply, &reason); err != nil {
		return e, err
	}
	e.Question, e.Reply, e.Reason = question, reply, string(reason)
	return e, json.Unmarshal(state, &e.State)
}

// Submit begins an approval.
func (d *DB) Submit(ctx context.Context, e approval.Entry) (approval.Entry, error) {
	now := d.dialect.Now()
	s, err := approval.Step(approval.State{}, approval.Event{Kind: approval.Ask, At: now, Terms: e.Terms})
	if err != nil {
		return approval.Entry{}, err
	}
	out := approval.Entry{State: s, Question: e.Question, Project: e.Project, Session: e.Session, Asked: now.UTC()}
	if s.Lease > 0 {
		out.Heard = now.UTC()
	}
	err = d.write(ctx, func(tx *sql.Tx) error {
		there, err := d.entry(ctx, tx, e.ID)
		if err == nil {
			out = there
			if there.Digest != e.Digest || there.Asker != e.Asker {
				return approval.ErrBegun
			}
			return nil
		}
		if !errors.Is(err, approval.ErrUnknown) {
			return err
		}
		return d.put(ctx, tx, &out, now, `DO NOTHING`)
	})
	return d.told(out, err)
}

// entry reads an approval that the transaction may change.
func (d *DB) entry(ctx context.Context, tx *sql.Tx, id string) (approval.Entry, error) {
	e, err := scanEntry(tx.QueryRowContext(ctx, approvalColumns+` WHERE id = $1`+d.dialect.Lock, id))
	return e, or(err, approval.ErrUnknown)
}

// put writes an approval with the next number. If there is one with its ID, conflict
// says what to do.
func (d *DB) put(ctx context.Context, tx *sql.Tx, e *approval.Entry, now time.Time, conflict string) error {
	state, err := json.Marshal(&e.State)
	if err != nil {
		return err
	}
	if e.Seq, err = d.next(ctx, tx, "approvals", 1); err != nil {
		return err
	}
	e.Changed = now.UTC()
	err = exec(ctx, tx, errRace, `INSERT INTO approvals
		(id, seq, status, project, session, expires, asked, changed, state, question, reply, reason, lease, heard)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
		ON CONFLICT `+conflict,
		e.ID, e.Seq, e.Status.String(), e.Project, e.Session, nanos(e.Expires), nanos(e.Asked), nanos(e.Changed),
		state, []byte(e.Question), []byte(e.Reply), []byte(e.Reason), int64(e.Lease), nanos(e.Heard))
	if err != nil || d.dialect.Notify == nil {
		return err
	}
	return d.dialect.Notify(ctx, tx, e.Seq)
}

// told tells those who wait of the result of a transaction.
func (d *DB) told(e approval.Entry, err error) (approval.Entry, error) {
	if e.Seq > 0 {
		d.waiters.notice(e.Seq)
	}
	return e, err
}

// change applies an event to an approval. set sets the other fields of the entry if
// the event counts.
func (d *DB) change(ctx context.Context, id string, event approval.Event, set func(*approval.Entry)) (e approval.Entry, err error) {
	return d.changeIf(ctx, id, event, func(*approval.Entry) bool { return true }, set)
}

// changeIf is change if a condition holds in the transaction.
func (d *DB) changeIf(ctx context.Context, id string, event approval.Event, holds func(*approval.Entry) bool, set func(*approval.Entry)) (e approval.Entry, err error) {
	var lost error // the reason why the event does not count
	err = d.write(ctx, func(tx *sql.Tx) error {
		if e, err = d.entry(ctx, tx, id); err != nil || !holds(&e) {
			return err
		}
		event.At = d.dialect.Now()
		var s approval.State
		if s, lost = approval.Step(e.State, event); reflect.DeepEqual(s, e.State) {
			return nil
		}
		if e.State = s; lost == nil {
			set(&e)
		}
		return d.put(ctx, tx, &e, event.At, `(id) DO UPDATE SET seq = excluded.seq, status = excluded.status,
			changed = excluded.changed, state = excluded.state, reply = excluded.reply, reason = excluded.reason`)
	})
	if err != nil {
		return approval.Entry{}, err
	}
	return d.told(e, lost)
}

// Answer applies the answer of a person.
func (d *DB) Answer(ctx context.Context, event approval.Event, reply json.RawMessage) (approval.Entry, error) {
	switch event.Kind {
	case approval.Approve, approval.Deny, approval.Edit:
		return d.change(ctx, event.ID, event, func(e *approval.Entry) { e.Reply = reply })
	}
	return approval.Entry{}, approval.ErrEvent
}

// Withdraw cancels an approval.
func (d *DB) Withdraw(ctx context.Context, id string, by approval.Principal, reason string) (approval.Entry, error) {
	event := approval.Event{Kind: approval.Cancel, ID: id, By: by}
	return d.change(ctx, id, event, func(e *approval.Entry) { e.Reason = reason })
}

// Consume uses up an approval.
func (d *DB) Consume(ctx context.Context, id, digest string) (approval.Entry, error) {
	event := approval.Event{Kind: approval.Consume, ID: id, Digest: digest}
	return d.change(ctx, id, event, func(*approval.Entry) {})
}

// Apply applies an event that no person causes.
func (d *DB) Apply(ctx context.Context, id string, event approval.Event) (approval.Entry, error) {
	switch event.Kind {
	case approval.Die, approval.Policy, approval.Tick:
		return d.change(ctx, id, event, func(*approval.Entry) {})
	}
	return approval.Entry{}, approval.ErrEvent
}

// Heard notes that askers were heard of.
func (d *DB) Heard(ctx context.Context, at time.Time, ids []string) error {
	for part := range slices.Chunk(ids, 500) {
		c := conditions{args: []any{nanos(at)}, text: " WHERE lease > 0 AND heard < $1"}
		oneOf(&c, "id", part)
		err := d.write(ctx, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `UPDATE approvals SET heard = $1`+c.text, c.args...)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Lapse abandons approvals whose askers are silent.
func (d *DB) Lapse(ctx context.Context, since, now time.Time) (gone []approval.Entry, err error) {
	silent := func(e *approval.Entry) bool {
		last := e.Heard
		if last.Before(since) {
			last = since
		}
		return e.Lease > 0 && !now.Before(last.Add(e.Lease))
	}
	late, err := readAll(ctx, d, scanText, `SELECT id FROM approvals WHERE lease > 0 AND status IN ('pending', 'approved')
		AND heard <= $1 - lease AND lease <= $2 LIMIT 1000`, now.UnixNano(), int64(now.Sub(since)))
	for _, id := range late {
		e, err := d.changeIf(ctx, id, approval.Event{Kind: approval.Die}, silent, func(*approval.Entry) {})
		if err != nil {
			return gone, err
		}
		if e.Status == approval.Abandoned {
			gone = append(gone, e)
		}
	}
	return gone, err
}

// Get returns an approval.
func (d *DB) Get(ctx context.Context, id string) (approval.Entry, error) {
	if err := d.expire(ctx); err != nil {
		return approval.Entry{}, err
	}
	e, err := readOne(ctx, d, scanEntry, approvalColumns+` WHERE id = $1`, id)
	return e, or(err, approval.ErrUnknown)
}

// List returns the approvals that a filter selects.
func (d *DB) List(ctx context.Context, f approval.Filter) ([]approval.Entry, error) {
	if err := d.expire(ctx); err != nil {
		return nil, err
	}
	var names []string
	for _, s := range f.Status {
		names = append(names, s.String())
	}
	var c conditions
	c.add("seq > $%d", f.After)
	oneOf(&c, "status", names)
	c.equal("project", f.Project)
	c.equal("session", f.Session)
	return readAll(ctx, d, scanEntry, approvalColumns+c.text+` ORDER BY seq`+c.limit(f.Limit), c.args...)
}

// expire lets the approvals expire whose time is over.
func (d *DB) expire(ctx context.Context) error {
	late, err := readAll(ctx, d, scanText, `SELECT id FROM approvals
		WHERE expires > 0 AND expires <= $1 AND status IN ('pending', 'approved') LIMIT 1000`, d.dialect.Now().UnixNano())
	if err != nil {
		return err
	}
	for _, id := range late {
		if _, err := d.Apply(ctx, id, approval.Event{Kind: approval.Tick}); err != nil {
			return err
		}
	}
	return nil
}

// skipped is how many numbers of changes are left out after a backup is restored, so
// that none is used for two changes.
const skipped = 1 << 32

// Restored ends what may have gone on since a backup: approvals that were not consumed
// are abandoned, and commands that were executing are unknown.
func (d *DB) Restored(ctx context.Context, at time.Time) error {
	err := d.write(ctx, func(tx *sql.Tx) error {
		if _, err := d.next(ctx, tx, "approvals", skipped); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `UPDATE commands SET state = 'unknown', changed = $1 WHERE state = 'executing'`, nanos(at))
		return err
	})
	if err != nil {
		return err
	}
	list, err := d.List(ctx, approval.Filter{Status: []approval.Status{approval.Approved}})
	for _, e := range list {
		if _, err = d.Apply(ctx, e.ID, approval.Event{Kind: approval.Die}); err != nil {
			break
		}
	}
	return err
}

func scanText(row scanner) (text string, err error) {
	err = row.Scan(&text)
	return text, err
}
