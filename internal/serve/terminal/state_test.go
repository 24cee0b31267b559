package terminal

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// seedTable is the table of the states: may the agent's command run, may what a
// person types run (or wait), is an answer taken.
var seedTable = map[string]struct{ agent, user, waits, approval bool }{
	agentControl:  {agent: true, approval: true},
	userInterrupt: {waits: true},
	userControl:   {user: true},
	agentResume:   {},
}

// reference is the session as a history: it keeps all events that counted and
// derives from them what is the case.
type reference struct {
	at      int      // in cycle
	begun   []string // commands handed in
	settled map[string]string
}

var cycle = []string{agentControl, userInterrupt, userControl, agentResume}

var turns = map[event]int{interrupt: 0, granted: 1, release: 2, resumed: 3}

// last returns the command at hand and what has become of it.
func (r *reference) last() (id, how string) {
	if len(r.begun) == 0 {
		return "", "over"
	}
	id = r.begun[len(r.begun)-1]
	return id, r.settled[id]
}

// does reports whether an event counts.
func (r *reference) does(e event, id string) bool {
	row := seedTable[cycle[r.at]]
	at, how := r.last()
	waits := at == id && (how == "deciding" || how == "asked")
	switch e {
	case execute:
		ok := row.agent && how == "over"
		if ok {
			r.begun, r.settled[id] = append(r.begun, id), "deciding"
		}
		return ok
	case ask, start:
		if !row.agent || !waits {
			return false
		}
		r.settled[id] = map[event]string{ask: "asked", start: "runs"}[e]
		return true
	case answer:
		return row.approval && at == id && how == "asked"
	case refuse, end:
		if e == refuse && !waits || e == end && (at != id || how != "runs") {
			return false
		}
		r.settled[id] = "over"
		return true
	case typed:
		return row.user
	}
	if r.at != turns[e] {
		return false
	}
	if e == interrupt && how != "runs" && at != "" {
		r.settled[at] = "over"
	}
	r.at = (r.at + 1) % len(cycle)
	return true
}

var names = map[string]phase{"over": idle, "deciding": deciding, "asked": asked, "runs": running}

// same checks a machine against the reference.
func (r *reference) same(m machine) bool {
	id, how := r.last()
	if how == "over" {
		id = ""
	}
	return m == machine{cycle[r.at], names[how], id}
}

func newReference() *reference { return &reference{settled: map[string]string{}} }

func (r *reference) clone() *reference {
	c := &reference{r.at, slices.Clone(r.begun), map[string]string{}}
	for id, how := range r.settled {
		c.settled[id] = how
	}
	return c
}

// fresh reports whether an id was not used: the ids of commands are unique.
func (r *reference) fresh(id string) bool { return !slices.Contains(r.begun, id) }

// TestAllSequences: after every sequence of up to 7 events about two commands, the
// machine says what the reference says.
func TestAllSequences(t *testing.T) {
	count := 0
	var try func(m machine, r *reference, left int)
	try = func(m machine, r *reference, left int) {
		if left == 0 {
			return
		}
		for e := execute; e <= typed; e++ {
			for _, id := range []string{"a", "b"} {
				if e == execute && !r.fresh(id) || e > end && id == "b" {
					continue
				}
				count++
				after := r.clone()
				next, err := m.step(e, id)
				if (err == nil) != after.does(e, id) || !after.same(next) || err != nil && next != m {
					t.Fatalf("%+v, event %d of %s: %+v, %v; the reference: %+v", m, e, id, next, err, after)
				}
				if err == nil && (next != m || len(after.begun) != len(r.begun)) {
					try(next, after, left-1)
				}
			}
		}
	}
	try(machine{state: agentControl}, newReference(), 9)
	t.Logf("%d events", count)
}

// TestLaws: on any way, a command starts at most once, only in agent control and
// only before it was refused or taken over; a person's keys count in user control alone.
func TestLaws(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		m, ref := machine{state: agentControl}, newReference()
		started, void := map[string]int{}, map[string]bool{}
		ids := []string{"a", "b", "c", "d", "e"}
		for range 60 {
			e := event(rapid.IntRange(1, int(typed)).Draw(r, "event"))
			id := rapid.SampledFrom(ids).Draw(r, "command")
			if e == execute && !ref.fresh(id) {
				continue
			}
			next, err := m.step(e, id)
			if (err == nil) != ref.does(e, id) || !ref.same(next) {
				r.Fatalf("%+v, event %d of %s: %+v, %v", m, e, id, next, err)
			}
			if err == nil {
				switch e {
				case start:
					started[id]++
					if m.state != agentControl || started[id] > 1 || void[id] {
						r.Fatalf("%s starts in %+v", id, m)
					}
				case refuse, end:
					void[id] = true
				case interrupt:
					if m.phase != running {
						void[m.command] = true
					}
				case typed:
					if m.state != userControl {
						r.Fatalf("typed in %+v", m)
					}
				}
			}
			m = next
		}
	})
}

// TestSeedTable: each row of the table of permissions.
func TestSeedTable(t *testing.T) {
	for state, row := range seedTable {
		_, err := machine{state: state}.step(execute, "a")
		if (err == nil) != row.agent {
			t.Errorf("%s: the agent executes: %v", state, err)
		}
		_, err = machine{state: state}.step(typed, "")
		if (err == nil) != row.user || (err == errWaits) != row.waits {
			t.Errorf("%s: the user executes: %v", state, err)
		}
		_, err = machine{state, asked, "a"}.step(answer, "a")
		if (err == nil) != row.approval {
			t.Errorf("%s: an answer: %v", state, err)
		}
	}
}
