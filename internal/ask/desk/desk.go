// Package desk puts questions about tool uses to a program: an editor, an SDK, a
// notifier. A [Desk] is a permission.Approver. It hands out each question as a
// [Question], with the choices of its [Menu], and waits until the program gives a
// [Reply], in any order, or until the tool use is withdrawn.
//
//	d := desk.New(desk.Options{Asked: show, Withdrawn: hide, File: desk.EditedFile})
//	e.SetApprover(d)
//	…
//	kept, err := d.Answer(desk.Reply{ID: q.ID, Digest: q.Digest, Choice: desk.Once})
//
// An answer counts for the question with its ID and its digest, once, and the first
// wins (package approval). Every other is an error that says why, and changes nothing.
package desk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/display"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Options say what a Desk offers, and who hears of its questions. The functions may be
// nil and are called by several goroutines; for one question, Asked returns before
// anything else happens to it.
type Options struct {
	Menu
	// Asked is called with each question. It may block: its question then waits, and no
	// other does.
	Asked func(Question)
	// Withdrawn is called when a question that was asked has ended without an answer to
	// it. Reason says why, for a person.
	Withdrawn func(id, reason string)
	// File returns the current file that a tool use would edit, see EditedFile. If it
	// has changed when the edit is allowed, the question is asked anew.
	File func(use *permission.ToolUse) *display.File
	// Prefix begins the IDs of the questions, for programs that have several desks.
	Prefix string
	// By names who answers where a Reply does not; "" means "program".
	By string
}

// Desk is an approver for programs. It is safe for concurrent use.
type Desk struct {
	options Options

	mu      sync.Mutex
	number  int // of the last question
	waiting map[string]*waiting
	settled map[string]*approval.Settled // the last ones
	order   []string                     // IDs in settled, the oldest first
	closed  error                        // why it is closed
}

// New returns a Desk without questions.
func New(o Options) *Desk {
	o.By = cmp.Or(o.By, "program")
	return &Desk{options: o, waiting: map[string]*waiting{}, settled: map[string]*approval.Settled{}}
}

// waiting is a question without an answer.
type waiting struct {
	Question
	number  int
	ask     permission.Request
	choices []display.Choice // with the exact text of their rules
	turn    sync.Mutex       // held while an answer is examined
	state   approval.State   // guarded by Desk.mu
	out     chan outcome     // gets one
}

// outcome is the end of a question.
type outcome struct {
	answer permission.Answer
	err    error  // why there is no answer
	gone   string // why the question is withdrawn; "" if it was answered
	again  bool   // it is to be asked anew
}

// theAgent is who asks.
var theAgent = approval.Principal{Role: approval.Agent, Name: "agent"}

// Approve waits for the answer to a question. The error is that of ctx, or says why
// nobody can be asked.
func (d *Desk) Approve(ctx context.Context, ask permission.Request) (permission.Answer, error) {
	for {
		q, err := d.put(ctx, &ask)
		if err != nil {
			return permission.Answer{}, err
		}
		if d.options.Asked != nil {
			d.options.Asked(q.Question)
		}
		out := d.wait(ctx, q)
		if out.gone != "" && d.options.Withdrawn != nil {
			d.options.Withdrawn(q.ID, out.gone)
		}
		switch {
		case out.again:
			continue
		case out.err == nil:
			out.err = cmp.Or(ctx.Err(), q.consume())
		}
		if out.err != nil {
			return permission.Answer{}, out.err
		}
		return out.answer, nil
	}
}

// put makes a question and lets it wait.
func (d *Desk) put(ctx context.Context, ask *permission.Request) (*waiting, error) {
	if err := ctx.Err(); err != nil {
		return nil, &ended{err, whyWithdrawn(ctx)}
	}
	digest, err := approval.Digest(ask)
	if err != nil {
		return nil, err
	}
	q := &waiting{ask: *ask, choices: d.options.Choices(ask), out: make(chan outcome, 1), number: d.next()}
	id := d.options.Prefix + strconv.Itoa(q.number)
	q.Question = d.question(ask, id, digest, q.choices)
	q.state, err = approval.Step(approval.State{}, approval.Event{Kind: approval.Ask, At: time.Now(), Terms: approval.Terms{
		ID: id, Digest: digest, Asker: theAgent, Version: ask.Version,
	}})
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed == nil {
		d.waiting[id] = q
	}
	return q, d.closed
}

