package terminal

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
)

// TestInterleavings: however execute, approve, interrupt and release meet, what is
// stored is a history that the reference allows, and each approved command runs once.
func TestInterleavings(t *testing.T) {
	b := newBench(t)
	var ids []string
	for range 4 {
		ids = append(ids, b.begin())
	}
	var group sync.WaitGroup
	for worker := range 12 {
		group.Go(func() {
			r := rand.New(rand.NewPCG(uint64(worker), 16))
			for range 150 {
				b.anything(r, ids[r.IntN(len(ids))])
			}
		})
	}
	group.Wait()
	b.Close()
	for _, id := range ids {
		b.check(id)
	}
}

// anything does one thing to a session. Errors are expected: only what is stored
// counts.
func (b *bench) anything(r *rand.Rand, id string) {
	ctx, cancel := context.WithCancel(b.t.Context())
	defer cancel()
	var err error
	switch n := r.IntN(20); {
	case n < 5:
		_, err = b.Execute(ctx, id, Request{Command: ": ask"})
	case n < 8:
		_, err = b.Execute(ctx, id, Request{Command: [...]string{":", ": deny", ": break"}[r.IntN(3)]})
	case n < 15:
		_, err = b.Approve(ctx, id, answerOf(approval.Approve), nil)
	case n < 16:
		_, err = b.Approve(ctx, id, answerOf(approval.Deny), nil)
	case n < 17:
		_, err = b.Interrupt(ctx, id, "anna", r.IntN(2) == 0)
	default:
		_, err = b.Release(ctx, id, "anna", true)
	}
	settled := new(approval.Settled)
	if err != nil && kindOf(err) == 0 && !errors.As(err, &settled) {
		b.t.Errorf("%T %v", err, err)
	}
}

// check compares what was stored of a session with the reference.
func (b *bench) check(id string) {
	b.t.Helper()
	ref, runs := newReference(), map[string]int{}
	for i, h := range b.store.history {
		if h.session != id {
			continue
		}
		e, name := event(0), ""
		switch c := h.command; {
		case c == nil && h.state == cycle[ref.at]:
			continue // no change of the state
		case c == nil:
			e = map[string]event{userInterrupt: interrupt, userControl: granted, agentResume: release, agentControl: resumed}[h.state]
		case c.By != "agent":
			continue
		default:
			e, name = eventOf(h), c.ID
		}
		switch e {
		case 0:
			continue
		case start:
			runs[name]++
		}
		if !ref.does(e, name) {
			b.t.Errorf("change %d of %s: event %d of %s, %+v, while %+v", i, id, e, name, h.command, ref)
			return
		}
	}
	for name, n := range runs {
		if n > 1 {
			b.t.Errorf("%s was started %d times", name, n)
		}
	}
	b.t.Logf("%d commands, %d ran", len(ref.begun), len(runs))
}

// eventOf returns the event that a change of a command stands for, 0 for one that
// follows from another.
func eventOf(h stored) event {
	switch h.command.State {
	case store.CommandPending:
		if h.from == "" {
			return execute
		}
		return ask
	case store.CommandExecuting:
		return start
	case store.CommandDenied, store.CommandForbidden:
		return refuse
	case store.CommandFailed, store.CommandCompleted:
		if h.from == store.CommandExecuting {
			return end
		}
		return refuse
	}
	return 0
}
