package permission

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/tools"
)

// Session is what was said during a session: rules that hold for the agent and
// all its subagents, and whether the agent is paused. It is safe for
// concurrent use; a decision sees one state of it from beginning to end.
type Session struct {
	// Tools are those that are not built in and that a rule may name; it is set
	// before the session is used.
	Tools *tools.Table

	place patterns.Place
	write sync.Mutex // held by whoever replaces the state
	state atomic.Pointer[standing]
}

// standing is one state of a session; it is never changed once stored.
type standing struct {
	allow, deny *patterns.Set
	paused      bool
	reason      string // why the agent is paused
}

// NewSession returns a session without rules. Relative patterns in its rules
// are relative to place.
func NewSession(place patterns.Place) *Session {
	s := &Session{place: place}
	s.state.Store(&noStanding)
	return s
}

// Allow adds an allow rule. What it adds holds for every decision that begins
// after the call.
func (s *Session) Allow(ruleText string) error { return s.parse(ruleText, patterns.Allow) }

// Deny adds a deny rule.
func (s *Session) Deny(ruleText string) error { return s.parse(ruleText, patterns.Deny) }

func (s *Session) parse(text string, list patterns.List) error {
	rule, _, err := sessionRule(s.Tools, text, list)
	if err != nil {
		return err
	}
	return s.Add(rule)
}

// Add adds rules that were read elsewhere. An ask rule is an error: a session
// has none.
func (s *Session) Add(rules ...*patterns.Rule) error {
	s.write.Lock()
	defer s.write.Unlock()
	next, err := s.standing().with(s.place, rules)
	if err != nil {
		return err
	}
	s.state.Store(next)
	return nil
}

// with returns a state with further rules; that of now stays as it is.
func (now *standing) with(place patterns.Place, rules []*patterns.Rule) (*standing, error) {
	next := *now
	var allow, deny []*patterns.Rule
	for _, r := range rules {
		switch r.List() {
		case patterns.Allow:
			allow = append(allow, r)
		case patterns.Deny:
			deny = append(deny, r)
		default:
			return nil, fmt.Errorf("session rule %s: only allow and deny rules can be added", r)
		}
	}
	next.allow, next.deny = extended(place, now.allow, allow), extended(place, now.deny, deny)
	return &next, nil
}

// extended returns a set of the rules of old, which stays as it is, and more.
func extended(place patterns.Place, old *patterns.Set, more []*patterns.Rule) *patterns.Set {
	if len(more) == 0 {
		return old
	}
	return patterns.NewSet(place, slices.Concat(old.Rules(), more)...)
}

// Pause stops the agent: everything is denied until Resume.
func (s *Session) Pause(reason string) { s.pause(true, reason) }

// Resume ends a pause.
func (s *Session) Resume() { s.pause(false, "") }

// Paused returns why the agent is paused, "" if it is not.
func (s *Session) Paused() string {
	if now := s.standing(); now.paused {
		return cmp.Or(now.reason, "paused")
	}
	return ""
}

func (s *Session) pause(on bool, reason string) {
	s.write.Lock()
	defer s.write.Unlock()
	next := *s.standing()
	next.paused, next.reason = on, reason
	s.state.Store(&next)
}

// standing returns the state of now. A nil session has no rules.
func (s *Session) standing() *standing {
	if s != nil {
		if now := s.state.Load(); now != nil {
			return now
		}
	}
	return &noStanding
}

// noStanding is the state of a session without rules.
var noStanding standing
