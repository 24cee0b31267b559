package gates

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/run/process"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/workspace"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// wordGate is a whitelist that refuses commands by a word in them.
type wordGate map[string]permission.Refusal

func (c wordGate) Forbid(line string, _ *shell.Facts) permission.Refusal {
	for word, o := range c {
		if strings.Contains(line, word) {
			return o
		}
	}
	return permission.Refusal{}
}

var refusals = wordGate{
	"magic":   {Behavior: permission.Deny, Kind: "not_whitelisted", Reason: "no such script"},
	"perhaps": {Behavior: permission.Ask, Kind: "not_whitelisted", Reason: "it is not listed"},
	"gone":    {Behavior: permission.Deny, Kind: "no_whitelist", Reason: "it cannot be read"},
	"dry":     {Kind: "not_whitelisted", Reason: "it is not listed"},
}

// rig is a runner that does not start programs, with a log of what it did.
type rig struct {
	*Runner
	log    []string
	ends   map[string]process.Result // of a program, by its last argument
	errs   map[string]error
	paused string
	broken bool // recording fails
}

func (r *rig) note(format string, args ...any) { r.log = append(r.log, fmt.Sprintf(format, args...)) }

func (r *rig) Record(_ context.Context, rec permission.Record) error {
	r.note("decided %s %s", rec.Use.ID, rec.Result.Behavior)
	if r.broken {
		return errors.New("the disk is full")
	}
	return nil
}

func (r *rig) GateEnded(use permission.ToolUse, failed bool, exit *int, met []string) error {
	code := "none"
	if exit != nil {
		code = fmt.Sprint(*exit)
	}
	if len(met) > 0 {
		code += fmt.Sprintf(" met %v", met)
	}
	r.note("outcome %s failed=%v exit=%s", use.ID, failed, code)
	return nil
}

func (r *rig) Begins(item, gate string)     { r.note("begins %s/%s", item, gate) }
func (r *rig) Says(item, gate, text string) { r.note("says %s/%s %s", item, gate, text) }
func (r *rig) Ends(res *Result)             { r.note("ends %s/%s %s", res.Item, res.Gate, res.Status) }
func (r *rig) Paused() (string, error)      { return r.paused, nil }

func (r *rig) program(_ context.Context, c *process.Command) (process.Result, error) {
	r.note("ran %q", c.Args)
	word := c.Args[len(c.Args)-1]
	return r.ends[word], r.errs[word]
}

// newRig returns a rig with a policy.
func newRig(t *testing.T, text string) *rig {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	place := patterns.Place{Workspace: dir, Home: "/home/x"}
	spec, err := policy.Parse([]byte(text), "p.toml")
	if err != nil {
		t.Fatal(err)
	}
	compiled, session, _, err := spec.Compile(place)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{ends: map[string]process.Result{}, errs: map[string]error{}}
	r.Runner = &Runner{
		Decider:  &permission.Evaluator{Policy: compiled, Session: session, Env: workspace.Env{Place: place}, Recorder: r, Pauser: r, CommandGate: refusals},
		Recorder: r, Watcher: r, Workspace: dir, Options: shell.Options{Home: "/home/x", Workspace: dir}, Agent: "a1", Session: "s1", Limit: 30 * time.Second,
		Env: []string{"PATH=/bin", "PWD=/old"}, Output: func(string, string) io.Writer { return io.Discard },
		Command: plain, run: r.program,
	}
	return r
}

// plain accepts simple lines of known words.
func plain(_ string, facts *shell.Facts) (argv, env []string, err error) {
	if !facts.Simple {
		return nil, nil, ErrShell
	}
	for _, w := range facts.Actions[0].Words {
		argv = append(argv, w.Text)
	}
	return argv, nil, nil
}

