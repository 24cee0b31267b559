// Package storetest tests what every store.Store guarantees.
package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
)

// Place makes a place for a store that is empty, and returns what opens it. Opened
// several times, it is as if several servers shared it; the test ends with all closed.
type Place func(t testing.TB) (open func() store.Store)

// Run tests the stores of a place.
func Run(t *testing.T, place Place) {
	for name, test := range map[string]func(*testing.T, func() store.Store){
		"approval": testApproval, "submit": testSubmit, "quorum": testQuorum, "expiry": testExpiry, "list": testList, "wait": testWait,
		"answers": testAnswers, "consume": testConsume, "tokens": testTokens, "sessions": testSessions, "versions": testVersions,
		"commands": testCommands, "recover": testRecover, "chat": testChat, "converse": testConverse, "grants": testGrants, "audit": testAudit, "bytes": testBytes,
		"check": testCheck, "leases": testLeases,
	} {
		t.Run(name, func(t *testing.T) { test(t, place(t)) })
	}
}

var (
	agent = approval.Principal{Role: approval.Agent, Name: "agent"}
	ada   = approval.Principal{Role: approval.Person, Name: "ada"}
	bob   = approval.Principal{Role: approval.Person, Name: "bob"}
	start = time.Date(2026, 11, 23, 1, 2, 3, 456789012, time.UTC)
)

// question returns an entry to submit.
func question(id string) approval.Entry {
	e := approval.Entry{Question: json.RawMessage(`{"title":"<b>` + id + `"}`), Project: "/w", Session: "s"}
	e.Terms = approval.Terms{ID: id, Digest: "1:" + id, Asker: agent, Version: "v"}
	return e
}

func answer(kind approval.Kind, e approval.Entry, by approval.Principal) approval.Event {
	return approval.Event{Kind: kind, ID: e.ID, Digest: e.Digest, By: by}
}

// must returns a function that takes a result and ends the test if it is an error.
func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// is reports an error that is not the one that is wanted.
func is(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%v, want %v", err, want)
	}
}

