package broker

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/desk"
	"github.com/agent-wrapper/agent-wrapper/internal/text/strictjson"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// round is a question as it is asked once, with an ID of its own.
type round struct {
	question desk.Question // of the desk
	asked    time.Time
	ask      *permission.Request
	ctx      context.Context
	hide     context.CancelCauseFunc // takes the question away here
	all      sync.WaitGroup          // its goroutines
	here     chan result             // gets the end of the question here; nil: it is not asked
	settled  chan settled            // gets its end at the broker; nil: it is not asked
	shared   chan string             // gets who has answered it with the answer to another

	mu    sync.Mutex
	entry approval.Entry // at the broker
	won   bool           // the answer comes from here
	alone bool           // the broker cannot be used
	ended bool           // the broker has nothing to use up
	over  bool           // the call has ended
}

// settled is the end of a question at the broker, or why it is unknown.
type settled struct {
	entry approval.Entry
	err   error
}

// stop takes the question away here, and waits until it is gone.
func (r *round) stop(why error) {
	r.hide(why)
	r.all.Wait()
	r.here, r.settled = nil, nil
}

// leastAge is how old a question is at least that is asked anew because it was abandoned.
// A broker that abandons at once would otherwise be asked without end.
const leastAge = 30 * time.Second

// age returns how long ago it was asked, by the clock of the wall: the other one stands
// still while the machine sleeps.
func (r *round) age() time.Duration { return time.Now().Round(0).Sub(r.asked.Round(0)) }

// isAlone reports whether the broker cannot be used.
func (r *round) isAlone() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.alone
}

// endsWith takes down the end of a question at the broker, unless its answer comes from
// here.
func (r *round) endsWith(e *approval.Entry) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.won || r.ended {
		return false
	}
	r.entry = *e
	return true
}

// uses reports whether an answer is an approval at the broker.
func (r *round) uses(a permission.Answer) bool {
	return r.entry.Status == approval.Approved && !r.alone && !r.ended && a.Input == nil
}

func (c *call) agent() approval.Principal {
	return approval.Principal{Role: approval.Agent, Name: c.o.Agent}
}

// idLength is the length of an ID, which people type: 30 bits, for the few questions
// that wait at a time.
const idLength = 6

// submit puts a question to the broker. If it cannot be used, the question is asked here
// alone, if somebody is here.
func (c *call) submit(q desk.Question) (*round, error) {
	r := &round{question: q, asked: time.Now(), ask: &c.ask, shared: make(chan string, 1)}
	t := c.terms
	if t.ID == "" {
		t.ID = strings.ToLower(rand.Text()[:idLength])
	}
	t.Digest, t.Version, t.Asker = q.Digest, c.ask.Version, c.agent()
	q.ID = t.ID
	text, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	r.entry, err = c.o.Broker.Submit(c.ctx, approval.Entry{
		State: approval.State{Terms: t}, Question: text, Project: c.o.Project, Session: c.ask.Use.Session,
	})
	switch {
	case err == nil && !c.asksHere() && c.o.Show != "":
		c.o.Warn(fmt.Sprintf("%s to approve %s: %s %s", who(&t), q.Tool, c.o.Show, t.ID))
	case err == nil:
	case !c.asksHere() || refuses(err):
		return nil, fmt.Errorf("nobody can be asked: %w", err)
	default:
		c.o.Warn("this is only asked here: " + err.Error())
		r.alone, r.entry.Status = true, approval.Pending
	}
	return r, nil
}

// asksHere reports whether somebody is here whose answer is enough.
func (c *call) asksHere() bool {
	t, person := &c.terms, approval.Principal{Role: approval.Person, Name: c.o.Person}
	return c.o.Here != nil && t.Quorum <= 1 && (t.Voters == nil || slices.Contains(t.Voters, person))
}

// who returns who has to approve what is not asked here, for a person.
func who(t *approval.Terms) string {
	switch {
	case t.Quorum > 1:
		return fmt.Sprintf("%d people have", t.Quorum)
	case t.Voters == nil:
		return "somebody elsewhere has"
	}
	var names []string
	for _, v := range t.Voters {
		names = append(names, v.Name)
	}
	return "it is for " + strings.Join(names, ", ")
}

