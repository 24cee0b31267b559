package approval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// history is the reference model: all events of an approval. Its rules are
// predicates over the whole; it has no state.
type history []Event

// begun returns the index of the event that began the approval, or -1.
func (h history) begun() int {
	return slices.IndexFunc(h, func(e Event) bool { return e.Kind == Ask && sound(e.Terms) })
}

// sound reports whether everyone has a name and enough persons may answer.
func sound(t Terms) bool {
	if t.ID == "" || t.Digest == "" || t.Asker.Name == "" || t.Quorum < 0 {
		return false
	}
	persons := map[string]bool{}
	for _, v := range t.Voters {
		if v.Role == Person && v.Name != "" && v != t.Asker {
			persons[v.Name] = true
		}
	}
	return t.Voters == nil || len(persons) >= needed(t)
}

func needed(t Terms) int {
	if t.Quorum == 0 {
		return 1
	}
	return t.Quorum
}

func mayAnswer(t Terms, p Principal) bool {
	return p.Role == Person && p.Name != "" && p != t.Asker && (t.Voters == nil || slices.Contains(t.Voters, p))
}

// heard reports whether the event has the fields that its kind requires.
func heard(t Terms, e Event) bool {
	switch e.Kind {
	case Approve, Deny, Edit, Consume:
		return e.ID == t.ID && e.Digest == t.Digest
	case Cancel:
		return e.ID == t.ID
	case Policy, Die, Tick:
		return true
	}
	return false
}

// approvers returns the different persons who approved before event n.
func (h history) approvers(n int) []string {
	b := h.begun()
	t := h[b].Terms
	var names []string
	for _, e := range h[b+1 : n] {
		if e.Kind == Approve && heard(t, e) && mayAnswer(t, e.By) && !slices.Contains(names, e.By.Name) {
			names = append(names, e.By.Name)
		}
	}
	return names
}

// ends returns the status to which event i would settle an approval that is not
// settled yet, or 0.
func (h history) ends(i int) Status {
	t := h[h.begun()].Terms
	e := h[i]
	if i == h.begun() {
		if !t.Expires.IsZero() && !e.At.Before(t.Expires) {
			return Expired
		}
		return 0
	}
	approved := len(h.approvers(i)) >= needed(t)
	switch {
	case !heard(t, e):
		return 0
	case !t.Expires.IsZero() && !e.At.Before(t.Expires):
		return Expired
	case e.Kind == Die:
		return Abandoned
	case e.Kind == Policy && e.Version != t.Version:
		return Superseded
	case e.Kind == Cancel && (e.By == t.Asker || mayAnswer(t, e.By)):
		return Cancelled
	case e.Kind == Consume && approved:
		return Consumed
	case e.Kind == Deny && mayAnswer(t, e.By) && !approved:
		return Denied
	case e.Kind == Edit && mayAnswer(t, e.By) && !approved && e.Input != nil:
		return Superseded
	}
	return 0
}

// status returns the status after all events, and the index of the event that
// settled it, or -1.
func (h history) status() (Status, int) {
	b := h.begun()
	if b < 0 {
		return 0, -1
	}
	for i := b; i < len(h); i++ {
		if s := h.ends(i); s != 0 {
			return s, i
		}
	}
	for i := b + 1; i <= len(h); i++ {
		if len(h.approvers(i)) >= needed(h[b].Terms) {
			return Approved, i - 1
		}
	}
	return Pending, -1
}

// counted reports whether the last event is not an error.
func (h history) counted() bool {
	last := h[len(h)-1]
	before, _ := h[:len(h)-1].status()
	after, at := h.status()
	b := h.begun()
	switch {
	case last.Kind < Ask || last.Kind > Tick:
		return false
	case last.Kind == Ask:
		return before == 0 && b == len(h)-1
	case b < 0:
		return false
	case last.Kind == Tick || last.Kind == Die || last.Kind == Policy:
		return true
	case before != after:
		return at == len(h)-1 && after != Expired
	}
	return before == Pending && len(h.approvers(len(h))) > len(h.approvers(len(h)-1))
}

