package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/spf13/pflag"

	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// resultSchema returns the published schema of results.
func resultSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	var schema jsonschema.Schema
	if err := json.Unmarshal([]byte(page(t, "schemas/run-result.schema.json")), &schema); err != nil {
		t.Fatal(err)
	}
	return &schema
}

// TestResultSchema: the schema has the fields of the Go types, requires those that
// are always there, and says what each is.
func TestResultSchema(t *testing.T) {
	schema := resultSchema(t)
	sameFields(t, reflect.TypeFor[runResult](), schema)
	sameFields(t, reflect.TypeFor[tokens](), schema.Properties["usage"])
	sameFields(t, reflect.TypeFor[decisions](), schema.Properties["decisions"])
	sameFields(t, reflect.TypeFor[denial](), schema.Properties["denials"].Items)
	if *schema.Properties["schema_version"].Const != float64(resultVersion) {
		t.Errorf("the version is %d", resultVersion)
	}
}

func sameFields(t *testing.T, of reflect.Type, schema *jsonschema.Schema) {
	t.Helper()
	var fields, required []string
	for f := range of.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		fields = append(fields, name)
		if options != "omitempty" {
			required = append(required, name)
		}
		if p := schema.Properties[name]; p == nil || p.Description == "" {
			t.Errorf("%v: the schema does not say what %s is", of, name)
		}
	}
	if len(fields) != len(schema.Properties) {
		t.Errorf("%v has %q, the schema %d fields", of, fields, len(schema.Properties))
	}
	if diff := cmp.Diff(required, schema.Required); diff != "" {
		t.Errorf("%v: required: %s", of, diff)
	}
}