// refused is the error of an answer from here that does not count.
type refused struct{ error }

func (r *refused) Unwrap() error { return r.error }

// claim has an answer from here count, if it is the first.
func (c *call) claim(r *round, a permission.Answer) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return &refused{&approval.Settled{Status: approval.Approved}}
	}
	if !r.alone {
		e, err := c.tell(r, a)
		switch {
		case err == nil:
			r.entry, r.ended = e, c.o.Person == ""
		case c.ctx.Err() != nil:
			return c.ctx.Err()
		case refuses(err):
			return &refused{err}
		default:
			c.o.Warn("this answer counts only here: " + err.Error())
			r.alone = true
		}
	}
	if e := c.terms.Expires; r.alone && !e.IsZero() && !time.Now().Before(e) {
		return &refused{&approval.Settled{Status: approval.Expired}}
	}
	r.won = true
	return nil
}

// tell tells the broker of an answer from here.
func (c *call) tell(r *round, a permission.Answer) (approval.Entry, error) {
	reply := replyFor(r, a)
	if c.o.Person == "" {
		how := map[approval.Kind]string{approval.Approve: "allowed", approval.Deny: "denied", approval.Edit: "edited"}[desk.Kind(reply.Choice)]
		return c.o.Broker.Withdraw(c.ctx, r.entry.ID, c.agent(), how+" at the terminal where it was asked")
	}
	reply.By = c.o.Person
	text, err := json.Marshal(reply)
	if err != nil {
		return approval.Entry{}, err
	}
	e := approval.Event{
		Kind: desk.Kind(reply.Choice), ID: r.entry.ID, Digest: r.entry.Digest, By: approval.Principal{Role: approval.Person, Name: c.o.Person},
		Scope: a.Scope, Rules: a.Rules, For: a.For, Times: a.Times, UpTo: a.UpTo, Message: a.Message, Input: a.Input,
	}
	return c.o.Broker.Answer(c.ctx, e, text)
}

// replyFor returns an answer from here as a reply, for the record of the broker.
func replyFor(r *round, a permission.Answer) *desk.Reply {
	reply := &desk.Reply{ID: r.entry.ID, Digest: r.entry.Digest, Rules: a.Rules, For: int(a.For / time.Second), Times: a.Times, Message: a.Message, Input: a.Input}
	reply.Choice = desk.ChoiceOf(a)
	upTo, _ := a.UpTo.MarshalText() // a grade of the tables has a name
	reply.UpTo = string(upTo)
	return reply
}

// refuses reports whether an error says that an event does not count, and not that the
// broker cannot be used.
func refuses(err error) bool {
	if settled := new(approval.Settled); errors.As(err, &settled) {
		return true
	}
	for _, no := range []error{
		approval.ErrUnknown, approval.ErrOther, approval.ErrNoSay, approval.ErrTwice, approval.ErrEvent, approval.ErrPending,
		approval.ErrDecide, approval.ErrNotBegun, approval.ErrTerms, approval.ErrBegun,
	} {
		if errors.Is(err, no) {
			return true
		}
	}
	return false
}

// patience is how long the broker is told that a question is withdrawn.
const patience = 5 * time.Second

// withdraw withdraws a question from the broker, if it waits there. If that fails, it
// expires, or is abandoned when this process ends.
func (c *call) withdraw(r *round, reason string) {
	if r.alone || r.entry.ID == "" || r.ended || r.won {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), patience)
	defer cancel()
	_, _ = c.o.Broker.Withdraw(ctx, r.entry.ID, c.agent(), reason)
}

// errUnusable is the error of a reply that cannot have settled an approval as it was.
var errUnusable = errors.New("the reply does not fit its approval")