func equal(t testing.TB, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func testApproval(t *testing.T, open func() store.Store) {
	ctx, entry := t.Context(), must[approval.Entry](t)
	s := open()
	asked := entry(s.Submit(ctx, question("a")))
	if asked.Status != approval.Pending || asked.Seq == 0 || asked.Asked.IsZero() {
		t.Errorf("%+v", asked)
	}
	other := question("a")
	other.Asker.Name = "another"
	_, err := s.Submit(ctx, other)
	is(t, err, approval.ErrBegun)
	say := answer(approval.Approve, asked, ada)
	say.Rules, say.For, say.Times, say.Message = []string{"Bash(ls)"}, time.Hour, 3, "yes"
	settled := entry(s.Answer(ctx, say, json.RawMessage(`{"choice":"once"}`)))
	if settled.Status != approval.Approved || settled.By != ada || settled.Seq <= asked.Seq || string(settled.Reply) != `{"choice":"once"}` {
		t.Errorf("%+v", settled)
	}
	used := entry(s.Consume(ctx, "a", asked.Digest))
	if used.Status != approval.Consumed || string(used.Reply) != `{"choice":"once"}` {
		t.Errorf("%+v", used)
	}
	for _, s := range []store.Store{s, open()} {
		equal(t, entry(s.Get(ctx, "a")), used)
	}
	_, err = s.Get(ctx, "none")
	is(t, err, approval.ErrUnknown)
	_, err = s.Answer(ctx, approval.Event{Kind: approval.Deny, ID: "none", Digest: "1:none", By: ada}, nil)
	is(t, err, approval.ErrUnknown)
	_, err = s.Answer(ctx, approval.Event{Kind: approval.Consume, ID: "a", Digest: "1:a"}, nil)
	is(t, err, approval.ErrEvent)
	_, err = s.Apply(ctx, "a", answer(approval.Approve, asked, ada))
	is(t, err, approval.ErrEvent)

	asked = entry(s.Submit(ctx, question("b")))
	gone := entry(s.Withdraw(ctx, "b", agent, "changed my mind"))
	equal(t, gone.Reason, "changed my mind")
	if gone.Status != approval.Cancelled || gone.By != agent {
		t.Errorf("%+v", gone)
	}
	if settled := new(approval.Settled); !errors.As(second(s.Answer(ctx, answer(approval.Approve, asked, ada), nil)), &settled) || settled.By != agent {
		t.Errorf("the answer after a withdrawal: %v", settled)
	}
	entry(s.Submit(ctx, question("c")))
	if e := entry(s.Apply(ctx, "c", approval.Event{Kind: approval.Die})); e.Status != approval.Abandoned {
		t.Errorf("%+v", e)
	}
}

func second[T any](_ T, err error) error { return err }

// testSubmit: submitting again gives what is there, to who asked only.
func testSubmit(t *testing.T, open func() store.Store) {
	ctx, entry := t.Context(), must[approval.Entry](t)
	one, two := open(), open()
	asked := entry(one.Submit(ctx, question("a")))
	equal(t, entry(two.Submit(ctx, question("a"))), asked)
	denied := entry(two.Answer(ctx, answer(approval.Deny, asked, ada), json.RawMessage(`{}`)))
	equal(t, entry(one.Submit(ctx, question("a"))), denied)
	other := question("a")
	other.Digest = "1:other"
	is(t, second(one.Submit(ctx, other)), approval.ErrBegun)
	other = question("a")
	other.Asker.Name = "another agent"
	is(t, second(one.Submit(ctx, other)), approval.ErrBegun)
	is(t, second(one.Submit(ctx, approval.Entry{})), approval.ErrTerms)
	equal(t, entry(one.Get(ctx, "a")), denied)
}

func testQuorum(t *testing.T, open func() store.Store) {
	ctx, entry := t.Context(), must[approval.Entry](t)
	s := open()
	q := question("a")
	q.Quorum, q.Voters = 2, []approval.Principal{ada, bob}
	asked := entry(s.Submit(ctx, q))
	if e := entry(s.Answer(ctx, answer(approval.Approve, asked, ada), nil)); e.Status != approval.Pending || len(e.Votes) != 1 {
		t.Errorf("%+v", e)
	}
	s = open()
	is(t, second(s.Answer(ctx, answer(approval.Approve, asked, ada), nil)), approval.ErrTwice)
	is(t, second(s.Answer(ctx, answer(approval.Approve, asked, agent), nil)), approval.ErrNoSay)
	is(t, second(s.Consume(ctx, "a", asked.Digest)), approval.ErrPending)
	if e := entry(s.Answer(ctx, answer(approval.Approve, asked, bob), nil)); e.Status != approval.Approved || len(e.Votes) != 2 {
		t.Errorf("%+v", e)
	}
	is(t, second(s.Consume(ctx, "a", "1:other")), approval.ErrOther)
}

// testExpiry: an approval expires while somebody waits, and an answer that is too late
// is stored as that.
func testExpiry(t *testing.T, open func() store.Store) {
	ctx, entry := t.Context(), must[approval.Entry](t)
	s := open()
	q := question("a")
	q.Expires = time.Now().Add(50 * time.Millisecond)
	asked := entry(s.Submit(ctx, q))
	e := entry(approval.Await(ctx, s, "a"))
	if e.Status != approval.Expired || e.Seq <= asked.Seq || time.Now().Before(q.Expires) {
		t.Errorf("%+v", e)
	}
	if settled := new(approval.Settled); !errors.As(second(s.Answer(ctx, answer(approval.Approve, asked, ada), nil)), &settled) || settled.Status != approval.Expired {
		t.Errorf("the answer after the end: %v", settled)
	}
	q = question("b")
	q.Expires = time.Now().Add(-time.Second)
	if e := entry(s.Submit(ctx, q)); e.Status != approval.Expired {
		t.Errorf("%+v", e)
	}
}

func testList(t *testing.T, open func() store.Store) {
	ctx, entry := t.Context(), must[approval.Entry](t)
	s := open()
	list := func(f approval.Filter) string {
		var ids []string
		for _, e := range must[[]approval.Entry](t)(s.List(ctx, f)) {
			ids = append(ids, e.ID)
		}
		return strings.Join(ids, " ")
	}
	for _, id := range []string{"a", "b", "c", "d"} {
		q := question(id)
		q.Project, q.Session = "/"+id, "s"+id
		entry(s.Submit(ctx, q))
	}
	denied := entry(s.Answer(ctx, answer(approval.Deny, question("b"), ada), nil))
	for want, f := range map[string]approval.Filter{
		"a c d b": {}, "a c d": {Status: []approval.Status{approval.Pending}}, "a c": {Limit: 2},
		"b": {Status: []approval.Status{approval.Denied, approval.Expired}}, "c": {Project: "/c"}, "d": {Session: "sd"},
		"": {After: denied.Seq}, "d b": {After: denied.Seq - 2},
	} {
		if got := list(f); got != want {
			t.Errorf("%+v selects %q, want %q", f, got, want)
		}
	}
}

// testWait: who waits hears of a change through another handle, and of none else.
func testWait(t *testing.T, open func() store.Store) {
	ctx, entry, number := t.Context(), must[approval.Entry](t), must[int64](t)
	one, two := open(), open()
	if n := number(one.Wait(ctx, -1)); n != 0 {
		t.Errorf("an empty store has change %d", n)
	}
	asked := entry(one.Submit(ctx, question("a")))
	for _, s := range []store.Store{one, two} {
		for last := int64(0); last < asked.Seq; {
			last = number(s.Wait(ctx, last))
		}
	}
	short, cancel := context.WithCancel(ctx)
	cancel()
	is(t, second(one.Wait(short, asked.Seq)), context.Canceled)
	var waiting sync.WaitGroup
	for range 20 {
		waiting.Go(func() {
			if e, err := approval.Await(ctx, one, "a"); err != nil || e.Status != approval.Denied {
				t.Errorf("%+v, %v", e, err)
			}
		})
	}
	entry(two.Answer(ctx, answer(approval.Deny, asked, ada), nil))
	waiting.Wait()
}

// testLeases: what has a lease is abandoned when its asker is silent for so long, by any
// server; what has none, or is heard of, is not.
func testLeases(t *testing.T, open func() store.Store) {
	ctx, entry := t.Context(), must[approval.Entry](t)
	one, two := open(), open()
	var asked time.Time
	for _, id := range []string{"never", "silent", "heard", "used", "approved"} {
		q := question(id)
		if id != "never" {
			q.Lease = time.Minute
		}
		e := entry(one.Submit(ctx, q))
		if e.Heard.IsZero() != (id == "never") {
			t.Errorf("%s was heard of at %v", id, e.Heard)
		}
		asked = e.Asked
	}
	for _, id := range []string{"used", "approved"} {
		entry(one.Answer(ctx, answer(approval.Approve, question(id), ada), nil))
	}
	entry(one.Consume(ctx, "used", "1:used"))
	before := entry(two.Get(ctx, "heard"))
	at := asked.Add(50 * time.Second)
	if err := two.Heard(ctx, at, []string{"heard", "never", "unknown"}); err != nil {
		t.Fatal(err)
	}
	if err := two.Heard(ctx, asked, []string{"heard"}); err != nil { // late news
		t.Fatal(err)
	}
	lapse := func(since, now time.Time, want string) {
		t.Helper()
		gone := must[[]approval.Entry](t)(one.Lapse(ctx, since, now))
		var ids []string
		for _, e := range gone {
			ids = append(ids, e.ID+" "+e.Status.String())
		}
		slices.Sort(ids)
		equal(t, strings.Join(ids, ", "), want)
	}
	lapse(asked.Add(-time.Hour), asked.Add(59*time.Second), "")
	lapse(asked.Add(time.Hour), asked.Add(time.Hour+59*time.Second), "") // a server that was just started
	lapse(asked.Add(-time.Hour), asked.Add(61*time.Second), "approved abandoned, silent abandoned")
	now := entry(two.Get(ctx, "heard"))
	equal(t, now.Heard, at)
	equal(t, now.Seq, before.Seq) // it is no change
	equal(t, entry(two.Get(ctx, "never")).Heard, time.Time{})
	equal(t, entry(two.Get(ctx, "used")).Status, approval.Consumed)
	lapse(asked.Add(-time.Hour), at.Add(time.Minute), "heard abandoned")
	lapse(asked.Add(-time.Hour), at.Add(1e6*time.Second), "")
	equal(t, entry(two.Get(ctx, "never")).Status, approval.Pending)
}

// testAnswers: of many who answer, exactly one wins, and the others hear who.
func testAnswers(t *testing.T, open func() store.Store) { Race(t, 8, 25, open(), open()) }

// Race lets a number of people decide each of a number of requests at the same time, by
// all the stores in turn, which are one. Exactly one of them may win.
func Race(t testing.TB, deciders, requests int, stores ...store.Store) {
	ctx := t.Context()
	for n := range requests {
		q := question(fmt.Sprint("race ", n))
		must[approval.Entry](t)(stores[0].Submit(ctx, q))
		var won, consumed atomic.Int32
		var all sync.WaitGroup
		for i := range deciders {
			all.Go(func() {
				s := stores[i%len(stores)]
				kind := []approval.Kind{approval.Approve, approval.Deny}[i%2]
				_, err := s.Answer(ctx, answer(kind, q, approval.Principal{Role: approval.Person, Name: fmt.Sprint("p", i)}), nil)
				if settled := new(approval.Settled); err == nil {
					won.Add(1)
				} else if !errors.As(err, &settled) || settled.By.Name == "" && settled.Status != approval.Consumed {
					t.Error(err)
				}
				if _, err := s.Consume(ctx, q.ID, q.Digest); err == nil {
					consumed.Add(1)
				}
			})
		}
		all.Wait()
		e := must[approval.Entry](t)(stores[0].Get(ctx, q.ID))
		want := int32(0)
		if e.Status == approval.Consumed {
			want = 1
		}
		if won.Load() != 1 || consumed.Load() != want || want == 0 && e.Status != approval.Denied {
			t.Fatalf("%d won and %d consumed: %+v", won.Load(), consumed.Load(), e)
		}
	}
}

// testConsume: of many who consume an approval, exactly one does.
func testConsume(t *testing.T, open func() store.Store) {
	ctx, entry := t.Context(), must[approval.Entry](t)
	stores := []store.Store{open(), open()}
	for n := range 10 {
		q := question(fmt.Sprint(n))
		entry(stores[0].Submit(ctx, q))
		entry(stores[0].Answer(ctx, answer(approval.Approve, q, ada), nil))
		var did atomic.Int32
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				if _, err := stores[i%2].Consume(ctx, q.ID, q.Digest); err == nil {
					did.Add(1)
				}
			})
		}
		all.Wait()
		if did.Load() != 1 {
			t.Fatalf("%d consumed it", did.Load())
		}
	}
}

