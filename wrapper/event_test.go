package wrapper

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

func TestWanted(t *testing.T) {
	cases := []struct {
		tool, input string
		want        string // types and what stands for the tool use
	}{
		{"Bash", `{"command":"git status"}`, "status:git status tool_use:git status"},
		{"Bash", `{"command":"git rebase -i"}`, "status:git rebase -i tool_use:git rebase -i vcs_operation:git rebase"},
		{"Bash", `{"command":"jj squash"}`, "status:jj squash tool_use:jj squash vcs_operation:jj squash"},
		{"Bash", `{"command":"git rebased"}`, "status:git rebased tool_use:git rebased"},
		{"Bash", `{"command":1}`, `status:{"command":1}`},
		{"Bash", `{"command":"ls\n\n rm  x","description":"look"}`, "status:ls ⏎ rm x tool_use:ls\n\n rm  x"},
		{"Write", `{"command":"ls","file_path":"/etc/passwd","content":"x"}`, "status:/etc/passwd"},
		{"mcp__db__drop", `{"command":"ls","table":"t"}`, `status:{"command":"ls","table":"t"}`},
		{"Whatever", `{"description":"look","path":"/a"}`, `status:{"description":"look","path":"/a"}`},
		{"WebFetch", `{"command":"ls","url":"https://a/"}`, "status:https://a/"},
		{"Bash", `not JSON`, "status:"},
		{"Read", `{"file_path":"/a"}`, "status:/a"},
		{"Monitor", `{"command":"tail -f x"}`, "status:tail -f x"},
		{"Write", `{"file_path":"/a","content":"x"}`, "status:/a"},
		{"Grep", `{"pattern":"a\nb  c","path":""}`, "status:a ⏎ b c"},
		{"Agent", `{"subagent_type":"Explore","prompt":"x"}`, "status:Explore"},
		{"TodoWrite", `{"todos":[]}`, "status:"},
		{"AskUserQuestion", `{"questions":[{"question":"Which one?"},{"question":"Why?"}]}`, "status:Which one?"},
		{"AskUserQuestion", `{"questions":["Which one?"]}`, "status:"},
		{"Bash", `{"command":"` + strings.Repeat("é", 300) + `"}`, "status:" + strings.Repeat("é", 200) + "… tool_use:" + strings.Repeat("é", 300)},
	}
	for _, c := range cases {
		var got []string
		for _, e := range Wanted("u", c.tool, "", json.RawMessage(c.input)) {
			what := e.InputSummary
			if e.Type == ToolUseEvent {
				what = e.Command
			}
			if e.Type == VCSOperationEvent {
				what = e.Operation
			}
			got = append(got, e.Type+":"+what)
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s %s: got %s, want %s", c.tool, c.input, text, c.want)
		}
	}
}

func TestDecided(t *testing.T) {
	res := permission.Result{By: "person", Decision: permission.Decision{
		Behavior: permission.Allow, Layer: permission.LayerAskList, Rule: "Bash(git push:*)",
		RuleSource: patterns.Source{Name: "p.toml", Line: 3, Col: 7}, Reason: "the ask list names it",
	}}
	got := Decided(permission.ToolUse{ID: "u", Tool: "Bash", Agent: "a", Input: json.RawMessage(`{"command":"git push"}`)}, res)
	want := Event{
		Type: "decision", Tool: "Bash", ToolUseID: "u", Agent: "a", InputSummary: "git push", Behavior: "allow",
		Layer: "ask-list", Rule: "Bash(git push:*)", Source: "p.toml:3:7", Reason: "the ask list names it", By: "person",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// approver answers by a function.
type approver func(permission.Request) (permission.Answer, error)

func (a approver) Approve(_ context.Context, r permission.Request) (permission.Answer, error) {
	return a(r)
}

func TestAnnounce(t *testing.T) {
	question := permission.Request{
		Use:      permission.ToolUse{ID: "u", Tool: "AskUserQuestion", Input: json.RawMessage(`{"questions":[{"question":"Which?"}]}`)},
		Decision: permission.Decision{Question: true},
	}
	approval := permission.Request{
		Use: permission.ToolUse{ID: "u", Tool: "Bash", Agent: "a", Input: json.RawMessage(`{"command":"rm x"}`)},
		Decision: permission.Decision{
			Reason: "the ask list names it", Tier: 2, Risk: risk.High,
			Parts: []permission.Part{{Factors: []string{"system_path", "dynamic_command"}}, {Factors: []string{"dynamic_command"}}},
		},
	}
	said := approver(func(permission.Request) (permission.Answer, error) {
		return permission.Answer{Behavior: permission.Allow}, nil
	})
	var events []Event
	take := func(e Event) { events = append(events, e) }
	for _, r := range []permission.Request{question, approval} {
		a, err := Announce(take, said).Approve(t.Context(), r)
		if err != nil || a.Behavior != permission.Allow {
			t.Errorf("got %v, %v", a, err)
		}
	}
	if got := lines(t, events); got != `{"type":"insert_choices","tool_use_id":"u","questions":[{"question":"Which?"}]}
{"type":"approval_required","approval_id":"u/1","tool":"Bash","tool_use_id":"u","agent":"a","input":{"command":"rm x"},"options":[{"value":"allow_once","label":"allow_once - Allow this execution only"},{"value":"deny_once","label":"deny_once - Deny this execution only"},{"value":"allow_for_session","label":"allow_for_session - Allow for this session"},{"value":"deny_for_session","label":"deny_for_session - Deny for this session"}],"reason":"the ask list names it","tier":2,"risk":"high","factors":["dynamic_command","system_path"]}
` {
		t.Errorf("got %s", got)
	}
	if _, err := Announce(take, nil).Approve(t.Context(), approval); err == nil || len(events) != 3 {
		t.Errorf("nobody to ask: %v, %d events", err, len(events))
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Announce(take, said).Approve(ended, approval); !errors.Is(err, context.Canceled) || len(events) != 3 {
		t.Errorf("after the end: %v, %d events", err, len(events))
	}
}

// lines are events as a stream has them.
func lines(t *testing.T, events []Event) string {
	t.Helper()
	var out strings.Builder
	for _, e := range events {
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(line, '\n'))
	}
	return out.String()
}