var (
	epoch  = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	agent  = Principal{Agent, "main"}
	anna   = Principal{Person, "anna"}
	ben    = Principal{Person, "ben"}
	carl   = Principal{Person, "carl"}
	edited = json.RawMessage(`{"command":"ls"}`)
)

func terms(quorum int, voters ...Principal) Terms {
	return Terms{ID: "1", Digest: "d", Asker: agent, Expires: epoch.Add(time.Minute), Quorum: quorum, Voters: voters, Version: "v"}
}

// agree compares Step with the reference for a sequence of events, and checks
// the laws.
func agree(t interface {
	Helper()
	Fatalf(string, ...any)
}, events []Event) {
	t.Helper()
	var s State
	var h history
	consumed, expired, denied := 0, false, false
	for _, e := range events {
		h = append(h, e)
		old := s
		next, err := Step(s, e)
		want, by := h.status()
		if next.Status != want || (err == nil) != h.counted() {
			t.Fatalf("%s after\n%s\nis %s (%v), want %s, no error %v", e, lines(h), next.Status, err, want, h.counted())
		}
		if want != 0 && want != Pending && want != Expired && h[by].Kind != Die && h[by].Kind != Policy {
			who := h[by].By
			if h[by].Kind == Consume {
				_, by := h[:by].status()
				who = h[by].By
			}
			if next.By != who {
				t.Fatalf("won by %v, want %v\n%s", next.By, who, lines(h))
			}
		}
		if (want == Expired || want == Abandoned || want == Pending) && next.By != (Principal{}) {
			t.Fatalf("%s by %v\n%s", want, next.By, lines(h))
		}
		if !reflect.DeepEqual(old, s) {
			t.Fatalf("the old state changed\n%s", lines(h))
		}
		if err != nil && next.Status != Expired && !reflect.DeepEqual(old, next) {
			t.Fatalf("%v and yet it changed\n%s", err, lines(h))
		}
		lawful(t, old, next, e, err)
		s = next
		if s.Status == Consumed && old.Status != Consumed {
			consumed++
		}
		expired, denied = expired || s.Status == Expired, denied || s.Status == Denied
		if consumed > 1 || (expired || denied) && (s.Status == Approved || s.Status == Consumed) {
			t.Fatalf("consumed %d, expired %v, denied %v, %s\n%s", consumed, expired, denied, s.Status, lines(h))
		}
	}
}

// lawful checks the laws of a single step.
func lawful(t interface {
	Helper()
	Fatalf(string, ...any)
}, old, next State, e Event, err error) {
	t.Helper()
	answers := e.Kind == Approve || e.Kind == Deny || e.Kind == Edit
	switch {
	case old.Status != 0 && (answers || e.Kind == Consume) && (e.Digest != old.Digest || e.ID != old.ID) && !reflect.DeepEqual(old, next):
		t.Fatalf("%s is for another request and changed it", e)
	case old.Status != 0 && answers && (e.By == old.Asker || e.By.Role != Person) && next.Status != old.Status && next.Status != Expired:
		t.Fatalf("%s: the asker made it %s", e, next.Status)
	case old.Final() && !reflect.DeepEqual(old, next):
		t.Fatalf("%s changed what was %s", e, old.Status)
	case old.Status == Denied && next.Status != Denied:
		t.Fatalf("denied became %s", next.Status)
	case (next.Status == Approved || next.Status == Consumed) && old.Status != next.Status && !e.At.Before(old.Expires) && !old.Expires.IsZero():
		t.Fatalf("%s by %s after it expired", next.Status, e)
	}
	var late *Settled
	if errors.As(err, &late) && (late.Status != next.Status || late.By != next.By) {
		t.Fatalf("the loser was told %v, it is %s by %v", late, next.Status, next.By)
	}
	if ans, err := next.Answer(); err == nil && ans.Behavior == permission.Allow && next.Status != Approved && next.Status != Superseded {
		t.Fatalf("%s answers %+v", next.Status, ans)
	}
}

