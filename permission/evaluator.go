package permission

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/text/strictjson"
)

// Evaluator decides tool uses for one agent and all its subagents. It is safe
// for concurrent use if its parts are. Its fields must not be changed once it
// is in use.
type Evaluator struct {
	Policy  *Policy
	Session *Session // nil: there are no session rules
	Env     Env      // nil: the file system is unknown
	// Approver asks a person. If it is nil, there is nobody to ask, and asks are
	// denied.
	Approver Approver
	// Recorder keeps the record. If it is nil, nothing can be recorded, so
	// everything is denied.
	Recorder    Recorder
	CommandGate CommandGate // nil: none
	// Adviser says when the agent is told advice in place of a question. If it is
	// nil, it never is.
	Adviser Adviser
	Pauser  Pauser // nil: only the session can pause the agent
}

// maxAsks is the number of questions about one tool use, which a person may
// edit each time, after which it is denied.
const maxAsks = 16

// The values of Result.By.
const (
	byRule    = "rule"
	byPerson  = "person"
	byTimeout = "timeout"
	// ByAdvice is that of a denial that stands for no answer: the agent is told how
	// to say the same so that nobody needs to be asked.
	ByAdvice = "advice"
	// ByHost is that of an ask that the agent's own program puts to a person.
	ByHost = "host"
)

// Asking returns the values of Result.By of a tool use that a person was asked about.
func Asking() []string { return []string{byPerson, byTimeout, ByHost} }

// Answering returns all values of Result.By.
func Answering() []string { return append(Asking(), byRule, ByAdvice) }

// ErrParked is the error of an Approver that has put its question where it lasts, and
// does not wait for the answer. Nothing is decided then: see Parked.
var ErrParked = errors.New("the question is waiting for an answer")

// ErrHanded is the error of an Approver that leaves its question to whoever runs the
// agent, and who asks a person. The result of CanUseTool is then an Ask, by ByHost: it is
// recorded as such, and the outcome tells what became of it.
var ErrHanded = errors.New("the question is asked by the agent's own program")

// Parked is the error of CanUseTool for a tool use about which an Approver has returned
// ErrParked. Nothing is recorded, and the result that comes with it denies; what is
// decided is the result of Resume.
type Parked struct {
	evaluator *Evaluator
	use       settling
}

func (p *Parked) Error() string { return ErrParked.Error() }

// Unwrap returns ErrParked.
func (p *Parked) Unwrap() error { return ErrParked }

// Resume goes on with the tool use where its question was put: the Approver is asked
// the same again, and all that follows is as in CanUseTool, whose results it has. It
// must be called once, since another *Parked is the error if the question still waits.
func (p *Parked) Resume(ctx context.Context) (Result, error) {
	return p.evaluator.goOn(ctx, &p.use)
}

// settling is a tool use that is being decided.
type settling struct {
	sent     ToolUse  // as the agent sent it
	use      *ToolUse // as a person has edited it
	rec      Record
	at       *seat
	by       string
	edit     *Approval // the answer that has edited it
	asks     int
	question *Request // is put to the Approver; nil: it has to be judged
}

// CanUseTool decides a tool use: by the policy, or by asking a person. The
// decision is recorded before it is returned. An error comes with a result that
// denies. Once ctx has ended nothing is allowed, and the cause of its end is
// the reason.
func (v *Evaluator) CanUseTool(ctx context.Context, use ToolUse) (Result, error) {
	decided := use
	return v.goOn(ctx, &settling{
		sent: use, use: &decided, rec: Record{Use: use, Knowledge: v.Policy.knowledge().in(v.Session.standing())},
		at: &seat{gone: ctx.Err() != nil}, by: byRule,
	})
}

// goOn decides a tool use and records the decision, unless its question is parked.
func (v *Evaluator) goOn(ctx context.Context, t *settling) (Result, error) {
	res, err := v.settle(ctx, t)
	if errors.Is(err, ErrParked) {
		t.question.forget()
		return failure(res.Decision, err), &Parked{v, *t}
	}
	res, err = v.recorded(ctx, t, res, err)
	v.Session.ended(t.at, &res)
	return res, err
}