func testTokens(t *testing.T, open func() store.Store) {
	ctx := t.Context()
	s := open()
	one := store.Token{ID: "1", Name: "ada", Role: "person", Hash: [32]byte{1, 2}, Created: start}
	two := store.Token{ID: "2", Name: "bot", Role: "agent", AgentRole: "automation", Hash: [32]byte{3}, Created: start.Add(1), Expires: start.Add(time.Hour)}
	for _, token := range []store.Token{one, two} {
		is(t, s.CreateToken(ctx, token), nil)
		is(t, s.CreateToken(ctx, token), store.ErrExists)
	}
	is(t, s.CreateToken(ctx, store.Token{ID: "3", Hash: one.Hash}), store.ErrExists)
	is(t, s.RevokeToken(ctx, "1", start.Add(2)), nil)
	is(t, s.RevokeToken(ctx, "1", start.Add(3)), nil)
	is(t, s.RevokeToken(ctx, "none", start), store.ErrUnknown)
	one.Revoked = start.Add(2)
	s = open()
	equal(t, must[[]store.Token](t)(s.Tokens(ctx)), []store.Token{one, two})
	equal(t, must[store.Token](t)(s.Token(ctx, one.Hash)), one)
	is(t, second(s.Token(ctx, [32]byte{})), store.ErrUnknown)
}