func (e Event) String() string {
	return fmt.Sprintf("{%d at %v by %v id %q digest %q version %q input %s}", e.Kind, e.At.Sub(epoch), e.By, e.ID, e.Digest, e.Version, e.Input)
}

func lines(h history) string {
	text := ""
	for _, e := range h {
		text += "  " + e.String() + "\n"
	}
	return text
}

func someEvent(t *rapid.T) Event {
	who := rapid.SampledFrom([]Principal{anna, ben, carl, agent, {Person, ""}, {0, "anna"}, {Agent, "anna"}, {Person, "main"}})
	return Event{
		Kind:    Kind(rapid.IntRange(1, int(Tick)+1).Draw(t, "kind")),
		At:      epoch.Add(time.Duration(rapid.SampledFrom([]int{0, 1, 30, 59, 59, 60, 61}).Draw(t, "at")) * time.Second),
		Terms:   terms(1),
		ID:      rapid.SampledFrom([]string{"1", "1", "1", "1", "2", ""}).Draw(t, "id"),
		Digest:  rapid.SampledFrom([]string{"d", "d", "d", "d", "e", ""}).Draw(t, "digest"),
		By:      who.Draw(t, "by"),
		Scope:   permission.Scope(rapid.IntRange(0, 2).Draw(t, "scope")),
		Rules:   rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b"}), 0, 2).Draw(t, "rules"),
		Input:   rapid.SampledFrom([]json.RawMessage{nil, edited}).Draw(t, "input"),
		Version: rapid.SampledFrom([]string{"v", "w"}).Draw(t, "version"),
	}
}

func someTerms(t *rapid.T) Terms {
	tt := terms(rapid.IntRange(-1, 3).Draw(t, "quorum"))
	tt.ID = rapid.SampledFrom([]string{"1", "1", "1", "1", ""}).Draw(t, "id")
	tt.Asker = rapid.SampledFrom([]Principal{agent, agent, anna, {}}).Draw(t, "asker")
	tt.Voters = rapid.SampledFrom([][]Principal{nil, nil, {anna, ben}, {anna, ben, carl, agent}, {}, {anna, anna}}).Draw(t, "voters")
	if rapid.IntRange(0, 3).Draw(t, "for ever") == 0 {
		tt.Expires = time.Time{}
	}
	return tt
}

// Thousands of generated sequences, most of which begin with valid terms.
func TestAgreesWithTheReference(t *testing.T) {
	slow.Test(t)
	rapid.Check(t, func(t *rapid.T) {
		for range 200 {
			var events []Event
			if rapid.IntRange(0, 9).Draw(t, "begins") > 0 {
				events = append(events, Event{Kind: Ask, At: epoch, Terms: someTerms(t)})
			}
			for range rapid.IntRange(0, 12).Draw(t, "events") {
				events = append(events, someEvent(t))
			}
			agree(t, events)
		}
	})
}

// Every sequence of four events from a small alphabet, for one and for two
// approvers.
func TestEverySmallSequence(t *testing.T) {
	slow.Test(t)
	at := epoch.Add(time.Second)
	event := func(k Kind, by Principal) Event { return Event{Kind: k, At: at, ID: "1", Digest: "d", By: by} }
	alphabet := []Event{
		event(Approve, anna), event(Approve, ben), event(Approve, agent), event(Deny, anna), event(Deny, agent),
		event(Consume, Principal{}), event(Cancel, agent), event(Die, Principal{}), event(Tick, Principal{}),
		{Kind: Approve, At: at, ID: "1", Digest: "e", By: anna},
		{Kind: Approve, At: epoch.Add(time.Minute), ID: "1", Digest: "d", By: anna},
		{Kind: Consume, At: at, ID: "1", Digest: "e"},
		{Kind: Edit, At: at, ID: "1", Digest: "d", By: anna, Input: edited},
		{Kind: Policy, At: at, Version: "w"}, {Kind: Policy, At: at, Version: "v"},
		{Kind: Tick, At: epoch.Add(time.Hour)},
	}
	n := 0
	for quorum := 1; quorum <= 2; quorum++ {
		begin := Event{Kind: Ask, At: epoch, Terms: terms(quorum)}
		for a := range alphabet {
			for b := range alphabet {
				for c := range alphabet {
					for d := range alphabet {
						agree(t, []Event{begin, alphabet[a], alphabet[b], alphabet[c], alphabet[d]})
						n++
					}
				}
			}
		}
	}
	if want := 2 * 16 * 16 * 16 * 16; n != want {
		t.Errorf("%d sequences, want %d", n, want)
	}
}