// recorded records the decision on a tool use and returns what is told of it.
func (v *Evaluator) recorded(ctx context.Context, t *settling, res Result, err error) (Result, error) {
	if err == nil && res.Behavior == Allow && ctx.Err() != nil {
		res = failure(res.Decision, context.Cause(ctx)) // the caller has stopped waiting, so it will not run
	}
	if err == nil && res.Behavior != Allow && (res.Behavior != Ask || res.By != ByHost || ctx.Err() != nil) {
		res.Behavior, res.UpdatedInput = Deny, nil
	}
	if err != nil {
		res = failure(res.Decision, err)
	}
	t.rec.Result = res
	if !bytes.Equal(t.use.Input, t.sent.Input) {
		t.rec.Edited = t.use.Input
	}
	if recErr := v.record(ctx, t.rec); recErr != nil {
		err = errors.Join(err, fmt.Errorf("the decision cannot be recorded: %w", recErr))
		return failure(res.Decision, err), err
	}
	return res, err
}

// failure returns a deny for a decision that failed.
func failure(d Decision, err error) Result {
	f := refused(err.Error())
	f.Risk, f.Tier = d.Risk, d.Tier
	return Result{Decision: f, By: byRule}
}

// record writes the record, even if the tool use has been cancelled.
func (v *Evaluator) record(ctx context.Context, r Record) (err error) {
	defer caught("the recorder", &err)
	if v.Recorder == nil {
		return errors.New("there is no recorder")
	}
	return v.Recorder.Record(context.WithoutCancel(ctx), r)
}

// caught turns a panic into an error.
func caught(who string, err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%s failed: %v", who, r)
	}
}

// settle decides a tool use. A result without an error and without an allow is
// a deny. An edit changes the input of its use. The record is completed with what
// was read. With ErrParked the question waits, and settle goes on with its answer.
func (v *Evaluator) settle(ctx context.Context, t *settling) (res Result, err error) {
	defer caught("the decision", &err)
	for ; t.asks < maxAsks; t.asks++ {
		if t.question == nil {
			if res, done, err := v.judged(t); done || err != nil {
				return res, err
			}
		}
		if t.question == nil {
			continue
		}
		res, done, err := v.asked(ctx, t)
		if done || err != nil {
			return res, err
		}
		t.question = nil
	}
	return Result{}, fmt.Errorf("a person was asked %d times, and the decision changed each time", maxAsks)
}

// judged judges a tool use. Done says that there is a result; otherwise there is a
// question, or it has to be judged anew.
func (v *Evaluator) judged(t *settling) (res Result, done bool, err error) {
	t.at.asked = false
	read, d, now := v.decide(t.use, t.at)
	t.rec.noteRead(read)
	if t.by == byRule && v.advises(t.use, &d) {
		read.release()
		return advised(d), true, nil
	}
	if !v.admits(&d, t.at) {
		return Result{}, false, nil // a limit was reached meanwhile
	}
	if d.Behavior != Ask {
		after, ok, err := v.Session.spend(d.spent())
		if err != nil || !ok { // a grant has ended meanwhile
			return Result{}, false, err
		}
		d.Grants = append(after, d.recalled()...)
		v.madeBy(read, d.Behavior)
		read.release()
		return Result{Decision: d, UpdatedInput: t.use.Input, By: t.by, Approval: t.edit}, true, nil
	}
	if v.Approver != nil && !v.Session.putTo(t.at) {
		return Result{}, false, nil
	}
	r := v.request(*t.use, d, read, now)
	t.question = &r
	return Result{}, false, nil
}

