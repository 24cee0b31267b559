package server

import (
	"context"
	"sync"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
)

// leases knows which askers were heard of. A process that asks through this server waits
// for its answer by a request that names the question. If it dies, nobody does, and the
// question is abandoned after its lease. What the server itself asks about, of a terminal
// or of POST /api/decisions, has no lease.
type leases struct {
	looking sync.Mutex // held while the store is told
	since   time.Time  // since when askers can be heard of

	mu    sync.Mutex
	waits map[string]int  // how many requests wait for a question
	heard map[string]bool // since the store was told; also those who wait no more
}

// leasesEvery is how often the store is told of whom the server has heard: once for all.
const leasesEvery = 5 * time.Second

func newLeases(now time.Time) *leases {
	return &leases{since: now, waits: map[string]int{}, heard: map[string]bool{}}
}

// here notes that the asker of an approval waits for it, until gone is called.
func (l *leases) here(e *approval.Entry) (gone func()) {
	if e.Lease <= 0 {
		return func() {}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waits[e.ID]++
	l.heard[e.ID] = true
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.waits[e.ID]--; l.waits[e.ID] == 0 {
			delete(l.waits, e.ID)
		}
	}
}

// take returns those who were heard of since the last call.
func (l *leases) take() (ids []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id := range l.waits {
		l.heard[id] = true
	}
	for id := range l.heard {
		ids = append(ids, id)
	}
	clear(l.heard)
	return ids
}

// watchLeases abandons what nobody waits for, until ctx ends.
func (s *Server) watchLeases(ctx context.Context) {
	every := time.NewTicker(leasesEvery)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
			if err := s.lapse(ctx, time.Now()); err != nil && ctx.Err() == nil {
				s.log.Error("who still waits for an answer cannot be stored", "error", err.Error())
			}
		}
	}
}

// lapse tells the store who was heard of, and abandons what nobody was heard of. After an
// error everybody has the time of a lease again: other servers could not tell either.
func (s *Server) lapse(ctx context.Context, now time.Time) error {
	l := s.leases
	l.looking.Lock()
	defer l.looking.Unlock()
	err := s.options.Store.Heard(ctx, now, l.take())
	if err == nil {
		var gone []approval.Entry
		gone, err = s.options.Store.Lapse(ctx, l.since, now)
		for i := range gone {
			s.log.Info("a question is abandoned: its asker is gone", "approval", gone[i].ID, "agent", gone[i].Asker.Name)
		}
	}
	if err != nil && now.After(l.since) {
		l.since = now
	}
	return err
}