func session(id string) store.Session {
	return store.Session{
		ID: id, AgentID: "agent", AgentRole: "chat", ConversationID: "c", Host: "main", State: "agent_control", PTYID: "pty" + id, Owner: "2",
		Dir: "/w/d", Project: "/w", Metadata: json.RawMessage(`{"a":1}`), Created: start, Active: start.Add(1), Server: "one", Person: "anna",
	}
}

func testSessions(t *testing.T, open func() store.Store) {
	ctx, get := t.Context(), must[store.Session](t)
	s := open()
	a, b := session("a"), session("b")
	b.AgentID, b.ConversationID, b.Owner, b.Server, b.Created, b.Metadata = "other", "d", "3", "two", start.Add(5), nil
	a, b = get(s.CreateSession(ctx, a)), get(s.CreateSession(ctx, b))
	is(t, second(s.CreateSession(ctx, a)), store.ErrExists)
	for _, f := range []store.SessionFilter{{AgentID: "other"}, {ConversationID: "d"}, {Owner: "3"}, {Server: "two"}} {
		equal(t, must[[]store.Session](t)(s.Sessions(ctx, f)), []store.Session{b})
	}
	equal(t, must[[]store.Session](t)(s.Sessions(ctx, store.SessionFilter{})), []store.Session{a, b})

	was := a
	a.State, a.Dir, a.Active = "user_interrupt", "/w/e", start.Add(time.Minute)
	a = get(s.UpdateSession(ctx, a))
	is(t, second(s.UpdateSession(ctx, was)), store.ErrChanged)
	is(t, s.DeleteSession(ctx, was), store.ErrChanged)
	equal(t, get(open().Session(ctx, "a")), a)
	is(t, s.DeleteSession(ctx, a), nil)
	is(t, second(s.UpdateSession(ctx, a)), store.ErrUnknown)
	is(t, s.DeleteSession(ctx, a), store.ErrUnknown)
	is(t, second(s.Session(ctx, "a")), store.ErrUnknown)
}