// asked puts the question of a tool use. Done says that there is a result; otherwise it
// has to be judged anew.
func (v *Evaluator) asked(ctx context.Context, t *settling) (res Result, done bool, err error) {
	r := t.question
	ans, err := v.ask(ctx, *r)
	switch {
	case errors.Is(err, ErrParked):
		return Result{}, false, err // t keeps the question
	case errors.Is(err, ErrHanded):
		return Result{Decision: r.Decision, By: ByHost}, true, nil
	case err != nil:
		if !wasAsked(err) {
			v.Session.unasked(t.at)
		}
		return v.unanswered(r.Decision, err), true, nil
	case ans.Behavior != Allow:
		return v.refusedBy(*r, ans), true, nil
	}
	edited := ans.Input != nil && !r.Decision.Question && !sameInput(ans.Input, t.use.Input)
	if edited {
		t.use.Input, t.by, t.edit = ans.Input, byPerson, ans.Approval
		return Result{}, false, nil // an edited input is decided again
	}
	read, again, now := v.decide(t.use, t.at) // read again, including the file system
	t.rec.noteRead(read)
	switch {
	case again.Behavior == Ask && !reflect.DeepEqual(again, r.Decision):
		return Result{}, false, nil // the question has changed since the answer
	case again.Behavior != Ask && again.Behavior != Allow:
		return Result{Decision: again, By: byRule}, true, nil // denied in the meantime
	}
	if !v.Session.renew(t.at) || !v.admits(&again, t.at) {
		return Result{}, false, nil
	}
	if _, ok, err := v.Session.spend(again.spent()); err != nil || !ok {
		return Result{}, false, err
	}
	v.madeBy(read, Allow)
	res, err = v.approved(v.request(*t.use, r.Decision, read, now), ans)
	return res, true, err
}

// advises reports whether the agent is told the advice of a decision. If it was told
// before, what denies the tool use in place of a person has the words again.
func (v *Evaluator) advises(use *ToolUse, d *Decision) bool {
	if v.Adviser == nil || len(d.Advice) == 0 {
		return false
	}
	if v.Adviser.Advise(*use, d.Advice) {
		return true
	}
	if d.Behavior != Ask {
		d.Message += instead(d)
	}
	return false
}

// noteRead records what was read from a command line.
func (r *Record) noteRead(read *reading) {
	if read != nil {
		r.Facts, r.Mapped = read.facts, read.mappedUses()
	}
}

// decide reads a tool use and judges it, with the limits that it has to observe.
func (v *Evaluator) decide(use *ToolUse, at *seat) (r *reading, d Decision, now *standing) {
	defer denying(&d, nil)
	now = v.standing()
	r = newReading(use, v.Policy.knowledge().in(now), v.Env, v.CommandGate)
	now = v.Session.bounded(now, at, r)
	return r, judge(r, v.Policy, now, nil), now
}

// admits counts a tool use that no limit is about, once. It reports false if one was
// reached since the decision, which is then void.
func (v *Evaluator) admits(d *Decision, at *seat) bool {
	return at.reached != nil || d.Interrupt || v.Session.enter(at)
}

