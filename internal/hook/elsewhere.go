package hook

import (
	"cmp"
	"context"
	"sync"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/broker"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// At returns an Asker at a broker. Asks makes the approver that puts the questions to the
// broker that it is given; close, which may be nil, is called at the end.
func At(b approval.Broker, asks func(approval.Broker) *broker.Approver, close func() error) Asker {
	put := &putter{Broker: b}
	return &atBroker{b, asks(put), put, close}
}

// atBroker asks at a broker.
type atBroker struct {
	broker   approval.Broker
	approver *broker.Approver
	put      *putter
	close    func() error
}

// Park implements Asker.
func (a *atBroker) Park(ctx context.Context, ask permission.Request, id string) (permission.Answer, string, error) {
	answer, err := a.approver.Park(ctx, ask, id)
	return answer, cmp.Or(a.put.last(), id), err
}

// Wait implements Asker.
func (a *atBroker) Wait(ctx context.Context, id string) bool {
	e, err := approval.Await(ctx, a.broker, id)
	return err == nil && (e.Status == approval.Approved || e.Status == approval.Denied)
}

// Withdraw implements Asker.
func (a *atBroker) Withdraw(ctx context.Context, id, why string) error {
	_, err := a.broker.Withdraw(ctx, id, approval.Principal{Role: approval.Agent, Name: "agent"}, why)
	return err
}

// Close implements Asker.
func (a *atBroker) Close() error {
	if a.close == nil {
		return nil
	}
	return a.close()
}

// putter is a broker that remembers which question was put last.
type putter struct {
	approval.Broker

	mu sync.Mutex
	id string
}

func (p *putter) last() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.id
}

// Submit puts a question.
func (p *putter) Submit(ctx context.Context, e approval.Entry) (approval.Entry, error) {
	got, err := p.Broker.Submit(ctx, e)
	if err == nil {
		p.mu.Lock()
		p.id = got.ID
		p.mu.Unlock()
	}
	return got, err
}
