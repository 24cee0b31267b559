// Package brokertest is the conformance suite of approval.Broker: what holds for one
// in files, in a database and behind HTTP.
package brokertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/approval"
)

// Open returns a new broker without entries, whose clock is now. The broker is closed
// by t.Cleanup.
type Open func(t *testing.T, now func() time.Time) approval.Broker

// The principals of the suite.
var (
	anna  = approval.Principal{Role: approval.Person, Name: "anna"}
	agent = approval.Principal{Role: approval.Agent, Name: "main"}
)

// entry returns an entry to submit, of anybody's to answer.
func entry(id string) approval.Entry {
	return approval.Entry{
		State:    approval.State{Terms: approval.Terms{ID: id, Digest: "d-" + id, Asker: agent, Version: "v"}},
		Question: json.RawMessage(`{"tool":"Bash","input":{"command":"make ` + id + `"}}`),
		Project:  "/p", Session: "s",
	}
}

// says returns the event for an answer to an entry.
func says(kind approval.Kind, id string, by approval.Principal) approval.Event {
	return approval.Event{Kind: kind, ID: id, Digest: "d-" + id, By: by, Input: json.RawMessage(`{"command":"true"}`)}
}

// reply is an answer as it is stored.
func reply(by approval.Principal) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"choice":"once","by":%q}`, by.Name))
}

// Run runs the suite.
func Run(t *testing.T, open Open) {
	for _, tt := range []struct {
		name string
		run  func(t *testing.T, open Open)
	}{
		{"the life of an approval", life},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.run(t, open) })
	}
}

// life submits, answers and consumes.
func life(t *testing.T, open Open) {
	b, ctx := open(t, time.Now), t.Context()
	if _, err := b.Get(ctx, "1"); !errors.Is(err, approval.ErrUnknown) {
		t.Fatal(err)
	}
	e, err := b.Submit(ctx, entry("1"))
	if err != nil || e.Status != approval.Pending {
		t.Fatalf("%+v, %v", e, err)
	}
	if _, err = b.Answer(ctx, says(approval.Approve, "1", anna), reply(anna)); err != nil {
		t.Fatal(err)
	}
	if e, err = approval.Await(ctx, b, "1"); err != nil || e.Status != approval.Approved || e.By != anna {
		t.Fatalf("%+v, %v", e, err)
	}
	if e, err = b.Consume(ctx, "1", "d-1"); err != nil || e.Status != approval.Consumed {
		t.Fatalf("%+v, %v", e, err)
	}
	all, err := b.List(ctx, approval.Filter{Status: []approval.Status{approval.Consumed}})
	if err != nil || len(all) != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
}
