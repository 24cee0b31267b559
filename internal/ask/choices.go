package ask

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/desk"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/display"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/tty"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// The choices that only a terminal has.
var (
	grants = display.Choice{Key: "g", Name: "grants", Label: "granted so far"}
	why    = display.Choice{Key: "?", Name: "why", Label: "why"}
	view   = display.Choice{Key: "v", Name: "all", Label: "all"}
)

// choices returns the choices about a tool use.
func (a *Approver) choices(ask *permission.Request) []display.Choice {
	o := &a.options
	out := desk.Menu{Keep: o.Keep, Into: o.Into, Session: o.Session, Edit: o.Editor != nil && tty.CanLend}.Choices(ask)
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
		q.replies(c.Name)
		return desk.Says(c.Name, display.Rung{}), true, nil
	case desk.Always, desk.Never:
		return q.kept(ctx, c)
	case desk.AcceptEdits:
		if !q.fresh() {
			return answer, false, nil
		}
		q.replies("accept edits in the workspace for this session")
		return desk.Says(c.Name, display.Rung{}), true, nil
	case desk.Session:
		return q.keeps(c, 0)
	case desk.While:
		return q.forAWhile(ctx, c)
	case grants.Name:
		return answer, false, q.grants(ctx)
	case desk.Edit:
		return q.edit(ctx)
	case desk.Deny:
		q.replies(c.Name)
		return desk.Says(c.Name, display.Rung{}), true, nil
	case desk.Words:
		return q.words(ctx)
	case why.Name:
		q.replies(c.Name)
		q.say("\n" + q.options.Explain(q.ask.Use))
		q.rows = -1
		q.menu()
	case view.Name:
		q.replies(c.Name)
		q.all = true
		q.draw()
	}
	return answer, false, nil
}

// words denies with a message for the agent.
func (q *question) words(ctx context.Context) (answer permission.Answer, done bool, err error) {
	q.clear()
	text, ok, err := q.line(ctx, &lineEdit{head: q.prompt() + "tell the agent: "})
	if err != nil || !ok || text == "" {
		return answer, false, err
	}
	return permission.Answer{Behavior: permission.Deny, Message: text}, true, nil
}

// edit lets the person edit the tool use; the result is decided again.
func (q *question) edit(ctx context.Context) (answer permission.Answer, done bool, err error) {
	name, before := editable(&q.ask.Use)
	if q.options.Editor.inline(name, before) {
		return q.editLine(ctx, name, before)
	}
	if q.options.Editor.words == nil {
		q.hint("no editor was found: set EDITOR to the one to use")
		return answer, false, nil
	}
	q.replies("edit")
	input, err := q.editInput(ctx, name, before)
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
func (q *question) editInput(ctx context.Context, name, before string) ([]byte, error) {
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

// editLine lets the person edit a command of one line behind the prompt.
func (q *question) editLine(ctx context.Context, name, before string) (answer permission.Answer, done bool, err error) {
	q.clear()
	command := strings.TrimSuffix(before, "\n")
	text, ok, err := q.line(ctx, &lineEdit{head: q.prompt() + "edit: ", text: []rune(command), at: len([]rune(command))})
	if err != nil || !ok {
		return answer, false, err
	}
	input, err := edited(&q.ask.Use, name, before, text+"\n")
	switch {
	case err != nil:
		q.menu()
		q.hint("nothing was edited: " + visible.Line(err.Error()))
		return answer, false, nil
	case input == nil:
		q.menu()
		q.hint("nothing was changed")
		return answer, false, nil
	}
	return permission.Answer{Behavior: permission.Allow, Input: input}, true, nil
}

// keeps allows for the session by a rung that is on the screen.
func (q *question) keeps(c *display.Choice, rung int) (answer permission.Answer, done bool, err error) {
	rungs := q.rungs(c.Key)
	if rung >= len(rungs) || !q.fresh() {
		return answer, false, nil
	}
	text := c.Label
	if rung > 0 {
		text += ", " + string(rune('1'+rung))
	}
	q.replies(text)
	return desk.Says(c.Name, rungs[rung]), true, nil
}

// kept denies for the session, or allows permanently, by the rung that the person
// picks.
func (q *question) kept(ctx context.Context, c *display.Choice) (answer permission.Answer, done bool, err error) {
	rungs := q.rungs(c.Key)
	i, err := q.pick(ctx, c)
	switch {
	case err != nil || i < 0 || i >= len(rungs):
		return answer, false, err
	case c.Name == desk.Never:
		return desk.Says(c.Name, rungs[i]), true, nil
	case !q.fresh():
		return answer, false, nil
	}
	answer = desk.Says(c.Name, rungs[i])
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

// pick asks for one of several rungs, in place of the choices; -1 is none. One that is
// on the screen already is not asked for.
func (q *question) pick(ctx context.Context, c *display.Choice) (int, error) {
	if len(c.Rungs) == 1 && q.shown.Lists(&c.Rungs[0]) {
		q.replies(c.Label)
		return 0, nil
	}
	text := c.Label
	if c.Into != "" {
		text += ", in " + c.Into
	}
	q.ladder(text+": which one?   Esc  back", c)
	return q.number(ctx, len(c.Rungs), nil)
}

// ladder shows the rungs of a choice in place of the choices.
func (q *question) ladder(title string, c *display.Choice) {
	o := q.style()
	q.below(o.Row("") + o.Row(title) + c.Ladder(o))
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
		case p.Kind == tty.Rune && 0 <= i && i < min(last, maxListed):
			q.replies(string(p.Rune))
			return i, nil
		case p.Kind == tty.Rune && other != nil:
			other(p.Rune)
			continue
		case p.Kind == tty.Escape:
			q.menu()
			return -1, nil
		case p.Kind == tty.Interrupt, p.Kind == tty.Suspend:
			return -1, q.stopped(p.Kind)
		case p.Kind == 0:
			return -1, q.noticed(p.notice)
		}
		q.hint(fmt.Sprintf("keys: 1 to %d, Esc back", last))
	}
}

// always writes the rules to a policy and shows where. If they cannot be written,
// it allows once.
func (q *question) always(rules []string) permission.Answer {
	for _, rule := range rules {
		place, err := q.options.Keep(rule)
		if err != nil {
			q.say("  " + visible.Line(rule) + " is not kept, and this is approved once: " + visible.Line(err.Error()) + "\n")
			return desk.Says(desk.Once, display.Rung{})
		}
		q.say("  kept " + visible.Line(rule) + " in " + visible.Line(place.String()) + "\n")
	}
	return desk.Says(desk.Always, display.Rung{Rules: rules})
}

// allows reports whether an answer allows.
func allows(a permission.Answer) bool { return a.Behavior == permission.Allow }