func parsePlan(t *testing.T, items string) *Plan {
	t.Helper()
	p, err := Parse([]byte(plan(items)), "p.json")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const bare = "allow = [\"Bash\"]\n"

// TestResults: the results of gates.
func TestResults(t *testing.T) {
	code, zero := 3, 0
	for _, tt := range []struct {
		name, policy, gate string
		prepare            func(*rig)
		want               Result
		ran                bool
	}{
		{"it passes", bare, `"run": "npm test"`, nil, Result{Status: Pass}, true},
		{"exit code", bare, `"run": "npm test"`, func(r *rig) { r.ends["test"] = process.Result{Exit: 3, Took: 1500 * time.Millisecond} },
			Result{Status: Fail, Failure: Exited, Reason: "exit code 3", Exit: &code, Took: 1500}, true},
		{"unknown exit code", bare, `"run": "npm test"`, func(r *rig) {
			r.ends["test"], r.errs["test"] = process.Result{Exit: -1}, errors.New("it cannot be ended")
		}, Result{Status: Fail, Failure: Exited, Reason: "exit code -1"}, true},
		{"its output is lost", bare, `"run": "npm test"`, func(r *rig) { r.errs["test"] = errors.New("the pipe broke") },
			Result{Status: Fail, Failure: Exited, Reason: "the pipe broke", Exit: &zero}, true},
		{"time limit", bare, `"run": "npm test"`, func(r *rig) { r.ends["test"] = process.Result{Exit: 3, TimedOut: true} },
			Result{Status: Fail, Failure: TimedOut, Reason: "it was stopped after 30s", Exit: &code}, true},
		{"not started", bare, `"run": "npm test"`, func(r *rig) { r.errs["test"] = &process.NotStarted{Program: "npm", Err: os.ErrNotExist} },
			Result{Status: Fail, Failure: NotStarted, Reason: "there is no program npm"}, true},
		{"whitelist", bare, `"run": "npm run magic"`, nil, Result{Status: Blocked, Failure: Hallucination, Reason: "not_whitelisted: no such script"}, false},
		{"whitelist that asks, nobody there", bare, `"run": "npm run perhaps"`, nil, Result{Status: Blocked, Failure: Hallucination, Reason: "not_whitelisted: it is not listed"}, false},
		{"whitelist that cannot be read", bare, `"run": "npm run gone"`, nil, Result{Status: Blocked, Failure: Denied, Reason: "it cannot be read"}, false},
		{"whitelist that only tells", bare, `"run": "npm run dry"`, nil, Result{Status: Pass}, true},
		{"deny rule", bare + `deny = ["Bash(npm:*)"]`, `"run": "npm test"`, nil, Result{Status: Blocked, Failure: Denied, Reason: `Bash(npm:*)`}, false},
		{"ask rule, nobody there", bare + `ask = ["Bash(npm:*)"]`, `"run": "npm test"`, nil, Result{Status: Blocked, Failure: Denied, Reason: `there is nobody to ask`}, false},
		{"tier 3", bare, `"run": "rm -rf /srv/x"`, nil, Result{Status: Blocked, Failure: Denied, Reason: "tier 3"}, false},
		{"catastrophic", bare, `"run": "mkfs /dev/sdz9"`, nil, Result{Status: Blocked, Failure: Denied, Reason: ""}, false},
		{"paused", bare, `"run": "npm test"`, func(r *rig) { r.paused = "Agent paused after 3" }, Result{Status: Blocked, Failure: Paused, Reason: "Agent paused after 3"}, false},
		{"record", bare, `"run": "npm test"`, func(r *rig) { r.broken = true }, Result{Status: Blocked, Failure: Denied, Reason: "the disk is full"}, false},
		{"container", bare, `"run": "npm test", "runtime": "container"`, nil, Result{Status: Skipped, Failure: UnsupportedRuntime, Reason: "runtime container is not supported"}, false},
		{"ci-service", bare, `"run": "npm test", "runtime": "ci-service"`, nil, Result{Status: Skipped, Failure: UnsupportedRuntime, Reason: "runtime ci-service is not supported"}, false},
		{"no directory", bare, `"run": "npm test", "cwd": "none"`, nil, Result{Status: Fail, Failure: NotStarted, Reason: "its directory: "}, false},
		{"a file for a directory", bare, `"run": "npm test", "cwd": "file"`, nil, Result{Status: Fail, Failure: NotStarted, Reason: "its directory: "}, false},
		{"operators without a shell", bare, `"run": "npm test && npm run lint"`, nil, Result{Status: Fail, Failure: NotStarted, Reason: "it needs a shell"}, false},
		{"operators with a shell", bare, `"run": "npm test && npm run lint"`, func(r *rig) { r.Shell = true }, Result{Status: Pass}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, tt.policy)
			if err := os.WriteFile(filepath.Join(r.Workspace, "file"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if tt.prepare != nil {
				tt.prepare(r)
			}
			results, err := r.Run(context.Background(), parsePlan(t, `{"name": "i", "gates": [{"name": "g", `+tt.gate+`}]}`))
			if err != nil || len(results) != 1 {
				t.Fatal(results, err)
			}
			got := results[0]
			if !strings.Contains(got.Reason, tt.want.Reason) {
				t.Errorf("reason %q, want %q in it", got.Reason, tt.want.Reason)
			}
			got.Reason, tt.want.Reason = "", ""
			if got.Status == Pass {
				got.Exit = nil
			}
			tt.want.Item, tt.want.Gate, tt.want.Command = "i", "g", got.Command
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if ran := slices.ContainsFunc(r.log, func(s string) bool { return strings.HasPrefix(s, "ran ") }); ran != tt.ran {
				t.Errorf("ran: %v, %q", ran, r.log)
			}
		})
	}
}

// TestSequence: no gate starts before it was decided or is decided before its
// turn; a gate whose dependency did not pass is not decided.
func TestSequence(t *testing.T) {
	r := newRig(t, bare)
	r.ends["fails"] = process.Result{Exit: 1}
	p := parsePlan(t, `
		{"name": "last", "deps": ["bad", "good"], "gates": [{"name": "g", "run": "npm run last"}]},
		{"name": "beyond", "deps": ["last"], "gates": [{"name": "g", "run": "npm run beyond"}]},
		{"name": "empty", "deps": ["beyond"]},
		{"name": "behind", "deps": ["empty"], "gates": [{"name": "g", "run": "npm run behind"}]},
		{"name": "bad", "gates": [{"name": "one", "run": "npm run fails"}, {"name": "two", "run": "npm run two"}]},
		{"name": "hall", "gates": [{"name": "g", "run": "npm run magic"}]},
		{"name": "afterhall", "deps": ["hall"], "gates": [{"name": "g", "run": "npm run after"}]},
		{"name": "good", "gates": [{"name": "g", "run": "npm test"}]},
		{"name": "alone", "deps": ["good"], "gates": [{"name": "g", "run": "npm run alone"}]}`)
	results, err := r.Run(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"decided bad/one allow", "begins bad/one", `ran ["npm" "run" "fails"]`, "outcome bad/one failed=true exit=1", "ends bad/one fail",
		"decided bad/two allow", "begins bad/two", `ran ["npm" "run" "two"]`, "outcome bad/two failed=false exit=0", "ends bad/two pass",
		"decided hall/g deny", "ends hall/g blocked",
		"ends afterhall/g skipped",
		"decided good/g allow", "begins good/g", `ran ["npm" "test"]`, "outcome good/g failed=false exit=0", "ends good/g pass",
		"ends last/g skipped", "ends beyond/g skipped", "ends behind/g skipped",
		"decided alone/g allow", "begins alone/g", `ran ["npm" "run" "alone"]`, "outcome alone/g failed=false exit=0", "ends alone/g pass",
	}
	if diff := cmp.Diff(want, r.log); diff != "" {
		t.Error(diff)
	}
	for _, res := range results {
		if res.Status == Skipped && (res.Failure != Dependency || !strings.Contains(res.Reason, "did not pass")) {
			t.Errorf("%+v", res)
		}
	}
}

// TestProgram: the directory, environment and arguments of a gate's program.
func TestProgram(t *testing.T) {
	for _, tt := range []struct {
		gate      string
		assigned  []string
		args, env []string
		dir       string
	}{
		{`"run": "npm  'test' "`, nil, []string{"npm", "test"}, nil, ""},
		{`"run": "npm test", "cwd": "link", "env": {"NODE_ENV": "test", "CI": "a b"}`, nil, []string{"npm", "test"}, []string{"CI=a b", "NODE_ENV=test"}, "sub"},
		{`"run": "npm test", "env": {"CI": "1"}`, []string{"CI=2"}, []string{"npm", "test"}, []string{"CI=1", "CI=2"}, ""},
		{`"run": " npm test | cat >x  # y"`, []string{"CI=2"}, []string{"bash", "-c", " npm test | cat >x  # y"}, nil, ""},
	} {
		r := newRig(t, bare)
		r.Shell = true
		if err := errors.Join(os.Mkdir(filepath.Join(r.Workspace, "sub"), 0o700), os.Symlink("sub", filepath.Join(r.Workspace, "link"))); err != nil {
			t.Fatal(err)
		}
		r.Command = func(line string, facts *shell.Facts) (argv, env []string, err error) {
			argv, _, err = plain(line, facts)
			return argv, tt.assigned, err
		}
		var got *process.Command
		r.run = func(_ context.Context, c *process.Command) (process.Result, error) {
			got = c
			return process.Result{}, nil
		}
		results, err := r.Run(context.Background(), parsePlan(t, `{"name": "i", "gates": [{"name": "g", `+tt.gate+`}]}`))
		if err != nil || got == nil {
			t.Fatalf("%s: %+v %v", tt.gate, results, err)
		}
		dir := filepath.Join(r.Workspace, tt.dir)
		want := append([]string{"PATH=/bin", "PWD=/old", "PWD=" + dir}, tt.env...)
		if diff := cmp.Diff(tt.args, got.Args) + cmp.Diff(want, got.Env) + cmp.Diff(dir, got.Dir); diff != "" || got.Limit != 30*time.Second || got.Stdin != nil {
			t.Errorf("%s: %s %v", tt.gate, diff, got.Limit)
		}
	}
}

// TestMovedDirectory: a directory that became a link out of the workspace after
// the plan was checked is not entered.
func TestMovedDirectory(t *testing.T) {
	r := newRig(t, bare)
	p := parsePlan(t, `{"name": "i", "gates": [{"name": "g", "run": "npm test", "cwd": "sub"}]}`)
	if err := os.Mkdir(filepath.Join(r.Workspace, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := p.Check(r.Workspace, func(string) bool { return true }); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(filepath.Join(r.Workspace, "sub")), os.Symlink("/", filepath.Join(r.Workspace, "sub"))); err != nil {
		t.Fatal(err)
	}
	results, _ := r.Run(context.Background(), p)
	if results[0].Status != Fail || results[0].Failure != NotStarted || len(r.log) != 1 {
		t.Errorf("%+v %q", results, r.log)
	}
	if dir := p.Items[0].Gates[0].Dir(r.Workspace); dir != "" {
		t.Errorf("it would be decided in %s", dir)
	}
	if v := r.Preview(p); v[0].Would != WouldBlock || !strings.Contains(v[0].Reason, "outside the workspace") {
		t.Errorf("%+v", v)
	}
}

// TestArtifacts: the result of a gate that passed lists its artifacts.
func TestArtifacts(t *testing.T) {
	r := newRig(t, bare)
	if err := os.WriteFile(filepath.Join(r.Workspace, "out.xml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r.ends["fails"] = process.Result{Exit: 1}
	results, _ := r.Run(context.Background(), parsePlan(t, `{"name": "i", "gates": [
		{"name": "g", "run": "npm test", "artifacts": ["out.xml", "none.xml"]}, {"name": "h", "run": "npm run fails", "artifacts": ["out.xml"]}]}`))
	if diff := cmp.Diff([]Artifact{{"out.xml", true}, {"none.xml", false}}, results[0].Artifacts); diff != "" || results[1].Artifacts != nil {
		t.Error(diff, results[1])
	}
}

// TestInterrupted: when the run is cancelled, the running gate is ended and no
// other starts.
func TestInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, bare)
		ctx, cancel := context.WithCancelCause(context.Background())
		r.run = func(ctx context.Context, _ *process.Command) (process.Result, error) {
			time.AfterFunc(time.Second, func() { cancel(errors.New("the terminal was closed")) })
			<-ctx.Done()
			return process.Result{Exit: 143, Cancelled: true}, nil
		}
		results, err := r.Run(ctx, parsePlan(t, `{"name": "i", "gates": [{"name": "g", "run": "npm test"}, {"name": "h", "run": "npm test"}]}`))
		if err != nil || results[0].Status != Fail || results[1].Status != Skipped {
			t.Fatalf("%+v %v", results, err)
		}
		for _, res := range results {
			if res.Failure != Interrupted || res.Reason != "the terminal was closed" {
				t.Errorf("%+v", res)
			}
		}
		if slices.Contains(r.log, "decided i/h allow") {
			t.Error(r.log)
		}
	})
}

