package engine

import (
	"github.com/agent-wrapper/agent-wrapper/internal/walls"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// around returns the walls around the commands of an agent that has a directory for
// temporary files, "" for none; nil if its commands run without.
func (e *Engine) around(scratch string) *wrapper.Walls {
	if !e.within {
		return nil
	}
	plan := func() (*walls.Plan, error) {
		p, err := e.Walls("")
		if err == nil && scratch != "" {
			p.Writable = append(p.Writable, walls.Path{Path: scratch, Why: "temporary files of the session"})
		}
		return p, err
	}
	meets := func(plan *walls.Plan, end *walls.End) (met []string, advice string) {
		all := e.Meets(plan, end)
		if len(all) > 0 && e.advises() {
			advice = all[0].Advice(false).String()
		}
		return walls.Names(all), advice
	}
	written := e.Written()
	if scratch != "" {
		written = append(written, scratch)
	}
	return &wrapper.Walls{
		Plan: plan, Reaches: e.Reaches, Meets: meets, Made: e.Made,
		Planted: e.onPath.Planted, Found: e.onPath.Found, Replaceable: e.programs(written).Planted,
	}
}

// advises reports whether agents are told how to do what they want otherwise.
func (e *Engine) advises() bool { return !e.options.NoAdvice && e.Spec.Advice != "off" }
