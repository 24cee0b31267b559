package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/desk"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/display"
	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/workspace"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

var (
	anna = approval.Principal{Role: approval.Person, Name: "anna"}
	ben  = approval.Principal{Role: approval.Person, Name: "ben"}
)

// about returns the question about a tool use.
func about(t *testing.T, tool, input string) permission.Request {
	t.Helper()
	spec, err := policy.Parse([]byte(`allow = ["Bash"]`+"\n"+`ask = ["Bash(npm install:*)", "Edit"]`), "agent-wrapper.toml")
	if err != nil {
		t.Fatal(err)
	}
	pol, session, _, err := spec.Compile(patterns.Place{Workspace: "/proj", Home: "/home/dev"})
	if err != nil {
		t.Fatal(err)
	}
	session.Now = time.Now
	v := &permission.Evaluator{Policy: pol, Session: session, Env: workspace.Fake{}}
	return v.Request(permission.ToolUse{ID: "toolu_1", Tool: tool, Input: json.RawMessage(input), Dir: "/proj", Session: "s"})
}

const install = `{"command":"npm install left-pad"}`

// person is somebody here, who answers when told to.
type person struct {
	says chan permission.Answer
	mu   sync.Mutex
	ends []string // how each question ended: "counts", or why it does not
}

func newPerson() *person { return &person{} }

func (p *person) Ask(ctx context.Context, _ permission.Request, claim func(permission.Answer) error) (permission.Answer, error) {
	select {
	case <-ctx.Done():
		p.note(context.Cause(ctx).Error())
		return permission.Answer{}, ctx.Err()
	case a := <-p.says:
		if err := claim(a); err != nil {
			p.note(err.Error())
			return permission.Answer{}, err
		}
		p.note("counts")
		return a, nil
	}
}

func (p *person) note(end string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ends = append(p.ends, end)
}

func (p *person) heard() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.ends, "; ")
}

// scene is an Approver at a broker, with what it warned of.
type scene struct {
	*testing.T
	*Approver
	broker approval.Broker
	mu     sync.Mutex
	warned []string
}

// play runs a test with an Approver, whose time is that of synctest.
func play(t *testing.T, name string, o Options, test func(s *scene)) {
	t.Run(name, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "approvals")
		synctest.Test(t, func(t *testing.T) {
			l, err := OpenLocal(dir, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			s := &scene{T: t, broker: l}
			if p, ok := o.Here.(*person); ok {
				p.says = make(chan permission.Answer) // of this bubble
			}
			if o.Broker == nil {
				o.Broker = l
			} else {
				o.Broker.(*failing).Broker = l
			}
			o.Warn = func(text string) {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.warned = append(s.warned, text)
			}
			s.Approver = New(o)
			test(s)
		})
	})
}

// asks asks in another goroutine; the returned function waits for the answer.
func (s *scene) asks(ctx context.Context, ask permission.Request) func() result {
	done := make(chan result, 1)
	go func() {
		a, err := s.Approve(ctx, ask)
		done <- result{a, err}
	}()
	synctest.Wait()
	return func() result { return <-done }
}

// pending returns the questions that wait at the broker.
func (s *scene) pending() []approval.Entry {
	s.Helper()
	all, err := s.broker.List(s.Context(), approval.Filter{Status: []approval.Status{approval.Pending}})
	if err != nil {
		s.Fatal(err)
	}
	return all
}

// only returns the question that waits at the broker.
func (s *scene) only() approval.Entry {
	s.Helper()
	all := s.pending()
	if len(all) != 1 {
		s.Fatalf("%d questions wait", len(all))
	}
	return all[0]
}

// answers answers a question as a program does that shows it.
func (s *scene) answers(e approval.Entry, by approval.Principal, r desk.Reply) error {
	s.Helper()
	var q desk.Question
	if err := json.Unmarshal(e.Question, &q); err != nil {
		s.Fatal(err)
	}
	r.ID, r.Digest = q.ID, q.Digest
	event, err := r.Event(&q, by)
	if err != nil {
		return err
	}
	text, err := json.Marshal(r)
	if err != nil {
		s.Fatal(err)
	}
	_, err = s.broker.Answer(s.Context(), event, text)
	return err
}

