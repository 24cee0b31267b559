package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/desk"
	"github.com/agent-wrapper/agent-wrapper/internal/run/execution"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// approver returns the person whom exec asks, or an approver whose error says why
// there is none.
func (j *job) approver() (_ permission.Approver, end func() error, err error) {
	end = func() error { return nil }
	if j.flags.noInput {
		return nobody("nobody is asked, as --no-input says"), end, nil
	}
	o := asking(j.engine.Rules) // a rule that is kept permanently would count for agents too
	person := j.app.approver(false, &stream{}, ask.NewScreen(j.out, nil), j.engine.Rules, o)
	if person == nil {
		person = j.terminal(o)
	}
	rings := ringing(person)
	if j.flags.approvals != "" {
		p, err := j.app.asksAt(j.flags.approvals, os.Getpid())
		if err != nil {
			return nil, nil, err
		}
		person, end = p.approver(person, j.engine, desk.Menu{}, func(text string) { j.say("%s", visible.Line(text)) }), p.Close
	}
	return &patient{person: j.engine.Notifying(person, rings), job: j}, end, nil
}

// terminal returns an approver at the controlling terminal of the process, for
// use when standard input is something else.
func (j *job) terminal(o ask.Options) permission.Approver {
	file, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil || !isTerminal(file) {
		return nobody("there is no terminal to ask at")
	}
	return terminalApprover(file, file, ask.NewScreen(file, nil), j.engine.Rules, o)
}

// nobody is an approver whose error is the reason why nobody can be asked.
type nobody string

// Approve returns the reason as an error.
func (n nobody) Approve(context.Context, permission.Request) (permission.Answer, error) {
	return permission.Answer{}, errors.New(string(n))
}

// patient asks a person for a limited time, and notes the rules that are to be
// kept for the session.
type patient struct {
	person permission.Approver
	job    *job
}

// unanswered is the error of a question that was not answered in time.
type unanswered time.Duration

func (u unanswered) Error() string { return "not answered within " + time.Duration(u).String() }

// Is makes it a timeout.
func (u unanswered) Is(err error) bool { return err == context.DeadlineExceeded }

// Approve asks the person.
func (p *patient) Approve(ctx context.Context, q permission.Request) (permission.Answer, error) {
	limited, cancel := ctx, context.CancelFunc(func() {})
	if limit := p.job.flags.patience; limit > 0 {
		limited, cancel = context.WithTimeout(ctx, limit)
	}
	defer cancel()
	ans, err := p.person.Approve(limited, q)
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		err = unanswered(p.job.flags.patience)
	}
	if err == nil && len(ans.Rules) > 0 && ans.For == 0 && ans.Times == 0 && ans.UpTo == 0 { // what is stored has no such limit
		p.job.note(&q, ans)
	}
	return ans, err
}

// note notes the rules of an answer that the evaluator keeps for the session.
func (j *job) note(q *permission.Request, ans permission.Answer) {
	list, name := patterns.Deny, "deny"
	if ans.Behavior == permission.Allow {
		list, name = patterns.Allow, "allow"
	}
	now := time.Now()
	for _, text := range ans.Rules {
		if q.CanKeep(list, text) == nil {
			j.keep = append(j.keep, execution.Rule{Scope: j.scope, List: name, Text: text, At: now, Until: now.Add(j.flags.ttl)})
		}
	}
}

// keepRules keeps the noted rules, once the decision is recorded. If it fails,
// the answer counts only once.
func (j *job) keepRules() {
	if len(j.keep) == 0 {
		return
	}
	err := errors.New("there is no session: give it a name with --session")
	if j.sessions != nil {
		err = j.sessions.Keep(time.Now(), j.keep...)
	}
	for _, r := range j.keep {
		words := fmt.Sprintf("%s %s is kept for this session, until %s", r.List, r.Text, r.Until.Format("15:04"))
		if err != nil {
			words = fmt.Sprintf("%s %s is not kept, and counts once: %v", r.List, r.Text, err)
		}
		fmt.Fprintf(j.err, "agent-wrapper: %s\n", visible.Line(words))
	}
}
