// Package approval is the life of an ask: what was shown to whom, who answered,
// how long the answer counts, and which rules may be kept of it.
//
// Step is the whole of it: a state and an event give the next state. It knows
// no clock; time comes in the events. What an answer means for the tool use is
// decided by package permission: State.Answer is what its Approver returns.
//
//	pending ──┬─ approved ── consumed
//	          ├─ denied
//	          ├─ expired      (also approved, before it is consumed)
//	          ├─ cancelled    (also approved, …)
//	          ├─ abandoned    (also approved, …)
//	          └─ superseded   (also approved, by another policy)
//
// What holds of every sequence of events: an approval is consumed at most
// once, and only by what was shown; none is given or consumed after it has
// expired; what was denied is never approved; an event that carries another id
// or digest changes nothing; whoever asks has no say; the first answer that
// settles it wins, and every later one is told who it was.
package approval

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Status is where an approval stands. The zero value is none at all.
type Status uint8

// The statuses. All but Pending and Approved are final.
const (
	Pending    Status = iota + 1
	Approved          // not yet used
	Denied            // by a person
	Expired           // nobody settled it, or nothing used it, in time
	Cancelled         // the tool use is not wanted any more
	Superseded        // by an edit or another policy: the tool use is decided anew
	Abandoned         // the session is dead
	Consumed          // the tool use went on
)

var statusNames = [...]string{
	"none", "pending", "approved", "denied", "expired", "cancelled", "superseded", "abandoned", "consumed",
}

// String returns the status's name, "none" for what is no status.
func (s Status) String() string {
	if int(s) >= len(statusNames) {
		s = 0
	}
	return statusNames[s]
}

// Role is what a principal is.
type Role uint8

// The roles. Only a person may answer.
const (
	Person Role = iota + 1
	Agent
)

// Principal is who does something.
type Principal struct {
	Role Role
	Name string
}

// Terms are what an approval is about. They do not change.
type Terms struct {
	ID     string // of the approval; unique
	Digest string // of what was shown, see Digest
	Asker  Principal
	// Expires is when nothing counts any more; the zero time is never.
	Expires time.Time
	// Quorum is how many different persons have to approve; 0 is one.
	Quorum int
	// Voters are the persons who may answer; nil: any but the asker.
	Voters []Principal
	// Version is that of the policy that asks.
	Version string
}

// State is an approval. The zero value is one that has not begun.
type State struct {
	Terms
	Status Status
	// By is who settled it; without a name where nobody did: it expired, or the
	// policy changed.
	By    Principal
	Votes []Vote // who approved, in order
	// Message of a denial, or of the last approval; for the model.
	Message string
	Input   json.RawMessage // of an edit
}

// Vote is one person's approval.
type Vote struct {
	By    Principal
	Scope permission.Scope
	Rules []string
}

// Kind is what an event is.
type Kind uint8

// The kinds of events, with the fields that they have besides Kind and At.
const (
	Ask     Kind = iota + 1 // Terms: the approval begins
	Approve                 // ID, Digest, By, Scope, Rules, Message
	Deny                    // ID, Digest, By, Scope, Rules, Message
	Edit                    // ID, Digest, By, Input: decide this instead
	Cancel                  // ID, By: the asker or a voter does not want it
	Consume                 // ID, Digest: the tool use goes on, with what this digest is of
	Policy                  // Version: the policy is another one now
	Die                     // the session is dead
	Tick                    // time goes on
)

// Event is what happens to an approval.
type Event struct {
	Kind       Kind
	At         time.Time
	Terms      Terms
	ID, Digest string
	By         Principal
	Scope      permission.Scope
	Rules      []string
	Message    string
	Input      json.RawMessage
	Version    string
}

// Why an event does not count. Settled says who was first.
var (
	ErrBegun    = errors.New("the approval has begun already")
	ErrNotBegun = errors.New("the approval has not begun")
	ErrTerms    = errors.New("the terms of the approval can never be met")
	ErrOther    = errors.New("the answer is for another request than the one that was shown")
	ErrNoSay    = errors.New("whoever answers has no say in it")
	ErrTwice    = errors.New("the same person has approved already")
	ErrEvent    = errors.New("there is no such event")
	ErrPending  = errors.New("the approval is pending")
	ErrDecide   = errors.New("the tool use has to be decided anew")
)

// Settled is the error for an event that came too late.
type Settled struct {
	Status Status
	By     Principal
}

func (e *Settled) Error() string {
	if e.By.Name == "" {
		return fmt.Sprintf("the approval is %s already", e.Status)
	}
	return fmt.Sprintf("the approval is %s already, by %s", e.Status, e.By.Name)
}

// Final reports whether nothing can change the approval any more.
func (s *State) Final() bool { return s.Status > Approved }

// Answer is what the Approver that asked returns to the evaluator. What is
// approved it consumes first: it takes the answer, then Step with Consume, and
// returns the answer if that is no error. An edit is an answer with another
// input, which the evaluator decides anew. The error is ErrPending while nobody
// has settled it, ErrDecide when the policy changed, context.DeadlineExceeded
// when it expired, or says why nobody answers.
func (s *State) Answer() (permission.Answer, error) {
	switch s.Status {
	case Approved:
		scope, rules := s.kept()
		return permission.Answer{Behavior: permission.Allow, Scope: scope, Rules: rules, Message: s.Message}, nil
	case Denied:
		scope, rules := s.kept()
		return permission.Answer{Behavior: permission.Deny, Scope: scope, Rules: rules, Message: s.Message}, nil
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

// kept is the narrowest scope that was chosen, and the rules that everybody
// chose.
func (s *State) kept() (permission.Scope, []string) {
	var rules []string
	for i, v := range s.Votes {
		switch {
		case v.Scope != permission.ScopeSession:
			return permission.ScopeOnce, nil
		case i == 0:
			rules = slices.Clone(v.Rules)
		default:
			rules = slices.DeleteFunc(rules, func(r string) bool { return !slices.Contains(v.Rules, r) })
		}
	}
	if len(rules) == 0 {
		return permission.ScopeOnce, nil
	}
	return permission.ScopeSession, rules
}