// ended checks how an entry has ended.
func (s *scene) ended(id string, want approval.Status, by string) approval.Entry {
	s.Helper()
	e, err := s.broker.Get(s.Context(), id)
	if err != nil || e.Status != want || e.By.Name != by {
		s.Errorf("%s is %s by %q, %v, want %s by %q", id, e.Status, e.By.Name, err, want, by)
	}
	return e
}

// allowed checks an answer.
func (s *scene) allowed(r result, by string) {
	s.Helper()
	if r.err != nil || r.answer.Behavior != permission.Allow {
		s.Fatalf("%+v", r)
	}
	if a := r.answer.Approval; by != "" && (a == nil || len(a.People) != 1 || a.People[0].Name != by) {
		s.Errorf("the record has %+v, want %s", a, by)
	}
}

// denied checks that there is no answer that allows, and why.
func (s *scene) denied(r result, why string) {
	s.Helper()
	text := r.answer.Message
	if r.err != nil {
		text = r.err.Error()
	}
	if r.err == nil && r.answer.Behavior != permission.Deny || !strings.Contains(text, why) {
		s.Errorf("%+v, want %q", r, why)
	}
}

func allow() permission.Answer { return permission.Answer{Behavior: permission.Allow} }

func TestApprover(t *testing.T) {
	here := newPerson()
	play(t, "answered elsewhere", Options{Here: here, Person: "me", Project: "/proj"}, func(s *scene) {
		end := s.asks(s.Context(), about(t, "Bash", install))
		e := s.only()
		if e.Project != "/proj" || e.Session != "s" || e.Asker.Name != "agent" || len(e.ID) != idLength {
			s.Errorf("%+v", e)
		}
		if err := s.answers(e, anna, desk.Reply{Choice: desk.Once}); err != nil {
			s.Fatal(err)
		}
		s.allowed(end(), "anna")
		s.ended(e.ID, approval.Consumed, "anna")
		if got := here.heard(); got != "the approval is already approved, by anna" {
			s.Errorf("here: %q", got)
		}
	})
	here = newPerson()
	play(t, "answered here", Options{Here: here, Person: "me"}, func(s *scene) {
		end := s.asks(s.Context(), about(t, "Bash", install))
		e := s.only()
		here.says <- allow()
		s.allowed(end(), "me")
		s.ended(e.ID, approval.Consumed, "me")
		err := s.answers(e, anna, desk.Reply{Choice: desk.Deny})
		if settled := new(approval.Settled); !errors.As(err, &settled) || settled.By.Name != "me" {
			s.Error(err)
		}
	})
	here = newPerson()
	play(t, "answered here by who may not answer there", Options{Here: here}, func(s *scene) {
		end := s.asks(s.Context(), about(t, "Bash", install))
		e := s.only()
		here.says <- allow()
		s.allowed(end(), "")
		got := s.ended(e.ID, approval.Cancelled, "agent")
		if want := "allowed at the terminal where it was asked"; got.Reason != want {
			s.Errorf("%q", got.Reason)
		}
	})
	play(t, "denied elsewhere with words", Options{}, func(s *scene) {
		end := s.asks(s.Context(), about(t, "Bash", install))
		if err := s.answers(s.only(), anna, desk.Reply{Choice: desk.Words, Message: "use yarn"}); err != nil {
			s.Fatal(err)
		}
		s.denied(end(), "use yarn")
	})
	play(t, "edited elsewhere", Options{Menu: desk.Menu{Edit: true}}, func(s *scene) {
		end := s.asks(s.Context(), about(t, "Bash", install))
		e := s.only()
		if err := s.answers(e, anna, desk.Reply{Choice: desk.Edit, Input: json.RawMessage(`{"command":"npm ci"}`)}); err != nil {
			s.Fatal(err)
		}
		r := end()
		s.allowed(r, "anna")
		if string(r.answer.Input) != `{"command":"npm ci"}` {
			s.Errorf("%s", r.answer.Input)
		}
		s.ended(e.ID, approval.Superseded, "anna")
	})
	play(t, "withdrawn by a person", Options{}, func(s *scene) {
		end := s.asks(s.Context(), about(t, "Bash", install))
		if _, err := s.broker.Withdraw(s.Context(), s.only().ID, anna, "changed my mind"); err != nil {
			s.Fatal(err)
		}
		s.denied(end(), "anna has withdrawn the question: changed my mind")
	})
	play(t, "the answer is no longer needed", Options{Here: newPerson()}, func(s *scene) {
		ctx, cancel := context.WithCancel(s.Context())
		end := s.asks(ctx, about(t, "Bash", install))
		e := s.only()
		cancel()
		r := end()
		s.denied(r, "the answer is no longer needed")
		if !errors.Is(r.err, context.Canceled) {
			s.Error(r.err)
		}
		s.ended(e.ID, approval.Cancelled, "agent")
	})
	soon := func(*permission.Request) approval.Terms { return approval.Terms{Expires: time.Now().Add(time.Minute)} }
	play(t, "not answered in time", Options{Terms: soon}, func(s *scene) {
		end := s.asks(s.Context(), about(t, "Bash", install))
		e := s.only()
		r := end()
		s.denied(r, "nobody answered in time")
		if !errors.Is(r.err, context.DeadlineExceeded) {
			s.Error(r.err)
		}
		s.ended(e.ID, approval.Expired, "")
	})
}

