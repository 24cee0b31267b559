package decide

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/desk"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// asking is an approver that has questions asked, up to a limit.
type asking struct {
	server *server
	to     permission.Approver
}

// Approve waits for the answer. Meanwhile the request is no work, so that any number
// of other requests can be read.
func (a *asking) Approve(ctx context.Context, ask permission.Request) (permission.Answer, error) {
	size := len(ask.Use.Input)
	if !a.server.asks.try(size) {
		return permission.Answer{}, errors.New("too many questions wait for an answer")
	}
	defer a.server.asks.give(size)
	free(ctx)
	return a.to.Approve(ctx, ask)
}

// ask puts a question to the client, as a request whose id is that of the question.
func (s *server) ask(q desk.Question) {
	s.mu.Lock()
	s.digests[q.ID] = q.Digest
	s.mu.Unlock()
	_ = s.out.Write(request{JSONRPC: version, ID: q.ID, Method: "approve", Params: q}) // an error has ended the connection
}

// withdrawn is the notification that a question needs no answer any more.
type withdrawn struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
}

func (s *server) withdraw(id, reason string) {
	s.digest(id)
	s.notify("withdrawn", withdrawn{id, reason})
}

// digest returns the digest of a question that was put to the client, and forgets it.
func (s *server) digest(id string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	digest, waits := s.digests[id]
	delete(s.digests, id)
	return digest, waits
}

// asker returns the desk of a question.
func (s *server) asker(id string) (*desk.Desk, error) {
	prefix, _, _ := strings.Cut(id, ".")
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.numbered[prefix+"."]; one != nil {
		return one.desk, nil
	}
	return nil, errors.New("no question with this id waits here")
}

// result is the client's response to a question.
type result struct {
	desk.Reply
	HandedOn bool `json:"handedOn"` // an answer request will have the answer
}

// about has the result be about the question that it responds to. The error says that the
// id or digest in it is that of another.
func (r *result) about(id, digest string) error {
	switch {
	case r.ID != "" && r.ID != id:
		return fmt.Errorf("the client's answer does not count: id is not %s, that of the question", id)
	case r.Digest != "" && r.Digest != digest:
		return errors.New("the client's answer does not count: digest is not that of the question")
	}
	r.ID, r.Digest = id, digest
	return nil
}

// answered handles a response of the client. One that cannot be used denies, since
// nothing could be said about it to whoever sent it.
func (s *server) answered(m *message) {
	var id string
	if json.Unmarshal(m.ID, &id) != nil {
		s.notify("warning", warning{Message: fmt.Sprintf("there is a response to %s, and no such request", m.ID)})
		return
	}
	digest, waits := s.digest(id)
	if !waits {
		return // the question has ended meanwhile
	}
	var r result
	var why error
	if m.Error != nil {
		why = fmt.Errorf("the client could not ask: %s", m.Error)
	} else if err := decode(m.Result, &r); err != nil {
		why = fmt.Errorf("the client's response cannot be read: %w", err)
	}
	if why == nil && r.HandedOn {
		return
	}
	on, err := s.asker(id)
	if err != nil {
		return // the session has ended meanwhile
	}
	s.running.Go(func() {
		if why == nil {
			why = r.about(id, digest)
		}
		if why == nil {
			if _, why = on.Answer(r.Reply); why != nil {
				why = fmt.Errorf("the client's answer does not count: %w", why)
			}
		}
		if why != nil {
			_ = on.Withdraw(id, why.Error()) // if it fails, the question has ended
		}
	})
}

// kept is the result of answer: where rules were written.
type kept struct {
	Kept []string `json:"kept,omitempty"`
}

// answer answers a question that the client has handed on, or that it was asked.
func (s *server) answer(_ context.Context, r *desk.Reply) (any, error) {
	if r.ID == "" {
		return nil, wrong(codeParams, "params: id: it is that of a question")
	}
	on, err := s.asker(r.ID)
	if err != nil {
		return nil, refused(err)
	}
	return later(func() (any, error) {
		places, err := on.Answer(*r)
		if err != nil {
			return nil, refused(err)
		}
		s.digest(r.ID)
		var out kept
		for _, place := range places {
			out.Kept = append(out.Kept, place.String())
		}
		return out, nil
	}), nil
}

// refused is the error for an answer that does not count.
func refused(err error) *rpcError {
	return &rpcError{codeRefused, "the answer does not count: " + err.Error(), &refusal{err.Error()}}
}
