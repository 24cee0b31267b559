package broker

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/test/brokertest"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// open opens a broker in a directory of its own.
func open(t *testing.T, now func() time.Time) approval.Broker {
	t.Helper()
	l, err := OpenLocal(filepath.Join(t.TempDir(), "approvals"), now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func TestLocal(t *testing.T) { brokertest.Run(t, open) }

// TestLocalHasOneWinner: the large race runs under the race detector only, for its time.
func TestLocalHasOneWinner(t *testing.T) {
	requests := 100
	if raceDetector {
		requests = 1000
	}
	brokertest.Race(t, open, 100, requests)
}

// TestDamagedEntry: a file that cannot be read stops the others neither from being
// listed nor from being waited for, and is told of once; nothing happens to its own entry.
func TestDamagedEntry(t *testing.T) {
	dir, ctx := filepath.Join(t.TempDir(), "approvals"), t.Context()
	l, err := OpenLocal(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	var warned []string
	l.Warn = func(err error) { warned = append(warned, err.Error()) }
	person := approval.Principal{Role: approval.Person, Name: "p"}
	var last approval.Entry
	for _, id := range []string{"1", "2", "3"} {
		e := approval.Entry{State: approval.State{Terms: approval.Terms{ID: id, Digest: "d", Asker: approval.Principal{Role: approval.Agent, Name: "a"}}}}
		if last, err = l.Submit(ctx, e); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, entriesDir, "2.json"), []byte(`{"v":1,"asker":`), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		all, err := l.List(ctx, approval.Filter{})
		if err != nil || len(all) != 2 || all[0].ID != "1" || all[1].ID != "3" {
			t.Errorf("%v, %v", all, err)
		}
	}
	if seq, err := l.Wait(ctx, last.Seq-1); err != nil || seq != last.Seq {
		t.Errorf("%d, %v", seq, err)
	}
	if len(warned) != 1 || !strings.Contains(warned[0], "2.json") {
		t.Errorf("%q", warned)
	}
	answer := approval.Event{Kind: approval.Approve, Digest: "d", By: person, Scope: permission.ScopeOnce}
	for id, want := range map[string]bool{"2": false, "3": true} {
		answer.ID = id
		if _, err := l.Answer(ctx, answer, nil); (err == nil) != want {
			t.Errorf("an answer to %s: %v", id, err)
		}
	}
	if e, err := l.Consume(ctx, "2", "d"); err == nil {
		t.Errorf("it is used up: %+v", e)
	}
}

// TestUnreadable: what could not be read again is not stored.
func TestUnreadable(t *testing.T) {
	b, ctx := open(t, nil), t.Context()
	e := approval.Entry{State: approval.State{Terms: approval.Terms{ID: "1", Digest: "d", Asker: approval.Principal{Role: approval.Agent, Name: "a"}}}}
	for _, text := range []string{`{"a":1,"a":2}`, `[]`, `1`, `{`, "{\"a\":\"\xff\"}"} {
		bad := e
		bad.Question = json.RawMessage(text)
		if _, err := b.Submit(ctx, bad); !errors.Is(err, approval.ErrTerms) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := b.Submit(ctx, e); err != nil {
		t.Fatal(err)
	}
	event := approval.Event{Kind: approval.Deny, ID: "1", Digest: "d", By: anna}
	if _, err := b.Answer(ctx, event, json.RawMessage(`{"a":1,"a":2}`)); !errors.Is(err, approval.ErrEvent) {
		t.Error(err)
	}
	if all, err := b.List(ctx, approval.Filter{}); err != nil || len(all) != 1 || all[0].Status != approval.Pending {
		t.Errorf("%+v, %v", all, err)
	}
}

// A decider of another process is another Local on the same directory.
func TestLocalsHaveOneWinner(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "approvals")
	brokertest.Race(t, func(t *testing.T, now func() time.Time) approval.Broker {
		var all several
		for range 5 {
			l, err := OpenLocal(dir, now)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
			all.locals = append(all.locals, l)
		}
		all.Broker = all.locals[0]
		return &all
	}, 20, 50)
}

// several is a broker whose answers go through one of several Locals each.
type several struct {
	approval.Broker
	locals []approval.Broker
	next   atomic.Int64
}

func (s *several) Answer(ctx context.Context, e approval.Event, reply json.RawMessage) (approval.Entry, error) {
	return s.locals[int(s.next.Add(1))%len(s.locals)].Answer(ctx, e, reply)
}