// TestBothAtOnce: of an answer from here and one from elsewhere, one counts.
func TestBothAtOnce(t *testing.T) {
	here := newPerson()
	play(t, "at the same time", Options{Here: here, Person: "me"}, func(s *scene) {
		for range 50 {
			end := s.asks(s.Context(), about(t, "Bash", install))
			e := s.only()
			elsewhere := make(chan error, 1)
			go func() { elsewhere <- s.answers(e, anna, desk.Reply{Choice: desk.Deny}) }()
			select {
			case here.says <- allow():
			case <-time.After(time.Hour): // it is gone already
			}
			r, err := end(), <-elsewhere
			if r.err != nil || (r.answer.Behavior == permission.Deny) != (err == nil) {
				s.Fatalf("%+v, elsewhere %v", r, err)
			}
			want, by := approval.Consumed, "me"
			if err == nil {
				want, by = approval.Denied, "anna"
			}
			s.ended(e.ID, want, by)
		}
	})
	here = newPerson()
	play(t, "here is late", Options{Here: here, Person: "me"}, func(s *scene) {
		end := s.asks(s.Context(), about(t, "Bash", install))
		e := s.only()
		// The one who waits has not looked yet when the answer from here comes.
		if err := s.answers(e, anna, desk.Reply{Choice: desk.Deny}); err != nil {
			s.Fatal(err)
		}
		here.says <- allow()
		s.denied(end(), "")
		if got := here.heard(); got != "the approval is already denied, by anna" {
			s.Errorf("here: %q", got)
		}
	})
}

// failing is a broker whose methods fail when told to.
type failing struct {
	approval.Broker
	submit, answer, get, consume atomic.Bool
	used                         atomic.Bool // somebody else is faster to use an approval up
	gone                         atomic.Bool // it abandons what is asked, once
}

var errLost = errors.New("connection refused")

func (f *failing) Submit(ctx context.Context, e approval.Entry) (approval.Entry, error) {
	if f.submit.Load() {
		return approval.Entry{}, errLost
	}
	return f.Broker.Submit(ctx, e)
}

func (f *failing) Answer(ctx context.Context, e approval.Event, reply json.RawMessage) (approval.Entry, error) {
	if f.answer.Load() {
		return approval.Entry{}, errLost
	}
	return f.Broker.Answer(ctx, e, reply)
}

func (f *failing) Get(ctx context.Context, id string) (approval.Entry, error) {
	if f.get.Load() {
		return approval.Entry{}, errLost
	}
	e, err := f.Broker.Get(ctx, id)
	if f.gone.CompareAndSwap(true, false) {
		e.Status = approval.Abandoned
	}
	return e, err
}

func (f *failing) Consume(ctx context.Context, id, digest string) (approval.Entry, error) {
	if f.consume.Load() {
		return approval.Entry{}, errLost
	}
	if f.used.Load() {
		if e, err := f.Broker.Consume(ctx, id, digest); err != nil {
			return e, err
		}
	}
	return f.Broker.Consume(ctx, id, digest)
}

