package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// ApprovalsSpec says what the answers of people must meet: who may answer, how long,
// and how many of them have to approve. It lets nothing run.
type ApprovalsSpec struct {
	TimeoutSeconds int            // 0: no limit
	Quorum         map[string]int // by risk: moderate, high, forbidden
	People         []string       // by name; of nobody in it, anyone but the asker

	Places map[string]patterns.Source // of the keys that are given, "quorum.high"
}

// maxTimeout is the longest time-out in seconds, 90 days.
const maxTimeout = 90 * 24 * 60 * 60

// quorumKeys are the risks with a quorum, from low to high. What is safe is asked about
// where a rule says so, and needs one person.
var quorumKeys = []string{"moderate", "high", "forbidden"}

type approvalsTable struct {
	TimeoutSeconds int         `toml:"timeout_seconds" json:"-"`
	People         []string    `toml:"people" json:"-"`
	Quorum         quorumTable `toml:"quorum" json:"-"`
}

type quorumTable struct {
	Moderate  int `toml:"moderate" json:"-"`
	High      int `toml:"high" json:"-"`
	Forbidden int `toml:"forbidden" json:"-"`
}

func (t *approvalsTable) spec(place func(path string) patterns.Source) ApprovalsSpec {
	s := ApprovalsSpec{TimeoutSeconds: t.TimeoutSeconds, People: t.People}
	by := map[string]int{"moderate": t.Quorum.Moderate, "high": t.Quorum.High, "forbidden": t.Quorum.Forbidden}
	for _, key := range append([]string{"timeout_seconds", "people"}, quorumPaths()...) {
		at := place("approvals." + key)
		if at.Line == 0 {
			continue
		}
		s.put(key, at)
		if class, found := strings.CutPrefix(key, "quorum."); found {
			s.need(class, by[class])
		}
	}
	return s
}

func quorumPaths() []string {
	var paths []string
	for _, class := range quorumKeys {
		paths = append(paths, "quorum."+class)
	}
	return paths
}

func (s *ApprovalsSpec) put(key string, at patterns.Source) {
	places := map[string]patterns.Source{key: at}
	for k, was := range s.Places {
		if k != key {
			places[k] = was
		}
	}
	s.Places = places
}

func (s *ApprovalsSpec) need(class string, people int) {
	quorum := map[string]int{class: people}
	for c, was := range s.Quorum {
		if c != class {
			quorum[c] = was
		}
	}
	s.Quorum = quorum
}

// given reports whether a key is in the policy.
func (s *ApprovalsSpec) given(key string) bool {
	class, quorum := strings.CutPrefix(key, "quorum.")
	_, placed := s.Places[key]
	_, needed := s.Quorum[class]
	return placed || key == "timeout_seconds" && s.TimeoutSeconds != 0 || key == "people" && s.People != nil || quorum && needed
}

// most is more than every number of people: that of a value which is none, so that no
// other source hides it.
const most = 1 << 30

func countOf(people int) int {
	if people < 1 {
		return most
	}
	return people
}

// narrow adds what another source says: the shortest time-out, the highest quorum and
// the people whom all of them name count.
func (s *ApprovalsSpec) narrow(other *ApprovalsSpec) {
	if other.given("timeout_seconds") && (!s.given("timeout_seconds") || other.TimeoutSeconds < s.TimeoutSeconds) {
		s.TimeoutSeconds = other.TimeoutSeconds
		s.put("timeout_seconds", other.Places["timeout_seconds"])
	}
	for _, class := range quorumKeys {
		now, was := other.Quorum[class], s.Quorum[class]
		if key := "quorum." + class; other.given(key) && (!s.given(key) || countOf(now) > countOf(was)) {
			s.need(class, now)
			s.put(key, other.Places[key])
		}
	}
	switch {
	case !other.given("people"):
	case !s.given("people"):
		s.People = other.People
		s.put("people", other.Places["people"])
	default:
		s.People = slices.DeleteFunc(slices.Clone(s.People), func(name string) bool { return !slices.Contains(other.People, name) })
		s.put("people", other.Places["people"])
	}
}

