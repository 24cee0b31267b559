package engine

import (
	"github.com/agent-wrapper/agent-wrapper/internal/sandbox"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// around returns the sandbox around the commands of an agent that has a directory for
// temporary files, "" for none; nil if its commands run without.
func (e *Engine) around(scratch string) *wrapper.Sandbox {
	if !e.within {
		return nil
	}
	plan := func() (*sandbox.Plan, error) {
		p, err := e.Sandbox("")
		if err == nil && scratch != "" {
			p.Writable = append(p.Writable, sandbox.Path{Path: scratch, Why: "temporary files of the session"})
		}
		return p, err
	}
	meets := func(plan *sandbox.Plan, end *sandbox.End) (met []string, advice string) {
		all := e.Meets(plan, end)
		if len(all) > 0 && e.advises() {
			advice = all[0].Advice(false).String()
		}
		return sandbox.Names(all), advice
	}
	written := e.Written()
	if scratch != "" {
		written = append(written, scratch)
	}
	return &wrapper.Sandbox{
		Plan: plan, Reaches: e.Reaches, Meets: meets, Made: e.Made,
		Planted: e.onPath.Planted, Found: e.onPath.Found, Replaceable: e.programs(written).Planted,
	}
}

// advises reports whether agents are told how to do what they want otherwise.
func (e *Engine) advises() bool { return !e.options.NoAdvice && e.Spec.Advice != "off" }
