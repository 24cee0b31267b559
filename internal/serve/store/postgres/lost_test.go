//go:build linux && postgres

package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
	"github.com/agent-wrapper/agent-wrapper/internal/test/pg"
)

var (
	agent = approval.Principal{Role: approval.Agent, Name: "agent"}
	ada   = approval.Principal{Role: approval.Person, Name: "ada"}
)

func terms(id string) approval.Entry {
	return approval.Entry{State: approval.State{Terms: approval.Terms{ID: id, Digest: "1:" + id, Asker: agent}}, Question: []byte(`{}`)}
}

func approve(id string) approval.Event {
	return approval.Event{Kind: approval.Approve, ID: id, Digest: "1:" + id, By: ada}
}

// approved submits an approval and approves it.
func approved(t testing.TB, s *Store, id string) approval.Entry {
	t.Helper()
	_, err := s.Submit(t.Context(), terms(id))
	if err != nil {
		t.Fatal(err)
	}
	e, err := s.Answer(t.Context(), approve(id), []byte(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// A COMMIT whose connection is lost counts once: the caller learns that it was done if
// it was, and otherwise it is done again.
func TestLostCommit(t *testing.T) {
	url := server.Database(t)
	arrives := make(chan struct{})
	tests := []struct {
		name string
		fate fate
	}{
		{"before", fate{cut: true, lost: true}},
		{"after", fate{cut: true}},
		{"while others wait for it", fate{cut: true, arrives: arrives}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newProxy(t, url)
			s, other := opened(t, p.url), opened(t, url)
			asked := approved(t, other, tt.name)
			var once sync.Once
			choose := func() (f fate) {
				once.Do(func() { f = tt.fate })
				return f
			}
			p.commit.Store(&choose)
			if tt.fate.arrives != nil {
				go func() {
					blocked(t, url, 1) // the second attempt waits for the first
					close(arrives)
				}()
			}
			e, err := s.Consume(t.Context(), tt.name, asked.Digest)
			if err != nil || e.Status != approval.Consumed {
				t.Errorf("%v, %v", e.Status, err)
			}
			var settled *approval.Settled
			for _, s := range []*Store{s, other} {
				if _, err := s.Consume(t.Context(), tt.name, asked.Digest); !errors.As(err, &settled) {
					t.Errorf("consumed twice: %v", err)
				}
			}
			if got, err := other.Get(t.Context(), tt.name); err != nil || got.Seq != e.Seq {
				t.Errorf("the number is %d, and %d was told: %v", got.Seq, e.Seq, err)
			}
		})
	}
}

// blocked waits until n sessions of a database wait for a lock.
func blocked(t *testing.T, url string, n int) {
	t.Helper()
	server.Exec(t, url, fmt.Sprintf(`DO $$ BEGIN
		FOR i IN 1..1000 LOOP
			IF (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock') >= %d THEN RETURN; END IF;
			PERFORM pg_sleep(0.01), pg_stat_clear_snapshot();
		END LOOP;
		RAISE 'nobody waits';
	END $$`, n))
}

// Of connections that are lost at random moments, nobody notices more than the time.
func TestCut(t *testing.T) {
	const writers, each = 4, 30
	url := server.Database(t)
	p := newProxy(t, url)
	s := opened(t, p.url)
	random := func() fate {
		switch rand.N(6) {
		case 0:
			return fate{cut: true}
		case 1:
			return fate{cut: true, lost: true}
		case 2:
			p.cut()
		}
		return fate{}
	}
	p.commit.Store(&random)
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for i := range each {
				text := fmt.Sprintf("%d %d", w, i)
				out, err := s.AppendChat(t.Context(), store.Chat{ConversationID: "c", Text: text})
				if err != nil || out[0].Seq == 0 {
					t.Errorf("%s: %v", text, err)
				}
			}
		})
	}
	group.Wait()
	p.commit.Store(nil)
	list, err := s.Chat(t.Context(), "c", "", 0, 0)
	if err != nil || len(list) != writers*each {
		t.Fatalf("%d entries, %v", len(list), err)
	}
	found := map[string]bool{}
	for i, c := range list {
		if c.Seq != int64(i+1) || found[c.Text] {
			t.Errorf("entry %d is %+v", i, c)
		}
		found[c.Text] = true
	}
	t.Logf("%d commits for %d writes", p.commits.Load(), writers*each)
}

