package ask

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/desk"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/display"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/tty"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// queue holds the questions that wait while another one is open, in the order in which
// they came. It is safe for concurrent use.
type queue struct {
	mu   sync.Mutex
	all  []*waiter
	news chan struct{} // gets one when somebody has come or gone
}

// waiter is a question that waits.
type waiter struct {
	ctx context.Context
	ask permission.Request
	out chan outcome // gets one if it is answered together with the open one
}

// outcome is the end of a question.
type outcome struct {
	answer permission.Answer
	err    error
}

// claimed returns the end of a question, whose answer has to be claimed first.
func (o *outcome) claimed(ctx context.Context, claim func(permission.Answer) error) (permission.Answer, error) {
	if err := cmp.Or(ctx.Err(), o.err); err != nil {
		return o.answer, err
	}
	if err := claim(o.answer); err != nil {
		return permission.Answer{}, err
	}
	return o.answer, nil
}

func (u *queue) come(w *waiter) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.all = append(u.all, w)
	u.tell()
}

// leave takes a question out of the queue. It reports false if it is not there any
// more, since it was answered.
func (u *queue) leave(w *waiter) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	at := slices.Index(u.all, w)
	if at < 0 {
		return false
	}
	u.all = slices.Delete(u.all, at, at+1)
	u.tell()
	return true
}

func (u *queue) tell() {
	select {
	case u.news <- struct{}{}:
	default:
	}
}

// end ends a question that waits, unless it has left.
func (u *queue) end(w *waiter, out outcome) bool {
	if !u.leave(w) {
		return false
	}
	w.out <- out
	return true
}

// waiting returns the questions that wait for an answer.
func (u *queue) waiting() []*waiter {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(u.all), func(w *waiter) bool { return w.ctx.Err() != nil })
}

// The most that is shown at once for one answer: inputs in bytes, and questions.
const (
	maxInput    = 32 << 10
	maxTogether = 20
)

// kind returns what questions have in common that may be answered together: the tool
// and, of each part that is asked about, the program, the layer, the rule and the risk.
// It is "" for a question that has to be answered by itself: one that is held, of tier
// 3, of the agent, or long.
func kind(r *permission.Request) string {
	d := &r.Decision
	if d.Held || d.Question || d.Tier == 3 || len(r.Use.Input) > maxInput {
		return ""
	}
	var causes []string
	for _, p := range d.Unapproved() {
		program := ""
		if len(p.Words) > 0 {
			program = p.Words[0].Text
		}
		causes = append(causes, fmt.Sprintf("%d %d %q %q %d %q %q", p.Kind, p.Layer, p.Rule, p.RuleSource, p.Risk, p.Factors, program))
	}
	if len(causes) == 0 {
		return ""
	}
	slices.Sort(causes)
	return fmt.Sprintf("%q %q", r.Use.Tool, slices.Compact(causes))
}

// alike returns the questions that wait and that one answer may be given to together
// with this one.
func (q *question) alike() []*waiter {
	own := kind(&q.ask)
	if own == "" {
		return nil
	}
	all := slices.DeleteFunc(q.queue.waiting(), func(w *waiter) bool { return kind(&w.ask) != own })
	return all[:min(len(all), maxTogether)]
}

// keyTogether is the key that shows the questions which may be answered together.
const keyTogether = 'm'

// others says how many questions wait, "" for none.
func (q *question) others() string {
	n, like := len(q.queue.waiting()), len(q.alike())
	text := fmt.Sprintf("%d other questions wait", n)
	if n == 1 {
		text = "1 other question waits"
	}
	switch {
	case n == 0:
		return ""
	case like == 0:
	case like == n:
		text += fmt.Sprintf(", of this kind:  %c  shows all, for one answer", keyTogether)
	default:
		text += fmt.Sprintf(", %d of this kind:  %c  shows these, for one answer", like, keyTogether)
	}
	return q.style().Row(text)
}

