// Package brokertest is the conformance suite of approval.Broker: what holds for one in
// files, in a database and behind HTTP.
package brokertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
)

// Open returns a new broker without entries, whose clock is now; nil is time.Now. It is
// closed by t.Cleanup, and submits as the agent "main".
type Open func(t *testing.T, now func() time.Time) approval.Broker

// The principals of the suite.
var (
	anna  = approval.Principal{Role: approval.Person, Name: "anna"}
	ben   = approval.Principal{Role: approval.Person, Name: "ben"}
	carl  = approval.Principal{Role: approval.Person, Name: "carl"}
	agent = approval.Principal{Role: approval.Agent, Name: "main"}
)

// entry returns an entry to submit, of anybody's to answer.
func entry(id string) approval.Entry {
	return approval.Entry{
		State:    approval.State{Terms: approval.Terms{ID: id, Digest: "d-" + id, Asker: agent, Version: "v"}},
		Question: json.RawMessage(`{"tool":"Bash","input":{"command":"make ` + id + `"}}`),
		Project:  "/p", Session: "s",
	}
}

// says returns the event for an answer to an entry.
func says(kind approval.Kind, id string, by approval.Principal) approval.Event {
	e := approval.Event{Kind: kind, ID: id, Digest: "d-" + id, By: by}
	if kind == approval.Edit {
		e.Input = json.RawMessage(`{"command":"true"}`)
	}
	return e
}

