package server

import (
	"context"
	"sync"
	"time"

	"github.com/agent-wrapper/agent-wrapper/approval"
)

// changes follows the changes of approvals: however many requests wait for one, the
// store is asked once.
type changes struct {
	broker approval.Broker

	mu   sync.Mutex
	seq  int64
	next chan struct{} // closed at the next change
}

func newChanges(b approval.Broker) *changes { return &changes{broker: b, next: make(chan struct{})} }

// pause is how long the store is left alone after an error.
const pause = time.Second

// follow follows the store until ctx ends.
func (c *changes) follow(ctx context.Context, warn func(error)) {
	for ctx.Err() == nil {
		c.mu.Lock()
		seq := c.seq
		c.mu.Unlock()
		newest, err := c.broker.Wait(ctx, seq)
		if err == nil {
			c.changed(newest)
			continue
		}
		if ctx.Err() != nil {
			return
		}
		warn(err)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
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

// newest returns the newest change. It is asked for if the client has seen a newer one
// already, of another server.
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
	if err == nil {
		c.changed(seq)
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
