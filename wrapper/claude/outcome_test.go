package claude

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// TestOutcomes: the outcome of each allowed tool use, and of each that ran
// without an approval, is reported once; an error of the report does not end the
// run.
func TestOutcomes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		events := &recorder{}
		o := options(agent(t, nil, func(f *fake) {
			f.ready()
			f.use("u1", "Bash", bash("x"))
			f.results("u1", true, "user_temporary")
			f.use("u2", "Bash", bash("deny"))
			f.results("u2", false, "reject")
			f.use("u3", "Bash", bash("x"))
			f.say(object{"type": "user", "message": object{"role": "user", "content": []any{
				object{"type": "tool_result", "tool_use_id": "u3", "content": "Exit code 7\nno such file", "is_error": true},
			}}})
			f.results("u4", true, "")
			f.ends()
		}), byWord, events)
		o.Outcome = func(o wrapper.ToolOutcome) error {
			said := fmt.Sprint(o.Use.ID, " ", o.Use.Tool, " ", o.Failed, " ", o.Breach)
			if o.Exit != nil {
				said += fmt.Sprint(*o.Exit)
			}
			got = append(got, said)
			return errors.New("no room")
		}
		_, err := drive(t.Context(), o)
		var breach *wrapper.Breach
		if !errors.As(err, &breach) {
			t.Error(err)
		}
		want := []string{"u1 Bash false ", "u3 Bash true 7", "u4  false ran without an approval"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestExitCode(t *testing.T) {
	for text, want := range map[string]int{"Exit code 1": 1, "Exit code 127\nno such": 127, "Exit code x": -1, "exit code 1": -1, "": -1, "Exit code 1 2": -1} {
		got := -1
		if code := exitCode(text); code != nil {
			got = *code
		}
		if got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

// TestTurnedAway: a tool use that is denied without asking the Decider is
// recorded too.
func TestTurnedAway(t *testing.T) {
	var seen []string
	d := decider(func(ctx context.Context, use permission.ToolUse) (permission.Result, error) {
		seen = append(seen, fmt.Sprint(use.ID, " ", use.Tool, " ", context.Cause(ctx)))
		return allow(use)
	})
	_, _, err := talk(t, d, func(f *fake) {
		f.use("u1", "Bash", bash("x"))
		if got := f.use("u1", "Bash", bash("y")); got["behavior"] != "deny" {
			t.Errorf("got %v", got)
		}
		f.results("u1", true, "user_temporary")
	})
	if err != nil {
		t.Error(err)
	}
	want := []string{"u1 Bash <nil>", "u1 Bash agent-wrapper was asked twice about this tool use"}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
}

// TestSpent: costs are those of the last result, turns those of all; a bill that
// cannot be read is none, and no failure.
func TestSpent(t *testing.T) {
	const models = `,"modelUsage":{"a":{"inputTokens":30,"outputTokens":15,"cacheReadInputTokens":2,"cacheCreationInputTokens":1,"costUSD":0.1},"b":{"inputTokens":10}}`
	for _, x := range []struct {
		name, bill string
		results    int
		want       *wrapper.Spent
	}{
		{"none", ``, 1, nil},
		{"one", `,"num_turns":3,"total_cost_usd":0.5` + models, 1, &wrapper.Spent{Turns: 3, CostUSD: 0.5, InputTokens: 40, OutputTokens: 15, CacheReadTokens: 2, CacheWriteTokens: 1}},
		{"two", `,"num_turns":3,"total_cost_usd":0.5` + models, 2, &wrapper.Spent{Turns: 6, CostUSD: 0.5, InputTokens: 40, OutputTokens: 15, CacheReadTokens: 2, CacheWriteTokens: 1}},
		{"no numbers", `,"num_turns":"3","total_cost_usd":[]`, 1, nil},
		{"twice", `,"num_turns":3,"NUM_TURNS":4`, 1, nil},
		{"negative", `,"num_turns":-3`, 1, nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				out, _, err := play(t, byWord, func(f *fake) {
					f.ready()
					for range x.results {
						f.say(`{"type":"result","subtype":"success","is_error":false,"result":"done"` + x.bill + `}`)
					}
					f.state("idle")
					for f.hear() != nil {
					}
				})
				if diff := cmp.Diff(x.want, out.Spent); err != nil || diff != "" {
					t.Errorf("%v %s", err, diff)
				}
			})
		})
	}
}

// TestLimits: an agent that a limit stops says which, and one that was to answer in
// a form and did not has failed.
func TestLimits(t *testing.T) {
	for _, x := range []struct {
		name, result, schema  string
		failed, limit, answer string
	}{
		{"turns", `"subtype":"error_max_turns","is_error":true,"errors":["Reached maximum number of turns (1)"]`, "", "Reached maximum number of turns (1)", "max_turns", ""},
		{"budget", `"subtype":"error_max_budget_usd","is_error":true,"errors":["Reached maximum budget ($1)"]`, "", "Reached maximum budget ($1)", "max_budget", ""},
		{"form", `"subtype":"error_max_structured_output_retries","is_error":true,"errors":["Failed"]`, "{}", "Failed", "structured_output", ""},
		{"other", `"subtype":"error_during_execution","is_error":true`, "{}", "error_during_execution", "", ""},
		{"answered", `"subtype":"success","result":"x","structured_output":{"a":1}`, "{}", "", "", `{"a":1}`},
		{"not answered", `"subtype":"success","result":"x"`, "{}", "it gave no answer of the form that the JSON Schema describes", "structured_output", ""},
		{"null", `"subtype":"success","result":"x","structured_output":null`, "{}", "it gave no answer of the form that the JSON Schema describes", "structured_output", ""},
		{"not asked", `"subtype":"success","result":"x"`, "", "", "", ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := options(agent(t, nil, func(f *fake) {
					f.ready()
					f.say(`{"type":"result",` + x.result + `}`)
					f.state("idle")
					for f.hear() != nil {
					}
				}), byWord, &recorder{})
				o.OutputSchema = x.schema
				out, err := drive(t.Context(), o)
				if err != nil || out.Failed != x.failed || out.Limit != x.limit || string(out.Structured) != x.answer {
					t.Errorf("%+v %v", out, err)
				}
			})
		})
	}
}
