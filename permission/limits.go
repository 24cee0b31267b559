package permission

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// Limits bound what a session may have before Then is done about the next tool use.
// The zero value has none.
type Limits struct {
	// DenialsInARow counts denials without an allow between them. Those with advice
	// are none.
	DenialsInARow Limit
	// QuestionsAnHour counts what a person was asked in the last hour.
	QuestionsAnHour Limit
	// ToolUses counts tool uses, whatever is decided. Housekeeping, questions for a
	// person and what is answered with advice are none.
	ToolUses Limit
	Then     AtLimit
}

// Limit is the maximum of a count. The zero value is none.
type Limit struct {
	Most   int
	Source patterns.Source // where it is set
}

// AtLimit is what is done when a limit is reached. The zero value is treated as
// EndAtLimit.
type AtLimit uint8

// What may be done at a limit, in order of strictness. With AskAtLimit a person is
// asked about the next tool use that nothing denies, whatever allows it; approving it
// begins the count anew. PauseAtLimit pauses the session. EndAtLimit denies the next
// tool use and ends the agent's turn.
const (
	AskAtLimit AtLimit = iota + 1
	PauseAtLimit
	EndAtLimit
)

// theHour is the time of Limits.QuestionsAnHour.
const theHour = time.Hour

// tally holds the counts that the limits of a session are about.
type tally struct {
	mu      sync.Mutex
	denials int
	uses    int
	asked   []time.Time // the questions of the last hour; all of them without a clock
}

// Counts are the counts that Limits are about, for a session that goes on in another
// process.
type Counts struct {
	Denials   int         `json:"denials,omitempty"` // in a row
	Uses      int         `json:"uses,omitempty"`
	Questions []time.Time `json:"questions,omitempty"` // of the last hour
	// Paused is why the session is paused, "" if it is not.
	Paused string `json:"paused,omitempty"`
}

// Counts returns the counts as they are, those that a limit is about.
func (s *Session) Counts() Counts {
	s.tally.mu.Lock()
	defer s.tally.mu.Unlock()
	c := Counts{Paused: s.Paused()}
	if s.Limits.DenialsInARow.Most > 0 {
		c.Denials = s.tally.denials
	}
	if s.Limits.ToolUses.Most > 0 {
		c.Uses = s.tally.uses
	}
	if s.Limits.QuestionsAnHour.Most > 0 {
		c.Questions = slices.Clone(s.tally.asked)
	}
	return c
}

// SetCounts replaces the counts, and pauses the session if they say so.
func (s *Session) SetCounts(c Counts) {
	s.tally.mu.Lock()
	s.tally.denials, s.tally.uses, s.tally.asked = c.Denials, c.Uses, slices.Clone(c.Questions)
	s.tally.mu.Unlock()
	s.pause(c.Paused != "", c.Paused)
}

// seat is the state of one tool use in the counts of its session.
type seat struct {
	gone    bool     // nobody waited for the decision when it began: nothing counts
	exempt  bool     // it is no tool use that counts, nor asked about at a limit
	passed  bool     // no limit but that of questions is about it any more
	asked   bool     // the present question about it is one of the questions
	reached *reached // the limits that the last decision about it had to observe
}

// reached is one or more limits that are reached.
type reached struct {
	then                     AtLimit
	denials, questions, uses bool
	words                    string
	source                   patterns.Source // of the first
}

// reached returns the limits that a tool use has to observe, nil if none is reached.
// Those that it has passed are left out. The caller holds mu.
func (c *tally) reached(l *Limits, at *seat) *reached {
	if at.exempt && l.Then == AskAtLimit {
		return nil
	}
	r := &reached{then: l.Then}
	var words []string
	meet := func(count int, l Limit, what, where string) bool {
		if l.Most <= 0 || count < l.Most {
			return false
		}
		if words == nil {
			r.source = l.Source
		}
		if l.Most > 1 {
			what += "s"
		}
		words = append(words, fmt.Sprintf("%d %s %s; the limit is %d%s", l.Most, what, where, l.Most, bracketed(l.Source)))
		return true
	}
	r.denials = !at.passed && meet(c.denials, l.DenialsInARow, "denial", "in a row")
	r.questions = !at.asked && meet(len(c.asked), l.QuestionsAnHour, "question", "in the last hour")
	r.uses = !at.passed && meet(c.uses, l.ToolUses, "tool use", "in this session")
	if words == nil {
		return nil
	}
	r.words = strings.Join(words, ", and ")
	return r
}

func bracketed(s patterns.Source) string {
	if s.Name == "" && s.Line == 0 {
		return ""
	}
	return " [" + s.String() + "]"
}

// forget drops the questions that are older than an hour.
func (s *Session) forget() {
	if s.Now == nil || len(s.tally.asked) == 0 {
		return
	}
	since := s.Now().Add(-theHour)
	s.tally.asked = slices.DeleteFunc(s.tally.asked, func(t time.Time) bool { return !t.After(since) })
}