// TestOutcomeUnrecorded: an outcome that cannot be recorded is an error of the
// run.
func TestOutcomeUnrecorded(t *testing.T) {
	r := newRig(t, bare)
	r.Recorder = badRecorder{}
	results, err := r.Run(context.Background(), parsePlan(t, `{"name": "i", "gates": [{"name": "g", "run": "npm test"}]}`))
	if err == nil || results[0].Status != Pass {
		t.Error(results, err)
	}
}

type badRecorder struct{}

func (badRecorder) GateEnded(permission.ToolUse, bool, *int, []string) error {
	return errors.New("the disk is full")
}

// editor is an approver that answers with another line.
type editor string

func (e editor) Approve(_ context.Context, ask permission.Request) (permission.Answer, error) {
	a := permission.Answer{Behavior: permission.Allow}
	if !strings.Contains(string(ask.Use.Input), string(e)) {
		a.Input, _ = json.Marshal(map[string]string{"command": string(e)})
	}
	return a, nil
}

// TestEdited: the edited line runs, if it is allowed.
func TestEdited(t *testing.T) {
	for line, want := range map[string]string{"npm run other": `ran ["npm" "run" "other"]`, "npm run magic": "ends i/g blocked"} {
		r := newRig(t, bare+`ask = ["Bash(npm:*)"]`)
		r.Decider.(*permission.Evaluator).Approver = editor(line)
		results, err := r.Run(context.Background(), parsePlan(t, `{"name": "i", "gates": [{"name": "g", "run": "npm test"}]}`))
		if err != nil || !slices.Contains(r.log, want) || results[0].Status == Pass && results[0].Command != line {
			t.Errorf("%s: %q %+v %v", line, r.log, results, err)
		}
	}
}

