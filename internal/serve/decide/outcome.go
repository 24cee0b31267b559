package decide

import (
	"context"
	"sync"

	"github.com/agent-wrapper/agent-wrapper/internal/audit"
)

// maxAllowed is the number of tool uses of a session whose outcome can be recorded,
// the last ones.
const maxAllowed = 10_000

// allowed are the tool uses of a session that were allowed and have no outcome yet.
type allowed struct {
	mu    sync.Mutex
	uses  map[string]allowedUse // by id
	order []string              // ids, the oldest first; also of those that are gone
}

// allowedUse is a tool use, as its outcome names it.
type allowedUse struct{ tool, agent string }

// add adds a tool use.
func (a *allowed) add(u *use) {
	if u.ToolUseID == "" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.uses == nil {
		a.uses = map[string]allowedUse{}
	}
	if len(a.order) == maxAllowed {
		delete(a.uses, a.order[0])
		a.order = append(a.order[:0], a.order[1:]...)
	}
	a.uses[u.ToolUseID] = allowedUse{u.Tool, u.Agent}
	a.order = append(a.order, u.ToolUseID)
}

// take returns a tool use and forgets it.
func (a *allowed) take(id string) (u allowedUse, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	u, ok = a.uses[id]
	delete(a.uses, id)
	return u, ok
}

// ended are the parameters of outcome.
type ended struct {
	ToolUseID string `json:"toolUseID"`
	Session   string `json:"session"`
	Failed    bool   `json:"failed"`
	Exit      *int   `json:"exit"` // of a command
}

// outcome records what became of a tool use that was allowed.
func (s *server) outcome(_ context.Context, p *ended) (any, error) {
	s.mu.Lock()
	in := s.sessions[p.Session]
	s.mu.Unlock()
	if in == nil {
		return nil, wrong(codeParams, "params: session: %q is not open", p.Session)
	}
	u, known := in.allowed.take(p.ToolUseID)
	if !known {
		return nil, wrong(codeParams, "params: toolUseID: no tool use with this id was allowed, or its outcome is recorded already")
	}
	err := in.Outcome(audit.Outcome{Session: p.Session, Agent: u.agent, Use: p.ToolUseID, Tool: u.tool, Failed: p.Failed, Exit: p.Exit})
	return struct{}{}, err
}