// testVersions: of many who update one version of a session, one does.
func testVersions(t *testing.T, open func() store.Store) {
	ctx := t.Context()
	stores := []store.Store{open(), open()}
	was := must[store.Session](t)(stores[0].CreateSession(ctx, session("a")))
	for range 10 {
		var did atomic.Int32
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				switch _, err := stores[i%2].UpdateSession(ctx, was); {
				case err == nil:
					did.Add(1)
				case !errors.Is(err, store.ErrChanged):
					t.Error(err)
				}
			})
		}
		all.Wait()
		if did.Load() != 1 {
			t.Fatalf("%d updated it", did.Load())
		}
		was = must[store.Session](t)(stores[0].Session(ctx, "a"))
	}
}

func command(id, session string, state store.CommandState) store.Command {
	return store.Command{
		ID: id, SessionID: session, ConversationID: "c", Command: "ls -la", Description: "look", Dir: "/w", By: "agent",
		Risk: "safe", Reasons: []string{"only reads"}, State: state, ApprovalID: "ap" + id, Created: start, Changed: start,
	}
}

func testCommands(t *testing.T, open func() store.Store) {
	ctx := t.Context()
	s := open()
	list := func(f store.CommandFilter) string {
		var ids []string
		for _, c := range must[[]store.Command](t)(s.Commands(ctx, f)) {
			ids = append(ids, c.ID)
		}
		return strings.Join(ids, " ")
	}
	one := command("1", "a", store.CommandPending)
	is(t, s.CreateCommand(ctx, one), nil)
	is(t, s.CreateCommand(ctx, one), store.ErrExists)
	is(t, s.CreateCommand(ctx, command("2", "a", store.CommandApproved)), store.ErrBusy)
	is(t, s.CreateCommand(ctx, command("2", "a", store.CommandForbidden)), nil)
	is(t, s.CreateCommand(ctx, command("3", "b", store.CommandPending)), nil)

	one.State, one.Comment, one.Force = store.CommandExecuting, "go on", true
	is(t, s.UpdateCommand(ctx, store.CommandApproved, one), store.ErrChanged)
	is(t, s.UpdateCommand(ctx, store.CommandPending, one), nil)
	is(t, s.UpdateCommand(ctx, store.CommandPending, one), store.ErrChanged)
	code := 3
	one.State, one.Exit, one.Reasons, one.Changed = store.CommandFailed, &code, nil, start.Add(time.Second)
	is(t, s.UpdateCommand(ctx, store.CommandExecuting, one), nil)
	equal(t, must[store.Command](t)(open().Command(ctx, "1")), one)
	one.State = store.CommandExecuting
	is(t, s.UpdateCommand(ctx, store.CommandFailed, one), store.ErrChanged) // it has ended
	is(t, s.UpdateCommand(ctx, store.CommandPending, command("9", "a", store.CommandDenied)), store.ErrUnknown)
	is(t, second(s.Command(ctx, "9")), store.ErrUnknown)

	is(t, s.CreateCommand(ctx, command("4", "a", store.CommandApproved)), nil)
	for want, f := range map[string]store.CommandFilter{
		"1 2 3 4": {ConversationID: "c"}, "1 2 4": {SessionID: "a"}, "3 4": {Limit: 2}, "": {ConversationID: "d"},
		"2 3": {States: []store.CommandState{store.CommandForbidden, store.CommandPending}, ConversationID: "c", Limit: 3},
	} {
		if got := list(f); got != want {
			t.Errorf("%+v selects %q, want %q", f, got, want)
		}
	}
}