// TestBrokerFails: without the broker it is asked here, or denied.
func TestBrokerFails(t *testing.T) {
	fails := &failing{}
	fails.submit.Store(true)
	here := newPerson()
	play(t, "at the beginning, somebody here", Options{Broker: fails, Here: here, Person: "me"}, func(s *scene) {
		end := s.asks(s.Context(), about(t, "Bash", install))
		here.says <- allow()
		s.allowed(end(), "")
		if len(s.warned) != 1 || !strings.Contains(s.warned[0], "only asked here: connection refused") {
			s.Errorf("%q", s.warned)
		}
	})
	play(t, "at the beginning, nobody here", Options{Broker: fails}, func(s *scene) {
		s.denied(s.asks(s.Context(), about(t, "Bash", install))(), "nobody can be asked: connection refused")
	})
	two := func(*permission.Request) approval.Terms { return approval.Terms{Quorum: 2} }
	play(t, "at the beginning, where two are needed", Options{Broker: fails, Here: newPerson(), Terms: two}, func(s *scene) {
		s.denied(s.asks(s.Context(), about(t, "Bash", install))(), "nobody can be asked")
	})
	nobody := func(*permission.Request) approval.Terms { return approval.Terms{Voters: []approval.Principal{}} }
	play(t, "nobody may answer", Options{Here: newPerson(), Terms: nobody}, func(s *scene) {
		s.denied(s.asks(s.Context(), about(t, "Bash", install))(), "nobody can be asked: the terms of the approval can never be met")
	})
	fails = &failing{}
	here = newPerson()
	play(t, "meanwhile, somebody here", Options{Broker: fails, Here: here, Person: "me"}, func(s *scene) {
		end := s.asks(s.Context(), about(t, "Bash", install))
		fails.get.Store(true)
		submitElse(s)
		synctest.Wait()
		fails.answer.Store(true)
		here.says <- allow()
		s.allowed(end(), "")
		if len(s.warned) != 1 || !strings.Contains(s.warned[0], "only asked here now") {
			s.Errorf("%q", s.warned)
		}
	})
	fails = &failing{}
	play(t, "meanwhile, nobody here", Options{Broker: fails}, func(s *scene) {
		end := s.asks(s.Context(), about(t, "Bash", install))
		fails.get.Store(true)
		submitElse(s)
		s.denied(end(), "nobody can be asked any more: connection refused")
	})
	fails = &failing{}
	here = newPerson()
	play(t, "when it is told", Options{Broker: fails, Here: here, Person: "me"}, func(s *scene) {
		end := s.asks(s.Context(), about(t, "Bash", install))
		fails.answer.Store(true)
		here.says <- allow()
		s.allowed(end(), "")
		if len(s.warned) != 1 || !strings.Contains(s.warned[0], "counts only here") {
			s.Errorf("%q", s.warned)
		}
	})
	fails = &failing{}
	play(t, "when it is used up", Options{Broker: fails}, func(s *scene) {
		end := s.asks(s.Context(), about(t, "Bash", install))
		fails.consume.Store(true)
		if err := s.answers(s.only(), anna, desk.Reply{Choice: desk.Once}); err != nil {
			s.Fatal(err)
		}
		s.denied(end(), "the approval cannot be used: connection refused")
	})
}

// TestSlept: a question whose asker counted as gone, and is not, is asked anew, here too.
// What is abandoned as soon as it is asked is not asked again and again.
func TestSlept(t *testing.T) {
	fails, here := &failing{}, newPerson()
	slept := func(s *scene, d time.Duration) {
		time.Sleep(d)
		fails.gone.Store(true)
		submitElse(s)
		synctest.Wait()
	}
	play(t, "asked anew", Options{Broker: fails}, func(s *scene) {
		end := s.asks(s.Context(), about(t, "Bash", install))
		first := s.pending()[0]
		slept(s, time.Hour)
		var second approval.Entry
		for _, e := range s.pending() {
			if e.Asker == first.Asker && e.ID != first.ID {
				second = e
			}
		}
		if err := s.answers(second, anna, desk.Reply{Choice: desk.Once}); err != nil {
			s.Fatal(err)
		}
		s.allowed(end(), "anna")
	})
	play(t, "here too", Options{Broker: fails, Here: here, Person: "me"}, func(s *scene) {
		end := s.asks(s.Context(), about(t, "Bash", install))
		slept(s, time.Hour)
		here.says <- allow()
		s.allowed(end(), "me")
		if got := here.heard(); got != "it is asked anew; counts" {
			s.Errorf("here: %q", got)
		}
	})
	play(t, "at once", Options{Broker: fails}, func(s *scene) {
		ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
		defer cancel()
		end := s.asks(ctx, about(t, "Bash", install))
		slept(s, time.Second)
		s.denied(end(), "the question counts as abandoned")
	})
}