// told shows how many questions wait, if that has changed: in the place of the line
// that said so, which is the last one above the keys. Nothing else changes.
func (q *question) told() {
	q.armed(false)
	text := q.others()
	if text == q.waits {
		return
	}
	q.clear()
	if n := strings.Count(q.waits, "\n"); n > 0 && !q.board.Dumb() && q.width() == q.wide {
		q.screen.Ask(fmt.Sprintf("\x1b[%dA\r\x1b[J", n))
		q.rows = max(q.rows-n, -1)
	}
	q.waits = text
	q.say(text)
}

// waiting says how many questions wait, for the line below the choices.
func (q *question) waiting() string {
	select {
	case <-q.queue.news: // what follows counts it
	default:
	}
	q.waits = q.others()
	return q.waits
}

// shared is a question that is shown to be answered together with the open one.
type shared struct {
	*question
	waiter *waiter // nil: the open one itself
}

// together shows the open question and those that wait and are of its kind, each
// whole, and gives one answer to them: once, or deny. What comes meanwhile is left out.
func (q *question) together(ctx context.Context) (answer permission.Answer, done bool, err error) {
	all := []shared{{question: q.copy(q.ask)}}
	for _, w := range q.alike() {
		all = append(all, shared{q.copy(w.ask), w})
	}
	q.rows = -1
	q.replies("all of this kind")
	for i := range all {
		one := all[i].question
		if err := one.begin(); err != nil {
			return answer, false, err
		}
		one.wide = q.width()
		one.shown, one.whole = one.make()
		one.text = one.shown.Text(q.style())
		q.say(fmt.Sprintf("\n  --- %d of %d\n", i+1, len(all)) + one.text)
	}
	o := q.style()
	q.say(o.Row("") + o.Row(fmt.Sprintf("one answer to these %d:  o  once   d  deny   Esc  back", len(all))))
	for {
		p, err := q.keys.decision(ctx, q.armed)
		switch {
		case err != nil:
			return answer, false, err
		case p.Kind == tty.Interrupt, p.Kind == tty.Suspend:
			return answer, false, q.stopped(p.Kind)
		case p.Kind == 0:
			return answer, false, q.noticed(p.notice)
		case p.Kind == tty.Escape:
			q.replies("back")
			q.draw()
			return answer, false, nil
		case p.Kind == tty.Rune && p.Rune == 'o':
			return q.answered(all, desk.Once)
		case p.Kind == tty.Rune && p.Rune == 'd':
			return q.answered(all, desk.Deny)
		}
		q.hint("keys: o once, d deny, Esc back")
	}
}

// copy returns another question for the same terminal, which leaves nothing out.
func (q *question) copy(ask permission.Request) *question {
	q.asked++
	return &question{Approver: q.Approver, ask: ask, id: fmt.Sprintf("%s/%d", ask.Use.ID, q.asked), all: true, rows: -1}
}

// answered gives one answer to the questions that were shown, each for itself. One
// that has been withdrawn, or whose file has changed, gets none.
func (q *question) answered(all []shared, choice string) (answer permission.Answer, done bool, err error) {
	q.replies(choice)
	if choice == desk.Once && all[0].changed() {
		q.say("\n  The file has changed meanwhile:\n")
		q.draw()
		return answer, false, nil
	}
	given := 1
	for _, one := range all[1:] {
		if choice == desk.Once && one.changed() {
			q.say("  the file of " + display.Summary(&one.ask.Use) + " has changed meanwhile: it is asked by itself\n")
			continue
		}
		answer, err := one.finish(desk.Says(choice, display.Rung{}))
		if one.waiter.ctx.Err() == nil && q.queue.end(one.waiter, outcome{answer, err}) {
			given++
		}
	}
	if gone := len(all) - given; gone > 0 {
		q.say(fmt.Sprintf("  answered %d of %d\n", given, len(all)))
	}
	return desk.Says(choice, display.Rung{}), true, nil
}

// changed reports whether a question would be shown otherwise now.
func (q *question) changed() bool {
	_, whole := q.make()
	return whole != q.whole
}
