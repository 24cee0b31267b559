package permission

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/modes"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// Session is the state of a session: the rules that apply to the agent and all
// its subagents, its places for temporary files, and whether the agent is paused. It is safe for concurrent
// use; a decision uses one state throughout.
type Session struct {
	// Tools describes tools that are not built in and that rules may name. It must
	// be set before the session is used.
	Tools *tools.Table
	// Now returns the time, for answers that end. Without it none may end. It must be
	// set before the session is used.
	Now func() time.Time
	// Changed is called with all grants before a change of them counts: an answer that
	// is kept, a use of one that is counted, one that ends. With its error nothing new
	// counts, and no use; what ends does. It is called for one change at a time, must
	// not use the session, and must be set before that is used.
	Changed func(all []Grant) error
	// Limits bound the session. They must be set before it is used; what counts is
	// what CanUseTool decides.
	Limits Limits

	tally tally
	place patterns.Place
	write sync.Mutex // held while the state is replaced
	state atomic.Pointer[standing]
}

// standing is one state of a session. It is not modified once stored.
type standing struct {
	allow, deny *patterns.Set
	own         struct{ allow, deny []*patterns.Rule } // those that are not grants
	grants      []*granted
	recalled    []*granted                        // those that are remembered
	upTo        [risk.Forbidden + 1]*patterns.Set // the rules of recalled that answer for a class
	bounds      []bound                           // the rules of grants that answer up to a grade
	last        int                               // the highest ID of a grant so far
	ends        time.Time                         // when the first grant ends; zero: none does
	paused      bool
	reason      string   // why the agent is paused
	scratch     *scratch // nil: none
	sandbox     *Sandbox // nil: none
	reached     *reached // the limits that the tool use has to observe; nil: none
	moded       *moded   // nil: the policy's own mode
	edits       *moded   // by a grant: mode acceptEdits in place of default; nil: none
}

// NewSession returns a session without rules. Relative patterns in its rules
// are relative to place.
func NewSession(place patterns.Place) *Session {
	s := &Session{place: place}
	s.state.Store(&noStanding)
	return s
}

// Allow adds an allow rule. It applies to every decision that begins after the
// call.
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

// Add adds parsed rules. An ask rule is an error, since a session has none.
func (s *Session) Add(rules ...*patterns.Rule) error {
	s.write.Lock()
	defer s.write.Unlock()
	next, err := s.present().with(s.place, rules)
	if err != nil {
		return err
	}
	if len(next.grants) > 0 {
		next.rebuild(s.place) // limited grants come last
	}
	s.state.Store(next)
	return nil
}

// with returns a copy of the state with further rules.
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
	next.own.allow, next.own.deny = append(slices.Clip(now.own.allow), allow...), append(slices.Clip(now.own.deny), deny...)
	return &next, nil
}

// extended returns a new set of the rules of old and more.
func extended(place patterns.Place, old *patterns.Set, more []*patterns.Rule) *patterns.Set {
	if len(more) == 0 {
		return old
	}
	return patterns.NewSet(place, slices.Concat(old.Rules(), more)...)
}

// SetMode makes a mode count in place of the policy's own, for every decision that
// begins after the call. A policy with OwnMode, and a further one that has another mode,
// are evaluated in theirs as well. A grant of all edits (ScopeEdits) ends.
func (s *Session) SetMode(m modes.Mode) {
	s.drop(func(g *granted) bool { return g.Edits })
	s.write.Lock()
	defer s.write.Unlock()
	next := *s.present()
	next.moded = newModed(m)
	s.state.Store(&next)
}

func newModed(m modes.Mode) *moded { return &moded{mode: m, policies: map[*Policy]*Policy{}} }

// moded are policies in another mode.
type moded struct {
	mode     modes.Mode
	mu       sync.Mutex
	policies map[*Policy]*Policy
}

// inMode returns a policy in the mode of the session. One that denies everything, since its
// mode is invalid, remains so.
func (now *standing) inMode(p *Policy) *Policy {
	if p == nil || !p.Mode.Valid() {
		return p
	}
	m := now.modeFor(p)
	if m == nil {
		return p
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if q := m.policies[p]; q != nil {
		return q
	}
	q := *p
	q.Mode, q.Further = m.mode, nil
	if p.OwnMode {
		q.Further = append(q.Further, p)
	}
	for _, f := range p.Further {
		further := *f
		if f.Mode == p.Mode && !f.OwnMode {
			further.Mode = q.Mode
		}
		q.Further = append(q.Further, &further)
	}
	m.policies[p] = &q
	return &q
}

// modeFor returns the mode of the session for a policy, nil for the policy's own. A grant
// of all edits counts in place of mode default and of no other.
func (now *standing) modeFor(p *Policy) *moded {
	mode := p.Mode
	if now.moded != nil {
		mode = now.moded.mode
	}
	if now.edits != nil && mode == modes.Default {
		return now.edits
	}
	return now.moded
}

// Modes returns the modes in force under a policy: the session's or the policy's, or those
// of further policies that are narrower.
func (s *Session) Modes(p *Policy) []modes.Mode {
	p = s.standing().inMode(p)
	all := []modes.Mode{p.Mode}
	for _, f := range p.Further {
		all = append(all, f.Mode)
	}
	return modes.Narrowest(all)
}

// Pause pauses the agent: everything is denied until Resume.
func (s *Session) Pause(reason string) { s.pause(true, reason) }

// Resume ends a pause, and begins the counts of Limits anew.
func (s *Session) Resume() {
	s.tally.restart()
	s.pause(false, "")
}

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
	next := *s.present()
	next.paused, next.reason = on, reason
	s.state.Store(&next)
}

// standing returns the present state. A nil session has no rules.
func (s *Session) standing() *standing {
	if s != nil {
		if now := s.state.Load(); now != nil {
			return s.live(now)
		}
	}
	return &noStanding
}

// present returns the state that a change begins with; write is held. What has ended
// in it ends with the next decision: to end it here would take write again.
func (s *Session) present() *standing {
	if now := s.state.Load(); now != nil {
		return now
	}
	return &noStanding
}

// noStanding is the state of a session without rules.
var noStanding standing
