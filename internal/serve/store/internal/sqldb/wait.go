package sqldb

import (
	"context"
	"errors"
	"sync"
	"time"
)

var errClosed = errors.New("the store is closed")

// waiters are those who wait for changes of approvals.
type waiters struct {
	mu      sync.Mutex
	seq     int64         // of the last known change
	changed chan struct{} // closed with the next change; nil if nobody waits for it
	number  int           // of those who wait
	rest    func()        // ends looking for changes; nil if nobody looks

	life   context.Context // of the store; nil before the first start
	end    context.CancelFunc
	closed bool
	done   sync.WaitGroup
}

// notice tells of a change.
func (w *waiters) notice(seq int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if seq > w.seq {
		w.seq = seq
		w.wake()
	}
}

// known returns the number of the last known change.
func (w *waiters) known() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seq
}

// wake wakes everybody; the caller holds the lock.
func (w *waiters) wake() {
	if w.changed != nil {
		close(w.changed)
		w.changed = nil
	}
}

// next returns the number of the last change, and what is closed with the next one.
func (w *waiters) next() (int64, <-chan struct{}, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return 0, nil, errClosed
	}
	if w.changed == nil {
		w.changed = make(chan struct{})
	}
	return w.seq, w.changed, nil
}

// start runs a function until the store is closed, or stop is called.
func (w *waiters) start(run func(context.Context)) (stop context.CancelFunc) {
	if w.life == nil {
		w.life, w.end = context.WithCancel(context.Background())
	}
	ctx, cancel := context.WithCancel(w.life)
	w.done.Go(func() { run(ctx) })
	return cancel
}

// enter starts looking for changes with the first who waits, leave ends it with the
// last.
func (w *waiters) enter(look func(context.Context)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.number++
	if w.number == 1 && !w.closed {
		w.rest = w.start(look)
	}
}

func (w *waiters) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.number--
	if w.number == 0 && w.rest != nil {
		w.rest()
		w.rest = nil
	}
}

// close ends all waiting and looking.
func (w *waiters) close() {
	w.mu.Lock()
	w.closed = true
	w.wake()
	if w.end != nil {
		w.end()
	}
	w.mu.Unlock()
	w.done.Wait()
}

// Wait waits until an approval has changed after the change with that number, and
// returns the number of the last change.
func (d *DB) Wait(ctx context.Context, after int64) (int64, error) {
	d.waiters.enter(d.poll)
	defer d.waiters.leave()
	for {
		seq, changed, err := d.waiters.next()
		if err != nil || seq > after {
			return seq, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return seq, ctx.Err()
		}
	}
}

// poll looks for changes of other processes, and for approvals whose time is over,
// until ctx ends.
func (d *DB) poll(ctx context.Context) {
	ticker := time.NewTicker(d.dialect.Poll)
	defer ticker.Stop()
	for {
		// Who waits learns of a failure when it next asks for something.
		_ = d.expire(ctx)
		_ = d.look(ctx)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// heard is told that an approval may have changed, with this number. What counts is in
// the database.
func (d *DB) heard(ctx context.Context, seq int64) {
	if d.waiters.known() < seq {
		_ = d.look(ctx) // who waits also polls
	}
}

// look reads the number of the last change.
func (d *DB) look(ctx context.Context) error {
	var seq int64
	err := d.db.QueryRowContext(ctx, `SELECT coalesce(max(value), 0) FROM counters WHERE name = 'approvals'`).Scan(&seq)
	if err == nil {
		d.waiters.notice(seq)
	}
	return err
}
