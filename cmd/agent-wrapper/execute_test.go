package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-wrapper/agent-wrapper/internal/ask"
	"github.com/agent-wrapper/agent-wrapper/internal/audit"
	"github.com/agent-wrapper/agent-wrapper/internal/run/gates"
)

// TestLiftIsRecordedFirst: the whitelist is lifted only if that can be recorded,
// and then with a warning.
func TestLiftIsRecordedFirst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	r, err := audit.Open(path, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	a := &app{err: &out}
	if err := (&planned{}).recordLift(a, r, "plan.json"); err != nil || out.Len() > 0 {
		t.Errorf("nothing is lifted: %v %s", err, out.String())
	}
	p := &planned{lifted: true}
	if err := p.recordLift(a, r, "plan.json"); err != nil || !strings.Contains(out.String(), "THE WHITELIST IS LIFTED") {
		t.Errorf("%v %s", err, out.String())
	}
	out.Reset()
	r.Close()
	if err := p.recordLift(a, r, "plan.json"); err == nil || out.Len() > 0 {
		t.Errorf("it is lifted without a record: %v %s", err, out.String())
	}
}

// TestProgress: the progress of gates as a person sees it.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		p := &progress{out: ask.NewScreen(&out, nil), every: 5 * time.Second}
		w := p.output("a\x1b[2J", "t")
		p.Begins("a\x1b[2J", "t")
		time.Sleep(12 * time.Second)
		w.Write([]byte("one\r\ntwo\x1b[31m\tthree"))
		p.Ends(&gates.Result{Item: "a\x1b[2J", Gate: "t", Status: gates.Pass, Took: 12_000, Artifacts: []gates.Artifact{{Path: "x", Present: true}, {Path: "y"}}})
		p.Ends(&gates.Result{Item: "b", Gate: "t", Status: gates.Skipped, Failure: gates.Dependency, Reason: "item a\nfailed"})
		p.Ends(&gates.Result{Item: "c", Gate: "t", Status: gates.Fail, Failure: gates.Exited, Reason: "exit code 1; " + strings.Repeat("which the results say, ", 9)})
		time.Sleep(time.Minute) // nothing is reported about a gate that has ended
		want := `a<U+001B>[2J/t: started
a<U+001B>[2J/t: still running after 5s
a<U+001B>[2J/t: still running after 10s
a<U+001B>[2J/t | one
a<U+001B>[2J/t | two<U+001B>[31m    three
a<U+001B>[2J/t: pass after 12s
a<U+001B>[2J/t: it left no y
b/t: skipped (dependency: item a<U+000A>failed)
c/t: fail (exit)
`
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Error(diff)
		}
	})
}

// TestPrefixed: lines are written whole; very long ones are broken.
func TestPrefixed(t *testing.T) {
	var out strings.Builder
	w := &prefixed{out: &out, prefix: "> "}
	for _, part := range []string{"a", "b\nc\n\n", strings.Repeat("x", longLine), "yy", "z\n", "", "end"} {
		if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	w.flush()
	w.flush()
	want := "> ab\n> c\n> \n> " + strings.Repeat("x", longLine) + "\n> yyz\n> end\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

// TestResultsCode: blocked is worse than failed, and failed than passed.
func TestResultsCode(t *testing.T) {
	for _, tt := range []struct {
		status []gates.Status
		want   int
	}{
		{nil, 0}, {[]gates.Status{gates.Pass}, 0}, {[]gates.Status{gates.Fail, gates.Pass}, 1}, {[]gates.Status{gates.Pass, gates.Skipped}, 1},
		{[]gates.Status{gates.Blocked, gates.Fail}, 3}, {[]gates.Status{gates.Fail, gates.Blocked, gates.Pass}, 3}, {[]gates.Status{""}, 1},
	} {
		var results []gates.Result
		for _, s := range tt.status {
			results = append(results, gates.Result{Status: s})
		}
		if got := resultsCode(results); got != tt.want {
			t.Errorf("%v: %d, want %d", tt.status, got, tt.want)
		}
	}
}

// TestStatements: a script is split where a shell would begin to execute.
func TestStatements(t *testing.T) {
	for text, want := range map[string][]string{
		"":                               nil,
		"a":                              {"a"},
		"a\nb\n":                         {"a", "b"},
		"# x\n\n  a # y\n":               {"a # y"},
		"a \\\n  b\nc":                   {"a \\\n  b", "c"},
		"if a; then\n b\nfi\nc":          {"if a; then\n b\nfi", "c"},
		"cat <<X\nnpm ci\nX\nb":          {"cat <<X\nnpm ci\nX", "b"},
		"a 'b\nc'\nd":                    {"a 'b\nc'", "d"},
		"a\n'b\nc\n":                     {"a", "'b\nc"},
		strings.Repeat("(\n", 300) + "a": {strings.Repeat("(\n", 300) + "a"},
	} {
		if diff := cmp.Diff(want, statements(text)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

// TestExecuteSandboxRequired: where the sandbox is required and cannot be built, nothing runs,
// and the exit code is that of a refusal. With a canceled context it cannot be built.
func TestExecuteSandboxRequired(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, name := range []string{"XDG_STATE_HOME", "XDG_CONFIG_HOME"} {
		t.Setenv(name, "")
	}
	plan := filepath.Join(home, "plan.json")
	if err := os.WriteFile(plan, []byte(`{"schemaVersion": "1.0.0", "target": "main", "items": [{"name": "a", "deps": [], "gates": [{"name": "g", "run": "git status"}]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	code := (&app{in: strings.NewReader(""), out: &out, err: &out}).run(ctx, []string{"execute", plan, "--cwd", home, "--sandbox"})
	if code != codeDenied || !strings.Contains(out.String(), "no sandbox at the moment, so nothing runs") {
		t.Errorf("exit code %d: %s", code, out.String())
	}
}