// reached returns the limits that a tool use has to observe now.
func (s *Session) reached(at *seat) *reached {
	if s == nil || s.Limits == (Limits{}) || at.gone {
		return nil
	}
	s.tally.mu.Lock()
	defer s.tally.mu.Unlock()
	s.forget()
	return s.tally.reached(&s.Limits, at)
}

// enter counts a tool use, once. It does not, and reports false, if a limit is
// reached: what passes at the same time is no more than the limit.
func (s *Session) enter(at *seat) bool {
	if s == nil || at.gone || at.passed {
		return true
	}
	s.tally.mu.Lock()
	defer s.tally.mu.Unlock()
	s.forget()
	if s.tally.reached(&s.Limits, at) != nil {
		return false
	}
	s.take(at)
	return true
}

// take counts a tool use that may pass. The caller holds mu.
func (s *Session) take(at *seat) {
	if !at.exempt && !at.passed {
		s.tally.uses++
	}
	at.passed = true
}

// putTo counts a question that is about to be put to a person. It does not, and
// reports false, if the limit is reached. The question about a limit is not counted.
func (s *Session) putTo(at *seat) bool {
	if s == nil || at.gone || at.reached != nil {
		return true
	}
	s.tally.mu.Lock()
	defer s.tally.mu.Unlock()
	s.forget()
	if s.tally.reached(&s.Limits, &seat{exempt: at.exempt, passed: true}) != nil {
		return false
	}
	s.tally.asked = append(s.tally.asked, s.clock())
	at.asked = true
	return true
}

// unasked takes back a question for which there was nobody.
func (s *Session) unasked(at *seat) {
	if s == nil || !at.asked {
		return
	}
	s.tally.mu.Lock()
	defer s.tally.mu.Unlock()
	s.tally.asked = s.tally.asked[:max(0, len(s.tally.asked)-1)]
	at.asked = false
}

// clock returns the time, the zero time without a clock.
func (s *Session) clock() time.Time {
	if s.Now == nil {
		return time.Time{}
	}
	return s.Now()
}

// renew begins the counts of the limits anew that a person has let a tool use pass,
// unless another approval has done so meanwhile, and counts the tool use. It changes
// nothing, and reports false, if another limit is reached, of which the person was not
// told.
func (s *Session) renew(at *seat) bool {
	said := at.reached
	if s == nil || said == nil {
		return true
	}
	s.tally.mu.Lock()
	defer s.tally.mu.Unlock()
	s.forget()
	still := s.tally.reached(&s.Limits, at)
	if still == nil {
		still = &reached{}
	}
	if still.denials && !said.denials || still.questions && !said.questions || still.uses && !said.uses {
		return false
	}
	if still.denials {
		s.tally.denials = 0
	}
	if still.questions {
		s.tally.asked = nil
	}
	if still.uses {
		s.tally.uses = 0
	}
	s.take(at)
	at.asked, at.reached = true, nil
	return true
}

// restart begins all counts anew.
func (c *tally) restart() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.denials, c.uses, c.asked = 0, 0, nil
}

// ended counts the answer to a tool use. A denial that only stands for a limit, a
// pause or advice counts for nothing, and no more does housekeeping that is allowed.
func (s *Session) ended(at *seat, res *Result) {
	if s == nil || at.gone || at.reached != nil || res.Interrupt && res.By != byPerson || res.By == ByAdvice {
		return
	}
	s.tally.mu.Lock()
	defer s.tally.mu.Unlock()
	switch {
	case res.Behavior == Ask: // what becomes of it is not known here
	case res.Behavior != Allow:
		s.tally.denials++
	case !at.exempt:
		s.tally.denials = 0
	}
}

// bounded returns the state with the limits that a tool use has to observe. It pauses
// the session if they say so.
func (s *Session) bounded(now *standing, at *seat, r *reading) *standing {
	at.reached, at.exempt = nil, r.exempt()
	if now.paused {
		return now
	}
	if at.reached = s.reached(at); at.reached == nil {
		return now
	}
	if at.reached.then == PauseAtLimit {
		s.Pause(at.reached.words)
		return s.standing()
	}
	next := *now
	next.reached = at.reached
	return &next
}

// exempt reports whether a tool use is none of Limits.ToolUses: housekeeping, or a
// question, which a person answers anyhow.
func (r *reading) exempt() bool {
	if r == nil || r.err != nil {
		return false
	}
	return asksPerson(r.use.Tool) || len(r.actions) == 1 && r.actions[0].chore && len(r.mapped) == 0
}

// limited returns the answer of the guard about a limit that is reached.
func (e *evaluation) limited() answer {
	switch now := e.session.reached; {
	case now == nil:
		return answer{}
	case now.then == AskAtLimit:
		return answer{behavior: Ask, layer: LayerGuard, reason: limitReached}
	}
	return answer{behavior: Deny, layer: LayerGuard, reason: limitReached}
}
