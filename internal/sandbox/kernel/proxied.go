package kernel

import (
	"context"

	"github.com/agent-wrapper/agent-wrapper/internal/sandbox"
	"github.com/agent-wrapper/agent-wrapper/internal/sandbox/proxy"
)

// Around returns what holds commands to a plan, with a proxy if the plan has hosts, which
// done ends. decide returns why a connection through it is refused, or nil.
func Around(plan *sandbox.Plan, decide func(ctx context.Context, host, port string) error) (h *Held, done func()) {
	h = &Held{Plan: plan}
	if len(plan.Hosts) == 0 {
		return h, func() {}
	}
	out := &proxy.Proxy{Decide: decide}
	h.Proxy = out.Serve
	return h, func() { out.Close() }
}
