package engine

import (
	"context"
	"os"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/notify"
	"github.com/agent-wrapper/agent-wrapper/internal/workspace"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// newNotifier returns what [notify] of the policies says, nil if that is nothing.
func (r *Rules) newNotifier() *notify.Notifier {
	s := &r.Spec.Notify
	if !s.On() {
		return nil
	}
	return notify.New(notify.Options{
		After: s.Delay(), Bell: s.Bell, Desktop: s.Desktop, Command: s.Command, Webhook: s.Webhook, Warn: r.options.Warn, Path: r.OwnPath(),
	})
}

// OwnPath is the value of PATH for the programs that we start ourselves: none that an agent's
// command could have put there.
func (r *Rules) OwnPath() string {
	return r.programs(r.Written()).Others()
}

// programs are those on our PATH, where commands can write in some directories.
func (r *Rules) programs(written []string) workspace.Programs {
	return workspace.Programs{Path: os.Getenv("PATH"), Written: written}
}

// Notifying returns an approver that asks next, and tells a person of a question that
// waits, as [notify] of the policies says: for one who is asked by this process, or
// through it. terminal writes to the terminal that asks, beside the question; it may be
// nil. Without [notify], and for a nil next, it is next itself.
func (e *Engine) Notifying(next permission.Approver, terminal func(text string)) permission.Approver {
	return e.notifier.Approver(next, terminal)
}

// Waits is Notifying for a question that waits elsewhere than in an approver: until the
// function is called that it returns.
func (e *Engine) Waits(ask *permission.Request) (answered func()) {
	return e.notifier.Waits(ask, nil)
}

// TryNotify tells of a question that there is not, by each way of [notify], and calls told
// with the way, and how it was done or why it failed. It reports whether there is any.
func (r *Rules) TryNotify(ctx context.Context, use *permission.ToolUse, terminal func(text string), told func(way, how string, err error)) bool {
	n := r.newNotifier()
	if n == nil {
		return false
	}
	defer n.Close()
	n.Try(ctx, use, terminal, told)
	return true
}
