package gates

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/run/process"
	"github.com/agent-wrapper/agent-wrapper/internal/sandbox"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// TestSandbox: what was decided to run inside the sandbox runs there or not at all, and what needs
// more than the sandbox lets it do runs outside, unless all gates run inside.
func TestSandbox(t *testing.T) {
	const rules = `allow = ["Bash(git push)", "Bash(npm test)"]`
	for _, tt := range []struct {
		name, run     string
		decided, all  bool // by an evaluator that has a sandbox; everything runs inside
		built         bool // somebody builds a sandbox
		where, failed string
		ran           string
	}{
		{name: "no sandbox", run: "npm test", built: true, ran: "without"},
		{name: "inside", run: "npm test", decided: true, built: true, where: "inside", ran: "inside"},
		{name: "nobody builds it", run: "npm test", decided: true, where: "inside", failed: "not_started"},
		{name: "outside", run: "git push", decided: true, built: true, where: "outside", ran: "without"},
		{name: "all inside", run: "git push", decided: true, all: true, built: true, where: "inside", ran: "inside"},
		{name: "all, and nobody builds them", run: "git push", decided: true, all: true, where: "inside", failed: "not_started"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, rules)
			if tt.decided {
				r.Decider.(*permission.Evaluator).Session.Sandbox(&permission.Sandbox{
					Writable: []string{r.Workspace}, Held: func() ([]string, error) { return nil, nil }, Only: tt.all, Planted: func(string) bool { return false },
				})
			}
			ran := ""
			r.run = func(context.Context, *process.Command) (process.Result, error) {
				ran += "without"
				return process.Result{}, nil
			}
			if tt.built {
				r.Inside = func(_ context.Context, allowed *Allowed, _ *process.Command) (process.Result, []sandbox.Met, error) {
					if allowed.Use.Dir != r.Workspace || allowed.Use.Session != "s1" || allowed.Line != tt.run {
						t.Errorf("allowed: %+v, %+v", allowed, allowed.Use)
					}
					if (allowed.Outward != "") != (tt.run == "git push") {
						t.Errorf("why it needs more than the sandbox: %q", allowed.Outward)
					}
					ran += "inside"
					return process.Result{}, nil, nil
				}
			}
			plan := parsePlan(t, `{"name": "a", "gates": [{"name": "g", "run": "`+tt.run+`"}]}`)
			if v := r.Preview(plan)[0]; v.Would != WouldRun || v.Sandbox != tt.where {
				t.Errorf("a preview: %+v", v)
			}
			list, err := r.Run(t.Context(), plan)
			if err != nil || ran != tt.ran || list[0].Sandbox != tt.where || string(list[0].Failure) != tt.failed {
				t.Errorf("ran %q, %+v, %v", ran, list[0], err)
			}
		})
	}
}

// TestMet: the result of a gate that failed inside the sandbox, and the record, have what the
// sandbox refused it, and the reason says what to do about the first; those of any other gate
// do not.
func TestMet(t *testing.T) {
	met := sandbox.Meets(&sandbox.Plan{}, &sandbox.End{Refused: []sandbox.Refusal{{Host: "example.org", Port: "443"}}}, nil)
	for _, tt := range []struct {
		name  string
		ended process.Result
		met   []sandbox.Met
		told  bool
	}{
		{name: "the sandbox stopped it", ended: process.Result{Exit: 1}, met: met, told: true},
		{name: "it failed", ended: process.Result{Exit: 1}},
		{name: "it passed in spite of one", met: met},
		{name: "its time was over", ended: process.Result{Exit: -1, TimedOut: true}, met: met},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, `allow = ["Bash(npm test)"]`)
			r.Decider.(*permission.Evaluator).Session.Sandbox(&permission.Sandbox{
				Writable: []string{r.Workspace}, Held: func() ([]string, error) { return nil, nil }, Planted: func(string) bool { return false },
			})
			r.Inside = func(context.Context, *Allowed, *process.Command) (process.Result, []sandbox.Met, error) {
				return tt.ended, tt.met, nil
			}
			list, err := r.Run(t.Context(), parsePlan(t, `{"name": "a", "gates": [{"name": "g", "run": "npm test"}]}`))
			if err != nil {
				t.Fatal(err)
			}
			if told := strings.Contains(list[0].Reason, "example.org:443"); told != tt.told || (len(list[0].Met) == 1) != tt.told {
				t.Errorf("the result %+v", list[0])
			}
			if recorded := slices.ContainsFunc(r.log, func(entry string) bool { return strings.Contains(entry, "met [fetch example.org:443]") }); recorded != tt.told {
				t.Errorf("the record has %q", r.log)
			}
		})
	}
}

// TestWhoseLimit: a gate that is ended by the limit of the policy names that.
func TestWhoseLimit(t *testing.T) {
	for limit, want := range map[time.Duration]string{
		time.Second:      "it was stopped after 1s (limits.sandbox.timeout_seconds of the policy)",
		30 * time.Second: "it was stopped after 30s",
	} {
		r := newRig(t, `allow = ["Bash(npm test)"]`)
		r.Decider.(*permission.Evaluator).Session.Sandbox(&permission.Sandbox{
			Writable: []string{r.Workspace}, Held: func() ([]string, error) { return nil, nil }, Planted: func(string) bool { return false },
		})
		r.Inside = func(_ context.Context, _ *Allowed, c *process.Command) (process.Result, []sandbox.Met, error) {
			c.Limit = limit
			return process.Result{Exit: -1, TimedOut: true}, nil, nil
		}
		list, err := r.Run(t.Context(), parsePlan(t, `{"name": "a", "gates": [{"name": "g", "run": "npm test"}]}`))
		if err != nil || list[0].Failure != TimedOut || list[0].Reason != want {
			t.Errorf("%v: %+v, %v", limit, list[0], err)
		}
	}
}
