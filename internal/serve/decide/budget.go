package decide

import (
	"context"
	"sync"
)

// budget limits how much is in flight: a number of things, and their bytes.
type budget struct {
	mu                 sync.Mutex
	free               sync.Cond
	count, bytes       int
	maxCount, maxBytes int
}

func newBudget(count, bytes int) *budget {
	b := &budget{maxCount: count, maxBytes: bytes}
	b.free.L = &b.mu
	return b
}

// room reports whether something more fits. A single thing always does.
func (b *budget) room(bytes int) bool {
	return b.count == 0 || b.count < b.maxCount && b.bytes+bytes <= b.maxBytes
}

// take waits until something fits, and adds it.
func (b *budget) take(bytes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for !b.room(bytes) {
		b.free.Wait()
	}
	b.count, b.bytes = b.count+1, b.bytes+bytes
}

// try adds something if it fits.
func (b *budget) try(bytes int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.room(bytes) {
		return false
	}
	b.count, b.bytes = b.count+1, b.bytes+bytes
	return true
}

// give takes something away again.
func (b *budget) give(bytes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count, b.bytes = b.count-1, b.bytes-bytes
	b.free.Signal()
}

// work is a request that is worked on.
type work struct {
	budget *budget
	bytes  int
	once   sync.Once
}

// workKey is the key of a context for the work of its request.
type workKey struct{}

// free gives back what the request of a context has taken, if there is one.
func free(ctx context.Context) {
	if w, ok := ctx.Value(workKey{}).(*work); ok {
		w.once.Do(func() { w.budget.give(w.bytes) })
	}
}