// TestTimeAlone: without the broker the time to answer ends here.
func TestTimeAlone(t *testing.T) {
	terms := func(*permission.Request) approval.Terms { return approval.Terms{Expires: time.Now().Add(time.Minute)} }
	fails, here := &failing{}, newPerson()
	fails.submit.Store(true)
	play(t, "from the beginning", Options{Broker: fails, Here: here, Person: "me", Terms: terms}, func(s *scene) {
		end := s.asks(s.Context(), about(t, "Bash", install))
		time.Sleep(time.Minute - time.Second)
		synctest.Wait()
		if got := here.heard(); got != "" {
			s.Errorf("here: %q", got)
		}
		s.denied(end(), "nobody answered in time")
		if got := here.heard(); got != "the approval is already expired" {
			s.Errorf("here: %q", got)
		}
	})
	fails, here = &failing{}, newPerson()
	play(t, "lost meanwhile", Options{Broker: fails, Here: here, Person: "me", Terms: terms}, func(s *scene) {
		end := s.asks(s.Context(), about(t, "Bash", install))
		fails.get.Store(true)
		submitElse(s)
		s.denied(end(), "nobody answered in time")
	})
	fails, here = &failing{}, newPerson()
	fails.submit.Store(true)
	play(t, "in time", Options{Broker: fails, Here: here, Person: "me", Terms: terms}, func(s *scene) {
		end := s.asks(s.Context(), about(t, "Bash", install))
		time.Sleep(time.Minute - time.Second)
		here.says <- allow()
		s.allowed(end(), "")
	})
	for expires, want := range map[time.Time]error{time.Now().Add(-time.Second): &approval.Settled{Status: approval.Expired}, time.Now().Add(time.Hour): nil} {
		c := &call{Approver: New(Options{}), terms: approval.Terms{Expires: expires}}
		if err := c.claim(&round{alone: true}, allow()); (err == nil) != (want == nil) || err != nil && err.Error() != want.Error() {
			t.Errorf("an answer at the moment when it is lost: %v, want %v", err, want)
		}
	}
}

// submitElse changes something at the broker, so that whoever waits looks.
func submitElse(s *scene) {
	terms := approval.Terms{ID: "else", Digest: "d", Asker: approval.Principal{Role: approval.Agent, Name: "other"}}
	if _, err := s.broker.Submit(s.Context(), approval.Entry{State: approval.State{Terms: terms}}); err != nil {
		s.Fatal(err)
	}
	time.Sleep(2 * poll)
}

// TestUsedUp: an approval that somebody else has used up allows nothing.
func TestUsedUp(t *testing.T) {
	fails := &failing{}
	fails.used.Store(true)
	play(t, "twice", Options{Broker: fails}, func(s *scene) {
		end := s.asks(s.Context(), about(t, "Bash", install))
		if err := s.answers(s.only(), anna, desk.Reply{Choice: desk.Once}); err != nil {
			s.Fatal(err)
		}
		s.denied(end(), "the approval cannot be used: the approval is already consumed, by anna")
	})
}

