package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/desk"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/display"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Here asks the person at the terminal of the process that asks. Ask calls claim with an
// answer before that has any effect; with an error of claim, which it returns, the
// answer does not count. If its context is cancelled because somebody has answered
// elsewhere, the cause is an *approval.Settled. ask.Approver is one.
type Here interface {
	Ask(ctx context.Context, ask permission.Request, claim func(permission.Answer) error) (permission.Answer, error)
}

// Options say where an Approver asks. Only Broker is needed.
type Options struct {
	Broker approval.Broker
	// Here is asked at the same time, and the first answer counts; nil: nobody is here.
	// What several persons have to approve, or only others, is not asked here.
	Here Here
	// Person is the name under which an answer from Here is one at the broker. "" is for
	// a process that may not answer there: an answer from Here withdraws the question,
	// and what only certain people may approve is not asked here.
	Person string
	// Agent is the name of who asks; "" is "agent".
	Agent string
	// Menu and File are those of the desk that applies the answers, see desk.Options.
	Menu desk.Menu
	File func(use *permission.ToolUse) *display.File
	// Project is where the tool uses run.
	Project string
	// Terms returns what is asked of an answer: Expires, Quorum, Voters and the ID of the
	// question, if it needs a certain one. Nil: one person, at any time.
	Terms func(ask *permission.Request) approval.Terms
	// Show is the command that shows a question, to which its ID is added: Warn is told of
	// it when a question is asked only elsewhere. "": nobody waits who should know.
	Show string
	// Warn is told, in words for a person, when something is asked only here, only
	// elsewhere, or anew. It may be nil.
	Warn func(text string)
}

// Approver puts questions to a Broker and, if somebody is here, to that person too. The
// first answer counts, and elsewhere the question goes away. An answer from the broker
// is applied by a desk.Desk, whose checks are all that count: one that cannot be used,
// or comes after the file to be edited has changed, is asked anew. If the broker cannot
// be used, the question is asked here alone, and without anybody here it has no answer,
// which denies. It is safe for concurrent use.
type Approver struct {
	o Options

	mu     sync.Mutex
	open   map[*round]bool   // what waits at the broker
	parked map[string]*round // those of open for which nobody waits here, by ID
}

// New returns an Approver.
func New(o Options) *Approver {
	o.Agent = cmp.Or(o.Agent, "agent")
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	if o.Terms == nil {
		o.Terms = func(*permission.Request) approval.Terms { return approval.Terms{} }
	}
	return &Approver{o: o, open: map[*round]bool{}, parked: map[string]*round{}}
}

// result is an answer, or why there is none.
type result struct {
	answer permission.Answer
	err    error
}

// call is a call of Approve.
type call struct {
	*Approver
	ctx   context.Context // ends with the call
	ask   permission.Request
	terms approval.Terms
	desk  *desk.Desk
	all   sync.WaitGroup // its goroutines
	round *round         // the question as it is asked now

	parks    bool   // it does not wait
	returned bool   // the question was put before
	together string // who has answered it together with another since
}

// Approve waits for the answer to a question. The error is that of ctx, or says why
// there is no answer.
func (a *Approver) Approve(ctx context.Context, ask permission.Request) (permission.Answer, error) {
	return (&call{ask: ask, terms: a.o.Terms(&ask), round: &round{}}).approve(ctx, a)
}

// Park is Approve without the wait, of a question that outlasts its caller: once it
// waits at the broker, the error is permission.ErrParked. When its entry has changed
// there, or ctx has ended, Park is called again with the same question and the ID of the
// entry, also by another process; the first time, id is "". So it comes to an answer, or
// to another question that waits, in place of one whose answer does not count. Nobody is
// asked Here.
func (a *Approver) Park(ctx context.Context, ask permission.Request, id string) (permission.Answer, error) {
	c := &call{ask: ask, terms: a.o.Terms(&ask), parks: true, returned: id != ""}
	c.round = a.unpark(id)
	if c.returned {
		c.terms.ID = id
	}
	select {
	case c.together = <-c.round.shared:
	default:
	}
	return c.approve(ctx, a)
}

