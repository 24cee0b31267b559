package claude

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// reads allows to read, and to run what byWord allows.
type reads struct{ seen []permission.ToolUse }

func (r *reads) CanUseTool(ctx context.Context, use permission.ToolUse) (permission.Result, error) {
	r.seen = append(r.seen, use)
	if use.Tool == "Read" {
		return permission.Result{Decision: permission.Decision{Behavior: permission.Allow}, UpdatedInput: use.Input, By: "rule"}, nil
	}
	return byWord.CanUseTool(ctx, use)
}

// toBrief returns a launch in a workspace with files, of an agent that is told of them.
func toBrief(t *testing.T, prompt string, files map[string]string, start wrapper.Starter) (*launch, *recorder) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", filepath.Join(dir, "home"))
	t.Setenv("CLAUDE_CONFIG_DIR", "")
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	events := &recorder{}
	o := options(start, &reads{}, events)
	o.Prompt, o.Dir, o.Briefed, o.Typed = prompt, filepath.Join(dir, "repo"), true, true
	o.Explain = func(permission.ToolUse) permission.Decision { return permission.Decision{Behavior: permission.Allow} }
	return &o, events
}

var briefingFiles = map[string]string{
	"home/.claude/CLAUDE.md": "of the person", "repo/CLAUDE.md": "of the project",
	"repo/.claude/agents/a.md":   "---\ndescription: d\npermissionMode: bypassPermissions\n---\np",
	"repo/.claude/commands/c.md": "state !`git status` of $ARGUMENTS", "repo/.claude/commands/bad.md": "!`echo deny me`",
	"repo/x.txt": "text of x", "repo/p.gif": "GIF89a",
}

// TestBriefed: what is read reaches the CLI by its protocol, and nothing but text.
func TestBriefed(t *testing.T) {
	var first, prompt object
	o, events := toBrief(t, "see @x.txt and @p.gif", briefingFiles, agent(t, nil, func(f *fake) {
		first = f.hear()
		f.answer(first, goodInit)
		for range 3 {
			q := f.hear()
			f.answer(q, accounts()[q["request"].(object)["subtype"].(string)])
		}
		prompt = f.hear()
		f.begin("2.1.329")
		f.ends()
	}))
	o.AppendSystemPrompt = "be brief"
	var noted string
	o.Note = func(name, words string) error { noted = name + ": " + words; return nil }
	var ended []string
	o.Outcome = func(out wrapper.ToolOutcome) error { ended = append(ended, out.Use.Tool); return nil }
	out, err := drive(t.Context(), *o)
	if err != nil || out.Allowed != 2 || out.Denied != 0 {
		t.Fatalf("%+v %v", out, err)
	}
	request := first["request"].(object)
	system := request["appendSystemPrompt"].(string)
	for _, want := range []string{"of the person", "of the project", "be brief"} {
		if !strings.Contains(system, want) {
			t.Errorf("no %q in %s", want, system)
		}
	}
	if diff := cmp.Diff(object{"a": object{"description": "d", "prompt": "p"}}, request["agents"]); diff != "" {
		t.Error(diff)
	}
	content := prompt["message"].(object)["content"]
	want := []any{
		object{"type": "text", "text": "see @x.txt and @p.gif"}, object{"type": "text", "text": "The file @x.txt:\n\ntext of x"},
		object{"type": "image", "source": object{"type": "base64", "media_type": "image/gif", "data": "R0lGODlh"}},
		object{"type": "text", "text": "The task is above, word for word."},
	}
	if diff := cmp.Diff(want, content); diff != "" || prompt["client_composed"] != true {
		t.Error(diff)
	}
	if !strings.HasPrefix(noted, "briefing: the agent was given ~/.claude/CLAUDE.md (13 bytes, sha256:") || strings.Join(ended, " ") != "Read Read" {
		t.Errorf("%q %q", noted, ended)
	}
	if types := events.types(); !strings.Contains(types, "warning status decision tool_result status decision tool_result session") {
		t.Errorf("%s", types)
	}
}