// untrusted adds what an untrusted source says, and returns what of it does not count:
// who may answer, and what is looser than it is.
func (s *ApprovalsSpec) untrusted(other *ApprovalsSpec) []Item {
	var out []Item
	ignore := func(key, format string, value any) {
		out = append(out, Item{fmt.Sprintf("approvals."+format, value), other.Places[key]})
	}
	if other.given("people") {
		ignore("people", "people = %q", other.People)
	}
	if key := "timeout_seconds"; other.given(key) && s.given(key) && other.TimeoutSeconds > s.TimeoutSeconds {
		ignore(key, key+" = %d", other.TimeoutSeconds)
	}
	for _, class := range quorumKeys {
		if key := "quorum." + class; other.given(key) && s.given(key) && countOf(other.Quorum[class]) < countOf(s.Quorum[class]) {
			ignore(key, key+" = %d", other.Quorum[class])
		}
	}
	rest := *other
	rest.People, rest.Places = nil, without(other.Places, "people")
	s.narrow(&rest)
	return out
}

// approvals checks what is demanded of answers.
func (c *compiler) approvals() {
	s := &c.spec.Approvals
	fail := func(key, format string, args ...any) { c.fail(at(s.Places[key], fmt.Errorf(format, args...))) }
	if key := "timeout_seconds"; s.given(key) && (s.TimeoutSeconds < 1 || s.TimeoutSeconds > maxTimeout) {
		fail(key, "approvals.%s is %d: write 1 to %d (remove it for no limit)", key, s.TimeoutSeconds, maxTimeout)
	}
	for i, name := range s.People {
		if strings.TrimSpace(name) != name || name == "" || slices.Contains(s.People[:i], name) {
			fail("people", "approvals.people has %q: write unique names without surrounding spaces", name)
		}
	}
	if s.given("people") && len(s.People) == 0 {
		fail("people", "approvals.people is empty, so nothing could be approved (with several policies, only the people that all of them name count)")
	}
	for class := range s.Quorum {
		if !slices.Contains(quorumKeys, class) {
			fail("quorum."+class, "approvals.quorum.%s: write %s", class, orList(quorumKeys))
		}
	}
	for _, class := range quorumKeys {
		people, key := s.Quorum[class], "quorum."+class
		switch {
		case !s.given(key):
		case people < 1:
			fail(key, "approvals.%s is %d: write 1 or more", key, people)
		case len(s.People) > 0 && people > len(s.People):
			fail(key, "approvals.%s is %d, but people lists only %d: nothing could be approved", key, people, len(s.People))
		}
	}
}

// Timeout returns the time in which to answer; 0 is no limit.
func (s *ApprovalsSpec) Timeout() time.Duration { return time.Duration(s.TimeoutSeconds) * time.Second }

// Needed returns how many people have to approve, by risk.
func (s *ApprovalsSpec) Needed() map[risk.Class]int {
	var needed map[risk.Class]int
	for name, people := range s.Quorum {
		if class, ok := risk.ParseClass(name); ok {
			if needed == nil {
				needed = map[risk.Class]int{}
			}
			needed[class] = people
		}
	}
	return needed
}

// show calls add for each key.
func (s *ApprovalsSpec) show(add func(key, text string, at patterns.Source)) {
	if key := "timeout_seconds"; s.given(key) {
		add("approvals."+key, fmt.Sprint(s.TimeoutSeconds), s.Places[key])
	}
	if s.given("people") {
		add("approvals.people", strings.Join(s.People, ", "), s.Places["people"])
	}
	for _, class := range quorumKeys {
		if key := "quorum." + class; s.given(key) {
			add("approvals."+key, fmt.Sprint(s.Quorum[class]), s.Places[key])
		}
	}
}

// approvals reports what is demanded and never counts.
func approvals(l *linter) {
	s := &l.spec.Approvals
	find := func(key, value, why, fix string) {
		l.findings = append(l.findings, Finding{Check: l.check, Level: LevelWarning, Source: s.Places[key], Rule: "approvals." + key + " = " + value, Why: why, Fix: fix})
	}
	if l.spec.Mode == "dontAsk" {
		s.show(func(key, text string, _ patterns.Source) {
			find(strings.TrimPrefix(key, "approvals."), text, "mode dontAsk never asks", "remove it")
		})
		return
	}
	highest := 1
	for _, class := range quorumKeys {
		if people, needs := s.Quorum[class]; needs && people < highest {
			find("quorum."+class, fmt.Sprint(people), fmt.Sprintf("a lower risk needs %d, and a higher risk must need at least as many", highest), "raise it, or remove it")
		}
		highest = max(highest, s.Quorum[class])
	}
}