// replyOf returns the reply that has settled an approval. The error says why there is
// no answer to the question.
func replyOf(e *approval.Entry) (*desk.Reply, error) {
	answer, err := e.Answer()
	switch {
	case e.Status == approval.Cancelled:
		return nil, fmt.Errorf("%s has withdrawn the question: %s", e.By.Name, e.Reason)
	case e.Status == approval.Abandoned:
		return nil, errors.New("the question counts as abandoned")
	case err != nil:
		return nil, err
	}
	reply := new(desk.Reply)
	switch {
	case len(e.Reply) > 0:
		if err := strictjson.Decode(e.Reply, reply, strictjson.MaxSize(maxEntry)); err != nil {
			return nil, fmt.Errorf("%w: %w", errUnusable, err)
		}
	case answer.Input != nil:
		reply.Choice, reply.Input = desk.Edit, answer.Input
	case e.Status == approval.Denied:
		reply.Choice, reply.Message = desk.Deny, answer.Message
	default:
		reply.Choice = desk.Once
	}
	kinds := map[approval.Status]approval.Kind{approval.Approved: approval.Approve, approval.Denied: approval.Deny, approval.Superseded: approval.Edit}
	if desk.Kind(reply.Choice) != kinds[e.Status] {
		return nil, fmt.Errorf("%w: it is %s by choice %q", errUnusable, e.Status, reply.Choice)
	}
	reply.By = e.By.Name
	return reply, nil
}

func (a *Approver) opened(r *round) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open[r] = true
}

// park has a round wait for which no call does. It is no more than what another answer
// needs that is for both.
func (c *call) park(r *round) {
	ask := c.ask
	rest := &round{ask: &ask, shared: make(chan string, 1)}
	rest.entry.Terms = r.entry.Terms
	rest.entry.Status = r.entry.Status
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[rest], c.parked[r.entry.ID] = true, rest
}

// unpark returns the round that waits with an ID, for a call alone. One that another
// process has parked is empty but for the ID.
func (a *Approver) unpark(id string) *round {
	a.mu.Lock()
	r := a.parked[id]
	delete(a.parked, id)
	a.mu.Unlock()
	if r == nil {
		r = &round{}
		r.entry.ID = id
	}
	a.close(r)
	return r
}

// errOutdated is why an answer to what was shown does not count.
var errOutdated = errors.New("what it would do is not what was shown any more")

// shows reports whether the entry of a question that is put again shows what would be
// shown now, so that an answer to it counts.
func (r *round) shows(e *approval.Entry) bool {
	var then desk.Question
	if err := strictjson.Decode(e.Question, &then, strictjson.IgnoreUnknown, strictjson.MaxSize(maxEntry)); err != nil {
		return false
	}
	was, errWas := json.Marshal(then.Blocks)
	is, errIs := json.Marshal(r.question.Blocks)
	return errWas == nil && errIs == nil && bytes.Equal(was, is)
}

// close takes a round out of what waits: it belongs to its call alone then.
func (a *Approver) close(r *round) {
	a.mu.Lock()
	delete(a.open, r)
	a.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
}

// share answers the other questions that wait and that rules which were kept for the
// session allow entirely, as package desk does. Those of a counted answer, or up to a risk, allow none.
func (c *call) share(from *round, a permission.Answer) {
	if desk.Kind(desk.ChoiceOf(a)) != approval.Approve || len(a.Rules) == 0 || a.Times > 0 || a.UpTo != 0 {
		return
	}
	c.mu.Lock()
	var all []*round
	for r := range c.open {
		all = append(all, r)
	}
	c.mu.Unlock()
	for _, r := range all {
		if !r.ask.Decision.Question && r.ask.Answers(a.Rules...) {
			c.shareWith(r, from.entry.By.Name, "answered together with "+from.entry.ID)
		}
	}
}

// shareWith answers a question together with another, if it still waits.
func (c *call) shareWith(r *round, by, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.won || r.ended || r.alone || r.over || r.entry.Quorum > 1 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), patience)
	defer cancel()
	if _, err := c.o.Broker.Withdraw(ctx, r.entry.ID, c.agent(), reason); err == nil {
		r.ended = true
		r.shared <- by
	}
}