// testRecover: only what this server left executing becomes unknown, once.
func testRecover(t *testing.T, open func() store.Store) {
	ctx := t.Context()
	s := open()
	other := session("b")
	other.Server = "two"
	for _, one := range []store.Session{session("a"), other, session("c")} {
		must[store.Session](t)(s.CreateSession(ctx, one))
	}
	for _, c := range []store.Command{
		command("1", "a", store.CommandExecuting), command("2", "b", store.CommandExecuting), command("3", "c", store.CommandPending),
	} {
		is(t, s.CreateCommand(ctx, c), nil)
	}
	want := command("1", "a", store.CommandUnknown)
	want.Changed = start.Add(time.Hour)
	s = open()
	equal(t, must[[]store.Command](t)(s.Recover(ctx, "one", want.Changed)), []store.Command{want})
	equal(t, len(must[[]store.Command](t)(s.Recover(ctx, "one", want.Changed))), 0)
	equal(t, must[store.Command](t)(s.Command(ctx, "1")), want)
	again := want
	again.State = store.CommandExecuting
	is(t, s.UpdateCommand(ctx, store.CommandUnknown, again), store.ErrChanged)
	is(t, s.CreateCommand(ctx, command("4", "a", store.CommandPending)), nil)
}

// testChat: the numbers of each conversation have no gaps, however many write.
func testChat(t *testing.T, open func() store.Store) {
	ctx, chat := t.Context(), must[[]store.Chat](t)
	stores := []store.Store{open(), open()}
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for n := range 10 {
				text := fmt.Sprint(i, " ", n)
				chat(stores[i%2].AppendChat(ctx,
					store.Chat{ConversationID: "c", SessionID: "a", Sender: "terminal", Type: "terminal_output", Text: text, Time: start},
					store.Chat{ConversationID: "d", Text: text, Time: start}))
			}
		})
	}
	all.Wait()
	for _, conversation := range []string{"c", "d"} {
		var list []store.Chat
		for more := chat(open().Chat(ctx, conversation, "", 0, 7)); len(more) > 0; more = chat(stores[1].Chat(ctx, conversation, "", list[len(list)-1].Seq, 7)) {
			list = append(list, more...)
		}
		last := map[byte]string{}
		for i, c := range list {
			if c.Seq != int64(i)+1 || c.Text <= last[c.Text[0]] || !c.Time.Equal(start) || c.ConversationID != conversation {
				t.Fatalf("entry %d is %+v", i+1, c)
			}
			last[c.Text[0]] = c.Text
		}
		if len(list) != 40 {
			t.Errorf("%d entries", len(list))
		}
		equal(t, must[int64](t)(open().LastChat(ctx, conversation)), int64(40))
	}
	equal(t, must[int64](t)(open().LastChat(ctx, "none")), int64(0))
	equal(t, chat(stores[0].Chat(ctx, "c", "", 0, 1))[0].Type, "terminal_output")

	// The limit is one of what was asked for.
	chat(stores[0].AppendChat(ctx, store.Chat{ConversationID: "e", SessionID: "a"}, store.Chat{ConversationID: "e", SessionID: "b"}, store.Chat{ConversationID: "e", SessionID: "b"}))
	if got := chat(stores[1].Chat(ctx, "e", "b", 0, 1)); len(got) != 1 || got[0].Seq != 2 {
		t.Errorf("the first entry of a session: %+v", got)
	}
	if got := chat(stores[1].Chat(ctx, "e", "b", 2, 7)); len(got) != 1 || got[0].Seq != 3 {
		t.Errorf("those after it: %+v", got)
	}
}

