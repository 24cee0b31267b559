package gates

import (
	"context"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/process"
)

// TestWalls: what was decided to run inside walls runs there or not at all, and what needs
// more than they let it runs outside, unless all gates run inside.
func TestWalls(t *testing.T) {
	const rules = `allow = ["Bash(git push)", "Bash(npm test)"]`
	for _, tt := range []struct {
		name, run     string
		decided, all  bool // by an evaluator that has walls; everything runs inside
		built         bool // somebody builds walls
		where, failed string
		ran           string
	}{
		{name: "no walls", run: "npm test", built: true, ran: "without"},
		{name: "inside", run: "npm test", decided: true, built: true, where: "inside", ran: "inside"},
		{name: "nobody builds them", run: "npm test", decided: true, where: "inside", failed: "not_started"},
		{name: "outside", run: "git push", decided: true, built: true, where: "outside", ran: "without"},
		{name: "all inside", run: "git push", decided: true, all: true, built: true, where: "inside", ran: "inside"},
		{name: "all, and nobody builds them", run: "git push", decided: true, all: true, where: "inside", failed: "not_started"},
		{name: "all, and there are none", run: "git push", all: true, built: true, ran: "without"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, rules)
			if tt.decided {
				r.Decider.(*permission.Evaluator).Session.Walls(&permission.Walls{
					Writable: []string{r.Workspace}, Held: func() ([]string, error) { return nil, nil },
				})
			}
			ran := ""
			r.run = func(context.Context, *process.Command) (process.Result, error) {
				ran += "without"
				return process.Result{}, nil
			}
			if tt.built {
				r.Inside = func(_ context.Context, use *permission.ToolUse, _ *process.Command, _ func(string, ...any)) (process.Result, error) {
					if use.Dir != r.Workspace || use.Session != "s1" {
						t.Errorf("a gate in %s, of session %s", use.Dir, use.Session)
					}
					ran += "inside"
					return process.Result{}, nil
				}
			}
			r.All = tt.all
			plan := parsePlan(t, `{"name": "a", "gates": [{"name": "g", "run": "`+tt.run+`"}]}`)
			if v := r.Preview(plan)[0]; v.Would != WouldRun || v.Walls != tt.where {
				t.Errorf("a preview: %+v", v)
			}
			list, err := r.Run(t.Context(), plan)
			if err != nil || ran != tt.ran || list[0].Walls != tt.where || string(list[0].Failure) != tt.failed {
				t.Errorf("ran %q, %+v, %v", ran, list[0], err)
			}
		})
	}
}
