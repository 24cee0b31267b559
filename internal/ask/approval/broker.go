package approval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Entry is a question at a Broker, with its answer.
type Entry struct {
	State
	// Question is what is shown: a desk.Question.
	Question json.RawMessage `json:"question,omitempty"`
	// Reply is what settled it, or the last of several approvals: a desk.Reply. It is
	// nil before, and if nobody answered.
	Reply   json.RawMessage `json:"reply,omitempty"`
	Reason  string          `json:"reason,omitempty"` // why it was withdrawn
	Project string          `json:"project,omitempty"`
	Session string          `json:"session,omitempty"`
	Asked   time.Time       `json:"asked,omitzero"`
	Changed time.Time       `json:"changed,omitzero"`
	Heard   time.Time       `json:"heard,omitzero"` // when the asker was last heard of, if there is a Lease
	// Seq is the number of its last change. It grows over all entries of a broker and
	// is never used twice.
	Seq int64 `json:"seq"`
}

// Filter selects entries. A zero field selects all.
type Filter struct {
	Status           []Status
	Project, Session string
	After            int64 // only entries with a greater Seq
	Limit            int   // at most so many, those with the smallest Seq
}

// Broker carries questions to people and their answers back. It stores approvals and
// changes them by Step only, one event at a time, with its own clock; it decides
// nothing, and what a Reply means is a matter of who asks. An entry whose time is over
// or whose asker is gone changes like any other: it gets a new Seq, and Wait returns.
//
// An error is one of Step, ErrUnknown, that of ctx, or says why the broker cannot be
// used. With one of the first two the Entry is the one that is there, if any. After
// any other, it is unknown whether the call had an effect.
type Broker interface {
	// Submit begins an approval with the Terms of e and its other fields but Reply,
	// Reason, Asked, Changed and Seq, and returns it. It is stored durably by then. If
	// there is one with this ID and Digest, it returns that one; if there is one with
	// the ID and another Digest, ErrBegun.
	Submit(ctx context.Context, e Entry) (Entry, error)
	// Answer is the answer of a person: an event Approve, Deny or Edit, whose At is
	// ignored. Reply is kept as the Entry's if the event counts.
	Answer(ctx context.Context, e Event, reply json.RawMessage) (Entry, error)
	// Withdraw cancels an approval. Reason says why, for a person.
	Withdraw(ctx context.Context, id string, by Principal, reason string) (Entry, error)
	// Consume uses up an approval. Of any number of calls at most one has no error,
	// and that is stored durably when it returns.
	Consume(ctx context.Context, id, digest string) (Entry, error)
	// Get returns an entry.
	Get(ctx context.Context, id string) (Entry, error)
	// List returns the entries that a filter selects, by rising Seq.
	List(ctx context.Context, f Filter) ([]Entry, error)
	// Wait waits until there is an entry with a greater Seq than after, and returns the
	// greatest Seq. It is a hint: it may return early, and List is the truth.
	Wait(ctx context.Context, after int64) (int64, error)
}

// ErrUnknown is the error of a Broker for an ID that no approval has.
var ErrUnknown = errors.New("there is no approval with this id")

// Await waits until an approval is no longer pending, and returns it. A Broker with a
// method Await(ctx, id) has it wait: so it learns that the asker is still there.
func Await(ctx context.Context, b Broker, id string) (Entry, error) {
	if own, ok := b.(interface {
		Await(ctx context.Context, id string) (Entry, error)
	}); ok {
		return own.Await(ctx, id)
	}
	for seen := int64(0); ; {
		e, err := b.Get(ctx, id)
		if err != nil || e.Status != Pending {
			return e, err
		}
		// The number of the entry alone is that of no news as soon as another changes.
		if seen, err = b.Wait(ctx, max(seen, e.Seq)); err != nil {
			return e, err
		}
	}
}

// MarshalText returns the name of the status.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText parses the name of a status; that of none is an error.
func (s *Status) UnmarshalText(text []byte) error {
	i := slices.Index(statusNames[:], string(text))
	if i < 1 {
		return fmt.Errorf("%q is not the status of an approval", text)
	}
	*s = Status(i)
	return nil
}

var roleNames = [...]string{"none", "person", "agent"}

// MarshalText returns the name of the role, "none" if r is not one.
func (r Role) MarshalText() ([]byte, error) {
	if int(r) >= len(roleNames) {
		r = 0
	}
	return []byte(roleNames[r]), nil
}

// UnmarshalText parses the name of a role; that of none is an error.
func (r *Role) UnmarshalText(text []byte) error {
	i := slices.Index(roleNames[:], string(text))
	if i < 1 {
		return fmt.Errorf("%q is not a role", text)
	}
	*r = Role(i)
	return nil
}
