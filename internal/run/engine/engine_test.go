package engine

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/audit"
	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/whitelist"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// site returns options for a machine of its own with the given files: a workspace
// and a user's directories.
func site(t *testing.T, files map[string]string) Options {
	t.Helper()
	root := t.TempDir()
	o := Options{
		Dir:  filepath.Join(root, "work"),
		Dirs: &Dirs{Managed: filepath.Join(root, "etc"), User: filepath.Join(root, "config"), State: filepath.Join(root, "state")},
	}
	for _, dir := range []string{o.Dir, o.Dirs.Managed, o.Dirs.User} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

// settings parses a policy.
func settings(t *testing.T, text string) *policy.Spec {
	t.Helper()
	spec, err := policy.Parse([]byte(text), "settings.toml")
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func opened(t *testing.T, o Options) *Engine {
	t.Helper()
	e, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func bash(e *Engine, line string) permission.ToolUse {
	input, _ := json.Marshal(map[string]string{"command": line})
	return permission.ToolUse{ID: "u1", Tool: "Bash", Input: input, Dir: e.Place.Workspace}
}

func edit(e *Engine, path string) permission.ToolUse {
	input, _ := json.Marshal(map[string]string{"file_path": path, "old_string": "a", "new_string": "b"})
	return permission.ToolUse{ID: "u1", Tool: "Edit", Input: input, Dir: e.Place.Workspace}
}

// TestOpensNothing: Open fails if something cannot be read, found or written, and
// the error says where.
func TestOpensNothing(t *testing.T) {
	for name, tt := range map[string]struct {
		files  map[string]string
		change func(*Options)
		want   string
	}{
		"a policy of the workspace": {files: map[string]string{"work/agent-wrapper.toml": "alow = []\n"}, want: "agent-wrapper.toml:1:1"},
		"a managed policy":          {files: map[string]string{"etc/agent-wrapper.toml": "deny = [\"bash(rm:*)\"]\n"}, want: "agent-wrapper.toml:1:10"},
		"a policy that is not there": {change: func(o *Options) {
			o.Policy = filepath.Join(o.Dir, "none.toml")
		}, want: "engine: Options.Policy: "},
		"no workspace": {change: func(o *Options) { o.Dir = filepath.Join(o.Dir, "none") }, want: "engine: Options.Dir: there is no directory"},
		"no state":     {change: func(o *Options) { o.Dirs.State = "" }, want: ErrNoState.Error() + ": set Options.Record"},
		"a record in no directory": {change: func(o *Options) {
			o.Record = filepath.Join(o.Dir, "none", "audit.jsonl")
		}, want: "engine: Options.Record: "},
		"a record that was changed": {files: map[string]string{"work/audit.jsonl": "{\"seq\":7,\"hash\":\"00\"}\n"}, change: func(o *Options) {
			o.Record = filepath.Join(o.Dir, "audit.jsonl")
		}, want: "audit.jsonl"},
		"settings that cannot be": {change: func(o *Options) { o.Settings = &policy.Spec{Mode: "lenient"} }, want: "lenient"},
	} {
		t.Run(name, func(t *testing.T) {
			o := site(t, tt.files)
			if tt.change != nil {
				tt.change(&o)
			}
			if e, err := Open(o); err == nil || !strings.Contains(err.Error(), tt.want) || e != nil {
				t.Errorf("%v, want %s", err, tt.want)
			}
		})
	}
}

// TestDecides: an engine decides by all its sources, the strictest first, and
// records its decisions.
func TestDecides(t *testing.T) {
	o := site(t, map[string]string{
		"etc/agent-wrapper.toml":    `deny = ["Bash(curl:*)"]`,
		"config/agent-wrapper.toml": `allow = ["Bash(make:*)", "Bash(curl:*)"]`,
		"work/agent-wrapper.toml":   `allow = ["Bash(npm publish)", "Bash(make:*)"]`, // not trusted
	})
	e := opened(t, o)
	for line, want := range map[string]permission.Behavior{
		"make build":               permission.Allow,
		"curl https://example.com": permission.Deny,
		"npm publish":              permission.Deny,
	} {
		res, err := e.CanUseTool(t.Context(), bash(e, line))
		if err != nil || res.Behavior != want {
			t.Errorf("%s: %v by %s (%s), %v", line, res.Behavior, res.Layer, res.Reason, err)
		}
	}
	if len(e.Warnings) == 0 || !strings.Contains(strings.Join(e.Warnings, "\n"), "is not trusted") {
		t.Errorf("the policy that is not trusted is not told of: %q", e.Warnings)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	record, err := os.ReadFile(filepath.Join(o.Dirs.State, "audit.jsonl"))
	if err != nil || strings.Count(string(record), `"kind":"decision"`) != 3 {
		t.Errorf("the record holds %s, %v", record, err)
	}
}

// TestUnrecordedDenies: a decision that cannot be recorded denies.
func TestUnrecordedDenies(t *testing.T) {
	e := opened(t, site(t, map[string]string{"config/agent-wrapper.toml": `allow = ["Bash(make:*)"]`}))
	if err := e.record.Close(); err != nil {
		t.Fatal(err)
	}
	res, err := e.CanUseTool(t.Context(), bash(e, "make build"))
	if err == nil || res.Behavior != permission.Deny {
		t.Errorf("%v, %v", res.Behavior, err)
	}
}

// TestHides: what is hidden from agents is not read, in any mode, nor what lies below it.
func TestHides(t *testing.T) {
	o := site(t, map[string]string{"work/mine.toml": `mode = "bypassPermissions"`})
	o.Policy, o.Hide = filepath.Join(o.Dir, "mine.toml"), []string{filepath.Join(o.Dir, "store.db"), filepath.Join(o.Dir, "private")}
	e := opened(t, o)
	for line, want := range map[string]permission.Behavior{
		"cat store.db": permission.Ask, "cat private/x": permission.Ask, "cp -r private /tmp/y": permission.Ask, "cat main.go": permission.Allow,
	} {
		if d := e.Explain(bash(e, line), nil); d.Behavior != want {
			t.Errorf("%s: %s", line, d.Behavior)
		}
	}
}

// TestGuardsInstalled: the program that decides, and what is installed with it, are guarded.
func TestGuardsInstalled(t *testing.T) {
	dir := t.TempDir()
	for _, name := range programs[1:] {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	own := filepath.Join(dir, programs[0])
	want := []string{own, filepath.Join(dir, programs[1]), filepath.Join(dir, programs[2])}
	if got := installed(own, nil); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	e := opened(t, site(t, map[string]string{"config/agent-wrapper.toml": `allow = ["Bash", "Edit"]`}))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"cp x " + self, "mount --bind x " + self, "rm -r " + filepath.Dir(self)} {
		if d := e.Explain(bash(e, line), nil); d.Behavior != permission.Ask || d.Layer != permission.LayerGuard {
			t.Errorf("%s: %v by %v: %s", line, d.Behavior, d.Layer, d.Reason)
		}
	}
}

// TestGuards: files that decide what the agent may do are guarded by default,
// even in bypassPermissions.
func TestGuards(t *testing.T) {
	o := site(t, map[string]string{"work/mine.toml": `mode = "bypassPermissions"`, "work/chat.md": "hello\n"})
	o.Policy, o.FrontMatter = filepath.Join(o.Dir, "mine.toml"), filepath.Join(o.Dir, "chat.md")
	o.Guard, o.Protect = []string{filepath.Join(o.Dir, "rules.json")}, []string{filepath.Join(o.Dir, "mcp.json")}
	o.Record = filepath.Join(o.Dir, "kept.jsonl")
	o.Head = o.Record + ".head"
	e := opened(t, o)
	for _, file := range []string{
		o.Policy, o.FrontMatter, o.Guard[0], o.Protect[0], o.Record, o.Head, filepath.Join(o.Dirs.Managed, policy.FileName),
		filepath.Join(o.Dirs.User, policy.FileName), filepath.Join(o.Dir, policy.LocalName), filepath.Join(o.Dirs.State, "trust.json"),
		filepath.Join(o.Dir, whitelist.FileName), filepath.Join(o.Dir, ".git", "hooks", "pre-commit"),
	} {
		if d := e.Explain(edit(e, file), nil); d.Behavior == permission.Allow {
			t.Errorf("%s may be edited", file)
		}
	}
	if d := e.Explain(edit(e, filepath.Join(o.Dir, "main.go")), nil); d.Behavior != permission.Allow {
		t.Errorf("the mode does not hold: %v (%s)", d.Behavior, d.Reason)
	}
}

// TestWhitelistUnusable: no command runs if a whitelist cannot be read.
func TestWhitelistUnusable(t *testing.T) {
	o := site(t, map[string]string{"config/agent-wrapper.toml": `allow = ["Bash(make:*)"]`})
	file := filepath.Join(o.Dir, whitelist.FileName)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	e := opened(t, o)
	if d := e.Explain(bash(e, "make build"), nil); d.Behavior != permission.Deny || !strings.Contains(d.Reason, "whitelist") {
		t.Errorf("%v: %s", d.Behavior, d.Reason)
	}
	o.Unbound = true
	if e := opened(t, o); e.Explain(bash(e, "make build"), nil).Behavior != permission.Allow {
		t.Error("an engine without whitelists has one")
	}
}

// TestNobodyAsked: without an approver, what would be asked is denied; with one,
// its answer counts.
func TestNobodyAsked(t *testing.T) {
	o := site(t, map[string]string{"config/agent-wrapper.toml": `ask = ["Bash(make:*)"]`})
	e := opened(t, o)
	if res, _ := e.CanUseTool(t.Context(), bash(e, "make build")); res.Behavior != permission.Deny {
		t.Errorf("nobody was asked: %v", res.Behavior)
	}
	e.SetApprover(says{permission.Answer{Behavior: permission.Allow}})
	if res, err := e.CanUseTool(t.Context(), bash(e, "make build")); res.Behavior != permission.Allow || err != nil {
		t.Errorf("%v, %v", res.Behavior, err)
	}
}

type says struct{ answer permission.Answer }

func (s says) Approve(context.Context, permission.Request) (permission.Answer, error) {
	return s.answer, nil
}

// driver is an agent that asks about one tool use and carries it out if it may.
type driver struct{ use permission.ToolUse }

func (d driver) Run(ctx context.Context, task wrapper.Task) (out wrapper.Outcome, err error) {
	res, err := task.Decider.CanUseTool(ctx, d.use)
	if err != nil {
		return out, err
	}
	if res.Behavior != permission.Allow {
		out.Denied++
		return out, nil
	}
	out.Allowed++
	return out, task.Outcome(wrapper.ToolOutcome{Use: d.use})
}

// TestDrive: a driver gets the workspace, the deny list and the decider; each
// question is announced once, however often the engine drives; outcomes are
// recorded.
func TestDrive(t *testing.T) {
	o := site(t, nil)
	o.Settings = settings(t, "ask = [\"Bash(make:*)\"]\ndeny = [\"WebSearch\"]")
	o.Approver = says{permission.Answer{Behavior: permission.Allow}}
	e := opened(t, o)
	for range 2 {
		var events []wrapper.Event
		out, err := e.Drive(t.Context(), driver{bash(e, "make build")}, wrapper.Task{
			Prompt: "build it", Events: func(ev wrapper.Event) { events = append(events, ev) },
		})
		if err != nil || out.Allowed != 1 || len(events) != 1 || events[0].Type != wrapper.ApprovalRequiredEvent {
			t.Fatalf("%+v %v %+v", out, err, events)
		}
	}
	e.Close()
	record, err := os.ReadFile(filepath.Join(o.Dirs.State, "audit.jsonl"))
	if err != nil || strings.Count(string(record), `"kind":"outcome"`) != 2 {
		t.Errorf("the record holds %s, %v", record, err)
	}
	var got wrapper.Task
	refuses := errors.New("enough")
	_, err = e.Drive(t.Context(), taken(func(task wrapper.Task) error { got = task; return refuses }), wrapper.Task{Prompt: "x"})
	if !errors.Is(err, refuses) || got.Dir != e.Place.Workspace || got.Decider == nil || got.Paused == nil || strings.Join(got.Disallowed, " ") != "WebSearch" {
		t.Errorf("%+v, %v", got, err)
	}
}

type taken func(wrapper.Task) error

func (f taken) Run(_ context.Context, task wrapper.Task) (wrapper.Outcome, error) {
	return wrapper.Outcome{}, f(task)
}

// asking is an agent that emits events while it asks about several tool uses at
// once.
type asking struct {
	use  permission.ToolUse
	uses int
}

func (d asking) Run(ctx context.Context, task wrapper.Task) (wrapper.Outcome, error) {
	var all sync.WaitGroup
	for range d.uses {
		all.Go(func() { task.Decider.CanUseTool(ctx, d.use) })
		task.Events(wrapper.Event{Type: wrapper.ChunkEvent})
	}
	all.Wait()
	return wrapper.Outcome{}, nil
}

// TestDriveInTurn: events are delivered one at a time, and none after the run has
// ended.
func TestDriveInTurn(t *testing.T) {
	e := opened(t, Options{Dir: t.TempDir(), Isolated: true, NoRecord: true, Settings: settings(t, "ask = [\"Bash(make:*)\"]")})
	var inside, heard, overlaps atomic.Int32
	d := asking{bash(e, "make build"), 100}
	_, err := e.Drive(t.Context(), d, wrapper.Task{Prompt: "build it", Events: func(wrapper.Event) {
		if inside.Add(1) > 1 {
			overlaps.Add(1)
		}
		runtime.Gosched()
		inside.Add(-1)
		heard.Add(1)
	}})
	if err != nil || overlaps.Load() > 0 || heard.Load() != int32(2*d.uses) {
		t.Errorf("%d events, %d of them while another was told, %v", heard.Load(), overlaps.Load(), err)
	}
	e.CanUseTool(t.Context(), d.use)
	if heard.Load() != int32(2*d.uses) {
		t.Error("a listener of a run that has ended was told of a question")
	}
}

// TestNoRecord: an engine with NoRecord needs no state directory.
func TestNoRecord(t *testing.T) {
	o := site(t, nil)
	o.NoRecord, o.Dirs.State = true, ""
	e := opened(t, o)
	if res, err := e.CanUseTool(t.Context(), bash(e, "ls")); err != nil || res.Behavior != permission.Allow {
		t.Errorf("%v, %v", res.Behavior, err)
	}
	if err := errors.Join(e.Outcome(audit.Outcome{}), e.Note("", "a", "b"), e.Close()); err != nil {
		t.Error(err)
	}
}

// TestKeepNowhere: a rule is not kept if no policy would be read.
func TestKeepNowhere(t *testing.T) {
	o := site(t, nil)
	o.Isolated = true
	e := opened(t, o)
	if _, err := e.Keep("Bash(make)"); e.Keeps() || !errors.Is(err, errNotKept) {
		t.Error(err)
	}
}