// Of answers that arrive at the same time, in any order, exactly one wins.
func TestOneWinner(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, _ := Step(State{}, Event{Kind: Ask, At: epoch, Terms: terms(0)})
		kinds := rapid.SliceOfN(rapid.SampledFrom([]Kind{Approve, Deny, Edit, Cancel}), 2, 8).Draw(t, "answers")
		winners := 0
		for i, k := range kinds {
			who := Principal{Person, fmt.Sprint("p", i)}
			next, err := Step(s, Event{Kind: k, At: epoch, ID: "1", Digest: "d", By: who, Input: edited})
			var late *Settled
			switch {
			case err == nil:
				winners++
			case k == Cancel && s.Status == Approved:
				t.Fatalf("what is approved cannot be cancelled: %v", err)
			case !errors.As(err, &late) || late.By.Name == "" || late.By == who:
				t.Fatalf("the loser is told %v", err)
			}
			s = next
		}
		if cancelled := s.Status == Cancelled && len(s.Votes) > 0; winners != 1 && !(cancelled && winners == 2) {
			t.Fatalf("%d winners, %s", winners, s.Status)
		}
	})
}

func TestAnswers(t *testing.T) {
	session := permission.ScopeSession
	say := func(k Kind, by Principal, scope permission.Scope, rules ...string) Event {
		return Event{Kind: k, At: epoch, ID: "1", Digest: "d", By: by, Scope: scope, Rules: rules, Message: "words", Input: edited, Version: "w"}
	}
	allow := permission.Answer{Behavior: permission.Allow, Message: "words"}
	kept := allow
	kept.Scope, kept.Rules = session, []string{"b"}
	never := permission.Answer{Behavior: permission.Deny, Message: "words", Scope: session, Rules: []string{"x"}}
	consume := Event{Kind: Consume, At: epoch, ID: "1", Digest: "d"}
	tests := []struct {
		name   string
		quorum int
		events []Event
		want   permission.Answer
		err    string
	}{
		{"nobody", 0, nil, permission.Answer{}, "the approval is pending"},
		{"once", 0, []Event{say(Approve, anna, 0, "a")}, allow, ""},
		{"for the session", 0, []Event{say(Approve, anna, session, "b")}, kept, ""},
		{"for the session, no rule", 0, []Event{say(Approve, anna, session)}, allow, ""},
		{"of two for the session what both keep", 2, []Event{say(Approve, anna, session, "a", "b"), say(Approve, ben, session, "b", "c")}, kept, ""},
		{"of two one for the session", 2, []Event{say(Approve, anna, session, "a"), say(Approve, ben, 0, "a")}, allow, ""},
		{"one of two", 2, []Event{say(Approve, anna, 0)}, permission.Answer{}, "the approval is pending"},
		{"one of two denies", 2, []Event{say(Approve, anna, session, "x"), say(Deny, ben, 0, "x")}, permission.Answer{Behavior: permission.Deny, Message: "words"}, ""},
		{"denied for the session", 0, []Event{say(Deny, anna, session, "x")}, never, ""},
		{"an edit", 0, []Event{say(Edit, anna, 0)}, permission.Answer{Behavior: permission.Allow, Input: edited}, ""},
		{"another policy", 0, []Event{say(Policy, anna, 0)}, permission.Answer{}, "the tool use must be decided again"},
		{"another policy behind the answer", 0, []Event{say(Approve, anna, 0), say(Policy, anna, 0)}, permission.Answer{}, "the tool use must be decided again"},
		{"withdrawn", 0, []Event{say(Cancel, agent, 0)}, permission.Answer{}, "the approval is already cancelled, by main"},
		{"the session died", 0, []Event{say(Die, agent, 0)}, permission.Answer{}, "the approval is already abandoned"},
		{"used", 0, []Event{say(Approve, anna, 0), consume}, permission.Answer{}, "the approval is already consumed, by anna"},
		{"too late", 0, []Event{{Kind: Tick, At: epoch.Add(time.Hour)}}, permission.Answer{}, "nobody answered in time"},
	}
	for _, tt := range tests {
		s, err := Step(State{}, Event{Kind: Ask, At: epoch, Terms: terms(tt.quorum)})
		for _, e := range tt.events {
			if err == nil {
				s, err = Step(s, e)
			}
		}
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		got, err := s.Answer()
		if !reflect.DeepEqual(got, tt.want) || (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
			t.Errorf("%s: %+v %v", tt.name, got, err)
		}
		if tt.name == "too late" && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the evaluator does not see a time-out in %v", err)
		}
	}
	if _, err := new(State).Answer(); !errors.Is(err, ErrNotBegun) {
		t.Error(err)
	}
}