// TestResults: each end of a run has its exit code and its reason, and a result that
// is valid by the schema.
func TestResults(t *testing.T) {
	schema := resultSchema(t)
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	breach := &wrapper.Breach{Tool: "Bash", ToolUseID: "u", Reason: "ran"}
	for _, x := range []struct {
		name    string
		cause   error // of the context's end, nil if it has not ended
		err     error // of the driver
		outcome wrapper.Outcome
		code    int
		reason  string
	}{
		{"done", nil, nil, wrapper.Outcome{Text: "x"}, 0, "done"},
		{"done as the signal came", &signalled{2}, nil, wrapper.Outcome{}, 0, "done"},
		{"interrupted", &signalled{2}, broken, wrapper.Outcome{}, 130, "interrupted"},
		{"terminated", &signalled{15}, broken, wrapper.Outcome{}, 143, "interrupted"},
		{"late", &overtime{span(time.Second)}, broken, wrapper.Outcome{}, 124, "timeout"},
		{"a breach", nil, breach, wrapper.Outcome{}, 3, "breach"},
		{"a breach comes first", &signalled{2}, breach, wrapper.Outcome{}, 3, "breach"},
		{"broken", nil, broken, wrapper.Outcome{}, 1, "failed"},
		{"cancelled", context.Canceled, broken, wrapper.Outcome{}, 1, "failed"},
		{"a denial", nil, nil, wrapper.Outcome{Stopped: "no", Failed: "x"}, 3, "denied"},
		{"gave up", nil, nil, wrapper.Outcome{Failed: "x"}, 1, "failed"},
		{"turns", nil, nil, wrapper.Outcome{Failed: "x", Limit: "max_turns"}, 1, "max_turns"},
		{"budget", nil, nil, wrapper.Outcome{Failed: "x", Limit: "max_budget"}, 1, "max_budget"},
		{"no answer", nil, nil, wrapper.Outcome{Failed: "x", Limit: "structured_output"}, 1, "structured_output"},
		{"an answer", nil, nil, wrapper.Outcome{Structured: json.RawMessage(`{"a":1}`), Spent: &wrapper.Spent{Turns: 1, CostUSD: 0.5}}, 0, "done"},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		if x.cause != nil {
			cancel(x.cause)
		}
		err := runEnd(ctx, x.outcome, x.err)
		if err == nil {
			err = gaveUp(x.outcome)
		}
		cancel(nil)
		r := (&report{outcome: x.outcome}).result(err, time.Second)
		if r.ExitCode != x.code || r.ExitReason != x.reason || (r.Error == "") != (x.code == 0) || r.DurationMS != 1000 {
			t.Errorf("%s: %+v", x.name, r)
		}
		text, err := json.Marshal(r)
		var value any
		if err := errors.Join(err, json.Unmarshal(text, &value), resolved.Validate(value)); err != nil {
			t.Errorf("%s: %v: %s", x.name, err, text)
		}
	}
	for _, x := range []struct{ failOn, why string }{
		{"", ""}, {"deny", "--fail-on deny: denied: one tool use: Bash b: no"}, {"ask", "--fail-on ask: a person would have had to be asked about 2 tool uses: Bash b: no"},
	} {
		var c tally
		for _, e := range []wrapper.Event{
			{Type: wrapper.DecisionEvent, Behavior: "deny", By: "advice", ToolUseID: "0"},
			{Type: wrapper.ApprovalRequiredEvent, ToolUseID: "1"}, {Type: wrapper.ApprovalRequiredEvent, ToolUseID: "1"},
			{Type: wrapper.DecisionEvent, Behavior: "allow", By: "person", ToolUseID: "1"},
			{Type: wrapper.InsertChoicesEvent, ToolUseID: "2"},
			{Type: wrapper.DecisionEvent, Behavior: "deny", By: "rule", ToolUseID: "2", Tool: "Bash", InputSummary: "b", Reason: "no"},
			{Type: wrapper.ErrorEvent, Message: "the agent gave up: Reached maximum budget"},
			{Type: wrapper.DecisionEvent, Behavior: "deny", By: "rule", ToolUseID: "3", Reason: "the agent is not to run tools now"},
		} {
			c.add(e)
		}
		if got := c.exceeds(x.failOn); got != x.why {
			t.Errorf("%s: %q", x.failOn, got)
		}
		if want := (decisions{Allow: 1, Ask: 2, Deny: 2, Advice: 1}); c.count != want {
			t.Errorf("%+v", c.count)
		}
	}
	if c := (&tally{count: decisions{Allow: 3, Advice: 2}}); c.exceeds("ask") != "" {
		t.Error("advice counts")
	}
	var late tally
	late.add(wrapper.Event{Type: wrapper.ErrorEvent, ToolUseID: "1"})
	late.add(wrapper.Event{Type: wrapper.ErrorEvent})
	late.add(wrapper.Event{Type: wrapper.DecisionEvent, Behavior: "deny", By: "rule", ToolUseID: "2"})
	if late.exceeds("deny") != "" || late.count.Deny != 1 {
		t.Error("a denial after the end counts")
	}
	late.add(wrapper.Event{Type: wrapper.StatusEvent, State: "tool_use", ToolUseID: "3"})
	late.add(wrapper.Event{Type: wrapper.DecisionEvent, Behavior: "deny", By: "rule", ToolUseID: "3"})
	if late.exceeds("deny") == "" {
		t.Error("a denial in a turn that follows does not count")
	}
}

// docs/ci.md says what each field of a result and each exit reason is, and lists
// every exit code of run.
func TestDocsResult(t *testing.T) {
	text, schema := page(t, "docs/ci.md")+page(t, "docs/agents.md"), resultSchema(t)
	for name := range schema.Properties {
		if !strings.Contains(text, "| `"+name+"` |") {
			t.Errorf("docs/ci.md does not say what %s is", name)
		}
	}
	for _, reason := range schema.Properties["exit_reason"].Enum {
		if !strings.Contains(text, "`"+reason.(string)+"`") {
			t.Errorf("docs/ci.md has no exit reason %s", reason)
		}
	}
	for _, code := range []string{"0", "1", "2", "3", "124", "130", "143"} {
		if !strings.Contains(text, "| "+code) && !strings.Contains(text, ", "+code+" |") && !strings.Contains(text, ", "+code+",") {
			t.Errorf("docs/ci.md has no exit code %s", code)
		}
	}
	var block string
	for _, found := range jsonFence.FindAllStringSubmatch(text, -1) {
		if strings.Contains(found[1], "schema_version") {
			block = found[1]
		}
	}
	resolved, err := schema.Resolve(nil)
	var value any
	if err := errors.Join(err, json.Unmarshal([]byte(block), &value)); err != nil {
		t.Fatalf("docs/ci.md has no result: %v", err)
	}
	if err := resolved.Validate(value); err != nil {
		t.Error(err)
	}
}

