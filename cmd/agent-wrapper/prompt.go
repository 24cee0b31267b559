package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/visible"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// asker puts what the policy leaves to a person before one at a terminal, one
// question at a time. It shows and asks; what an answer means is decided by
// permission.
type asker struct {
	turn   chan struct{} // holds one token: whose turn it is to ask
	keys   keys
	screen *screen
}

// keys is what a person types on.
type keys interface {
	// expect begins to wait for the line that answers what is shown.
	expect(shown string) <-chan string
	line(ctx context.Context, expected <-chan string) (string, error)
}

func newAsker(keys keys, s *screen) *asker {
	a := &asker{turn: make(chan struct{}, 1), keys: keys, screen: s}
	a.turn <- struct{}{}
	return a
}

// Approve asks the person.
func (a *asker) Approve(ctx context.Context, ask permission.Request) (permission.Answer, error) {
	select {
	case <-a.turn:
		defer func() { a.turn <- struct{}{} }()
	case <-ctx.Done():
		return permission.Answer{}, ctx.Err()
	}
	a.screen.hold()
	defer a.screen.release()
	answer, err := a.question(ctx, ask)
	if err != nil {
		a.screen.ask("\n  (no longer asked: " + err.Error() + ")\n")
	}
	return answer, err
}

func (a *asker) question(ctx context.Context, ask permission.Request) (permission.Answer, error) {
	if ask.Decision.Question {
		return a.choices(ctx, ask.Use)
	}
	shown, whole := request(ask)
	rules := sessionRules(ask.Decision)
	if !whole {
		rules = nil
	}
	for {
		text, err := a.read(ctx, shown+menu(rules)+"  > ")
		if err != nil {
			return permission.Answer{}, err
		}
		if answer, ok := a.answer(ctx, text, rules); ok {
			return answer, ctx.Err()
		}
		shown = ""
	}
}

// read shows text that ends in a prompt and waits for a line.
func (a *asker) read(ctx context.Context, text string) (string, error) {
	expected := a.keys.expect(text)
	a.screen.ask(text)
	return a.keys.line(ctx, expected)
}

// answer reads what the person typed; not ok is what is no answer.
func (a *asker) answer(ctx context.Context, text string, rules []string) (permission.Answer, bool) {
	word, rest, _ := strings.Cut(text, " ")
	rest = strings.TrimSpace(rest)
	switch strings.ToLower(word) {
	case "o", "once":
		return permission.Answer{Behavior: permission.Allow}, rest == ""
	case "s", "session":
		return permission.Answer{Behavior: permission.Allow, Scope: permission.ScopeSession, Rules: rules}, rest == "" && len(rules) > 0
	case "d", "deny":
		return permission.Answer{Behavior: permission.Deny, Message: rest}, true
	case "w", "words":
		return a.words(ctx, rest)
	}
	return permission.Answer{}, false
}

// words denies with a message to the agent.
func (a *asker) words(ctx context.Context, text string) (permission.Answer, bool) {
	if text == "" {
		var err error
		if text, err = a.read(ctx, "  tell the agent: "); err != nil {
			return permission.Answer{Behavior: permission.Deny}, true
		}
	}
	return permission.Answer{Behavior: permission.Deny, Message: text}, true
}

// sessionRules are the rules that "session" would add: one for each unapproved
// part, none at all if one part may not be kept.
func sessionRules(d permission.Decision) []string {
	if d.Held {
		return nil
	}
	var rules []string
	for _, part := range d.Unapproved() {
		if part.Exact == "" {
			return nil
		}
		rules = append(rules, part.Exact)
	}
	return rules
}

func menu(rules []string) string {
	session := ""
	if len(rules) > 0 {
		session = "  [s]ession (adds " + visible.Line(strings.Join(rules, ", ")) + ")"
	}
	return "  [o]nce" + session + "  [d]eny  deny with [w]ords\n"
}

// request is the text of a question, and whether it shows the whole input.
func request(ask permission.Request) (text string, whole bool) {
	var out strings.Builder
	fields, whole := inputFields(ask.Use.Input)
	by := ""
	if ask.Use.Agent != "" {
		by = " (subagent " + visible.Line(ask.Use.Agent) + ")"
	}
	fmt.Fprintf(&out, "\n? %s%s\n", visible.Line(ask.Use.Tool), by)
	for _, f := range fields {
		fmt.Fprintf(&out, "    %s: %s\n", f.name, f.text)
	}
	if ask.Use.Dir != "" {
		fmt.Fprintf(&out, "  in %s\n", visible.Line(ask.Use.Dir))
	}
	reasons(&out, ask.Decision)
	fmt.Fprintf(&out, "  risk %s, tier %d\n", ask.Decision.Risk, ask.Decision.Tier)
	return out.String(), whole
}

// reasons lists the parts that need an answer, or the reason of the whole.
func reasons(out *strings.Builder, d permission.Decision) {
	for _, part := range d.Unapproved() {
		fmt.Fprintf(out, "  - %s: %s\n", visible.Line(part.Action), visible.Line(part.Reason))
	}
	if len(d.Unapproved()) == 0 && d.Reason != "" {
		fmt.Fprintf(out, "  - %s\n", visible.Line(d.Reason))
	}
	if d.Rule != "" {
		fmt.Fprintf(out, "  rule %s%s\n", visible.Line(d.Rule), from(d.RuleSource))
	}
}

// from names the source of a rule: " (agent-wrapper.toml:4:8)".
func from(s patterns.Source) string {
	if s.Name == "" {
		return ""
	}
	return " (" + visible.Line(sourceText(s)) + ")"
}

// sourceText is NAME:LINE:COL as far as it is known.
func sourceText(s patterns.Source) string {
	text := s.Name
	if s.Line > 0 {
		text += fmt.Sprintf(":%d", s.Line)
		if s.Col > 0 {
			text += fmt.Sprintf(":%d", s.Col)
		}
	}
	return text
}
