package server

import (
	"context"
	"sync"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
)

// changes follows the changes of approvals: however many wait for one, the store is
// asked once.
type changes struct {
	broker approval.Broker
	told   int64 // the last change that was told; of follow, after begin

	mu      sync.Mutex
	seq     int64
	next    chan struct{} // closed at the next change
	watches map[string]map[*watch]bool
}

func newChanges(b approval.Broker) *changes {
	return &changes{broker: b, next: make(chan struct{}), watches: map[string]map[*watch]bool{}}
}

// begin finds out how far the store is: nobody watches what was before.
func (c *changes) begin(ctx context.Context) error {
	var err error
	c.told, err = c.latest(ctx)
	c.changed(c.told)
	return err
}

// latest returns the newest change in the store, which follow may not have heard of yet.
func (c *changes) latest(ctx context.Context) (int64, error) {
	some, err := c.broker.List(ctx, approval.Filter{Limit: 1})
	if err != nil || len(some) == 0 {
		return 0, err
	}
	return c.broker.Wait(ctx, 0)
}

// pause is how long the store is left alone after an error.
const pause = time.Second

// follow follows the store until ctx ends.
func (c *changes) follow(ctx context.Context, warn func(error)) {
	for ctx.Err() == nil {
		err := c.once(ctx)
		if err == nil || ctx.Err() != nil {
			continue
		}
		warn(err)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// once waits for changes and tells those who watch them.
func (c *changes) once(ctx context.Context) error {
	newest, err := c.broker.Wait(ctx, c.told)
	if err != nil {
		return err
	}
	c.changed(newest)
	for {
		all, err := c.broker.List(ctx, approval.Filter{After: c.told, Limit: maxList})
		if err != nil {
			return err
		}
		for i := range all {
			c.tell(all[i].ID, all[i].Seq)
			c.told = all[i].Seq
		}
		c.changed(c.told) // there may be more by now than there was
		if len(all) < maxList {
			return nil
		}
	}
}

// changed notes that there is a change.
func (c *changes) changed(seq int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if seq > c.seq {
		c.seq = seq
		close(c.next)
		c.next = make(chan struct{})
	}
}

// newest returns the newest change. The store is asked if the client has seen a newer
// one already, of another server.
func (c *changes) newest(ctx context.Context, seen int64) (int64, error) {
	c.mu.Lock()
	seq := c.seq
	c.mu.Unlock()
	if seq >= seen {
		return seq, nil
	}
	ctx, cancel := context.WithTimeout(ctx, pause)
	defer cancel()
	seq, err := c.broker.Wait(ctx, seen-1)
	if ctx.Err() != nil {
		return 0, nil // the store does not know that change
	}
	return seq, err
}

// wait waits for a change after seq. It is false if ctx has ended first.
func (c *changes) wait(ctx context.Context, seq int64) bool {
	c.mu.Lock()
	now, next := c.seq, c.next
	c.mu.Unlock()
	if now > seq {
		return true
	}
	select {
	case <-next:
		return true
	case <-ctx.Done():
		return false
	}
}

// watch is told of the changes of one approval.
type watch struct {
	id string

	mu    sync.Mutex
	seq   int64
	next  chan struct{} // closed at the next change, if somebody waits
	after int64
	call  func() // at a change after it, once; nil for none
}

// watch watches an approval. No change after the call is missed, until forget.
func (c *changes) watch(id string) *watch {
	w := &watch{id: id}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watches[id] == nil {
		c.watches[id] = map[*watch]bool{}
	}
	c.watches[id][w] = true
	return w
}

// forget ends a watch, which may be nil.
func (c *changes) forget(w *watch) {
	if w == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.watches[w.id], w)
	if len(c.watches[w.id]) == 0 {
		delete(c.watches, w.id)
	}
}

// tell tells those who watch an approval of a change.
func (c *changes) tell(id string, seq int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for w := range c.watches[id] {
		w.changed(seq)
	}
}

func (w *watch) changed(seq int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if seq <= w.seq {
		return
	}
	w.seq = seq
	if w.next != nil {
		close(w.next)
		w.next = nil
	}
	w.tell()
}

// then has f called once, at a change after seq. It must not block.
func (w *watch) then(seq int64, f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.after, w.call = seq, f
	w.tell()
}

// tell calls what waits for a change. The caller holds mu.
func (w *watch) tell() {
	if w.call != nil && w.seq > w.after {
		w.call()
		w.call = nil
	}
}

// wait waits for a change after seq.
func (w *watch) wait(ctx context.Context, seq int64) (int64, error) {
	w.mu.Lock()
	if w.next == nil {
		w.next = make(chan struct{})
	}
	now, next := w.seq, w.next
	w.mu.Unlock()
	if now > seq {
		return now, nil
	}
	select {
	case <-next:
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.seq, nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}