// Each flag of run that is not hidden stands in one group of its help, and every group is shown.
func TestHelpGroups(t *testing.T) {
	var grouped []string
	for _, group := range runGroups {
		grouped = append(grouped, group.names...)
	}
	slices.Sort(grouped)
	want := []string{"help", "version"}
	(&app{}).runCommand().Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			want = append(want, f.Name)
		}
	})
	slices.Sort(want)
	if diff := cmp.Diff(want, grouped); diff != "" {
		t.Error(diff)
	}
	for _, args := range [][]string{{"--help"}, {"run", "--help"}, {"help", "run"}, {"run"}} {
		var out strings.Builder
		if code := (&app{in: strings.NewReader(""), out: &out, err: &out}).run(t.Context(), args); code != codeDone {
			t.Error(code, out.String())
		}
		for _, group := range runGroups {
			if !strings.Contains(out.String(), "\n"+group.title+":\n") {
				t.Errorf("%q does not show the group %s", args, group.title)
			}
		}
	}
}

// A schema that is longer than an argument may be is refused before the agent is
// started.
func TestLongSchema(t *testing.T) {
	file := t.TempDir() + "/s.json"
	for n, good := range map[int]bool{maxSchema - 8: true, maxSchema - 7: false} {
		if err := os.WriteFile(file, []byte(`{ "a" : "`+strings.Repeat("x", n)+"\"}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if text, err := outputSchema(file); (err == nil) != good || good && len(text) != maxSchema {
			t.Errorf("%d: %d, %v", n, len(text), err)
		}
	}
}

// The summary has the numbers of the result, and how what was asked about was answered.
func TestSummary(t *testing.T) {
	decided := func(id, behavior, by string) wrapper.Event {
		return wrapper.Event{Type: "decision", ToolUseID: id, Behavior: behavior, By: by}
	}
	asked := func(id string) wrapper.Event { return wrapper.Event{Type: "approval_required", ToolUseID: id} }
	for _, c := range []struct {
		events []wrapper.Event
		want   string
	}{
		{nil, ""},
		{[]wrapper.Event{decided("1", "allow", "rule")}, "1 tool use: 1 allowed"},
		{[]wrapper.Event{
			decided("1", "allow", "rule"), decided("2", "deny", "rule"), asked("3"), decided("3", "allow", "person"), asked("4"), decided("4", "deny", "person"),
			asked("5"), asked("5"), decided("5", "deny", "timeout"), decided("6", "deny", "advice"),
		}, "6 tool uses: 2 allowed, 3 denied, 1 advised; 3 asked: 1 approved, 1 denied, 1 not answered"},
		{[]wrapper.Event{asked("1"), decided("1", "allow", "rule")}, "1 tool use: 1 allowed; 1 asked: 1 not answered"}, // by a rule that was kept meanwhile
	} {
		var n tally
		for _, e := range c.events {
			n.add(e)
		}
		if got := n.summary(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	if got := spent(nil, 75*time.Second); got != "1m15s" {
		t.Error(got)
	}
	if got := spent(&wrapper.Spent{Turns: 3, CostUSD: 0.128}, 41*time.Second); got != "3 turns, $0.13, 41s" {
		t.Error(got)
	}
}