// testConverse: a conversation is that of one agent, however many begin it at once.
func testConverse(t *testing.T, open func() store.Store) {
	ctx := t.Context()
	stores := []store.Store{open(), open()}
	got := make([]string, 20)
	var all sync.WaitGroup
	for i := range got {
		all.Go(func() { got[i] = must[string](t)(stores[i%2].Converse(ctx, "c", fmt.Sprint("agent ", i))) })
	}
	all.Wait()
	for _, agent := range got {
		equal(t, agent, got[0])
	}
	equal(t, must[string](t)(open().Converse(ctx, "d", "another")), "another")
}

func testGrants(t *testing.T, open func() store.Store) {
	ctx := t.Context()
	s := open()
	a := store.Grant{ID: "a", Person: "ada", Project: "/w", Rule: "Bash(npm test)", Risk: "moderate", Created: start, Expires: start.Add(time.Hour)}
	b := store.Grant{ID: "b", Person: "bob", Project: "/w", Rule: "Bash(ls)", Risk: "safe", Created: start.Add(1)}
	for _, g := range []store.Grant{a, b} {
		is(t, s.CreateGrant(ctx, g), nil)
		is(t, s.CreateGrant(ctx, g), store.ErrExists)
	}
	is(t, s.RevokeGrant(ctx, "a", start.Add(2)), nil)
	is(t, s.RevokeGrant(ctx, "none", start), store.ErrUnknown)
	a.Revoked = start.Add(2)
	s = open()
	grants := must[[]store.Grant](t)
	equal(t, grants(s.Grants(ctx, "", "")), []store.Grant{a, b})
	equal(t, grants(s.Grants(ctx, "ada", "/w")), []store.Grant{a})
	equal(t, grants(s.Grants(ctx, "", "/w")), []store.Grant{a, b})
	equal(t, len(grants(s.Grants(ctx, "bob", "/x"))), 0)
}