// TestBriefedCommand: a command line of a command runs in the workspace if it is allowed,
// and the agent is not started if it is not.
func TestBriefedCommand(t *testing.T) {
	if findBash(nil) == "" {
		t.Skip("no bash")
	}
	var prompt object
	o, _ := toBrief(t, "/c this", briefingFiles, agent(t, nil, func(f *fake) { prompt = f.ready(); f.ends() }))
	var exit *int
	o.Outcome = func(out wrapper.ToolOutcome) error { exit = out.Exit; return nil }
	o.Decider = byWord
	if err := os.WriteFile(o.Dir+"/.claude/commands/c.md", []byte("state !`pwd` of $ARGUMENTS"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := drive(t.Context(), *o); err != nil || exit == nil || *exit != 0 {
		t.Fatal(err, exit)
	}
	if got := prompt["message"].(object)["content"]; got != "state "+o.Dir+" of this" {
		t.Errorf("%q", got)
	}
	started := false
	o, events := toBrief(t, "/bad", briefingFiles, func([]string) (wrapper.Process, error) { started = true; return nil, errors.New("started") })
	out, err := drive(t.Context(), *o)
	if err == nil || !strings.Contains(err.Error(), `/bad is not sent: it runs "echo deny me" before the agent sees it`) || started {
		t.Errorf("%v, started: %v", err, started)
	}
	if types := events.types(); !strings.HasSuffix(types, "decision error") || out.Session != "" {
		t.Errorf("%s %+v", types, out)
	}
}

// TestRunLine: a line has limits, and none of the variables that the agent has not.
func TestRunLine(t *testing.T) {
	if findBash(nil) == "" {
		t.Skip("no bash")
	}
	o := &launch{Task: wrapper.Task{Dir: t.TempDir(), Scratch: "/s"}}
	t.Setenv("CLAUDE_CODE_SIMPLE", "1")
	t.Setenv("BASH_ENV", "/none")
	for line, want := range map[string]string{
		"echo $TMPDIR$CLAUDE_CODE_SIMPLE$BASH_ENV": "/s\n", "echo a; echo b >&2": "a\nb\n", "cat": "", "printf '\\xff'": "\ufffd",
		"head -c 300000 /dev/zero": "error", "exit 3": "exit 3", "kill -9 $$": "exit 137",
	} {
		out, exit, err := o.runLine(t.Context(), line)
		if err != nil {
			out = "error"
		} else if exit != 0 {
			out = "exit " + jsonOf(exit)
		}
		if out != want {
			t.Errorf("%s: %.80q %v, want %q", line, out, err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := o.runLine(ctx, "echo x"); err == nil {
		t.Error("it runs although the run has ended")
	}
}

func jsonOf(v any) string {
	data, _ := json.Marshal(v)
	return string(data)
}

// TestNotBriefed: without the option, without somebody who tells what would be decided,
// or with a prompt that nobody typed, nothing is read.
func TestNotBriefed(t *testing.T) {
	for name, change := range map[string]func(o *launch){
		"bare":      func(o *launch) { o.Briefed = false },
		"unknown":   func(o *launch) { o.Explain = nil },
		"not typed": func(o *launch) { o.Typed = false },
	} {
		var first, prompt object
		o, events := toBrief(t, "/bad @x.txt", briefingFiles, agent(t, nil, func(f *fake) {
			first = f.hear()
			f.answer(first, goodInit)
			for range 3 {
				q := f.hear()
				f.answer(q, accounts()[q["request"].(object)["subtype"].(string)])
			}
			prompt = f.hear()
			f.begin("2.1.329")
			f.ends()
		}))
		change(o)
		if _, err := drive(t.Context(), *o); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := prompt["message"].(object)["content"]; got != "/bad @x.txt" || strings.Contains(events.types(), "decision") {
			t.Errorf("%s: %q %s", name, got, events.types())
		}
		if told := first["request"].(object)["agents"] != nil; told != (name == "not typed") {
			t.Errorf("%s: %v", name, first)
		}
	}
}

// TestNoNote: what cannot be recorded is not given.
func TestNoNote(t *testing.T) {
	o, _ := toBrief(t, "go", briefingFiles, func([]string) (wrapper.Process, error) { return nil, errors.New("started") })
	o.Note = func(string, string) error { return errors.New("the disk is full") }
	if _, err := drive(t.Context(), *o); err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Error(err)
	}
}

// TestSubagentTold: a subagent is told what the main agent is, and where it is if that is
// too long; those of the CLI that look for something are not. No other call of the hook is
// answered, and none where nothing is given.
func TestSubagentTold(t *testing.T) {
	long := map[string]string{"repo/CLAUDE.md": strings.Repeat("of the project ", 1000)}
	for _, tt := range []struct {
		name                  string
		files                 map[string]string
		callback, event, kind string
		bare                  bool
		want                  string // in what is told, "" for nothing, "refused"
	}{
		{"short", briefingFiles, tellID, tellEvent, "general-purpose", false, "of the project"},
		{"custom", briefingFiles, tellID, tellEvent, "a", false, "of the person"},
		{"looks", briefingFiles, tellID, tellEvent, "Explore", false, ""},
		{"custom that looks", map[string]string{"repo/CLAUDE.md": "of the project", "repo/.claude/agents/Plan.md": "---\ndescription: d\n---\np"}, tellID, tellEvent, "Plan", false, "of the project"},
		{"long", long, tellID, tellEvent, "general-purpose", false, "/repo/CLAUDE.md\n"},
		{"another event", briefingFiles, tellID, hookEvent, "general-purpose", false, "refused"},
		{"another hook", briefingFiles, hookID, tellEvent, "general-purpose", false, "refused"},
		{"bare", briefingFiles, tellID, tellEvent, "general-purpose", true, "refused"},
	} {
		var answer object
		o, _ := toBrief(t, "go", tt.files, agent(t, nil, func(f *fake) {
			f.ready()
			f.say(object{"type": "control_request", "request_id": "r", "request": object{
				"subtype": "hook_callback", "callback_id": tt.callback, "input": object{"hook_event_name": tt.event, "agent_id": "x", "agent_type": tt.kind},
			}})
			answer = f.hear()["response"].(object)
			f.ends()
		}))
		o.Briefed = !tt.bare
		if _, err := drive(t.Context(), *o); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		got := "refused"
		if answer["subtype"] == "success" {
			output := answer["response"].(object)["hookSpecificOutput"].(object)
			got = output["additionalContext"].(string)
			if output["hookEventName"] != tellEvent || len(output) != 2 {
				t.Errorf("%s: %v", tt.name, output)
			}
		}
		if !strings.Contains(got, tt.want) || (got == "") != (tt.want == "") || len(got) > maxContext {
			t.Errorf("%s: %.200q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestModelDoesNotAnswer: a model that does not answer is told of once in a turn.
func TestModelDoesNotAnswer(t *testing.T) {
	retries := func(attempt int, status any, why any) object {
		return object{"type": "system", "subtype": "api_retry", "attempt": attempt, "max_retries": 10, "error_status": status, "error": why}
	}
	for want, all := range map[string][]object{
		"": {retries(1, 529, "overloaded")},
		"the model does not answer: the agent CLI tries again, up to 10 times":                                  {retries(1, nil, "unknown"), retries(2, nil, "unknown"), retries(3, nil, "unknown")},
		"the model does not answer (HTTP 401 authentication_failed): the agent CLI tries again, up to 10 times": {retries(2, 401, "authentication_failed")},
		" ": {retries(2, "odd", 7)},
	} {
		events := &recorder{}
		o := options(agent(t, nil, func(f *fake) {
			f.ready()
			for _, line := range all {
				f.say(line)
			}
			f.ends()
		}), byWord, events)
		if _, err := drive(t.Context(), o); err != nil {
			t.Error(err)
		}
		var told []string
		for _, e := range events.of(wrapper.WarningEvent) {
			told = append(told, e.Message)
		}
		if strings.Join(told, "|") != strings.TrimSpace(want) {
			t.Errorf("%q, want %q", told, want)
		}
	}
}
