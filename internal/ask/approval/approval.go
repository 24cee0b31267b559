// Package approval models the life of an ask: what was shown, who answered, how
// long the answer is valid, and which rules may be kept with it.
//
// Step is the state machine: a state and an event give the next state. It has
// no clock; time comes with the events. What an answer means for the tool use,
// package permission decides: State.Answer is what its Approver returns.
//
//	pending ──┬─ approved ── consumed
//	          ├─ denied
//	          ├─ expired      (also approved, before it is consumed)
//	          ├─ cancelled    (also approved, …)
//	          ├─ abandoned    (also approved, …)
//	          └─ superseded   (also approved, by another policy)
//
// For every sequence of events: an approval is consumed at most once, and only
// by what was shown; none is given or consumed after it has expired; what was
// denied is never approved; an event with another id or digest changes nothing;
// the asker cannot answer; the first answer that settles an approval wins, and
// every later one gets an error that names who it was.
package approval

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Status is the state of an approval. The zero value is not one.
type Status uint8

// The statuses. All but Pending and Approved are final.
const (
	Pending    Status = iota + 1
	Approved          // not yet used
	Denied            // by a person
	Expired           // not settled, or not used, in time
	Cancelled         // the tool use was withdrawn
	Superseded        // by an edit or another policy; the tool use is decided again
	Abandoned         // the session ended
	Consumed          // the tool use went on
)

var statusNames = [...]string{
	"none", "pending", "approved", "denied", "expired", "cancelled", "superseded", "abandoned", "consumed",
}

// String returns the name of the status, "none" if s is not one.
func (s Status) String() string {
	if int(s) >= len(statusNames) {
		s = 0
	}
	return statusNames[s]
}

// Role is the kind of a principal.
type Role uint8

// The roles. Only a Person may answer.
const (
	Person Role = iota + 1
	Agent
)

// Principal is the originator of an event.
type Principal struct {
	Role Role   `json:"role,omitzero"`
	Name string `json:"name,omitempty"`
}

// Terms describe what an approval is about. They never change.
type Terms struct {
	ID     string    `json:"id"`     // of the approval, unique
	Digest string    `json:"digest"` // of what was shown, see Digest
	Asker  Principal `json:"asker"`
	// Expires is when the approval and any answer to it become invalid; the
	// zero time means never.
	Expires time.Time `json:"expires,omitzero"`
	// Quorum is how many different persons have to approve; 0 means one.
	Quorum int `json:"quorum,omitempty"`
	// Voters are the persons who may answer; nil means anyone but the asker.
	Voters []Principal `json:"voters,omitzero"`
	// Version is the version of the policy that asks.
	Version string `json:"version,omitempty"`
	// Lease is how long the asker may be silent until it counts as dead, at a broker that
	// cannot see it; 0 means for ever.
	Lease time.Duration `json:"lease,omitzero"`
}

// State is an approval. The zero value is one before its first event.
type State struct {
	Terms
	Status Status `json:"status,omitzero"`
	// By is who settled it. It has no name if the approval expired or the
	// policy changed.
	By    Principal `json:"by,omitzero"`
	Votes []Vote    `json:"votes,omitempty"` // approvals in order, or the answer that settled it otherwise
	// Message is that of a denial or of the last approval, for the model.
	Message string          `json:"message,omitempty"`
	Input   json.RawMessage `json:"input,omitempty"` // of an edit
}

// Vote is the answer of one person.
type Vote struct {
	By Principal `json:"by"`
	// Credential is the id of the credential by which By was known, for the record. A
	// person with several is one person.
	Credential string           `json:"credential,omitempty"`
	Scope      permission.Scope `json:"scope,omitzero"`
	Rules      []string         `json:"rules,omitempty"`
	For        time.Duration    `json:"for,omitempty"` // limits, see permission.Answer
	Times      int              `json:"times,omitempty"`
	UpTo       risk.Grade       `json:"up_to,omitzero"`
}

// Kind is the kind of an event.
type Kind uint8

// The kinds of events, with the fields that they use besides Kind and At.
const (
	Ask     Kind = iota + 1 // Terms: the approval begins
	Approve                 // ID, Digest, By, Scope, Rules, For, Times, UpTo, Message
	Deny                    // ID, Digest, By, Scope, Rules, For, Message
	Edit                    // ID, Digest, By, Input: to be decided instead
	Cancel                  // ID, By: withdrawn by the asker or a voter
	Consume                 // ID, Digest: the tool use goes on, with the input of this digest
	Policy                  // Version: the policy has changed
	Die                     // the session ended
	Tick                    // time passed
)

