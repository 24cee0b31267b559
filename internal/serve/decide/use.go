package decide

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"

	"github.com/agent-wrapper/agent-wrapper/permission"
)

// methods returns the methods that a client may call.
func methods() map[string]handler {
	return map[string]handler{
		"answer":     with((*server).answer),
		"canUseTool": with((*server).canUseTool),
		"cancel":     with((*server).cancel),
		"explain":    with((*server).explain),
		"outcome":    with((*server).outcome),
		"policy":     with((*server).policy),
		"session":    with((*server).manage),
	}
}

// use are the parameters of a tool use.
type use struct {
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input"`
	// Cwd is the directory of the agent's shell, absolute; nil means the workspace, ""
	// that it is not known.
	Cwd       *string `json:"cwd"`
	Session   string  `json:"session"`
	Agent     string  `json:"agent"`
	ToolUseID string  `json:"toolUseID"`
	OwnShell  bool    `json:"ownShell"` // permission.ToolUse.OwnShell
}

// of returns the tool use in a session.
func (u *use) of(s *session) (permission.ToolUse, error) {
	switch {
	case u.Tool == "":
		return permission.ToolUse{}, wrong(codeParams, "params: tool: it is missing")
	case len(u.Input) == 0:
		return permission.ToolUse{}, wrong(codeParams, "params: input: it is missing")
	case u.Input[0] != '{':
		return permission.ToolUse{}, wrong(codeParams, "params: input: it is an object, not a text that holds one")
	case u.Cwd != nil && *u.Cwd != "" && !filepath.IsAbs(*u.Cwd):
		return permission.ToolUse{}, wrong(codeParams, "params: cwd: %s is not absolute", *u.Cwd)
	}
	dir := s.Place.Workspace
	if u.Cwd != nil {
		dir = *u.Cwd
	}
	return permission.ToolUse{ID: u.ToolUseID, Tool: u.Tool, Input: u.Input, Dir: dir, Agent: u.Agent, Session: u.Session, OwnShell: u.OwnShell}, nil
}

// answer is the result of canUseTool.
type answer struct {
	Behavior     string          `json:"behavior"` // allow or deny
	UpdatedInput json.RawMessage `json:"updatedInput,omitempty"`
	Message      string          `json:"message,omitempty"`
	Interrupt    bool            `json:"interrupt"`
	Decision     decision        `json:"decision"`
}

// decision is how a tool use was decided.
type decision struct {
	Behavior string              `json:"behavior"`
	Layer    string              `json:"layer"`
	Rule     string              `json:"rule,omitempty"`
	Source   string              `json:"source,omitempty"`
	Reason   string              `json:"reason"`
	By       string              `json:"by,omitempty"`
	Tier     int                 `json:"tier,omitempty"`
	Risk     string              `json:"risk,omitempty"`
	Advice   []permission.Advice `json:"advice,omitempty"`
}

func newDecision(d *permission.Decision, by string) decision {
	out := decision{
		Behavior: d.Behavior.String(), Layer: d.Layer.String(), Rule: d.Rule, Source: d.RuleSource.String(),
		Reason: d.Reason, By: by, Tier: d.Tier, Advice: d.Advice,
	}
	if d.Tier != 0 {
		out.Risk = d.Risk.String()
	}
	return out
}

// canUseTool decides a tool use.
func (s *server) canUseTool(ctx context.Context, u *use) (any, error) {
	in, err := s.session(u.Session)
	if err != nil {
		return nil, err
	}
	asked, err := u.of(in)
	if err != nil {
		return nil, err
	}
	in.uses.Add(1)
	return later(func() (any, error) {
		defer in.uses.Done()
		res, err := in.CanUseTool(ctx, asked)
		if err != nil {
			s.notify("warning", warning{err.Error(), u.Session})
		}
		if len(res.UpdatedInput) > 0 { // it is what runs
			in.allowed.add(u)
		}
		return answer{
			Behavior: res.Behavior.String(), UpdatedInput: res.UpdatedInput, Message: res.Message, Interrupt: res.Interrupt,
			Decision: newDecision(&res.Decision, res.By),
		}, nil
	}), nil
}

// errCancelled is why a tool use that the client cancelled is denied.
var errCancelled = errors.New("cancelled")

// cancelled are the parameters of cancel.
type cancelled struct {
	ID json.RawMessage `json:"id"`
}

// cancel ends a request that is in flight.
func (s *server) cancel(_ context.Context, p *cancelled) (any, error) {
	if len(p.ID) == 0 || !validID(p.ID) {
		return nil, wrong(codeParams, "params: id: it is that of a request")
	}
	s.mu.Lock()
	end := s.calls[callID(p.ID)]
	s.mu.Unlock()
	if end != nil {
		end(errCancelled)
	}
	return struct {
		Cancelled bool `json:"cancelled"`
	}{end != nil}, nil
}
