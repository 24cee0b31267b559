package ask

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/desk"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/display"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// forAWhile allows for a time or for a number of tool uses, by the rung that the
// person picks. The key of the choice goes on to the next limit.
func (q *question) forAWhile(ctx context.Context, c *display.Choice) (answer permission.Answer, done bool, err error) {
	limits, at := desk.Limits(), 0
	say := func() {
		next := limits[(at+1)%len(limits)].Label
		q.ladder(fmt.Sprintf("%s: which one?   %s  %s   Esc  back", limits[at].Label, c.Key, next), c)
	}
	say()
	rungs := q.rungs(c.Key)
	i, err := q.number(ctx, len(c.Rungs), func(r rune) {
		if string(r) == c.Key {
			at = (at + 1) % len(limits)
			say()
		}
	})
	if err != nil || i < 0 || i >= len(rungs) || !q.fresh() {
		return answer, false, err
	}
	answer = desk.Says(c.Name, rungs[i])
	answer.For, answer.Times = limits[at].For, limits[at].Times
	return answer, true, nil
}

// maxListed is how many grants can be revoked by a key.
const maxListed = 9

// grants lists the lasting answers of the session, the last first, and revokes the one
// whose number is pressed.
func (q *question) grants(ctx context.Context) error {
	q.replies(grants.Label)
	for {
		all := q.options.Session.Grants()
		if len(all) == 0 {
			break
		}
		shown := min(len(all), maxListed)
		for i := range shown {
			q.say(q.style().Row(fmt.Sprintf("%d  %s", i+1, visible.Line(all[len(all)-1-i].String()))))
		}
		if more := len(all) - shown; more > 0 {
			q.say(q.style().Row(fmt.Sprintf("and %d earlier ones", more)))
		}
		q.say(q.style().Row("which one to revoke?   Esc  back"))
		q.rows = -1
		i, err := q.number(ctx, shown, nil)
		if err != nil || i < 0 {
			return err
		}
		if q.options.Session.Revoke(all[len(all)-1-i].ID) {
			q.say("  revoked\n")
		}
	}
	q.rows = -1
	q.draw()
	return nil
}

// given are the rules that the person has allowed for the session. It is safe for
// concurrent use.
type given struct {
	mu    sync.Mutex
	rules []string
}

// add adds the rules of an answer. Those of a counted one are left out, as each tool use
// has to be counted by the session, and those up to a risk.
func (g *given) add(a permission.Answer) {
	if !allows(a) || a.Scope == permission.ScopeOnce || a.Times > 0 || a.UpTo != 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rules = append(g.rules, a.Rules...)
}

// count returns the number of rules so far.
func (g *given) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.rules)
}

// since returns the rules that were added after there were so many.
func (g *given) since(count int) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.rules[count:])
}
