package approval

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-wrapper/agent-wrapper/permission"
)

// TestAnswered: the record names every person who approved, and who denied or edited.
// A person with two credentials is one person.
func TestAnswered(t *testing.T) {
	at := time.Unix(1000, 0)
	begun, err := Step(State{}, Event{Kind: Ask, At: at, Terms: Terms{ID: "1", Digest: "d", Asker: Principal{Agent, "main"}, Quorum: 2}})
	if err != nil {
		t.Fatal(err)
	}
	if begun.Answered() != nil {
		t.Error("nobody has answered")
	}
	event := func(kind Kind, name, credential, comment string) Event {
		return Event{Kind: kind, At: at, ID: "1", Digest: "d", By: Principal{Person, name}, Credential: credential, Message: comment, Input: []byte("{}")}
	}
	one, err := Step(begun, event(Approve, "anna", "c1", "fine"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Step(one, event(Approve, "anna", "c2", "")); err != ErrTwice {
		t.Errorf("a second credential is a second person: %v", err)
	}
	anna, ben := permission.Answerer{Name: "anna", Credential: "c1"}, permission.Answerer{Name: "ben", Credential: "c3"}
	for _, tt := range []struct {
		last Event
		want permission.Approval
	}{
		{event(Approve, "ben", "c3", "go"), permission.Approval{ID: "1", People: []permission.Answerer{anna, ben}, Comment: "go"}},
		{event(Deny, "ben", "c3", "no"), permission.Approval{ID: "1", People: []permission.Answerer{ben}, Comment: "no"}},
		{event(Edit, "ben", "c3", "so"), permission.Approval{ID: "1", People: []permission.Answerer{ben}, Comment: "so"}},
	} {
		s, err := Step(one, tt.last)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&tt.want, s.Answered()); diff != "" {
			t.Errorf("%v:\n%s", tt.last.Kind, diff)
		}
	}
}
