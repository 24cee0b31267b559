package decide

import (
	"context"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/display"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// explained is the result of explain.
type explained struct {
	Decision decision `json:"decision"`
	// Whole is the answer to the tool use as a whole, if one decides it.
	Whole   *layer   `json:"whole,omitempty"`
	Actions []action `json:"actions"`
	Text    string   `json:"text"` // for a person
}

// action is one action of a tool use, with the answers of the layers.
type action struct {
	Action string  `json:"action"`
	Risk   string  `json:"risk"`
	Why    string  `json:"why,omitempty"` // the reason for the risk
	Free   bool    `json:"free,omitempty"`
	Layers []layer `json:"layers"`
	// Near is the allow rule that comes nearest.
	Near *nearMiss `json:"nearMiss,omitempty"`
}

// layer is the answer of one layer.
type layer struct {
	Layer    string `json:"layer"`
	Behavior string `json:"behavior,omitempty"`
	Held     bool   `json:"held,omitempty"`
	Decides  bool   `json:"decides,omitempty"`
	Rule     string `json:"rule,omitempty"`
	Source   string `json:"source,omitempty"`
	Reason   string `json:"reason"`
}

// nearMiss is a rule that does not match.
type nearMiss struct {
	Rule   string `json:"rule"`
	Source string `json:"source"`
	Missed string `json:"missed"` // why not
}

// explain says how a tool use would be decided. It asks nobody and records nothing.
func (s *server) explain(_ context.Context, u *use) (any, error) {
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
		return newExplained(in.Engine, &asked), nil
	}), nil
}

func newExplained(e *engine.Engine, asked *permission.ToolUse) explained {
	var trace permission.Trace
	d := e.Explain(*asked, &trace)
	var text strings.Builder
	e.WriteTrace(&text, display.TextOptions{}, asked, &trace)
	out := explained{Decision: newDecision(&d, ""), Text: text.String(), Actions: []action{}}
	if trace.Whole.Layer != 0 {
		whole := newLayer(&trace.Whole, true)
		out.Whole = &whole
	}
	for i := range trace.Actions {
		out.Actions = append(out.Actions, newAction(&trace.Actions[i]))
	}
	return out
}

func newAction(a *permission.TracedAction) action {
	out := action{Action: a.Action, Risk: a.Risk.String(), Why: a.Why, Free: a.Free, Layers: []layer{}}
	for i := range a.Steps {
		out.Layers = append(out.Layers, newLayer(&a.Steps[i], i == a.Decides))
	}
	if a.NearMiss != "" {
		out.Near = &nearMiss{a.NearMiss, a.NearMissSource.String(), a.Missed}
	}
	return out
}

func newLayer(s *permission.Step, decides bool) layer {
	out := layer{Layer: s.Layer.String(), Held: s.Held, Decides: decides, Rule: s.Rule, Source: s.Source.String(), Reason: s.Reason}
	if s.Behavior != 0 {
		out.Behavior = s.Behavior.String()
	}
	return out
}

// inForce are the parameters of policy.
type inForce struct {
	Session string `json:"session"`
}

// policy returns what is in force.
func (s *server) policy(_ context.Context, p *inForce) (any, error) {
	in, err := s.session(p.Session)
	if err != nil {
		return nil, err
	}
	return in.Show(), nil
}
