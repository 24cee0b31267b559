package ask

import (
	"context"
	"fmt"

	"github.com/agent-wrapper/agent-wrapper/approval"
	"github.com/agent-wrapper/agent-wrapper/display"
	"github.com/agent-wrapper/agent-wrapper/internal/tty"
	"github.com/agent-wrapper/agent-wrapper/internal/visible"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// The keys of the choices.
const (
	keyOnce    = "o"
	keySession = "s"
	keyAlways  = "a"
	keyWhile   = "t"
	keyGrants  = "g"
	keyEdit    = "e"
	keyDeny    = "d"
	keyWords   = "w"
	keyNever   = "n"
	keyWhy     = "?"
	keyView    = "v"
)

// choices returns the choices about a tool use.
func (a *Approver) choices(ask *permission.Request) []display.Choice {
	rungs := ladder(ask)
	always := len(rungs) > 0 && a.options.Keep != nil
	if len(rungs) == 0 && a.options.Session != nil {
		rungs = again(ask)
	}
	out := []display.Choice{{Key: keyOnce, Name: "once", Label: "once"}}
	if len(rungs) > 0 {
		out = append(out, display.Choice{Key: keySession, Name: "session", Label: "for this session", Rungs: rungs, Keeps: true})
	}
	if len(rungs) > 0 && a.options.Session != nil {
		out = append(out, display.Choice{Key: keyWhile, Name: "while", Label: "for a while", Rungs: rungs, Keeps: true})
	}
	if always {
		out = append(out, display.Choice{Key: keyAlways, Name: "always", Label: "always", Rungs: rungs, Keeps: true})
	}
	if a.options.Editor != nil && tty.CanLend {
		out = append(out, display.Choice{Key: keyEdit, Name: "edit", Label: "edit first"})
	}
	out = append(out,
		display.Choice{Key: keyDeny, Name: "deny", Label: "deny"},
		display.Choice{Key: keyWords, Name: "words", Label: "deny with words"})
	if rungs := denials(ask); len(rungs) > 0 {
		out = append(out, display.Choice{Key: keyNever, Name: "never", Label: "deny for this session", Rungs: rungs})
	}
	if a.options.Session != nil && len(a.options.Session.Grants()) > 0 {
		out = append(out, display.Choice{Key: keyGrants, Label: "granted so far"})
	}
	if a.options.Explain != nil {
		out = append(out, display.Choice{Key: keyWhy, Label: "why"})
	}
	return out
}

// chosen carries out a choice; done says that there is an answer.
func (q *question) chosen(ctx context.Context, c *display.Choice) (answer permission.Answer, done bool, err error) {
	switch c.Key {
	case keyOnce:
		if !q.fresh() {
			return answer, false, nil
		}
		q.say("once\n")
		return once(), true, nil
	case keySession, keyAlways, keyNever:
		return q.kept(ctx, c)
	case keyWhile:
		return q.forAWhile(ctx, c)
	case keyGrants:
		return answer, false, q.grants(ctx)
	case keyEdit:
		return q.edit(ctx)
	case keyDeny:
		q.say("deny\n")
		return permission.Answer{Behavior: permission.Deny}, true, nil
	case keyWords:
		return q.words(ctx)
	case keyWhy:
		q.say("why\n\n" + q.options.Explain(q.ask.Use))
		q.rows = -1
		q.menu()
	case keyView:
		q.say("view all\n")
		q.all = true
		q.draw()
	}
	return answer, false, nil
}

// words denies with a message for the agent.
func (q *question) words(ctx context.Context) (answer permission.Answer, done bool, err error) {
	q.say("deny with words\n")
	text, ok, err := q.line(ctx, "  tell the agent: ")
	if err != nil {
		return answer, false, err
	}
	if !ok || text == "" {
		q.menu()
		return answer, false, nil
	}
	return permission.Answer{Behavior: permission.Deny, Message: text}, true, nil
}

// edit lets the person edit the tool use; the result is decided again.
func (q *question) edit(ctx context.Context) (answer permission.Answer, done bool, err error) {
	q.say("edit\n")
	input, err := q.editInput(ctx)
	switch {
	case ctx.Err() != nil:
		return answer, false, ctx.Err()
	case err != nil:
		q.say("  nothing was edited: " + visible.Line(err.Error()) + "\n")
	case input == nil:
		q.say("  nothing was changed\n")
	default:
		q.say("  edited\n")
		return permission.Answer{Behavior: permission.Allow, Input: input}, true, nil
	}
	q.rows = -1
	q.menu()
	return answer, false, nil
}

// editInput runs the editor on the terminal. A nil input is unchanged.
func (q *question) editInput(ctx context.Context) ([]byte, error) {
	name, before := editable(&q.ask.Use)
	q.board.Close()
	text, err := q.options.Editor.edit(ctx, name, before)
	if openErr := q.board.Open(); openErr != nil {
		return nil, openErr
	}
	if err != nil {
		return nil, err
	}
	return edited(&q.ask.Use, name, before, text)
}

// kept allows or denies for the session, or allows permanently, by the rung that
// the person picks.
func (q *question) kept(ctx context.Context, c *display.Choice) (answer permission.Answer, done bool, err error) {
	q.say(c.Label + "\n")
	rungs := q.rungs(c.Key)
	i, err := q.pick(ctx, c)
	switch {
	case err != nil || i < 0 || i >= len(rungs):
		return answer, false, err
	case c.Key == keyNever:
		return forSession(permission.Deny, rungs[i].Rules), true, nil
	case !q.fresh():
		return answer, false, nil
	case c.Key == keySession:
		return lasting(rungs[i].Rules), true, nil
	}
	return q.always(rungs[i].Rules), true, nil
}

// rungs returns the rungs of a choice on the screen, because what may be kept can
// have changed.
func (q *question) rungs(key string) []display.Rung {
	for i := range q.choices {
		if q.choices[i].Key == key {
			return q.choices[i].Rungs
		}
	}
	return nil
}

// pick asks for one of several rungs; -1 is none.
func (q *question) pick(ctx context.Context, c *display.Choice) (int, error) {
	if len(c.Rungs) == 1 {
		return 0, nil
	}
	q.say(c.Ladder(q.style()) + fmt.Sprintf("  which of them, 1 to %d? Escape goes back.\n", len(c.Rungs)))
	return q.number(ctx, len(c.Rungs), nil)
}

// number waits for the key of a number, and returns it less one; -1 is none. It calls
// other, which may be nil, for other characters.
func (q *question) number(ctx context.Context, last int, other func(r rune)) (int, error) {
	for {
		p, err := q.keys.decision(ctx, q.armed)
		if err != nil {
			return -1, err
		}
		i := int(p.Rune - '1')
		switch {
		case p.Kind == tty.Rune && 0 <= i && i < last:
			q.say(string(p.Rune) + "\n")
			return i, nil
		case p.Kind == tty.Rune && other != nil:
			other(p.Rune)
			continue
		case p.Kind == tty.Escape:
			q.say("back\n")
			q.menu()
			return -1, nil
		case p.Kind == tty.Interrupt, p.Kind == tty.Suspend:
			return -1, q.stopped(p.Kind)
		case p.Kind == 0:
			return -1, q.noticed(p.notice)
		}
		q.armed(false)
	}
}

// always writes the rules to a policy and shows where. If they cannot be written,
// it allows once.
func (q *question) always(rules []string) permission.Answer {
	for _, rule := range rules {
		place, err := q.options.Keep(rule)
		if err != nil {
			q.say("  " + visible.Line(rule) + " is not kept, and this is approved once: " + visible.Line(err.Error()) + "\n")
			return permission.Answer{Behavior: permission.Allow}
		}
		q.say("  kept " + visible.Line(rule) + " in " + visible.Line(place.String()) + "\n")
	}
	return forSession(permission.Allow, rules)
}

// once returns the answer that allows this tool use.
func once() permission.Answer { return permission.Answer{Behavior: permission.Allow} }

// lasting returns the answer that allows by rules or, if there are none, exactly this
// tool use.
func lasting(rules []string) permission.Answer {
	if len(rules) == 0 {
		return permission.Answer{Behavior: permission.Allow, Scope: permission.ScopeUse}
	}
	return forSession(permission.Allow, rules)
}

func forSession(b permission.Behavior, rules []string) permission.Answer {
	return permission.Answer{Behavior: b, Scope: permission.ScopeSession, Rules: rules}
}

// allows reports whether an answer allows.
func allows(a permission.Answer) bool { return a.Behavior == permission.Allow }

// ladder returns the rules that an allow may keep, the narrowest first.
func ladder(ask *permission.Request) []display.Rung {
	rungs, err := approval.Ladder(ask)
	if err != nil {
		return nil
	}
	return shownRungs(rungs)
}

// again returns the rung for exactly this tool use, if it may come again.
func again(ask *permission.Request) []display.Rung {
	rung, err := approval.Again(ask)
	if err != nil {
		return nil
	}
	return shownRungs([]approval.Rung{rung})
}

// denials returns the rules that a deny may keep, the narrowest first.
func denials(ask *permission.Request) []display.Rung { return shownRungs(approval.Denials(ask)) }

func shownRungs(rungs []approval.Rung) []display.Rung {
	var out []display.Rung
	for _, r := range rungs {
		out = append(out, display.Rung{Label: r.Label, Rules: r.Rules})
	}
	return out
}