func (c *call) approve(ctx context.Context, a *Approver) (permission.Answer, error) {
	within, end := context.WithCancel(ctx)
	c.Approver, c.ctx = a, within
	defer end()
	shown, decided := make(chan desk.Question), make(chan result, 1)
	c.desk = c.newDesk(shown)
	c.all.Go(func() {
		answer, err := c.desk.Approve(within, c.ask)
		decided <- result{answer, err}
	})
	out, err := c.answer(shown, decided)
	a.close(c.round)
	end()
	c.all.Wait()
	return c.end(ctx, out, err)
}

// newDesk returns the desk for the call.
func (c *call) newDesk(shown chan<- desk.Question) *desk.Desk {
	menu := c.o.Menu
	menu.Once = c.terms.Quorum > 1
	return desk.New(desk.Options{Menu: menu, File: c.o.File, Asked: func(q desk.Question) {
		select {
		case shown <- q:
		case <-c.ctx.Done():
		}
	}})
}

// answer asks until there is an answer.
func (c *call) answer(shown <-chan desk.Question, decided <-chan result) (permission.Answer, error) {
	for {
		var err error
		select {
		case q := <-shown:
			err = c.put(q)
		case s := <-c.round.settled:
			err = c.elsewhere(s)
		case by := <-c.round.shared:
			err = c.alike(by)
		case <-c.late():
			err = c.expired()
		case h := <-c.round.here:
			if h.err == nil {
				return h.answer, nil
			}
			err = c.notHere(h.err)
		case out := <-decided:
			return out.answer, out.err
		}
		if err != nil && c.ctx.Err() != nil {
			out := <-decided // the desk says why it has ended
			return out.answer, out.err
		}
		if err != nil {
			return permission.Answer{}, err
		}
	}
}

// late gets a value when the time for an answer is over and no broker ends the question.
func (c *call) late() <-chan time.Time {
	if !c.round.isAlone() || c.terms.Expires.IsZero() {
		return nil
	}
	return time.After(time.Until(c.terms.Expires))
}

// expired takes a question away to which nobody has answered in time, and returns the
// error of that.
func (c *call) expired() error {
	c.round.stop(&approval.Settled{Status: approval.Expired})
	_, err := (&approval.State{Status: approval.Expired}).Answer()
	return err
}

// put asks a question of the desk at the broker and here, in place of the one before.
func (c *call) put(q desk.Question) error {
	before := c.round
	if before.hide != nil {
		c.close(before)
		before.stop(errAnew)
		if c.terms.ID != "" && !c.parks {
			return fmt.Errorf("%w, and this one has an id that is used up", errAnew)
		}
		c.terms.ID, c.returned = "", false
	}
	if c.together != "" {
		return c.answered(q)
	}
	r, err := c.submit(q)
	if err != nil {
		return err
	}
	c.round = r
	if c.parks && r.entry.Status == approval.Pending {
		c.park(r)
		return permission.ErrParked
	}
	c.opened(r)
	r.ctx, r.hide = context.WithCancelCause(c.ctx)
	if r.entry.Status == approval.Pending && c.asksHere() {
		r.here = make(chan result, 1)
		r.all.Go(func() {
			answer, err := c.o.Here.Ask(r.ctx, c.ask, func(a permission.Answer) error { return c.claim(r, a) })
			r.here <- result{answer, err}
		})
	}
	if !r.alone {
		r.settled = make(chan settled, 1)
		r.all.Go(func() {
			e, err := approval.Await(r.ctx, c.o.Broker, r.entry.ID)
			r.settled <- settled{e, err}
		})
	}
	c.all.Go(r.all.Wait)
	return nil
}

// errAnew is why a question goes away that is asked anew.
var errAnew = errors.New("it is asked anew")

