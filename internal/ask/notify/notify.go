// Package notify tells a person who looks elsewhere of a question that waits: by the bell
// of the terminal that asks, a notification of the desktop, a program, a webhook. It
// decides nothing and delays no answer.
//
// A question is told of once, when it has waited for the time in Options. One that is
// answered before is not; those that are due within a few seconds of each other are told
// of together. What is told has the secrets of the tool use masked, as the record does.
package notify

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Options say when and how a person is told. A way that is not set is not used.
type Options struct {
	After   time.Duration // how long a question has waited
	Bell    bool
	Desktop bool
	Command []string // a program and its arguments, run without a shell
	Webhook string   // an https URL, or http to this machine
	Path    string   // the value of PATH for programs
	// Warn is told of the first failure of each way, in words for a person. It may be nil,
	// and must be safe for concurrent use.
	Warn func(text string)
}

// Notifier tells of questions that wait. Its methods are safe for concurrent use; nil
// tells of none.
type Notifier struct {
	o      Options
	ways   []way
	ctx    context.Context
	cancel context.CancelFunc

	mu     sync.Mutex
	all    []*waiting      // the oldest first
	failed map[string]bool // ways whose failure was told
	closed bool
	sends  sync.WaitGroup
}

// waiting is a question that waits for its answer.
type waiting struct {
	notice   notice
	since    time.Time
	timer    *time.Timer
	terminal func(text string)
	told     bool
}

// together is the time within which questions are told of in one notice.
const together = 5 * time.Second

// New returns a notifier. It must be closed.
func New(o Options) *Notifier {
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	n := &Notifier{o: o, failed: map[string]bool{}}
	n.ways = n.given()
	n.ctx, n.cancel = context.WithCancel(context.Background())
	return n
}

// Approver returns next, of whose questions the person is told. terminal writes to the
// terminal that asks, beside the question; nil: there is none.
func (n *Notifier) Approver(next permission.Approver, terminal func(text string)) permission.Approver {
	if n == nil || next == nil {
		return next
	}
	return &approver{next, n, terminal}
}

type approver struct {
	permission.Approver
	notifier *Notifier
	terminal func(text string)
}

// Approve asks.
func (a *approver) Approve(ctx context.Context, ask permission.Request) (permission.Answer, error) {
	defer a.notifier.Waits(&ask, a.terminal)()
	return a.Approver.Approve(ctx, ask)
}

// Waits says that a question waits until the function is called that it returns.
func (n *Notifier) Waits(ask *permission.Request, terminal func(text string)) (answered func()) {
	if n == nil {
		return func() {}
	}
	w := &waiting{notice: about(&ask.Use), since: time.Now(), terminal: terminal}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return func() {}
	}
	n.all = append(n.all, w)
	w.timer = time.AfterFunc(n.o.After, func() { n.due(w) })
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		w.timer.Stop()
		n.all = slices.DeleteFunc(n.all, func(one *waiting) bool { return one == w })
	}
}

// due tells of a question that has waited long enough, together with those that soon will
// have.
func (n *Notifier) due(w *waiting) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed || w.told || !slices.Contains(n.all, w) {
		return
	}
	for _, one := range n.all {
		if !one.told && one.since.Before(w.since.Add(together)) {
			one.told = true
			one.timer.Stop()
		}
	}
	x := w.notice
	x.complete(time.Since(w.since), len(n.all))
	for _, way := range n.ways {
		n.sends.Go(func() { n.send(way, x, w.terminal) })
	}
}

// send tells by one way. Of its failures the first is told.
func (n *Notifier) send(way way, x notice, terminal func(string)) {
	ctx, cancel := context.WithTimeout(n.ctx, limit)
	defer cancel()
	_, err := way.tell(ctx, &x, terminal)
	if err == nil || n.ctx.Err() != nil {
		return
	}
	n.mu.Lock()
	first := !n.failed[way.name]
	n.failed[way.name] = true
	n.mu.Unlock()
	if first {
		n.o.Warn(fmt.Sprintf("no notice by notify.%s that a question waits: %v", way.name, err))
	}
}

// Try tells of a question that there is not, by each way in turn, and calls told with how
// it was done, or why it failed.
func (n *Notifier) Try(ctx context.Context, use *permission.ToolUse, terminal func(text string), told func(way, how string, err error)) {
	x := about(use)
	x.complete(0, 1)
	for _, way := range n.ways {
		within, cancel := context.WithTimeout(ctx, limit)
		how, err := way.tell(within, &x, terminal)
		cancel()
		told(way.name, how, err)
	}
}

// Close ends what is being sent, and waits for its end.
func (n *Notifier) Close() {
	if n == nil {
		return
	}
	n.mu.Lock()
	n.closed = true
	for _, w := range n.all {
		w.timer.Stop()
	}
	n.mu.Unlock()
	n.cancel()
	n.sends.Wait()
}