func TestStatusNames(t *testing.T) {
	for s, want := range map[Status]string{0: "none", Pending: "pending", Consumed: "consumed", 77: "none"} {
		if s.String() != want {
			t.Errorf("%d is %s", s, s)
		}
	}
}

// The caller may reuse the slices that it passed.
func TestNothingIsShared(t *testing.T) {
	voters, rules, input := []Principal{anna, ben}, []string{"a"}, slices.Clone(edited)
	s, _ := Step(State{}, Event{Kind: Ask, At: epoch, Terms: terms(2, voters...)})
	one, _ := Step(s, Event{Kind: Approve, At: epoch, ID: "1", Digest: "d", By: anna, Scope: permission.ScopeSession, Rules: rules})
	other, _ := Step(one, Event{Kind: Approve, At: epoch, ID: "1", Digest: "d", By: ben, Scope: permission.ScopeSession, Rules: []string{"a"}})
	changed, _ := Step(one, Event{Kind: Edit, At: epoch, ID: "1", Digest: "d", By: ben, Input: input})
	voters[0], rules[0], input[0] = carl, "z", 'x'
	if a, err := other.Answer(); err != nil || !slices.Equal(a.Rules, []string{"a"}) {
		t.Errorf("%+v %v", a, err)
	}
	both := Event{Kind: Approve, At: epoch, ID: "1", Digest: "d", Scope: permission.ScopeSession, Rules: []string{"a", "b"}}
	many, _ := Step(State{}, Event{Kind: Ask, At: epoch, Terms: terms(9)})
	for _, name := range []string{"p", "q", "r"} {
		both.By = Principal{Person, name}
		many, _ = Step(many, both)
	}
	both.By, both.Rules = anna, []string{"b"}
	first, _ := Step(many, both)
	both.By = ben
	if _, err := Step(many, both); err != nil || first.Votes[3].By != anna {
		t.Errorf("a vote of another state is seen: %v %v", first.Votes, err)
	}
	if first.kept(); !slices.Equal(first.Votes[0].Rules, []string{"a", "b"}) {
		t.Errorf("the answer changed the votes: %q", first.Votes[0].Rules)
	}
	if a, _ := changed.Answer(); string(a.Input) != string(edited) || len(one.Votes) != 1 {
		t.Errorf("%s %v", a.Input, one.Votes)
	}
	if s.Voters[0] != anna {
		t.Error("the voters are those of the caller")
	}
}