// wasAsked reports whether a person was asked although there is no answer.
func wasAsked(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// Explain returns the decision that CanUseTool would begin with. It asks nobody
// and records nothing, and fills tr as Evaluate does. What limits of the session
// would say is left out.
func (v *Evaluator) Explain(use ToolUse, tr *Trace) Decision {
	return decide(v.Policy, v.standing(), &use, v.Env, v.CommandGate, tr)
}

// standing returns the present state of the session, which the Pauser may pause
// too.
func (v *Evaluator) standing() *standing {
	now := v.Session.standing()
	if v.Pauser == nil || now.paused {
		return now
	}
	why, err := v.Pauser.Paused()
	if err != nil {
		why = fmt.Sprintf("this cannot be checked: %v", err)
	}
	if why == "" {
		return now
	}
	next := *now
	next.paused, next.reason = true, why
	return &next
}

// ask asks a person.
func (v *Evaluator) ask(ctx context.Context, r Request) (ans Answer, err error) {
	defer caught("the approver", &err)
	if v.Approver == nil {
		return Answer{}, errors.New("there is nobody to ask")
	}
	if ans, err = v.Approver.Approve(ctx, r); err != nil {
		return Answer{}, err
	}
	return ans, ctx.Err()
}

// unanswered returns the deny for an ask without an answer.
func (v *Evaluator) unanswered(d Decision, err error) Result {
	by := byRule
	if errors.Is(err, context.DeadlineExceeded) {
		by = byTimeout
	}
	d.Behavior = Deny
	why := unansweredBy(err)
	d.Reason = fmt.Sprintf("%s (%s)", d.Reason, why)
	d.Message = fmt.Sprintf("%s (%s)", d.Message, why)
	if v.Adviser != nil {
		d.Message += instead(&d)
	}
	return Result{Decision: d, By: by}
}

// unansweredBy returns why a question has no answer, for a person.
func unansweredBy(err error) string {
	switch err {
	case context.DeadlineExceeded:
		return "nobody answered in time"
	case context.Canceled:
		return "the question was withdrawn"
	}
	return err.Error()
}

// refusedBy returns the deny by a person.
func (v *Evaluator) refusedBy(r Request, ans Answer) Result {
	d := r.Decision
	if kept := v.keep(r, ans); strings.HasPrefix(kept, " once") { // the rules are the reason of later denials
		d.Reason += "; denied" + kept
	}
	d.Behavior, d.Interrupt = Deny, d.Interrupt || ans.Interrupt
	d.Message = ans.Message
	if d.Message == "" {
		d.Message = "Denied by the person who was asked."
	}
	return Result{Decision: d, By: byPerson, Approval: ans.Approval}
}

// approved returns the allow by a person.
func (v *Evaluator) approved(r Request, ans Answer) (Result, error) {
	d, input := r.Decision, r.Use.Input
	if d.Question {
		if err := answers(input, ans.Input); err != nil {
			return Result{}, err
		}
		input = ans.Input
	}
	d.Reason = ans.by(d.Question) + v.keep(r, ans) + "; " + d.cause
	d.Behavior, d.Message = Allow, ""
	return Result{Decision: d, UpdatedInput: input, By: byPerson, Approval: ans.Approval}, nil
}

// by returns who has allowed a tool use, or answered the agent's question.
func (ans *Answer) by(question bool) string {
	who, did := "you", "approved by "
	if ans.Approval != nil && len(ans.Approval.People) > 0 {
		var names []string
		for _, p := range ans.Approval.People {
			names = append(names, p.Name)
		}
		who = strings.Join(names, " and ")
	}
	if question {
		did = "answered by "
	}
	return did + who
}

// sameInput reports whether two inputs are equal as JSON.
func sameInput(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, errA := strictjson.Object(a, strictjson.MaxSize(maxInput))
	y, errB := strictjson.Object(b, strictjson.MaxSize(maxInput))
	return errA == nil && errB == nil && reflect.DeepEqual(x, y)
}

// answers checks that an input is the question with the person's answers and
// otherwise unchanged.
func answers(question, answered json.RawMessage) error {
	if answered == nil {
		return errors.New("the question was not answered")
	}
	asked, err := strictjson.Object(question, strictjson.MaxSize(maxInput))
	if err != nil {
		return fmt.Errorf("the question: %w", err)
	}
	got, err := strictjson.Object(answered, strictjson.MaxSize(maxInput))
	if err != nil {
		return fmt.Errorf("the answers: %w", err)
	}
	if _, ok := got["answers"].(map[string]any); !ok {
		return errors.New(`the answers must be an object under the key "answers"`)
	}
	for _, key := range []string{"answers", "annotations"} {
		delete(got, key)
		delete(asked, key)
	}
	if !reflect.DeepEqual(asked, got) {
		return errors.New("the answers must not change the questions")
	}
	return nil
}