// TestUselessAnswers: what the desk does not take is asked anew.
func TestUselessAnswers(t *testing.T) {
	settle := func(s *scene, e approval.Entry, kind approval.Kind, reply string) {
		s.Helper()
		if _, err := s.broker.Answer(s.Context(), approval.Event{Kind: kind, ID: e.ID, Digest: e.Digest, By: anna, Input: json.RawMessage(`{"command":"ls"}`)}, json.RawMessage(reply)); err != nil {
			s.Fatal(err)
		}
		time.Sleep(2 * poll)
		synctest.Wait()
	}
	play(t, "asked anew", Options{Show: "agent-wrapper approvals show"}, func(s *scene) {
		end := s.asks(s.Context(), about(t, "Bash", install))
		first := s.only()
		settle(s, first, approval.Approve, `{"choice":"session","rung":9}`)
		second := s.only()
		if second.ID == first.ID || len(s.warned) != 3 || !strings.Contains(s.warned[1], "the answer of anna does not count") {
			s.Errorf("%q", s.warned)
		}
		s.ended(first.ID, approval.Cancelled, "agent")
		settle(s, second, approval.Approve, `{"choice":"session","rules":["Bash(rm:*)"]}`)
		settle(s, s.only(), approval.Approve, `{"choice":"once"}`)
		s.allowed(end(), "anna")
	})
	for kind, replies := range map[approval.Kind][]string{
		approval.Deny:    {`{"choice":"once"}`, `{"choice":"edit","input":{"command":"ls"}}`},
		approval.Approve: {`{"choice":"deny"}`, `{"choice":"edit","input":{"command":"ls"}}`, `{"choice":"once","when":"now"}`, `{}`},
		approval.Edit:    {`{"choice":"once"}`, `{"choice":"deny"}`},
	} {
		for _, reply := range replies {
			play(t, fmt.Sprint(kind, reply), Options{Menu: desk.Menu{Edit: true}}, func(s *scene) {
				ctx, cancel := context.WithTimeout(s.Context(), time.Minute) // without the check it is asked anew
				defer cancel()
				end := s.asks(ctx, about(t, "Bash", install))
				settle(s, s.only(), kind, reply)
				s.denied(end(), errUnusable.Error())
			})
		}
	}
	for kind, want := range map[approval.Kind]permission.Behavior{approval.Approve: permission.Allow, approval.Deny: permission.Deny, approval.Edit: permission.Allow} {
		play(t, fmt.Sprint(kind, " without a reply"), Options{Menu: desk.Menu{Edit: true}}, func(s *scene) {
			end := s.asks(s.Context(), about(t, "Bash", install))
			settle(s, s.only(), kind, "")
			if r := end(); r.err != nil || r.answer.Behavior != want {
				s.Errorf("%+v", r)
			}
		})
	}
	var text atomic.Value
	text.Store("old")
	file := func(*permission.ToolUse) *display.File {
		return &display.File{Exists: true, Text: text.Load().(string)}
	}
	play(t, "another file", Options{File: file}, func(s *scene) {
		end := s.asks(s.Context(), about(t, "Edit", `{"file_path":"/proj/a","old_string":"old","new_string":"new"}`))
		first := s.only()
		text.Store("older, old")
		settle(s, first, approval.Approve, `{"choice":"once"}`)
		second := s.only()
		if second.ID == first.ID || !strings.Contains(string(second.Question), "2 times") {
			s.Errorf("%s", second.Question)
		}
		settle(s, second, approval.Approve, `{"choice":"once"}`)
		s.allowed(end(), "anna")
		s.ended(first.ID, approval.Cancelled, "agent")
		s.ended(second.ID, approval.Consumed, "anna")
	})
}

// TestTogether: rules that are kept for the session answer what they allow entirely.
func TestTogether(t *testing.T) {
	here := newPerson()
	play(t, "elsewhere", Options{Here: here, Person: "me"}, func(s *scene) {
		one := s.asks(s.Context(), about(t, "Bash", install))
		two := s.asks(s.Context(), about(t, "Bash", `{"command":"npm install express"}`))
		other := s.asks(s.Context(), about(t, "Edit", `{"file_path":"/proj/a","old_string":"a","new_string":"b"}`))
		all, rung := s.pending(), 1
		if err := s.answers(all[0], anna, desk.Reply{Choice: desk.Session, Rung: &rung}); err != nil {
			s.Fatal(err)
		}
		s.allowed(one(), "anna")
		s.allowed(two(), "")
		e := s.ended(all[1].ID, approval.Cancelled, "agent")
		if want := "answered together with " + all[0].ID; e.Reason != want {
			s.Errorf("%q", e.Reason)
		}
		if left := s.only(); left.ID != all[2].ID {
			s.Errorf("%s waits", left.ID)
		}
		here.says <- permission.Answer{Behavior: permission.Deny}
		s.denied(other(), "")
	})
}

