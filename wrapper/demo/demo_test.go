package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/golden"
	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/workspace"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
	"github.com/agent-wrapper/agent-wrapper/wrapper/claude"
)

// records counts the records that it receives.
type records struct {
	mu sync.Mutex
	n  int
}

func (r *records) Record(context.Context, permission.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n++
	return nil
}

// outcome is the outcome of a run of the demo.
type outcome struct {
	dir     string
	out     wrapper.Outcome
	events  []wrapper.Event
	records int
}

// play runs the demo under its policy, changed by change.
func play(t *testing.T, script Script, change func(*policy.Spec), person permission.Approver) outcome {
	t.Helper()
	spec, err := Policy()
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(spec)
	}
	o := outcome{dir: t.TempDir()}
	if err := script.Lay(o.dir); err != nil {
		t.Fatal(err)
	}
	place := patterns.Place{Workspace: o.dir, Home: "/home/dev"}
	pol, session, warnings, err := spec.Compile(place)
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	kept := &records{}
	o.out, err = claude.Agent{Start: script.Start(o.dir)}.Run(t.Context(), wrapper.Task{
		Prompt: "show it", Dir: o.dir,
		Events: func(e wrapper.Event) { o.events = append(o.events, e) },
		Decider: &permission.Evaluator{
			Policy: pol, Session: session, Env: workspace.Env{Place: place}, Recorder: kept, Approver: person,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	o.records = kept.n
	return o
}

// decisions returns the decisions of a run in words, one a line.
func (o outcome) decisions() string {
	var b strings.Builder
	for _, e := range o.events {
		if e.Type == wrapper.DecisionEvent {
			fmt.Fprintf(&b, "%s %s: %s by %s %s %s\n    %s\n", e.Tool, e.InputSummary, e.Behavior, e.Layer, e.Rule, e.Source, e.Reason)
		}
	}
	return strings.ReplaceAll(b.String(), o.dir, "WORKSPACE")
}

func (o outcome) layers() map[string]string {
	layers := map[string]string{}
	for _, e := range o.events {
		if e.Type == wrapper.DecisionEvent {
			layers[e.ToolUseID] = e.Layer + " " + e.Behavior
		}
	}
	return layers
}

func (o outcome) exists(name string) bool {
	_, err := os.Stat(filepath.Join(o.dir, name))
	return err == nil
}

func TestDemo(t *testing.T) {
	begin := time.Now()
	o := play(t, Default(), nil, nil)
	golden.Check(t, "testdata/decisions.golden", o.decisions())
	if o.records != len(Default().Steps) || o.out.Allowed+o.out.Denied != o.records {
		t.Errorf("%d steps, %d records, %+v", len(Default().Steps), o.records, o.out)
	}
	if o.out.Text != Default().Last {
		t.Errorf("last words %q", o.out.Text)
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}

// TestEveryLayer: under the demo's policy every layer of the evaluator
// decides at least one step.
func TestEveryLayer(t *testing.T) {
	seen := map[string]bool{}
	for _, layer := range play(t, Default(), nil, nil).layers() {
		seen[strings.Fields(layer)[0]] = true
	}
	for l := permission.LayerGuard; l <= permission.LayerDefault; l++ {
		if !seen[l.String()] {
			t.Errorf("no step is decided by %s", l)
		}
	}
}

// yes is an approver that allows everything.
type yes struct{}

func (yes) Approve(_ context.Context, r permission.Request) (permission.Answer, error) {
	return permission.Answer{Behavior: permission.Allow}, nil
}

// TestReallyDone: what is allowed is done in the workspace, what is denied is
// not.
func TestReallyDone(t *testing.T) {
	read := func(o outcome, name string) string {
		b, err := os.ReadFile(filepath.Join(o.dir, name))
		if err != nil {
			t.Error(err)
		}
		return string(b)
	}
	o := play(t, Default(), nil, nil)
	if got := read(o, "src/kettle.txt"); got != "boil at 96\n" {
		t.Errorf("the allowed edit left %q", got)
	}
	if !o.exists("build/old.txt") {
		t.Error("what nobody approved was removed")
	}
	if o = play(t, Default(), nil, yes{}); o.exists("build") {
		t.Error("what a person approved was not removed")
	}
	o = play(t, Default(), func(s *policy.Spec) { s.Deny = append(s.Deny, policy.Item{Text: "Edit(src/**)"}) }, nil)
	if got := read(o, "src/kettle.txt"); got != "boil at 100\n" {
		t.Errorf("the denied edit left %q", got)
	}
}

// TestRulesMatter: each change of a rule changes what the demo shows.
func TestRulesMatter(t *testing.T) {
	without := func(list []policy.Item, text string) []policy.Item {
		var out []policy.Item
		for _, item := range list {
			if item.Text != text {
				out = append(out, item)
			}
		}
		return out
	}
	before := play(t, Default(), nil, nil).layers()
	for name, c := range map[string]struct {
		change func(*policy.Spec)
		step   string
	}{
		"the mode":         {func(s *policy.Spec) { s.Mode = "default" }, "demo-3"},
		"the session rule": {func(s *policy.Spec) { s.SessionAllow = nil }, "demo-4"},
		"an allow": {func(s *policy.Spec) {
			s.Allow = append(s.Allow, policy.Item{Text: "Bash(npm install:*)"})
		}, "demo-5"},
		"the deny of .env":    {func(s *policy.Spec) { s.Deny = without(s.Deny, "Read(.env)") }, "demo-6"},
		"the session denial":  {func(s *policy.Spec) { s.SessionDeny = nil }, "demo-7"},
		"the granular rule":   {func(s *policy.Spec) { s.Rules = nil }, "demo-8"},
		"the ask of rm":       {func(s *policy.Spec) { s.Ask = without(s.Ask, "Bash(rm:*)") }, "demo-9"},
		"the ask of git push": {func(s *policy.Spec) { s.Ask = without(s.Ask, "Bash(git push:*)") }, "demo-12"},
	} {
		after := play(t, Default(), c.change, nil).layers()
		if before[c.step] == after[c.step] {
			t.Errorf("%s changes nothing in %s: %s", name, c.step, after[c.step])
		}
	}
}

// TestInterrupts: a denial that ends the turn ends the script.
func TestInterrupts(t *testing.T) {
	script := Default()
	o := outcome{dir: t.TempDir()}
	out, err := claude.Agent{Start: script.Start(o.dir)}.Run(t.Context(), wrapper.Task{
		Prompt: "show it", Dir: o.dir, Decider: stops{},
	})
	if err != nil || out.Denied == 0 || out.Denied > 2 || out.Allowed != 0 || out.Stopped != "stop" {
		t.Errorf("got %+v, %v", out, err)
	}
}

type stops struct{}

func (stops) CanUseTool(context.Context, permission.ToolUse) (permission.Result, error) {
	return permission.Result{Decision: permission.Decision{Behavior: permission.Deny, Message: "stop", Interrupt: true}}, nil
}

// TestCancelled: a demo ends when its caller cancels it, also while a question is
// open.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, err := claude.Agent{Start: Default().Start(t.TempDir())}.Run(ctx, wrapper.Task{
		Prompt: "show it", Dir: t.TempDir(), Decider: thinks{cancel},
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

type thinks struct{ cancel func() }

func (d thinks) CanUseTool(ctx context.Context, _ permission.ToolUse) (permission.Result, error) {
	d.cancel()
	<-ctx.Done()
	return permission.Result{}, ctx.Err()
}

// TestTools: what the demo's tools do, and that they stay in the workspace.
func TestTools(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "x")
	for _, c := range []struct {
		tool, input, want string
		failed            bool
	}{
		{"Read", `{"file_path":"a"}`, "one two", false},
		{"Read", `{"file_path":"DIR/a"}`, "one two", false},
		{"Read", `{"file_path":"none"}`, "no such file", true},
		{"Read", `{"file_path":"../x"}`, "escapes", true},
		{"Read", `{"file_path":"link"}`, "escapes", true},
		{"Read", `{"file_path":1}`, "cannot unmarshal", true},
		{"Write", `{"file_path":"b","content":"x"}`, "written", false},
		{"Write", `{"file_path":"` + outside + `","content":"x"}`, "escapes", true},
		{"Edit", `{"file_path":"a","old_string":"one","new_string":"three"}`, "edited", false},
		{"Edit", `{"file_path":"a","old_string":"o","new_string":"x"}`, "does not stand there once", true},
		{"Edit", `{"file_path":"none","old_string":"o"}`, "no such file", true},
		{"Bash", `{"command":"git status"}`, "On branch main", false},
		{"Bash", `{"command":"rm -rf build"}`, "", false},
		{"Bash", `{"command":"touch ` + outside + `"}`, "only pretends", false},
		{"Skill", `{}`, "only pretends", false},
	} {
		dir := t.TempDir()
		if err := (Script{Files: map[string]string{"a": "one two", "build/x": ""}}).Lay(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("/etc/hostname", filepath.Join(dir, "link")); err != nil {
			t.Fatal(err)
		}
		text, failed := tools{dir}.use(c.tool, json.RawMessage(strings.ReplaceAll(c.input, "DIR", dir)))
		if failed != c.failed || !strings.Contains(text, c.want) {
			t.Errorf("%s %s: got %q, %v", c.tool, c.input, text, failed)
		}
		if _, err := os.Stat(outside); err == nil {
			t.Fatalf("%s %s reached outside", c.tool, c.input)
		}
	}
}