// testAudit: the lines of a server stay in order, none twice and none left out.
func testAudit(t *testing.T, open func() store.Store) {
	ctx, lines := t.Context(), must[[]store.AuditLine](t)
	stores := []store.Store{open(), open()}
	var all sync.WaitGroup
	for i, server := range []string{"one", "two"} {
		all.Go(func() {
			for n := range int64(10) {
				is(t, stores[i].AppendAudit(ctx, server, 2*n, []byte(fmt.Sprint(server, 2*n+1)), []byte(fmt.Sprint(server, 2*n+2))), nil)
			}
		})
	}
	all.Wait()
	s := open()
	is(t, s.AppendAudit(ctx, "one", 19, []byte("again")), store.ErrChanged)
	is(t, s.AppendAudit(ctx, "one", 21, []byte("left out")), store.ErrChanged)
	is(t, s.AppendAudit(ctx, "none", 1, []byte("left out")), store.ErrChanged)
	is(t, s.AppendAudit(ctx, "none", 0), nil)
	equal(t, must[map[string]int64](t)(s.AuditServers(ctx)), map[string]int64{"one": 20, "two": 20})
	for server, want := range map[string]int{"one": 20, "two": 20, "": 40, "none": 0} {
		var list []store.AuditLine
		for more := lines(s.Audit(ctx, server, 0, 7)); len(more) > 0; more = lines(s.Audit(ctx, server, list[len(list)-1].Seq, 7)) {
			list = append(list, more...)
		}
		last := map[string]int64{}
		for _, l := range list {
			if l.Number != last[l.Server]+1 || string(l.Line) != fmt.Sprint(l.Server, l.Number) {
				t.Fatalf("%+v", l)
			}
			last[l.Server] = l.Number
		}
		if len(list) != want || !slices.IsSortedFunc(list, func(a, b store.AuditLine) int { return int(a.Seq - b.Seq) }) {
			t.Errorf("%q has %d lines, want %d", server, len(list), want)
		}
	}
}

// testBytes: what is no text comes back as it was.
func testBytes(t *testing.T, open func() store.Store) {
	ctx := t.Context()
	s := open()
	const odd = "a\x00b\xff\u202e'\";--"
	one := session("a")
	one.Dir = odd
	must[store.Session](t)(s.CreateSession(ctx, one))
	equal(t, must[store.Session](t)(s.Session(ctx, "a")).Dir, odd)
	c := command("1", "a", store.CommandPending)
	c.Command, c.Description, c.Dir, c.Comment = odd, odd, odd, odd
	is(t, s.CreateCommand(ctx, c), nil)
	equal(t, must[store.Command](t)(s.Command(ctx, "1")), c)
	must[[]store.Chat](t)(s.AppendChat(ctx, store.Chat{ConversationID: "c", Text: odd}, store.Chat{ConversationID: "c"}))
	got := must[[]store.Chat](t)(s.Chat(ctx, "c", "", 0, 0))
	equal(t, []string{got[0].Text, got[1].Text}, []string{odd, ""})
	is(t, s.AppendAudit(ctx, "one", 0, []byte(odd), nil), nil)
	equal(t, string(must[[]store.AuditLine](t)(s.Audit(ctx, "one", 0, 0))[0].Line), odd)
}

func testCheck(t *testing.T, open func() store.Store) {
	s := open()
	is(t, s.Check(t.Context()), nil)
	short, cancel := context.WithCancel(t.Context())
	cancel()
	if s.Check(short) == nil {
		t.Error("a context that has ended does not count")
	}
	is(t, s.Close(), nil)
	if s.Check(t.Context()) == nil || second(s.Wait(t.Context(), 1<<60)) == nil {
		t.Error("a closed store works")
	}
}