// TestNoLine: an allow without a command runs nothing.
func TestNoLine(t *testing.T) {
	for _, input := range []string{``, `{}`, `{"command": ""}`, `{"command": 1}`, `[]`} {
		r := newRig(t, bare)
		r.Decider = lax{json.RawMessage(input)}
		results, _ := r.Run(context.Background(), parsePlan(t, `{"name": "i", "gates": [{"name": "g", "run": "npm test"}]}`))
		if results[0].Status != Fail || results[0].Failure != NotStarted || slices.ContainsFunc(r.log, func(s string) bool { return strings.HasPrefix(s, "ran") }) {
			t.Errorf("%s: %+v %q", input, results, r.log)
		}
	}
}

// lax is a decider that allows everything, with a given input.
type lax struct{ input json.RawMessage }

func (l lax) CanUseTool(context.Context, permission.ToolUse) (permission.Result, error) {
	return permission.Result{Decision: permission.Decision{Behavior: permission.Allow}, UpdatedInput: l.input}, nil
}

func (lax) Explain(permission.ToolUse, *permission.Trace) permission.Decision {
	return permission.Decision{}
}

// TestPreview: previews agree with decisions and have no effects.
func TestPreview(t *testing.T) {
	r := newRig(t, bare+"ask = [\"Bash(git:*)\"]\ndeny = [\"Bash(npm publish:*)\"]")
	p := parsePlan(t, `{"name": "i", "gates": [{"name": "a", "run": "npm test"}, {"name": "b", "run": "npm run magic"}, {"name": "c", "run": "git push"},
		{"name": "d", "run": "npm publish"}, {"name": "e", "run": "npm run perhaps"}, {"name": "f", "run": "npm run dry"},
		{"name": "g", "run": "npm test | cat"}, {"name": "h", "run": "npm test", "runtime": "container"}]}`)
	var got []string
	for _, v := range r.Preview(p) {
		got = append(got, fmt.Sprintf("%s %s %s %q", v.Gate, v.Would, v.Failure, v.Runs))
	}
	want := []string{`a run  ["npm" "test"]`, `b block hallucination []`, `c ask denied []`, `d block denied []`, `e ask hallucination []`,
		`f run  ["npm" "run" "dry"]`, `g block not_started []`, `h skip unsupported_runtime []`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(r.log) > 0 {
		t.Errorf("%q", r.log)
	}
	r.Shell = true
	if v := r.Preview(p)[6]; v.Would != WouldRun || len(v.Runs) != 3 || v.Runs[2] != "npm test | cat" {
		t.Errorf("%+v", v)
	}
	if v := r.Preview(p)[5]; !strings.Contains(v.Reason, "the whitelist would block it: not_whitelisted") {
		t.Errorf("%+v", v)
	}
}

// TestEnvironment: the bypass variable and relative directories of PATH are not
// passed on.
func TestEnvironment(t *testing.T) {
	got := Environment([]string{"A=1", Bypass + "=1", "B=" + Bypass + "=1", Bypass, Bypass + "X=1"})
	if diff := cmp.Diff([]string{"A=1", "B=" + Bypass + "=1", Bypass + "X=1", "PATH=/nonexistent"}, got); diff != "" {
		t.Error(diff)
	}
	for path, want := range map[string]string{
		"": "/nonexistent", ":": "/nonexistent", ".": "/nonexistent", "bin:node_modules/.bin": "/nonexistent",
		"/a:/b": "/a:/b", ".:/a::/b:c:": "/a:/b", "./x:/a/../b": "/a/../b",
	} {
		got := Environment([]string{"PATH=/first", "PATH=" + path})
		if last := got[len(got)-1]; last != "PATH="+want {
			t.Errorf("%q: %s, want %s", path, last, want)
		}
	}
}

// TestReally: a real program runs, its output arrives, and its process group is
// ended at the limit.
func TestReally(t *testing.T) {
	r := newRig(t, bare)
	r.run, r.Env, r.Limit = nil, []string{"PATH=/bin:/usr/bin"}, 30*time.Second
	var out strings.Builder
	r.Output = func(string, string) io.Writer { return &out }
	results, err := r.Run(context.Background(), parsePlan(t, `{"name": "i", "gates": [{"name": "g", "run": "echo hello", "env": {"CI": "1"}}, {"name": "h", "run": "no-such-program-here"}]}`))
	if err != nil || results[0].Status != Pass || *results[0].Exit != 0 || out.String() != "hello\n" || results[1].Failure != NotStarted {
		t.Errorf("%+v %v %q", results, err, out.String())
	}
	r.Limit = 50 * time.Millisecond
	results, _ = r.Run(context.Background(), parsePlan(t, `{"name": "i", "gates": [{"name": "g", "run": "sleep 60"}]}`))
	if results[0].Failure != TimedOut || results[0].Took > 20_000 {
		t.Errorf("%+v", results)
	}
}