// TestSeveralPersons: what two have to approve is asked at the broker only, for this
// tool use.
func TestSeveralPersons(t *testing.T) {
	here := newPerson()
	two := func(*permission.Request) approval.Terms { return approval.Terms{Quorum: 2} }
	o := Options{Here: here, Person: "me", Show: "agent-wrapper approvals show", Terms: two, Menu: desk.Menu{Edit: true, Session: permission.NewSession(patterns.Place{})}}
	play(t, "two", o, func(s *scene) {
		end := s.asks(s.Context(), about(t, "Bash", install))
		e := s.only()
		var q desk.Question
		if err := json.Unmarshal(e.Question, &q); err != nil {
			s.Fatal(err)
		}
		for _, c := range q.Choices {
			if c.Name != desk.Once && c.Name != desk.Deny && c.Name != desk.Words {
				s.Errorf("choice %s is offered", c.Name)
			}
		}
		if len(s.warned) != 1 || !strings.Contains(s.warned[0], "2 people have to approve Bash: agent-wrapper approvals show "+e.ID) {
			s.Errorf("%q", s.warned)
		}
		for _, by := range []approval.Principal{anna, ben} {
			if s.only().ID != e.ID {
				s.Error("one was enough")
			}
			if err := s.answers(e, by, desk.Reply{Choice: desk.Once}); err != nil {
				s.Fatal(err)
			}
		}
		r := end()
		if r.err != nil || r.answer.Behavior != permission.Allow || len(r.answer.Approval.People) != 2 || here.heard() != "" {
			s.Errorf("%+v, here %q", r, here.heard())
		}
	})
}

// TestNotHere: what only others may approve is not asked here, also if the broker is
// away.
func TestNotHere(t *testing.T) {
	onlyAnna := func(*permission.Request) approval.Terms { return approval.Terms{Voters: []approval.Principal{anna}} }
	for _, me := range []string{"", "me"} {
		here := newPerson()
		play(t, "for anna, here is "+me, Options{Here: here, Person: me, Terms: onlyAnna, Show: "agent-wrapper approvals show"}, func(s *scene) {
			end := s.asks(s.Context(), about(t, "Bash", install))
			e := s.only()
			if len(s.warned) != 1 || !strings.Contains(s.warned[0], "it is for anna to approve Bash: agent-wrapper approvals show "+e.ID) {
				s.Errorf("%q", s.warned)
			}
			if err := s.answers(e, anna, desk.Reply{Choice: desk.Once}); err != nil {
				s.Fatal(err)
			}
			s.allowed(end(), "anna")
			if heard := here.heard(); heard != "" {
				s.Errorf("here: %q", heard)
			}
		})
	}
	away := &failing{}
	away.submit.Store(true)
	play(t, "the broker is away", Options{Broker: away, Here: newPerson(), Person: "me", Terms: onlyAnna}, func(s *scene) {
		s.denied(s.asks(s.Context(), about(t, "Bash", install))(), "nobody can be asked")
	})
	here := newPerson()
	play(t, "here is anna", Options{Here: here, Person: "anna", Terms: onlyAnna}, func(s *scene) {
		end := s.asks(s.Context(), about(t, "Bash", install))
		here.says <- permission.Answer{Behavior: permission.Allow}
		s.allowed(end(), "anna")
	})
}

// TestResumed: a question with an ID of its own finds its answer again.
func TestResumed(t *testing.T) {
	fixed := func(*permission.Request) approval.Terms { return approval.Terms{ID: "command-1"} }
	play(t, "an answer that came meanwhile", Options{Terms: fixed, Here: newPerson()}, func(s *scene) {
		ctx, cancel := context.WithCancel(s.Context())
		ask := about(t, "Bash", install)
		digest, err := approval.Digest(&ask)
		if err != nil {
			s.Fatal(err)
		}
		terms := approval.Terms{ID: "command-1", Digest: digest, Asker: approval.Principal{Role: approval.Agent, Name: "agent"}}
		if _, err := s.broker.Submit(ctx, approval.Entry{State: approval.State{Terms: terms}}); err != nil {
			s.Fatal(err)
		}
		if _, err := s.broker.Answer(ctx, approval.Event{Kind: approval.Approve, ID: "command-1", Digest: digest, By: anna}, nil); err != nil {
			s.Fatal(err)
		}
		s.allowed(s.asks(ctx, ask)(), "anna")
		s.denied(s.asks(ctx, ask)(), "already consumed, by anna")
		cancel()
	})
	play(t, "a useless answer", Options{Terms: fixed}, func(s *scene) {
		end := s.asks(s.Context(), about(t, "Bash", install))
		e := s.only()
		if _, err := s.broker.Answer(s.Context(), approval.Event{Kind: approval.Approve, ID: e.ID, Digest: e.Digest, By: anna}, json.RawMessage(`{"choice":"session","rung":9}`)); err != nil {
			s.Fatal(err)
		}
		s.denied(end(), "has an id that is used up")
	})
}