// reply is an answer as it is stored.
func reply(by approval.Principal) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"by":%q,"choice":"once"}`, by.Name))
}

// Run runs the suite, each test with a broker of its own.
func Run(t *testing.T, open Open) {
	for _, tt := range []struct {
		name string
		run  func(t *testing.T, open Open)
	}{
		{"the life of an approval", life},
		{"the ends", ends},
		{"the same again", again},
		{"refusals", refusals},
		{"terms", terms},
		{"who is late", late},
		{"expiry", expiry},
		{"expiry is waited for", expiryWakes},
		{"quorum", quorum},
		{"withdrawals", withdrawals},
		{"what is stored", stored},
		{"lists", lists},
		{"waiting", waiting},
		{"cancelled calls", cancelled},
		{"one consumes", oneConsumes},
		{"one begins", oneBegins},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.run(t, open) })
	}
	t.Run("one wins", func(t *testing.T) { Race(t, open, 10, 20) })
}

// submit submits entries.
func submit(t *testing.T, b approval.Broker, all ...approval.Entry) {
	t.Helper()
	for _, e := range all {
		if got, err := b.Submit(t.Context(), e); err != nil || got.Status != approval.Pending {
			t.Fatalf("submit %s: %s, %v", e.ID, got.Status, err)
		}
	}
}

// is checks the status of an entry, as Get has it.
func is(t *testing.T, b approval.Broker, id string, want approval.Status) approval.Entry {
	t.Helper()
	e, err := b.Get(t.Context(), id)
	if err != nil || e.Status != want {
		t.Fatalf("%s is %s, %v, want %s", id, e.Status, err, want)
	}
	return e
}

func life(t *testing.T, open Open) {
	b, ctx := open(t, nil), t.Context()
	if _, err := b.Get(ctx, "1"); !errors.Is(err, approval.ErrUnknown) {
		t.Fatal(err)
	}
	submit(t, b, entry("1"))
	done := make(chan approval.Entry, 1)
	go func() {
		e, err := approval.Await(ctx, b, "1")
		if err != nil {
			t.Error(err)
		}
		done <- e
	}()
	e, err := b.Answer(ctx, says(approval.Approve, "1", anna), reply(anna))
	if err != nil || e.Status != approval.Approved {
		t.Fatalf("%+v, %v", e, err)
	}
	if e := <-done; e.Status != approval.Approved || e.By != anna || !equal(e.Reply, reply(anna)) {
		t.Fatalf("%+v", e)
	}
	if e, err = b.Consume(ctx, "1", "d-1"); err != nil || e.Status != approval.Consumed {
		t.Fatalf("%+v, %v", e, err)
	}
	if e := is(t, b, "1", approval.Consumed); e.By != anna {
		t.Errorf("%+v", e)
	}
}

// equal reports whether two texts are the same JSON.
func equal(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// ends: each answer has its status.
func ends(t *testing.T, open Open) {
	b := open(t, nil)
	for i, tt := range []struct {
		kind approval.Kind
		want approval.Status
	}{{approval.Approve, approval.Approved}, {approval.Deny, approval.Denied}, {approval.Edit, approval.Superseded}} {
		id := fmt.Sprint("e", i)
		submit(t, b, entry(id))
		event := says(tt.kind, id, anna)
		event.Message = "words"
		e, err := b.Answer(t.Context(), event, reply(anna))
		if err != nil || e.Status != tt.want || e.By != anna {
			t.Errorf("%+v, %v", e, err)
		}
		e = is(t, b, id, tt.want)
		a, err := e.Answer()
		if err != nil || tt.kind == approval.Edit && !equal(a.Input, event.Input) {
			t.Errorf("%+v, %v", a, err)
		}
		if tt.kind != approval.Edit {
			comesBack(t, "the message", a.Message, event.Message)
		}
	}
}

// again: the same question is the one that is there, whatever has become of it.
func again(t *testing.T, open Open) {
	b, ctx := open(t, nil), t.Context()
	submit(t, b, entry("1"))
	first := is(t, b, "1", approval.Pending)
	submit(t, b, entry("1"))
	if e := is(t, b, "1", approval.Pending); e.Seq != first.Seq || !e.Asked.Equal(first.Asked) {
		t.Errorf("the second submission changed it: %+v, then %+v", first, e)
	}
	other := entry("1")
	other.Digest = "d-2"
	if _, err := b.Submit(ctx, other); !errors.Is(err, approval.ErrBegun) {
		t.Errorf("another question with the same id: %v", err)
	}
	if _, err := b.Answer(ctx, says(approval.Deny, "1", anna), reply(anna)); err != nil {
		t.Fatal(err)
	}
	if e, err := b.Submit(ctx, entry("1")); err != nil || e.Status != approval.Denied || e.By != anna {
		t.Errorf("%+v, %v", e, err)
	}
}

// refusals: an event that does not count changes nothing, and its error says why.
func refusals(t *testing.T, open Open) {
	b, ctx := open(t, nil), t.Context()
	mine := entry("1")
	mine.Voters = []approval.Principal{anna, ben}
	submit(t, b, mine)
	before := is(t, b, "1", approval.Pending)
	other := says(approval.Approve, "1", anna)
	other.Digest = "d-2"
	empty := says(approval.Edit, "1", anna)
	empty.Input = nil
	for _, tt := range []struct {
		name  string
		event approval.Event
		want  error
	}{
		{"another digest", other, approval.ErrOther},
		{"no such id", says(approval.Approve, "2", anna), approval.ErrUnknown},
		{"an id that is none", says(approval.Approve, "../1", anna), approval.ErrUnknown},
		{"no id", says(approval.Approve, "", anna), approval.ErrUnknown},
		{"not a voter", says(approval.Approve, "1", carl), approval.ErrNoSay},
		{"not a voter, who denies", says(approval.Deny, "1", carl), approval.ErrNoSay},
		{"the asker", says(approval.Approve, "1", agent), approval.ErrNoSay},
		{"an agent by the name of a person", says(approval.Approve, "1", approval.Principal{Role: approval.Agent, Name: "anna"}), approval.ErrNoSay},
		{"nobody", says(approval.Approve, "1", approval.Principal{Role: approval.Person}), approval.ErrNoSay},
		{"an edit to nothing", empty, approval.ErrEvent},
		{"no answer", says(approval.Tick, "1", anna), approval.ErrEvent},
		{"a death", says(approval.Die, "1", anna), approval.ErrEvent},
		{"consuming as an answer", says(approval.Consume, "1", anna), approval.ErrEvent},
		{"a second beginning", approval.Event{Kind: approval.Ask, ID: "1", Terms: mine.Terms}, approval.ErrEvent},
		{"an event that is none", says(99, "1", anna), approval.ErrEvent},
	} {
		if _, err := b.Answer(ctx, tt.event, reply(anna)); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
	if _, err := b.Consume(ctx, "1", "d-1"); !errors.Is(err, approval.ErrPending) {
		t.Errorf("consumed before it is approved: %v", err)
	}
	if _, err := b.Consume(ctx, "1", "d-2"); !errors.Is(err, approval.ErrOther) {
		t.Errorf("consumed with another digest: %v", err)
	}
	if _, err := b.Withdraw(ctx, "1", carl, "no"); !errors.Is(err, approval.ErrNoSay) {
		t.Errorf("withdrawn by a stranger: %v", err)
	}
	for _, err := range []error{second(b.Withdraw(ctx, "2", agent, "")), second(b.Consume(ctx, "2", "d-2")), second(b.Get(ctx, "2"))} {
		if !errors.Is(err, approval.ErrUnknown) {
			t.Error(err)
		}
	}
	if after := is(t, b, "1", approval.Pending); after.Seq != before.Seq || after.Reply != nil {
		t.Errorf("it has changed: %+v, then %+v", before, after)
	}
}

func second(_ approval.Entry, err error) error { return err }

// terms that can never be met begin nothing.
func terms(t *testing.T, open Open) {
	b, ctx := open(t, nil), t.Context()
	for name, spoil := range map[string]func(*approval.Terms){
		"no id":           func(x *approval.Terms) { x.ID = "" },
		"no digest":       func(x *approval.Terms) { x.Digest = "" },
		"nobody asks":     func(x *approval.Terms) { x.Asker = approval.Principal{} },
		"negative quorum": func(x *approval.Terms) { x.Quorum = -1 },
		"no voters":       func(x *approval.Terms) { x.Voters = []approval.Principal{} },
		"too few voters":  func(x *approval.Terms) { x.Quorum, x.Voters = 2, []approval.Principal{anna, anna} },
	} {
		e := entry("1")
		spoil(&e.Terms)
		if _, err := b.Submit(ctx, e); !errors.Is(err, approval.ErrTerms) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if all, err := b.List(ctx, approval.Filter{}); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
}

// late: whoever answers after another is told who was first.
func late(t *testing.T, open Open) {
	b, ctx := open(t, nil), t.Context()
	submit(t, b, entry("1"))
	if _, err := b.Answer(ctx, says(approval.Approve, "1", anna), reply(anna)); err != nil {
		t.Fatal(err)
	}
	first(t, "approved", second(b.Answer(ctx, says(approval.Deny, "1", ben), reply(ben))), approval.Approved, anna)
	first(t, "approved", second(b.Answer(ctx, says(approval.Approve, "1", anna), reply(anna))), approval.Approved, anna)
	if e := is(t, b, "1", approval.Approved); !equal(e.Reply, reply(anna)) {
		t.Errorf("the reply is that of the loser: %s", e.Reply)
	}
	if _, err := b.Consume(ctx, "1", "d-1"); err != nil {
		t.Fatal(err)
	}
	first(t, "consumed again", second(b.Consume(ctx, "1", "d-1")), approval.Consumed, anna)
	first(t, "answered", second(b.Answer(ctx, says(approval.Deny, "1", ben), reply(ben))), approval.Consumed, anna)
	first(t, "withdrawn", second(b.Withdraw(ctx, "1", agent, "x")), approval.Consumed, anna)
	submit(t, b, entry("2"))
	if _, err := b.Answer(ctx, says(approval.Deny, "2", ben), reply(ben)); err != nil {
		t.Fatal(err)
	}
	first(t, "consumed", second(b.Consume(ctx, "2", "d-2")), approval.Denied, ben)
}

// first checks that an error names who was first.
func first(t *testing.T, name string, err error, status approval.Status, by approval.Principal) {
	t.Helper()
	var was *approval.Settled
	if !errors.As(err, &was) || was.Status != status || was.By != by {
		t.Errorf("%s: %v, want %s by %s", name, err, status, by.Name)
	}
}

// clock is one that a test sets.
type clock struct{ at atomic.Pointer[time.Time] }

func newClock() *clock {
	c := new(clock)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	c.at.Store(&at)
	return c
}

func (c *clock) now() time.Time { return *c.at.Load() }

func (c *clock) add(d time.Duration) {
	at := c.now().Add(d)
	c.at.Store(&at)
}

// expiry is by the clock of the broker: nothing counts at or after it.
func expiry(t *testing.T, open Open) {
	c := newClock()
	b, ctx := open(t, c.now), t.Context()
	for _, id := range []string{"pending", "approved", "consumed", "answered", "used"} {
		e := entry(id)
		e.Expires = c.now().Add(time.Minute)
		submit(t, b, e)
	}
	submit(t, b, entry("ever"))
	for _, id := range []string{"approved", "consumed", "used"} {
		if _, err := b.Answer(ctx, says(approval.Approve, id, anna), reply(anna)); err != nil {
			t.Fatal(err)
		}
	}
	c.add(time.Minute - 1)
	if _, err := b.Consume(ctx, "consumed", "d-consumed"); err != nil {
		t.Fatal(err)
	}
	is(t, b, "pending", approval.Pending)
	last := is(t, b, "consumed", approval.Consumed).Seq
	c.add(1)
	event := says(approval.Approve, "answered", ben)
	event.At = c.now().Add(-time.Hour) // of no consequence
	first(t, "answered too late", second(b.Answer(ctx, event, reply(ben))), approval.Expired, approval.Principal{})
	if e := is(t, b, "answered", approval.Expired); e.Reply != nil {
		t.Errorf("the reply that came too late is stored: %s", e.Reply)
	}
	first(t, "used too late", second(b.Consume(ctx, "used", "d-used")), approval.Expired, approval.Principal{})
	is(t, b, "pending", approval.Expired)
	is(t, b, "consumed", approval.Consumed)
	is(t, b, "ever", approval.Pending)
	all, err := b.List(ctx, approval.Filter{Status: []approval.Status{approval.Expired}, After: last})
	if err != nil || len(all) != 4 {
		t.Errorf("expired are %d, %v", len(all), err)
	}
	old := entry("old")
	old.Expires = c.now()
	if e, err := b.Submit(ctx, old); err != nil || e.Status != approval.Expired {
		t.Errorf("%+v, %v", e, err)
	}
}

// expiryWakes: who waits hears of an expiry.
func expiryWakes(t *testing.T, open Open) {
	c := newClock()
	b := open(t, c.now)
	e := entry("1")
	e.Expires = c.now().Add(time.Minute)
	submit(t, b, e)
	done := make(chan approval.Entry, 1)
	go func() {
		e, err := approval.Await(t.Context(), b, "1")
		if err != nil {
			t.Error(err)
		}
		done <- e
	}()
	c.add(time.Hour)
	if e := <-done; e.Status != approval.Expired {
		t.Errorf("%+v", e)
	}
}

// quorum: of several persons each counts once, and one denial is enough.
func quorum(t *testing.T, open Open) {
	b, ctx := open(t, nil), t.Context()
	for _, id := range []string{"1", "2"} {
		e := entry(id)
		e.Quorum = 2
		submit(t, b, e)
		got, err := b.Answer(ctx, says(approval.Approve, id, anna), reply(anna))
		if err != nil || got.Status != approval.Pending || len(got.Votes) != 1 {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	if _, err := b.Answer(ctx, says(approval.Approve, "1", anna), reply(anna)); !errors.Is(err, approval.ErrTwice) {
		t.Error(err)
	}
	if _, err := b.Consume(ctx, "1", "d-1"); !errors.Is(err, approval.ErrPending) {
		t.Error(err)
	}
	if _, err := b.Answer(ctx, says(approval.Approve, "1", ben), reply(ben)); err != nil {
		t.Fatal(err)
	}
	if e := is(t, b, "1", approval.Approved); len(e.Votes) != 2 || e.Votes[0].By != anna || e.Votes[1].By != ben || e.By != ben || !equal(e.Reply, reply(ben)) {
		t.Errorf("%+v", e)
	}
	if _, err := b.Answer(ctx, says(approval.Deny, "2", ben), reply(ben)); err != nil {
		t.Fatal(err)
	}
	is(t, b, "2", approval.Denied)
}

func withdrawals(t *testing.T, open Open) {
	b, ctx := open(t, nil), t.Context()
	submit(t, b, entry("1"), entry("2"), entry("3"))
	if _, err := b.Withdraw(ctx, "1", agent, "not needed"); err != nil {
		t.Fatal(err)
	}
	e := is(t, b, "1", approval.Cancelled)
	comesBack(t, "the reason", e.Reason, "not needed")
	if e.By != agent || e.Reply != nil {
		t.Errorf("%+v", e)
	}
	if _, err := b.Withdraw(ctx, "2", anna, "by a person"); err != nil {
		t.Fatal(err)
	}
	first(t, "withdrawn", second(b.Answer(ctx, says(approval.Approve, "2", ben), reply(ben))), approval.Cancelled, anna)
	if _, err := b.Answer(ctx, says(approval.Approve, "3", anna), reply(anna)); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Withdraw(ctx, "3", agent, "changed"); err != nil {
		t.Fatal(err)
	}
	first(t, "used", second(b.Consume(ctx, "3", "d-3")), approval.Cancelled, agent)
}

// stored: everything comes back.
func stored(t *testing.T, open Open) {
	c := newClock()
	b, ctx := open(t, c.now), t.Context()
	e := entry("Long.er_id-1")
	e.Expires, e.Quorum, e.Voters = c.now().Add(time.Hour), 2, []approval.Principal{anna, ben, carl}
	e.Project, e.Session = "/with 'quotes' and \u00fcml\u00e4ute", "s\u202e"
	e.Question = json.RawMessage(fmt.Sprintf(`{"text":%q}`, strings.Repeat("0123456789abcdef", 1<<14)))
	e.Status, e.Reply, e.Reason, e.Votes = approval.Approved, reply(anna), "mine", []approval.Vote{{By: anna}, {By: ben}} // not the asker's to say
	got, err := b.Submit(ctx, e)
	if err != nil || got.Status != approval.Pending || got.Reply != nil || got.Votes != nil {
		t.Fatalf("%v %+v", err, got.State)
	}
	comesBack(t, "the reason of the asker", got.Reason, "")
	if !got.Asked.Equal(c.now()) || !got.Changed.Equal(c.now()) || got.Seq <= 0 {
		t.Errorf("asked %v, changed %v, seq %d", got.Asked, got.Changed, got.Seq)
	}
	c.add(time.Minute)
	event := says(approval.Approve, e.ID, anna)
	event.Scope, event.Rules, event.For, event.Times, event.Message = 1, []string{"Bash(make:*)"}, time.Hour, 3, "m\u00fc\n"
	if _, err := b.Answer(ctx, event, reply(anna)); err != nil {
		t.Fatal(err)
	}
	got = is(t, b, e.ID, approval.Pending)
	want := approval.Vote{By: anna, Scope: 1, Rules: event.Rules, For: time.Hour, Times: 3}
	comesBack(t, "the message", got.Message, event.Message)
	if len(got.Votes) != 1 || !reflect.DeepEqual(got.Votes[0], want) {
		t.Errorf("%+v", got.Votes)
	}
	if !got.Expires.Equal(e.Expires) || got.Asker != agent || got.Version != "v" || got.Digest != e.Digest || !slices.Equal(got.Voters, e.Voters) {
		t.Errorf("%+v", got.Terms)
	}
	if got.Project != e.Project || got.Session != e.Session || !equal(got.Question, e.Question) || !got.Changed.Equal(c.now()) || got.Changed.Equal(got.Asked) {
		t.Errorf("%q %q %v %v", got.Project, got.Session, got.Asked, got.Changed)
	}
}

// comesBack checks a text that was stored.
func comesBack(t *testing.T, name, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %q, want %q", name, got, want)
	}
}

// lists are by filter and in the order of the changes.
func lists(t *testing.T, open Open) {
	b, ctx := open(t, nil), t.Context()
	two, three := entry("2"), entry("3")
	two.Project, three.Session = "/q", "t"
	submit(t, b, entry("1"), two, three)
	middle := is(t, b, "2", approval.Pending).Seq
	if _, err := b.Answer(ctx, says(approval.Deny, "1", anna), reply(anna)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		filter approval.Filter
		want   string
	}{
		{approval.Filter{}, "2 3 1"},
		{approval.Filter{Status: []approval.Status{approval.Pending}}, "2 3"},
		{approval.Filter{Status: []approval.Status{approval.Denied, approval.Expired}}, "1"},
		{approval.Filter{Project: "/p"}, "3 1"},
		{approval.Filter{Session: "t"}, "3"},
		{approval.Filter{Project: "/q", Session: "t"}, ""},
		{approval.Filter{After: middle}, "3 1"},
		{approval.Filter{Limit: 2}, "2 3"},
		{approval.Filter{After: middle, Limit: 1}, "3"},
	} {
		all, err := b.List(ctx, tt.filter)
		var ids []string
		for _, e := range all {
			ids = append(ids, e.ID)
		}
		if got := strings.Join(ids, " "); err != nil || got != tt.want {
			t.Errorf("%+v: %q, %v, want %q", tt.filter, got, err, tt.want)
		}
	}
}

// waiting: a change wakes who waits, and none that came before is missed.
func waiting(t *testing.T, open Open) {
	b, ctx := open(t, nil), t.Context()
	submit(t, b, entry("1"))
	seq, err := b.Wait(ctx, 0)
	if err != nil || seq != is(t, b, "1", approval.Pending).Seq {
		t.Fatalf("%d, %v", seq, err)
	}
	type result struct {
		seq int64
		err error
	}
	woken := make(chan result, 1)
	go func() {
		next, err := b.Wait(ctx, seq)
		for err == nil && next <= seq { // it may return early
			next, err = b.Wait(ctx, seq)
		}
		woken <- result{next, err}
	}()
	if _, err := b.Answer(ctx, says(approval.Deny, "1", anna), reply(anna)); err != nil {
		t.Fatal(err)
	}
	if r := <-woken; r.err != nil || r.seq != is(t, b, "1", approval.Denied).Seq {
		t.Errorf("%+v", r)
	}
}

// cancelled: a call whose context has ended says so.
func cancelled(t *testing.T, open Open) {
	b := open(t, nil)
	submit(t, b, entry("1"))
	seq, err := b.Wait(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		for {
			if _, err := b.Wait(ctx, seq); err != nil {
				ended <- err
				return
			}
		}
	}()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	_, errList := b.List(ctx, approval.Filter{})
	for _, err := range []error{
		second(b.Submit(ctx, entry("2"))), second(b.Answer(ctx, says(approval.Deny, "1", anna), nil)), errList,
		second(b.Withdraw(ctx, "1", agent, "")), second(b.Consume(ctx, "1", "d-1")), second(b.Get(ctx, "1")),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	is(t, b, "1", approval.Pending)
}

// oneConsumes: an approval is used once, however many try at the same time.
func oneConsumes(t *testing.T, open Open) {
	b, ctx := open(t, nil), t.Context()
	submit(t, b, entry("1"))
	if _, err := b.Answer(ctx, says(approval.Approve, "1", anna), reply(anna)); err != nil {
		t.Fatal(err)
	}
	won := together(50, func(int) bool {
		_, err := b.Consume(ctx, "1", "d-1")
		if err != nil {
			first(t, "consumed", err, approval.Consumed, anna)
		}
		return err == nil
	})
	if won != 1 {
		t.Errorf("%d have used it", won)
	}
}

// oneBegins: the same question from several is one.
func oneBegins(t *testing.T, open Open) {
	b, ctx := open(t, nil), t.Context()
	var seqs sync.Map
	together(20, func(int) bool {
		e, err := b.Submit(ctx, entry("1"))
		if err != nil || e.Status != approval.Pending {
			t.Errorf("%+v, %v", e, err)
		}
		seqs.Store(e.Seq, true)
		return true
	})
	n := 0
	seqs.Range(func(_, _ any) bool { n++; return true })
	if all, err := b.List(ctx, approval.Filter{}); err != nil || len(all) != 1 || n != 1 {
		t.Errorf("%d entries of %d seqs, %v", len(all), n, err)
	}
}

// together calls f of 0 to n-1 at the same time, and returns how many were true.
func together(n int, f func(i int) bool) int {
	var all sync.WaitGroup
	var yes atomic.Int64
	start := make(chan struct{})
	for i := range n {
		all.Go(func() {
			<-start
			if f(i) {
				yes.Add(1)
			}
		})
	}
	close(start)
	all.Wait()
	return int(yes.Load())
}

// Race has so many deciders answer so many requests at the same time, each in its own
// order, and checks that each request has one winner, of whom the others are told.
func Race(t *testing.T, open Open, deciders, requests int) {
	b, ctx := open(t, nil), t.Context()
	for i := range requests {
		submit(t, b, entry(fmt.Sprint("r", i)))
	}
	kinds := []approval.Kind{approval.Approve, approval.Deny, approval.Edit}
	won := make([]atomic.Int64, requests)    // how many have won
	winner := make([]atomic.Int64, requests) // the decider who has
	lost := make([][]string, deciders)       // who they were told was first
	together(deciders, func(d int) bool {
		lost[d] = make([]string, requests)
		me := approval.Principal{Role: approval.Person, Name: fmt.Sprint("p", d)}
		for n := range requests {
			i := (n + d*requests/deciders) % requests
			_, err := b.Answer(ctx, says(kinds[(d+i)%len(kinds)], fmt.Sprint("r", i), me), reply(me))
			var was *approval.Settled
			switch {
			case err == nil:
				won[i].Add(1)
				winner[i].Store(int64(d))
			case errors.As(err, &was):
				lost[d][i] = was.By.Name
			default:
				t.Errorf("r%d: %v", i, err)
			}
		}
		return true
	})
	for i := range requests {
		d := int(winner[i].Load())
		name := fmt.Sprint("p", d)
		e, err := b.Get(ctx, fmt.Sprint("r", i))
		if err != nil || won[i].Load() != 1 || e.By.Name != name || !equal(e.Reply, reply(e.By)) || e.Status == approval.Pending {
			t.Errorf("r%d: %d winners, the last %s; it is %s by %s, %v", i, won[i].Load(), name, e.Status, e.By.Name, err)
		}
		for other := range deciders {
			if told := lost[other][i]; other != d && told != name {
				t.Errorf("r%d: p%d was told %q, the winner is %s", i, other, told, name)
			}
		}
	}
}
