package policy

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// EscalationSpec names what is notified when an agent is paused: a program, a
// web address, or both.
type EscalationSpec struct {
	Command []string
	Webhook string
	Source  patterns.Source
}

func (e *EscalationSpec) given() bool {
	return e.Source.Line > 0 || len(e.Command) > 0 || e.Webhook != ""
}

func (e *EscalationSpec) check() error {
	switch {
	case !e.given():
		return nil
	case len(e.Command) == 0 && e.Webhook == "":
		return at(e.Source, errors.New("escalation has no recipient: give it a command or a webhook"))
	case len(e.Command) > 0 && e.Command[0] == "":
		return at(e.Source, errors.New("escalation: the command is empty: name a program first"))
	case e.Webhook == "":
		return nil
	}
	if err := checkWebhook(e.Webhook); err != nil {
		return at(e.Source, fmt.Errorf("escalation: the webhook %w", err)) // without its text, which may be a secret
	}
	return nil
}

// checkWebhook reports an address that is not encrypted, since an alert is
// confidential.
func checkWebhook(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return errors.New("is not a URL")
	case u.Scheme == "https" && u.Host != "":
		return nil
	case u.Scheme == "http" && (u.Hostname() == "localhost" || u.Hostname() == "127.0.0.1" || u.Hostname() == "::1"):
		return nil
	}
	return errors.New("must be an https URL, or http to localhost")
}

// namesWhitelists reports a whitelist without a name.
func (s *Spec) namesWhitelists() error {
	for _, item := range s.Whitelists {
		if item.Text == "" {
			return at(item.Source, errors.New("whitelist is empty: name a file"))
		}
	}
	return nil
}
