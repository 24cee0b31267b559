package policy

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// LimitsSpec bounds a session: see permission.Limits.
type LimitsSpec struct {
	DenialsInARow, QuestionsAnHour, ToolUses permission.Limit
	// Then is ask, pause or end; "" is ask.
	Then Item
	// Sandbox bounds each command that runs inside the sandbox.
	Sandbox SandboxLimits
}

// SandboxLimits are what a command inside the sandbox may use: MiB of data in each process,
// processes at the same time, and seconds.
type SandboxLimits struct {
	MemoryMB, Processes, TimeoutSeconds permission.Limit
}

// atLimits are the values of then, from the loosest to the strictest.
var atLimits = []string{"ask", "pause", "end"}

var atLimit = map[string]permission.AtLimit{
	"": permission.AskAtLimit, "ask": permission.AskAtLimit, "pause": permission.PauseAtLimit, "end": permission.EndAtLimit,
}

func (t *limitsTable) spec(place func(path string) patterns.Source) LimitsSpec {
	var s LimitsSpec
	if at := place("limits.then"); at.Line > 0 {
		s.Then = Item{t.Then, at}
	}
	for key, limit := range s.limits() {
		if at := place("limits." + key); at.Line > 0 {
			*limit = permission.Limit{Most: *t.limits()[key], Source: at}
		}
	}
	return s
}

func (t *limitsTable) limits() map[string]*int {
	return map[string]*int{
		"denials_in_a_row": &t.DenialsInARow, "questions_an_hour": &t.QuestionsAnHour, "tool_uses": &t.ToolUses,
		"sandbox.memory_mb": &t.Sandbox.MemoryMB, "sandbox.processes": &t.Sandbox.Processes, "sandbox.timeout_seconds": &t.Sandbox.TimeoutSeconds,
	}
}

// The keys of the limits, in the order in which they are shown: of a session, and all.
var (
	sessionKeys = []string{"denials_in_a_row", "questions_an_hour", "tool_uses"}
	limitKeys   = append(slices.Clone(sessionKeys), "sandbox.memory_mb", "sandbox.processes", "sandbox.timeout_seconds")
)

// maxLimit is more than any limit of the sandbox has to be, and can still be counted in bytes
// and nanoseconds.
const maxLimit = 1 << 30

// limits returns pointers to the limits, by their keys.
func (s *LimitsSpec) limits() map[string]*permission.Limit {
	return map[string]*permission.Limit{
		"denials_in_a_row": &s.DenialsInARow, "questions_an_hour": &s.QuestionsAnHour, "tool_uses": &s.ToolUses,
		"sandbox.memory_mb": &s.Sandbox.MemoryMB, "sandbox.processes": &s.Sandbox.Processes, "sandbox.timeout_seconds": &s.Sandbox.TimeoutSeconds,
	}
}

// given reports whether a limit was written.
func given(l *permission.Limit) bool { return l.Most != 0 || l.Source.Line > 0 }

// narrow adds the limits of another source: of each limit, and of what is done then,
// the strictest counts.
func (s *LimitsSpec) narrow(other *LimitsSpec) {
	own := s.limits()
	for key, limit := range other.limits() {
		if given(limit) && (!given(own[key]) || limit.Most < own[key].Most) {
			*own[key] = *limit
		}
	}
	if strictness(other.Then) > strictness(s.Then) || s.Then == (Item{}) {
		s.Then = other.Then
	}
}

// strictness returns the rank of what is done at a limit. A value that is none has the
// highest, so that no other source hides it.
func strictness(then Item) int {
	switch i := slices.Index(atLimits, then.Text); {
	case i >= 0:
		return i
	case then == (Item{}):
		return 0
	}
	return len(atLimits)
}

// loosens returns what another source says of limits that does not count here.
func (s *LimitsSpec) loosens(other *LimitsSpec) []Item {
	var out []Item
	for _, key := range limitKeys {
		own, limit := s.limits()[key], other.limits()[key]
		if given(limit) && given(own) && limit.Most > own.Most {
			out = append(out, Item{fmt.Sprintf("limits.%s = %d", key, limit.Most), limit.Source})
		}
	}
	if other.Then.Text != "" && strictness(other.Then) < strictness(s.Then) {
		out = append(out, Item{fmt.Sprintf("limits.then = %q", other.Then.Text), other.Then.Source})
	}
	return out
}

// limits compiles the limits.
func (c *compiler) limits() permission.Limits {
	s := &c.spec.Limits
	for _, key := range limitKeys {
		switch limit := s.limits()[key]; {
		case given(limit) && limit.Most < 1:
			c.fail(at(limit.Source, fmt.Errorf("limits.%s is %d: write 1 or more (remove it for no limit)", key, limit.Most)))
		case limit.Most > maxLimit && !slices.Contains(sessionKeys, key):
			c.fail(at(limit.Source, fmt.Errorf("limits.%s is %d: write at most %d (remove it for no limit)", key, limit.Most, maxLimit)))
		}
	}
	then, known := atLimit[s.Then.Text]
	if !known || s.Then.Text == "" && s.Then.Source.Line > 0 {
		c.fail(at(s.Then.Source, fmt.Errorf("limits.then is %q: write %s", s.Then.Text, orList(atLimits))))
	}
	return permission.Limits{DenialsInARow: s.DenialsInARow, QuestionsAnHour: s.QuestionsAnHour, ToolUses: s.ToolUses, Then: then}
}

// show calls add for each limit.
func (s *LimitsSpec) show(add func(key, text string, at patterns.Source)) {
	for _, key := range limitKeys {
		if limit := s.limits()[key]; given(limit) {
			add("limits."+key, fmt.Sprint(limit.Most), limit.Source)
		}
	}
	if s.Then.Text != "" {
		add("limits.then", s.Then.Text, s.Then.Source)
	}
}

// limits reports limits that are never reached, and what is never done.
func limits(l *linter) {
	s := &l.spec.Limits
	find := func(rule string, at patterns.Source, why, fix string) {
		l.findings = append(l.findings, Finding{Check: l.check, Level: LevelWarning, Source: at, Rule: rule, Why: why, Fix: fix})
	}
	text := func(key string) string { return fmt.Sprintf("limits.%s = %d", key, s.limits()[key].Most) }
	then := fmt.Sprintf("limits.then = %q", s.Then.Text)
	none := !slices.ContainsFunc(sessionKeys, func(key string) bool { return given(s.limits()[key]) })
	if none && s.Then.Text != "" {
		find(then, s.Then.Source, "no limit is set", "add one (tool_uses = 500), or remove this")
	}
	if uses, denials := &s.ToolUses, &s.DenialsInARow; given(uses) && given(denials) && denials.Most > uses.Most {
		find(text("denials_in_a_row"), denials.Source, fmt.Sprintf("it is never reached: tool_uses = %d is reached first", uses.Most), "lower it, or remove it")
	}
	if l.spec.Mode != "dontAsk" {
		return
	}
	if given(&s.QuestionsAnHour) {
		find(text("questions_an_hour"), s.QuestionsAnHour.Source, "it is never reached: mode dontAsk never asks", "remove it")
	}
	if !none && atLimit[s.Then.Text] == permission.AskAtLimit {
		place := s.Then.Source
		for _, key := range sessionKeys {
			if limit := s.limits()[key]; place.Line == 0 {
				place = limit.Source
			}
		}
		find(fmt.Sprintf("limits.then = %q", cmp.Or(s.Then.Text, "ask")), place, "mode dontAsk never asks: at a limit each tool use is denied, and the agent goes on", `write then = "end"`)
	}
}
