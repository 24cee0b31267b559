package claude

import (
	"errors"
	"strconv"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// tellOutcome reports the outcome of a tool use to the task.
func (r *run) tellOutcome(id string, e *entry, b *block, breach string) {
	if r.o.Outcome == nil {
		return
	}
	o := wrapper.ToolOutcome{
		Use:    permission.ToolUse{ID: id, Tool: e.tool, Agent: e.agent, Session: r.out.Session},
		Failed: b.Error, Breach: breach, Met: r.shells.took(id),
	}
	if e.tool == "Bash" && b.Error {
		o.Exit = exitCode(plain(b.Content))
	}
	if err := r.o.Outcome(o); err != nil {
		emit(r.o.Events, wrapper.Event{Type: wrapper.ErrorEvent, ToolUseID: id, Message: err.Error()})
	}
}

// limits are the results of a run that a limit ended: the kind of the result, and
// the name of the limit in wrapper.Outcome.
var limits = map[string]string{
	"error_max_turns":                     "max_turns",
	"error_max_budget_usd":                "max_budget",
	"error_max_structured_output_retries": "structured_output",
}

// spend adds the bill of a result. A run has several results if the agent goes on
// after a task in the background.
func (r *run) spend(b *bill) {
	if b == nil {
		return
	}
	s := wrapper.Spent{Turns: b.Turns, CostUSD: b.Cost}
	if r.out.Spent != nil {
		s.Turns += r.out.Spent.Turns
	}
	for _, m := range b.Models {
		s.InputTokens += m.Input
		s.OutputTokens += m.Output
		s.CacheReadTokens += m.CacheRead
		s.CacheWriteTokens += m.CacheWrite
	}
	r.out.Spent = &s
}

// exitCode returns the exit code that the CLI writes at the start of the result
// of a failed command, nil if there is none.
func exitCode(text string) *int {
	rest, ok := strings.CutPrefix(text, "Exit code ")
	digits, _, _ := strings.Cut(rest, "\n")
	code, err := strconv.Atoi(digits)
	if !ok || err != nil {
		return nil
	}
	return &code
}

// turnAway denies a tool use without asking the Decider, and records the denial
// as far as the tool use can be read.
func (r *run) turnAway(id string, c *canUseTool, why string) error {
	e := &entry{tool: c.Tool, input: c.Input, agent: c.Agent, dir: r.uses.get(c.ID).dir}
	r.recordDenial(c.ID, e, errors.New(why))
	return r.writer.send(answering(id, denial{Behavior: "deny", Message: why}))
}
