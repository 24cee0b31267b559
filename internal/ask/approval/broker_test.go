package approval_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

var anna, ben = approval.Principal{Role: approval.Person, Name: "anna"}, approval.Principal{Role: approval.Person, Name: "ben"}

// changing is a broker with one entry, which takes the next of its states with each
// Wait.
type changing struct {
	approval.Broker
	states []approval.State
	at     int
}

func (c *changing) Get(_ context.Context, id string) (approval.Entry, error) {
	if id != "1" {
		return approval.Entry{}, approval.ErrUnknown
	}
	return approval.Entry{State: c.states[c.at], Seq: int64(c.at)}, nil
}

func (c *changing) List(context.Context, approval.Filter) ([]approval.Entry, error) { return nil, nil }

func (c *changing) Wait(ctx context.Context, after int64) (int64, error) {
	if after != int64(c.at) || c.at+1 == len(c.states) {
		return 0, errors.New("unreachable")
	}
	c.at++
	return int64(c.at), nil
}

func TestAwait(t *testing.T) {
	pending, done := approval.State{Status: approval.Pending}, approval.State{Status: approval.Denied, By: anna}
	b := &changing{states: []approval.State{pending, pending, done}}
	if e, err := approval.Await(t.Context(), b, "1"); err != nil || e.Status != approval.Denied || e.Seq != 2 {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := approval.Await(t.Context(), b, "2"); !errors.Is(err, approval.ErrUnknown) {
		t.Error(err)
	}
	b = &changing{states: []approval.State{pending}}
	if _, err := approval.Await(t.Context(), b, "1"); err == nil {
		t.Error("the error of Wait is lost")
	}
}

// What is stored comes back as it was; a name that is none is an error.
func TestEntryAsJSON(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	entries := []approval.Entry{{}, {State: approval.State{Terms: approval.Terms{Voters: []approval.Principal{}}}}, {
		State: approval.State{
			Terms:  approval.Terms{ID: "1", Digest: "d", Asker: approval.Principal{Role: approval.Agent, Name: "main"}, Expires: at, Quorum: 2, Voters: []approval.Principal{anna, ben}, Version: "v"},
			Status: approval.Approved, By: ben, Message: "yes", Input: json.RawMessage(`{"a":1}`),
			Votes: []approval.Vote{{By: anna, Credential: "c1", Scope: permission.ScopeSession, Rules: []string{"Bash(ls:*)"}, For: time.Minute, Times: 3}, {By: ben, Scope: permission.ScopeUse}},
		},
		Question: json.RawMessage(`{"tool":"Bash"}`), Reply: json.RawMessage(`{"choice":"once"}`), Reason: "r",
		Project: "/p", Session: "s", Asked: at, Changed: at.Add(1), Seq: 7,
	}}
	for _, want := range entries {
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got approval.Entry
		if err := json.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s comes back as %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{`{"status":"none"}`, `{"status":"Pending"}`, `{"status":1}`, `{"by":{"role":"none"}}`, `{"by":{"role":"root"}}`, `{"votes":[{"scope":"ever"}]}`} {
		if json.Unmarshal([]byte(text), new(approval.Entry)) == nil {
			t.Errorf("%s is read", text)
		}
	}
	if _, err := json.Marshal(approval.Entry{State: approval.State{Votes: []approval.Vote{{Scope: 9}}}}); err == nil {
		t.Error("a scope that is none is written")
	}
}

// crowded is a broker with one entry that stays, and others that have changed since.
type crowded struct {
	approval.Broker
	gets int
	seq  int64
}

func (c *crowded) Get(context.Context, string) (approval.Entry, error) {
	if c.gets++; c.gets > 9 {
		return approval.Entry{}, errors.New("asked for without a pause")
	}
	return approval.Entry{State: approval.State{Status: approval.Pending}, Seq: 1}, nil
}

func (c *crowded) Wait(_ context.Context, after int64) (int64, error) {
	if after >= c.seq {
		return 0, errors.New("it would wait")
	}
	return c.seq, nil
}

// Await waits although other entries have changed since its own did.
func TestAwaitAmongOthers(t *testing.T) {
	b := &crowded{seq: 9}
	if _, err := approval.Await(t.Context(), b, "1"); err == nil || b.gets != 2 {
		t.Errorf("%d times asked for: %v", b.gets, err)
	}
}