// elsewhere handles the end of a question at the broker.
func (c *call) elsewhere(s settled) error {
	r := c.round
	if c.ctx.Err() != nil {
		return nil // the desk ends too
	}
	if s.err != nil {
		return c.lost(s.err)
	}
	if !r.endsWith(&s.entry) {
		return nil // the answer comes from here
	}
	if s.entry.Status == approval.Abandoned && c.terms.ID == "" && r.age() >= leastAge {
		c.o.Warn("nothing was heard of this process where it asks, perhaps since the machine slept: it is asked anew")
		return c.put(r.question)
	}
	r.stop(&approval.Settled{Status: s.entry.Status, By: s.entry.By})
	reply, err := replyOf(&s.entry)
	if err != nil {
		return err
	}
	if c.returned && s.entry.Status == approval.Approved && !r.shows(&s.entry) {
		return c.anew(errOutdated)
	}
	reply.ID, reply.Digest = r.question.ID, r.question.Digest
	if _, err := c.desk.Answer(*reply); err != nil {
		return c.anew(err)
	}
	return nil // the desk has the answer
}

// lost goes on without a broker that cannot be asked any more.
func (c *call) lost(err error) error {
	r := c.round
	if r.here == nil {
		return fmt.Errorf("nobody can be asked any more: %w", err)
	}
	r.mu.Lock()
	r.alone = true
	r.mu.Unlock()
	c.o.Warn("this is only asked here now: " + err.Error())
	return nil
}

// anew asks again what was answered by something that cannot be used.
func (c *call) anew(why error) error {
	r := c.round
	c.o.Warn(fmt.Sprintf("the answer of %s does not count, and it is asked anew: %v", r.entry.By.Name, why))
	c.withdraw(r, "the answer does not count: "+why.Error())
	for _, q := range c.desk.Waiting() {
		if q.ID == r.question.ID {
			return c.put(q)
		}
	}
	return nil // the desk asks anew
}

// answered answers a question that was parked together with another.
func (c *call) answered(q desk.Question) error {
	by := c.together
	c.together = ""
	r := &round{question: q, ask: &c.ask, entry: c.round.entry, ended: true}
	r.ctx, r.hide = context.WithCancelCause(c.ctx)
	c.round = r
	return c.alike(by)
}

// alike answers with the answer that a person gave to another question.
func (c *call) alike(by string) error {
	c.round.stop(&approval.Settled{Status: approval.Approved, By: approval.Principal{Role: approval.Person, Name: by}})
	q := &c.round.question
	if _, err := c.desk.Answer(desk.Reply{ID: q.ID, Digest: q.Digest, Choice: desk.Once, By: by}); err != nil {
		return c.anew(err)
	}
	return nil
}

// notHere handles that there is no answer from here.
func (c *call) notHere(err error) error {
	var no *refused
	switch {
	case c.ctx.Err() != nil:
		return nil // the desk ends too
	case !errors.As(err, &no):
		return err
	}
	c.round.here = nil // the broker has another answer, or waits for one
	return nil
}

// end ends the call: what was approved at the broker is used up there, and a question
// without an answer is withdrawn. Ctx is that of the caller.
func (c *call) end(ctx context.Context, answer permission.Answer, err error) (permission.Answer, error) {
	r := c.round
	if errors.Is(err, permission.ErrParked) {
		return permission.Answer{}, err
	}
	if err != nil {
		c.withdraw(r, err.Error())
		return permission.Answer{}, err
	}
	if r.uses(answer) {
		digest, err := approval.Digest(&c.ask)
		if err == nil {
			_, err = c.o.Broker.Consume(ctx, r.entry.ID, digest)
		}
		if err != nil {
			return permission.Answer{}, fmt.Errorf("the approval cannot be used: %w", err)
		}
	}
	if r.entry.Status != approval.Pending {
		answer.Approval = r.entry.Answered()
	}
	c.share(r, answer)
	return answer, nil
}
