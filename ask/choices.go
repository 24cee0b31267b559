package ask

import (
	"cmp"
	"context"
	"fmt"

	"github.com/agent-wrapper/agent-wrapper/desk"
	"github.com/agent-wrapper/agent-wrapper/display"
	"github.com/agent-wrapper/agent-wrapper/internal/tty"
	"github.com/agent-wrapper/agent-wrapper/internal/visible"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// The choices that only a terminal has.
var (
	grants = display.Choice{Key: "g", Name: "grants", Label: "granted so far"}
	why    = display.Choice{Key: "?", Name: "why", Label: "why"}
	view   = display.Choice{Key: "v", Name: "view", Label: "view all"}
)

// choices returns the choices about a tool use.
func (a *Approver) choices(ask *permission.Request) []display.Choice {
	o := &a.options
	out := desk.Menu{Keep: o.Keep, Session: o.Session, Edit: o.Editor != nil && tty.CanLend}.Choices(ask)
	if o.Session != nil && len(o.Session.Grants()) > 0 {
		out = append(out, grants)
	}
	if o.Explain != nil {
		out = append(out, why)
	}
	return out
}

// chosen carries out a choice; done says that there is an answer.
func (q *question) chosen(ctx context.Context, c *display.Choice) (answer permission.Answer, done bool, err error) {
	switch c.Name {
	case desk.Once:
		if !q.fresh() {
			return answer, false, nil
		}
		q.say("once\n")
		return desk.Says(c.Name, nil), true, nil
	case desk.Session, desk.Always, desk.Never:
		return q.kept(ctx, c)
	case desk.While:
		return q.forAWhile(ctx, c)
	case grants.Name:
		return answer, false, q.grants(ctx)
	case desk.Edit:
		return q.edit(ctx)
	case desk.Deny:
		q.say("deny\n")
		return desk.Says(c.Name, nil), true, nil
	case desk.Words:
		return q.words(ctx)
	case why.Name:
		q.say("why\n\n" + q.options.Explain(q.ask.Use))
		q.rows = -1
		q.menu()
	case view.Name:
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
	case c.Name == desk.Never:
		return desk.Says(c.Name, rungs[i].Rules), true, nil
	case !q.fresh():
		return answer, false, nil
	case c.Name == desk.Session:
		return desk.Says(c.Name, rungs[i].Rules), true, nil
	}
	answer = desk.Says(c.Name, rungs[i].Rules)
	if err := cmp.Or(ctx.Err(), q.counts(answer)); err != nil { // before a rule is written
		return answer, false, err
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
		if !c.Keeps { // of the others the question shows what is kept
			q.say(c.Ladder(q.style()))
		}
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
			return desk.Says(desk.Once, nil)
		}
		q.say("  kept " + visible.Line(rule) + " in " + visible.Line(place.String()) + "\n")
	}
	return desk.Says(desk.Always, rules)
}

// allows reports whether an answer allows.
func allows(a permission.Answer) bool { return a.Behavior == permission.Allow }
