package whitelist

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/webhook"
)

// Alert tells a person that an agent was paused. In JSON it is the standard
// input of the configured command and the body of the webhook request; chat
// services show the key "text".
type Alert struct {
	Message   string  `json:"text"`
	AgentID   string  `json:"agent_id"`
	PlanID    string  `json:"plan_id"`
	Count     int     `json:"count"`
	Threshold int     `json:"threshold"`
	Events    []Event `json:"events"` // the most recent ones, secrets masked
	Resume    string  `json:"resume"` // the command line that ends the pause
}

// Escalation is how a person is notified. Ways that are not set are not used.
type Escalation struct {
	Command []string // a program and its arguments
	Webhook string   // an https URL, or http to the local machine
	// Run runs a program with the given standard input and waits for it.
	Run func(ctx context.Context, argv []string, stdin []byte) error
	// Post is the client for the webhook; nil means a zero Client. Redirects are
	// never followed.
	Post *http.Client

	waiting sync.WaitGroup
}

// The limits of an escalation: within a minute it succeeds, or its failure is
// recorded.
const (
	escalationLimit = 55 * time.Second
	attemptLimit    = webhook.Limit
)

// pauses are the delays between attempts; the last one repeats.
var pauses = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second}

// Tell starts all configured ways at once and returns; report is called with
// the result of each attempt. Wait waits for them.
func (e *Escalation) Tell(a Alert, report func(how string, err error)) {
	if len(e.Command) > 0 {
		e.start("command", a, report, func(ctx context.Context, body []byte) error { return e.Run(ctx, e.Command, body) })
	}
	if e.Webhook != "" {
		e.start("webhook", a, report, e.post)
	}
}

// Wait waits until all attempts have ended, which takes at most a minute.
func (e *Escalation) Wait() { e.waiting.Wait() }

func (e *Escalation) start(how string, a Alert, report func(how string, err error), try func(context.Context, []byte) error) {
	body, _ := json.Marshal(a) // cannot fail: strings and numbers only
	e.waiting.Go(func() { insist(how, body, report, try) })
}

// insist retries until an attempt succeeds or the time is up.
func insist(how string, body []byte, report func(how string, err error), try func(context.Context, []byte) error) {
	ctx, cancel := context.WithTimeout(context.Background(), escalationLimit)
	defer cancel()
	for n := 0; ; n++ {
		err := attempt(ctx, body, try)
		report(how, err)
		if err == nil {
			return
		}
		select {
		case <-time.After(pauses[min(n, len(pauses)-1)]):
		case <-ctx.Done():
			return
		}
	}
}

func attempt(ctx context.Context, body []byte, try func(context.Context, []byte) error) error {
	ctx, cancel := context.WithTimeout(ctx, attemptLimit)
	defer cancel()
	return try(ctx, body)
}

func (e *Escalation) post(ctx context.Context, body []byte) error {
	return webhook.Post(ctx, e.Post, e.Webhook, body)
}