// PostgreSQL crashes and is restarted while two servers work: nobody gets an error,
// what was acknowledged is there, nothing is consumed twice, and who waits goes on.
func TestRestarted(t *testing.T) {
	restarts := 3
	if os.Getenv("AW_LONG") != "" {
		restarts = 40
	}
	server, err := pg.Start("synchronous_commit = off", "wal_writer_delay = 10s")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	url := server.Database(t)
	one, two := opened(t, url), opened(t, url)
	ctx, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	var used sync.Map // id → how often it was consumed
	done := make(chan bool, 1<<20)
	for w := range 4 {
		work.Go(func() {
			defer stop() // after an error
			for i := 0; ctx.Err() == nil; i++ {
				id := fmt.Sprintf("%d-%d", w, i)
				e, err := one.Submit(t.Context(), terms(id))
				if err != nil {
					t.Errorf("submit: %v", err)
					return
				}
				if e, err = approval.Await(t.Context(), one, id); err != nil || e.Status != approval.Approved {
					t.Errorf("await: %v, %v", e.Status, err)
					return
				}
				count := new(atomic.Int64)
				used.Store(id, count)
				var race sync.WaitGroup
				for _, s := range []*Store{one, two} {
					race.Go(func() {
						_, err := s.Consume(t.Context(), id, e.Digest)
						if settled := (*approval.Settled)(nil); err == nil {
							count.Add(1)
						} else if !errors.As(err, &settled) {
							t.Errorf("consume: %v", err)
						}
					})
				}
				race.Wait()
				done <- true
			}
		})
	}
	answering, end := context.WithCancel(t.Context())
	var answers sync.WaitGroup
	answers.Go(func() { answerAll(answering, t, two) })
	for i := range restarts {
		for range 5 + len(done) {
			select {
			case <-done:
			case <-ctx.Done():
			}
		}
		server.Restart(t, []pg.End{pg.Crash, pg.Fast}[i%2])
	}
	stop()
	work.Wait()
	end()
	answers.Wait()
	n := 0
	used.Range(func(id, count any) bool {
		n++
		if c := count.(*atomic.Int64).Load(); c != 1 {
			t.Errorf("%s was consumed %d times", id, c)
		}
		if e, err := one.Get(t.Context(), id.(string)); err != nil || e.Status != approval.Consumed {
			t.Errorf("%s: %v, %v", id, e.Status, err)
		}
		return true
	})
	t.Logf("%d approvals in %d restarts", n, restarts)
}

// answerAll approves what is pending until ctx ends.
func answerAll(ctx context.Context, t *testing.T, s *Store) {
	for after := int64(0); ctx.Err() == nil; {
		list, err := s.List(ctx, approval.Filter{Status: []approval.Status{approval.Pending}, After: after})
		if err != nil && ctx.Err() == nil {
			t.Errorf("list: %v", err)
			return
		}
		for _, e := range list {
			if _, err := s.Answer(ctx, approve(e.ID), []byte(strconv.Quote(e.ID))); err != nil && ctx.Err() == nil {
				t.Errorf("answer: %v", err)
			}
			after = e.Seq
		}
		s.Wait(ctx, after)
	}
}

// What was acknowledged is on disk, also where PostgreSQL would promise less.
func TestSynchronous(t *testing.T) {
	server, err := pg.Start("synchronous_commit = off", "wal_writer_delay = 10s")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	url := server.Database(t)
	s := opened(t, url)
	for i := range 5 {
		id := strconv.Itoa(i)
		asked := approved(t, s, id)
		if _, err := s.Consume(t.Context(), id, asked.Digest); err != nil {
			t.Fatal(err)
		}
		server.Restart(t, pg.Crash)
		if e, err := s.Get(t.Context(), id); err != nil || e.Status != approval.Consumed {
			t.Fatalf("after a crash: %v, %v", e.Status, err)
		}
	}
}

// A lock that somebody holds for long is an error in time, and no deadlock.
func TestLockTimeout(t *testing.T) {
	url := server.Database(t)
	s := opened(t, url+"&lock_timeout=200")
	approved(t, s, "a")
	release := hold(t, url, "counters")
	began := time.Now()
	_, err := s.Consume(t.Context(), "a", "1:a")
	if err == nil || time.Since(began) > 10*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
	release()
	if _, err := s.Consume(t.Context(), "a", "1:a"); err != nil {
		t.Error(err)
	}
}
