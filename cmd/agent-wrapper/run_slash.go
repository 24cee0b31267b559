package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/chat"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/display"
	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
	"github.com/agent-wrapper/agent-wrapper/modes"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// slashes are the commands of a conversation.
func (f *runFlags) slashes(e *engine.Engine, events *stream, notes *notes) []chat.Command {
	return []chat.Command{
		{Name: "mode", Args: "[MODE]", Help: "the permission mode, or another one", Run: func(name string) (string, error) { return f.mode(e, name) }},
		{Name: "rules", Help: "the rules in force, and what you answered for longer", Run: func(string) (string, error) { return rulesText(e), nil }},
		{Name: "why", Args: "[N]", Help: "the last decisions, or all about one of them", Run: func(n string) (string, error) { return notes.why(e, events, n) }},
		{Name: "allow", Args: "RULE", Help: "allow for this session", Run: func(rule string) (string, error) { return kept(e.Allow, rule, "allowed") }},
		{Name: "deny", Args: "RULE", Help: "deny for this session", Run: func(rule string) (string, error) { return kept(e.Deny, rule, "denied") }},
		{Name: "revoke", Args: "N", Help: "end an answer that /rules lists", Run: func(n string) (string, error) { return revoke(e, n) }},
	}
}

// mode sets the permission mode, if one is named, and tells which there are.
func (f *runFlags) mode(e *engine.Engine, name string) (string, error) {
	if name != "" {
		if err := f.setMode(e, name); err != nil {
			return "", err
		}
	}
	now := e.Session.Modes(e.Policy)
	if name != "" && now[0].String() == name {
		return "mode " + name + "\n", nil
	}
	var out strings.Builder
	for _, other := range modes.Names() {
		mark := "  "
		if slices.ContainsFunc(now, func(m modes.Mode) bool { return m.String() == other }) {
			mark = "* "
		}
		fmt.Fprintln(&out, mark+other)
	}
	if name != "" {
		out.WriteString("a policy that is not yours has its own, which stays in force\n")
	}
	return out.String(), nil
}

// rulesText tells what is in force.
func rulesText(e *engine.Engine) string {
	var out strings.Builder
	showText(&out, e.Rules)
	if !slices.ContainsFunc(e.Rules.Sources, func(s policy.Source) bool { return len(s.Spec.Show()) > 0 }) {
		fmt.Fprintf(&out, "no rules are set; the mode is %s\n", e.Session.Modes(e.Policy)[0])
	}
	if all := e.Session.Grants(); len(all) > 0 {
		out.WriteString("\nanswered for longer (/revoke N ends one)\n")
		for _, g := range all {
			fmt.Fprintf(&out, "  %d  %s\n", g.ID, visible.Line(g.String()))
		}
	}
	return out.String()
}

// kept has a rule of the person count for the session.
func kept(keep func(rule string) ([]string, error), rule, word string) (string, error) {
	if rule == "" {
		return "", errors.New("name a rule, such as Bash(npm test:*)")
	}
	warnings, err := keep(rule)
	if err != nil {
		return "", err
	}
	out := ""
	for _, w := range warnings {
		out += "warning: " + visible.Line(w) + "\n"
	}
	return out + visible.Line(rule) + " is " + word + " for this session\n", nil
}

// revoke ends an answer of the session.
func revoke(e *engine.Engine, n string) (string, error) {
	id, err := strconv.Atoi(n)
	if err != nil || !e.Session.Revoke(id) {
		return "", errors.New("name an answer by its number, as /rules lists it")
	}
	return "answer " + n + " counts no more\n", nil
}

// notes are the last decisions.
type notes struct {
	mu  sync.Mutex
	all []noted
}

type noted struct {
	use permission.ToolUse
	res permission.Result
}

// The numbers of decisions that are kept, and that /why lists.
const (
	maxNotes = 50
	lastFew  = 5
)

// watched is a driver whose decisions are noted.
type watched struct {
	wrapper.Driver
	notes *notes
}

// Run implements wrapper.Driver.
func (n watched) Run(ctx context.Context, task wrapper.Task) (wrapper.Outcome, error) {
	task.Decider = noter{task.Decider, n.notes}
	return n.Driver.Run(ctx, task)
}

// noter notes what a Decider decides, and changes nothing.
type noter struct {
	wrapper.Decider
	notes *notes
}

// CanUseTool implements wrapper.Decider.
func (n noter) CanUseTool(ctx context.Context, use permission.ToolUse) (permission.Result, error) {
	res, err := n.Decider.CanUseTool(ctx, use)
	n.notes.add(noted{use, res})
	return res, err
}

func (n *notes) add(one noted) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, one)
	if len(n.all) > maxNotes {
		n.all = slices.Delete(n.all, 0, len(n.all)-maxNotes)
	}
}

// last returns the nth decision from the end, beginning with 1.
func (n *notes) last(nth int) (noted, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if nth < 1 || nth > len(n.all) {
		return noted{}, false
	}
	return n.all[len(n.all)-nth], true
}

// why tells the last decisions with their reasons, or how the nth of them would be decided
// now, layer by layer.
func (n *notes) why(e *engine.Engine, events *stream, nth string) (string, error) {
	if nth != "" {
		i, err := strconv.Atoi(nth)
		one, found := n.last(i)
		if err != nil || !found {
			return "", errors.New("name a decision by its number, as /why lists it: 1 is the last one")
		}
		var trace permission.Trace
		e.Explain(one.use, &trace)
		var out strings.Builder
		out.WriteString("as it would be decided now:\n")
		e.WriteTrace(&out, display.TextOptions{Width: events.width(), Colour: events.colour}, &one.use, &trace)
		return out.String(), nil
	}
	out := ""
	for i := lastFew; i > 0; i-- {
		if one, found := n.last(i); found {
			out += fmt.Sprintf("%d. ", i) + events.told(wrapper.Decided(one.use, one.res))
		}
	}
	if out == "" {
		return "nothing was decided yet\n", nil
	}
	return out, nil
}
