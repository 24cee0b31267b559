package approval

import (
	"context"
	"slices"
	"time"
)

// errExpired is a deadline that passed, in words for a person.
var errExpired error = expired{}

type expired struct{}

func (expired) Error() string { return "nobody answered in time" }
func (expired) Unwrap() error { return context.DeadlineExceeded }

// Step returns the state after an event. With an error the event did not count
// and the state is unchanged, except that an approval whose time is over
// becomes Expired. s itself is not modified.
//
// What the caller does when the status has changed: at Approved, Denied and
// Superseded it returns State.Answer to the evaluator; at every status but
// Pending it removes the question wherever it is shown and says who won; if
// Answer returns ErrDecide, it has the tool use decided again.
func Step(s State, e Event) (State, error) {
	switch {
	case e.Kind < Ask || e.Kind > Tick:
		return s, ErrEvent
	case e.Kind == Ask && s.Status != 0:
		return s, ErrBegun
	case e.Kind == Ask:
		return begin(e)
	case s.Status == 0:
		return s, ErrNotBegun
	case !e.meant(&s):
		return s, ErrOther
	}
	if s.Final() {
		return s, e.lost(&s)
	}
	if s.late(e.At) {
		s = s.settled(Expired, Principal{})
		return s, e.lost(&s)
	}
	return s.take(e)
}

// begin makes an approval from its terms.
func begin(e Event) (State, error) {
	t := e.Terms
	t.Voters = slices.Clone(t.Voters)
	s := State{Terms: t, Status: Pending}
	voters := map[Principal]bool{}
	for _, v := range t.Voters {
		if s.hasSay(v) {
			voters[v] = true
		}
	}
	switch {
	case t.ID == "" || t.Digest == "" || t.Asker.Name == "" || t.Quorum < 0:
		return State{}, ErrTerms
	case t.Voters != nil && len(voters) < max(t.Quorum, 1):
		return State{}, ErrTerms
	}
	if s.late(e.At) {
		s.Status = Expired
	}
	return s, nil
}

// meant reports whether an event refers to the approval and, if it answers or
// consumes it, to what was shown.
func (e *Event) meant(s *State) bool {
	switch e.Kind {
	case Approve, Deny, Edit, Consume:
		return e.ID == s.ID && e.Digest == s.Digest
	case Cancel:
		return e.ID == s.ID
	}
	return true
}

// late reports whether the approval's time is over.
func (s *State) late(now time.Time) bool { return !s.Expires.IsZero() && !now.Before(s.Expires) }

// lost returns the error for an event after the approval was settled; an event
// that only reports a change has none.
func (e *Event) lost(s *State) error {
	if e.Kind == Tick || e.Kind == Die || e.Kind == Policy {
		return nil
	}
	return &Settled{s.Status, s.By}
}

// hasSay reports whether a principal may answer.
func (s *State) hasSay(p Principal) bool {
	if p.Role != Person || p.Name == "" || p == s.Asker {
		return false
	}
	return s.Voters == nil || slices.Contains(s.Voters, p)
}

// take handles an event of a pending or approved approval.
func (s State) take(e Event) (State, error) {
	switch e.Kind {
	case Cancel:
		if e.By != s.Asker && !s.hasSay(e.By) {
			return s, ErrNoSay
		}
		return s.settled(Cancelled, e.By), nil
	case Die:
		return s.settled(Abandoned, Principal{}), nil
	case Policy:
		if e.Version != s.Version {
			return s.settled(Superseded, Principal{}), nil
		}
		return s, nil
	case Tick:
		return s, nil
	case Consume:
		if s.Status != Approved {
			return s, ErrPending
		}
		return s.settled(Consumed, s.By), nil
	}
	return s.answer(e)
}

func (s State) settled(status Status, by Principal) State {
	s.Status, s.By = status, by
	return s
}

// answer handles the answer of a person.
func (s State) answer(e Event) (State, error) {
	switch {
	case !s.hasSay(e.By):
		return s, ErrNoSay
	case s.Status == Approved:
		return s, &Settled{s.Status, s.By}
	}
	vote := Vote{By: e.By, Credential: e.Credential, Scope: e.Scope, Rules: slices.Clone(e.Rules), For: e.For, Times: e.Times, UpTo: e.UpTo}
	switch e.Kind {
	case Deny:
		s.Votes, s.Message = []Vote{vote}, e.Message
		return s.settled(Denied, e.By), nil
	case Edit:
		if e.Input == nil {
			return s, ErrEvent
		}
		s.Votes, s.Message, s.Input = []Vote{vote}, e.Message, slices.Clone(e.Input)
		return s.settled(Superseded, e.By), nil
	}
	if slices.ContainsFunc(s.Votes, func(v Vote) bool { return v.By == e.By }) {
		return s, ErrTwice
	}
	s.Votes = append(s.Votes[:len(s.Votes):len(s.Votes)], vote)
	s.Message = e.Message
	if len(s.Votes) < max(s.Quorum, 1) {
		return s, nil
	}
	return s.settled(Approved, e.By), nil
}