// next returns the number of the next question.
func (d *Desk) next() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.number++
	return d.number
}

// wait waits for the end of a question.
func (d *Desk) wait(ctx context.Context, q *waiting) outcome {
	select {
	case out := <-q.out:
		return out
	case <-ctx.Done():
	}
	err := &ended{ctx.Err(), whyWithdrawn(ctx)}
	// If this fails, the question has another outcome already.
	_ = d.settle(q, approval.Event{Kind: approval.Cancel, ID: q.ID, By: theAgent}, outcome{err: err, gone: err.why})
	return <-q.out
}

// ended is the error of a context that has ended, with the cause.
type ended struct {
	error
	why string
}

func (e *ended) Error() string { return e.why }
func (e *ended) Unwrap() error { return e.error }

// whyWithdrawn returns the end of a context in words for a person.
func whyWithdrawn(ctx context.Context) string {
	switch err := context.Cause(ctx); {
	case errors.Is(err, context.DeadlineExceeded):
		return "not answered in time"
	case errors.Is(err, context.Canceled):
		return "the answer is no longer needed"
	default:
		return err.Error()
	}
}

// settle ends a question, if nothing else has.
func (d *Desk) settle(q *waiting, e approval.Event, out outcome) error {
	e.At = time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if q.state.Status != approval.Pending {
		return &approval.Settled{Status: q.state.Status, By: q.state.By}
	}
	next, err := approval.Step(q.state, e)
	if err != nil {
		return err
	}
	if out.err == nil && !out.again {
		out.answer, out.err = next.Answer()
	}
	q.state = next
	delete(d.waiting, q.ID)
	d.remember(q)
	q.out <- out
	return nil
}

// maxSettled is the number of settled questions about which a late answer is told who
// was first.
const maxSettled = 1000

func (d *Desk) remember(q *waiting) {
	if len(d.order) == maxSettled {
		delete(d.settled, d.order[0])
		d.order = append(d.order[:0], d.order[1:]...)
	}
	d.order = append(d.order, q.ID)
	d.settled[q.ID] = &approval.Settled{Status: q.state.Status, By: q.state.By}
}

// consume uses up an approval. The request must still be the one that was shown.
func (q *waiting) consume() error {
	if q.state.Status != approval.Approved { // nothing changes it any more
		return nil
	}
	digest, err := approval.Digest(&q.ask)
	if err == nil {
		_, err = approval.Step(q.state, approval.Event{Kind: approval.Consume, At: time.Now(), ID: q.ID, Digest: digest})
	}
	return err
}

// errUnknown is the error for an ID that no question has, or had lately.
var errUnknown = errors.New("no question with this id is waiting here")

// find returns the question that waits with an ID.
func (d *Desk) find(id string) (*waiting, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if q := d.waiting[id]; q != nil {
		return q, nil
	}
	if settled := d.settled[id]; settled != nil {
		return nil, settled
	}
	return nil, errUnknown
}

// Answer answers a question. With an error the answer does not count, and the question
// still waits unless the error says otherwise; kept is where rules were written to a
// policy.
func (d *Desk) Answer(r Reply) (kept []patterns.Source, err error) {
	q, err := d.find(r.ID)
	if err != nil {
		return nil, err
	}
	q.turn.Lock()
	defer q.turn.Unlock()
	if _, err := d.find(r.ID); err != nil {
		return nil, err // another answer was first
	}
	if r.Digest != q.Digest {
		return nil, approval.ErrOther
	}
	said, err := q.says(&r)
	if err != nil {
		return nil, err
	}
	if allows(said) && said.Input == nil && !d.fresh(q) {
		return nil, d.askAnew(q)
	}
	if r.Choice == Always {
		if kept, err = d.keep(said.Rules); err != nil {
			return kept, keptNevertheless(kept, err)
		}
	}
	by := approval.Principal{Role: approval.Person, Name: cmp.Or(r.By, d.options.By)}
	if err := d.settle(q, q.event(said, by), outcome{}); err != nil {
		return kept, keptNevertheless(kept, err)
	}
	d.together(q, said, by)
	return kept, nil
}

