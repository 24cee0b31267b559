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