// Event is an event in the life of an approval.
type Event struct {
	Kind       Kind
	At         time.Time
	Terms      Terms
	ID, Digest string
	By         Principal
	Credential string // of an answer, see Vote
	Scope      permission.Scope
	Rules      []string
	For        time.Duration
	Times      int
	UpTo       risk.Grade
	Message    string
	Input      json.RawMessage
	Version    string
}

// The reasons why an event does not count. Settled is another.
var (
	ErrBegun    = errors.New("the approval has already begun")
	ErrNotBegun = errors.New("the approval has not begun")
	ErrTerms    = errors.New("the terms of the approval can never be met")
	ErrOther    = errors.New("the answer is for a different request from the one that was shown")
	ErrNoSay    = errors.New("this person may not answer it")
	ErrTwice    = errors.New("this person has already approved it")
	ErrEvent    = errors.New("there is no such event")
	ErrPending  = errors.New("the approval is pending")
	ErrDecide   = errors.New("the tool use must be decided again")
)

// Settled is the error for an event after the approval was settled.
type Settled struct {
	Status Status
	By     Principal
}

func (e *Settled) Error() string {
	if e.By.Name == "" {
		return fmt.Sprintf("the approval is already %s", e.Status)
	}
	return fmt.Sprintf("the approval is already %s, by %s", e.Status, e.By.Name)
}

// Final reports whether the approval can no longer change.
func (s *State) Final() bool { return s.Status > Approved }

// Answer returns what the Approver that asked returns to the evaluator. An
// approval has to be consumed first: take the answer, call Step with Consume,
// and return the answer if that gives no error. An edit is an answer with
// another input, which the evaluator decides again. The error is ErrPending
// before the approval is settled, ErrDecide if the policy changed,
// context.DeadlineExceeded if it expired; any other error says why there is no
// answer.
func (s *State) Answer() (permission.Answer, error) {
	switch s.Status {
	case Approved:
		answer := s.kept()
		answer.Behavior, answer.Message = permission.Allow, s.Message
		return answer, nil
	case Denied:
		answer := s.kept()
		answer.Behavior, answer.Message = permission.Deny, s.Message
		return answer, nil
	case Superseded:
		if s.Input != nil {
			return permission.Answer{Behavior: permission.Allow, Input: s.Input}, nil
		}
		return permission.Answer{}, ErrDecide
	case Expired:
		return permission.Answer{}, errExpired
	case Pending:
		return permission.Answer{}, ErrPending
	case Cancelled, Abandoned, Consumed:
		return permission.Answer{}, &Settled{s.Status, s.By}
	}
	return permission.Answer{}, ErrNotBegun
}

// Answered returns who answered, for the record; nil if no person did.
func (s *State) Answered() *permission.Approval {
	if len(s.Votes) == 0 {
		return nil
	}
	a := &permission.Approval{ID: s.ID, Comment: s.Message}
	for _, v := range s.Votes {
		a.People = append(a.People, permission.Answerer{Name: v.By.Name, Credential: v.Credential})
	}
	return a
}

// kept returns the narrowest scope and limits that a voter chose, and the rules that
// all voters chose. Voters for rules and voters for this tool use share neither.
func (s *State) kept() (a permission.Answer) {
	for i, v := range s.Votes {
		switch {
		case v.Scope == permission.ScopeOnce || i > 0 && v.Scope != a.Scope:
			return permission.Answer{}
		case i == 0:
			a.Scope, a.Rules, a.For, a.Times, a.UpTo = v.Scope, slices.Clone(v.Rules), v.For, v.Times, v.UpTo
		default:
			a.Rules = slices.DeleteFunc(a.Rules, func(r string) bool { return !slices.Contains(v.Rules, r) })
			a.For, a.Times = narrower(a.For, v.For), narrower(a.Times, v.Times)
			a.UpTo = narrower(a.UpTo, v.UpTo)
		}
	}
	if a.Scope != permission.ScopeUse && a.Scope != permission.ScopeEdits && len(a.Rules) == 0 {
		return permission.Answer{}
	}
	return a
}

// narrower returns the narrower of two limits, of which 0 is none.
func narrower[T time.Duration | int | risk.Grade](a, b T) T {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