// keptNevertheless adds to the error of an answer which of its rules count in spite of it.
func keptNevertheless(kept []patterns.Source, err error) error {
	for _, place := range kept {
		err = fmt.Errorf("%w; a rule was written anyway: %s", err, place)
	}
	return err
}

// event returns the event for an answer to a question.
func (q *waiting) event(said permission.Answer, by approval.Principal) approval.Event {
	e := approval.Event{
		Kind: approval.Deny, ID: q.ID, Digest: q.Digest, By: by,
		Scope: said.Scope, Rules: said.Rules, For: said.For, Times: said.Times, UpTo: said.UpTo, Message: said.Message,
	}
	switch {
	case said.Input != nil:
		e.Kind, e.Input = approval.Edit, said.Input
	case allows(said):
		e.Kind = approval.Approve
	}
	return e
}

// errChanged is the error of an answer to a question about a file that has changed.
var errChanged = errors.New("the file has changed since: the question is asked again")

// askAnew withdraws a question, to ask it again as it is now.
func (d *Desk) askAnew(q *waiting) error {
	gone := outcome{again: true, gone: errChanged.Error()}
	return cmp.Or(d.settle(q, approval.Event{Kind: approval.Cancel, ID: q.ID, By: theAgent}, gone), errChanged)
}

// fresh reports whether what was shown is still correct.
func (d *Desk) fresh(q *waiting) bool {
	return reflect.DeepEqual(d.question(&q.ask, q.ID, q.Digest, q.choices).Blocks, q.Blocks)
}

// keep writes rules to a policy.
func (d *Desk) keep(rules []string) (kept []patterns.Source, err error) {
	for _, rule := range rules {
		place, err := d.options.Keep(rule)
		if err != nil {
			return kept, fmt.Errorf("%s was not kept: %w", rule, err)
		}
		kept = append(kept, place)
	}
	return kept, nil
}

// together answers the other questions that wait and that rules which were kept for
// the session allow entirely. Those of a counted answer allow none, as each tool use has
// to be counted by the session, and neither do those up to a risk.
func (d *Desk) together(q *waiting, said permission.Answer, by approval.Principal) {
	if !allows(said) || len(said.Rules) == 0 || said.Times > 0 || said.UpTo != 0 {
		return
	}
	for _, other := range d.all() {
		if !other.ask.Decision.Question && other.ask.Answers(said.Rules...) {
			// If this fails, it has another outcome already.
			_ = d.settle(other, other.event(Says(Once, display.Rung{}), by), outcome{gone: "answered together with " + q.ID})
		}
	}
}

// Withdraw ends a question for which there will be no answer, because nobody could be
// asked. Its tool use is denied, and reason says why, for a person and the agent.
func (d *Desk) Withdraw(id, reason string) error {
	q, err := d.find(id)
	if err != nil {
		return err
	}
	return d.settle(q, approval.Event{Kind: approval.Cancel, ID: id, By: theAgent}, outcome{err: errors.New(reason), gone: reason})
}

// all returns the questions that wait, in the order in which they were asked.
func (d *Desk) all() []*waiting {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := make([]*waiting, 0, len(d.waiting))
	for _, q := range d.waiting {
		all = append(all, q)
	}
	slices.SortFunc(all, func(a, b *waiting) int { return a.number - b.number })
	return all
}

// Waiting returns the questions that wait for an answer, in the order in which they
// were asked.
func (d *Desk) Waiting() []Question {
	var all []Question
	for _, q := range d.all() {
		all = append(all, q.Question)
	}
	return all
}

// Close denies what waits and everything that is asked from now on. Reason says why,
// for a person and the agent. The first reason counts.
func (d *Desk) Close(reason string) {
	d.mu.Lock()
	if d.closed == nil {
		d.closed = errors.New(reason)
	}
	d.mu.Unlock()
	for _, q := range d.all() {
		// If this fails, it has another outcome already.
		_ = d.settle(q, approval.Event{Kind: approval.Die}, outcome{err: d.closed, gone: reason})
	}
}
