package policy

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// NotifySpec says how a person is told of a question that waits. Only a trusted source
// may: it runs a program and sends what is asked about.
type NotifySpec struct {
	After         Item // how long the question has waited; "" is 30s
	Bell, Desktop bool
	Command       []string
	Webhook       string
	Source        patterns.Source // of the table
}

type notifyTable struct {
	After   string   `toml:"after" json:"-"`
	Bell    bool     `toml:"bell" json:"-"`
	Desktop bool     `toml:"desktop" json:"-"`
	Command []string `toml:"command" json:"-"`
	Webhook string   `toml:"webhook" json:"-"`
}

func (t *notifyTable) spec(place func(path string) patterns.Source) NotifySpec {
	at := place("notify")
	if at.Line == 0 {
		return NotifySpec{}
	}
	return NotifySpec{After: Item{t.After, place("notify.after")}, Bell: t.Bell, Desktop: t.Desktop, Command: t.Command, Webhook: t.Webhook, Source: at}
}

// The time after which a question is notified of: what it is if nothing is said, and the
// shortest and the longest that can be said.
const (
	notifyAfter    = 30 * time.Second
	leastNotify    = time.Second
	greatestNotify = 24 * time.Hour
)

// Delay returns how long a question waits before it is notified of.
func (n *NotifySpec) Delay() time.Duration {
	if d, err := time.ParseDuration(n.After.Text); err == nil {
		return d
	}
	return notifyAfter
}

// On reports whether anything is done about a question that waits.
func (n *NotifySpec) On() bool {
	return n.Bell || n.Desktop || len(n.Command) > 0 || n.Webhook != ""
}

func (n *NotifySpec) given() bool { return n.Source.Line > 0 || n.On() }

func (n *NotifySpec) check() error {
	if !n.given() {
		return nil
	}
	if d, err := time.ParseDuration(n.After.Text); (n.After.Text != "" || n.After.Source.Line > 0) && (err != nil || d < leastNotify || d > greatestNotify) {
		return at(n.After.Source, fmt.Errorf(`notify.after is %q, want a time of 1s to 24h, as in "30s" or "5m"`, n.After.Text))
	}
	switch {
	case !n.On():
		return at(n.Source, errors.New("notify switches nothing on: add bell = true, desktop = true, a command or a webhook"))
	case len(n.Command) > 0 && n.Command[0] == "":
		return at(n.Source, errors.New("notify: the command has no program"))
	case n.Webhook == "":
		return nil
	}
	if err := checkWebhook(n.Webhook); err != nil {
		return at(n.Source, fmt.Errorf("notify: the webhook %w", err)) // without its text, which may be a secret
	}
	return nil
}

// show calls add for each key.
func (n *NotifySpec) show(add func(key, text string, at patterns.Source)) {
	if !n.given() {
		return
	}
	add("notify.after", n.Delay().String(), n.Source)
	if n.Bell {
		add("notify.bell", "true", n.Source)
	}
	if n.Desktop {
		add("notify.desktop", "true", n.Source)
	}
	if len(n.Command) > 0 {
		add("notify.command", strings.Join(n.Command, " "), n.Source)
	}
	if n.Webhook != "" {
		add("notify.webhook", "(an address, not shown)", n.Source)
	}
}

// digest returns the table for Spec.Digest, nil if there is none.
func (n *NotifySpec) digest() []string {
	if !n.given() {
		return nil
	}
	return append([]string{n.After.Text, fmt.Sprint(n.Bell), fmt.Sprint(n.Desktop), n.Webhook}, n.Command...)
}

// notifications reports a notice that never comes.
func notifications(l *linter) {
	if n := &l.spec.Notify; n.given() && l.spec.Mode == "dontAsk" {
		l.findings = append(l.findings, Finding{Check: l.check, Level: LevelWarning, Source: n.Source, Rule: "notify", Why: "mode dontAsk asks nobody, so no question waits", Fix: "leave it out"})
	}
}
