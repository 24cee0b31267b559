package whitelist

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

var kills = flag.Int("kills", 3, "how often a process that counts is killed")

// TestMain lets the test binary act as a process that counts.
func TestMain(m *testing.M) {
	if path := os.Getenv("WHITELIST_JOURNAL"); path != "" {
		countForever(path)
	}
	os.Exit(m.Run())
}

// countForever counts until it is killed, and reports each event.
func countForever(path string) {
	t := &Tracker{Journal: NewJournal(path), Key: testKey, Threshold: 1 << 30}
	for n := 1; ; n++ {
		if err := t.hallucinated(denied("npm run x")); err != nil {
			panic(err)
		}
		fmt.Println(n)
	}
}

var testKey = Key{Agent: "a", Plan: "/p/plan.json"}

func denied(command string) *CommandValidationError {
	return &CommandValidationError{Command: command, Reason: NotWhitelisted}
}

func newTracker(t *testing.T, threshold int) *Tracker {
	t.Helper()
	dir := t.TempDir()
	return &Tracker{
		Journal: NewJournal(filepath.Join(dir, "state", "journal.jsonl")), Key: testKey, Threshold: threshold,
		Workspace: dir, Warn: func(err error) { t.Errorf("warned: %v", err) },
	}
}

func isPaused(t *testing.T, tr *Tracker) string {
	t.Helper()
	why, err := tr.Paused()
	if err != nil {
		t.Fatal(err)
	}
	return why
}

// From the threshold on the agent is paused until a person resumes it; then the
// count restarts.
func TestThreshold(t *testing.T) {
	tr := newTracker(t, 3)
	if why := isPaused(t, tr); why != "" {
		t.Fatalf("paused from the start: %s", why)
	}
	var noticed []int
	tr.Notice = func(e Event, count int) {
		if e.Command != "npm run magic" || e.Timestamp == "" {
			t.Errorf("%+v", e)
		}
		noticed = append(noticed, count)
	}
	for n := 1; n <= 4; n++ {
		err := tr.hallucinated(denied("npm run magic"))
		if paused := errors.Is(err, errAgentPaused); paused != (n >= 3) || !paused && err != nil {
			t.Fatalf("%d: %v", n, err)
		}
	}
	if tr.Notice = nil; !slices.Equal(noticed, []int{1, 2, 3, 4}) {
		t.Errorf("noticed %v", noticed)
	}
	const message = "Agent paused after 4 hallucinated commands. Human review required. Resume with: agent-wrapper resume --plan /p/plan.json"
	if why := isPaused(t, tr); why != message {
		t.Errorf("%s", why)
	}
	var cause *CommandValidationError
	if err := tr.hallucinated(denied("x")); !errors.As(err, &cause) || cause.Command != "x" {
		t.Errorf("the pause hides its cause: %v", err)
	}
	if err := error(&pausedError{}); errors.As(err, &cause) && cause == nil {
		t.Error("no cause is one")
	}
	restarted := *tr
	restarted.Journal = NewJournal(tr.Journal.path)
	if isPaused(t, &restarted) == "" {
		t.Error("a new process does not see the pause")
	}
	if again, err := tr.Journal.Resume("/p/other.json", "", "me"); len(again) != 0 || err != nil || isPaused(t, tr) == "" {
		t.Errorf("another plan was resumed: %v, %v", again, err)
	}
	if again, err := tr.Journal.Resume("/p/plan.json", "b", "me"); len(again) != 0 || err != nil || isPaused(t, tr) == "" {
		t.Errorf("another agent was resumed: %v, %v", again, err)
	}
	again, err := restarted.Journal.Resume("/p/plan.json", "", "me")
	if err != nil || len(again) != 1 || again[0].Count != 5 || again[0].Key != testKey {
		t.Errorf("resumed %+v, %v", again, err)
	}
	if why := isPaused(t, tr); why != "" {
		t.Errorf("still paused: %s", why)
	}
	if err := tr.hallucinated(denied("x")); err != nil {
		t.Errorf("the count goes on: %v", err)
	}
}

// Agents and plans are counted separately.
func TestKeys(t *testing.T) {
	one := newTracker(t, 2)
	for _, key := range []Key{{"b", testKey.Plan}, {testKey.Agent, "/q/plan.json"}, {"", ""}} {
		other := *one
		other.Key = key
		if err := other.hallucinated(denied("x")); err != nil {
			t.Errorf("%v: %v", key, err)
		}
	}
	if err := one.hallucinated(denied("x")); err != nil {
		t.Error(err)
	}
	all, err := one.Journal.Standings()
	if err != nil || len(all) != 4 || all[0].Key != (Key{}) || all[3].Plan != "/q/plan.json" {
		t.Errorf("%+v, %v", all, err)
	}
}

// A reset restarts the count and does not end a pause.
func TestReset(t *testing.T) {
	tr := newTracker(t, 2)
	for range 2 {
		_ = tr.hallucinated(denied("x"))
	}
	none := func(Standing) bool { return false }
	all := func(Standing) bool { return true }
	if got, err := tr.Journal.Reset("me", none); len(got) != 0 || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	got, err := tr.Journal.Reset("me", all)
	if err != nil || len(got) != 1 || got[0].Count != 2 || !got[0].Paused {
		t.Errorf("%v, %v", got, err)
	}
	// The pause stays, and so does its reason.
	if why := isPaused(t, tr); !strings.Contains(why, "after 2 hallucinated") {
		t.Errorf("after the reset: %q", why)
	}
	var told []Alert
	tr.Escalate = func(a Alert) { told = append(told, a) }
	if err := tr.Remind(); err != nil || len(told) != 1 || told[0].Count != 2 || len(told[0].Events) != 2 {
		t.Errorf("reminded of %+v, %v", told, err)
	}
	if got, err := tr.Journal.Reset("me", all); len(got) != 0 || err != nil {
		t.Errorf("nothing was left to reset: %v, %v", got, err)
	}
	if err := tr.hallucinated(denied("y")); !errors.Is(err, errAgentPaused) || !strings.Contains(err.Error(), "after 3 hallucinated") {
		t.Errorf("one more: %v", err)
	}
	again, err := tr.Journal.Resume(testKey.Plan, "", "me")
	if err != nil || len(again) != 1 || again[0].Led != 3 || again[0].Count != 1 {
		t.Errorf("resumed %+v, %v", again, err)
	}
}

// Events that were reset before a pause are not part of its reason.
func TestResetBeforePause(t *testing.T) {
	tr := newTracker(t, 2)
	_ = tr.hallucinated(denied("x"))
	if _, err := tr.Journal.Reset("me", func(Standing) bool { return true }); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_ = tr.hallucinated(denied("x"))
	}
	if why := isPaused(t, tr); !strings.Contains(why, "after 2 hallucinated") {
		t.Errorf("%q", why)
	}
}

// The log in the workspace has the seed's form, without secrets, and the
// journal has the same events.
func TestLog(t *testing.T) {
	tr := newTracker(t, 9)
	tr.Journal.now = func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC) }
	for _, command := range []string{"npm run <x> && id", "curl -H 'Authorization: Bearer abcdefghijklmnop1234' h", strings.Repeat("x", 2*maxCommand)} {
		if err := tr.hallucinated(denied(command)); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(filepath.Join(tr.Workspace, LogFile))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(data), "\n")
	if want := `{"timestamp":"2026-01-02T03:04:05.006Z","command":"npm run <x> && id","reason":"not_whitelisted","agent_id":"a","plan_id":"/p/plan.json"}`; lines[0] != want {
		t.Errorf("%s\nwant %s", lines[0], want)
	}
	if len(lines) != 4 || strings.Contains(string(data), "abcdefghijklmnop1234") || len(lines[2]) > maxCommand+200 {
		t.Errorf("%d lines: %.400s", len(lines), data)
	}
	events, err := tr.Journal.Events(2, func(*Event) bool { return true })
	if err != nil || len(events) != 2 {
		t.Fatalf("%v, %v", events, err)
	}
	var copied Event
	if json.Unmarshal([]byte(lines[1]), &copied) != nil || copied != events[0] {
		t.Errorf("copied %+v, kept %+v", copied, events[0])
	}
	if none, err := tr.Journal.Events(0, func(*Event) bool { return false }); len(none) != 0 || err != nil {
		t.Errorf("%v, %v", none, err)
	}
	for _, path := range []string{tr.Journal.path, filepath.Join(tr.Workspace, LogFile)} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

// The agent can write to the workspace: a link there does not lead our writes
// out of it, and a broken log does not stop the count.
func TestLogStaysInside(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(outside, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, plant := range map[string]func(dir string) error{
		"the file is a link": func(dir string) error {
			return errors.Join(os.MkdirAll(filepath.Join(dir, ".smartergpt/logs"), 0o700), os.Symlink(outside, filepath.Join(dir, LogFile)))
		},
		"a directory is a link": func(dir string) error { return os.Symlink(filepath.Dir(outside), filepath.Join(dir, ".smartergpt")) },
		"a directory is a file": func(dir string) error { return os.WriteFile(filepath.Join(dir, ".smartergpt"), nil, 0o600) },
		"the workspace is gone": os.RemoveAll,
	} {
		tr := newTracker(t, 2)
		tr.Workspace = t.TempDir()
		if err := plant(tr.Workspace); err != nil {
			t.Fatal(err)
		}
		warned := 0
		tr.Warn = func(error) { warned++ }
		first, second := tr.hallucinated(denied("x")), tr.hallucinated(denied("x"))
		if first != nil || !errors.Is(second, errAgentPaused) || warned != 2 {
			t.Errorf("%s: %v, %v, %d warnings", name, first, second, warned)
		}
		tr.Warn = nil
		_ = tr.hallucinated(denied("x")) // no Escalate is set
	}
	if data, _ := os.ReadFile(outside); string(data) != "mine" {
		t.Errorf("written outside: %q", data)
	}
	if found, _ := filepath.Glob(filepath.Join(filepath.Dir(outside), "logs*")); len(found) > 0 {
		t.Errorf("made outside: %v", found)
	}
}

// An incomplete last line of a killed writer is ignored; any other unreadable
// line pauses the agent and says what to do.
func TestTornAndBroken(t *testing.T) {
	tr := newTracker(t, 3)
	if err := tr.hallucinated(denied("x")); err != nil {
		t.Fatal(err)
	}
	add := func(text string) {
		t.Helper()
		f, err := os.OpenFile(tr.Journal.path, os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteString(text)
		}
		if err = errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	add(`{"kind":"hallucination","comm`)
	if why := isPaused(t, tr); why != "" {
		t.Error(why)
	}
	if err := tr.hallucinated(denied("x")); err != nil {
		t.Errorf("behind a torn line: %v", err)
	}
	if events, err := tr.Journal.Events(0, func(*Event) bool { return true }); len(events) != 2 || err != nil {
		t.Errorf("%v, %v", events, err)
	}
	for _, line := range []string{"{}", "null", `{"kind":"x"}`, `{"kind":"reset","kind":"reset"}`, "x", ""} {
		before, err := os.ReadFile(tr.Journal.path)
		if err != nil {
			t.Fatal(err)
		}
		add(line + "\n")
		fresh := &Tracker{Journal: NewJournal(tr.Journal.path), Key: testKey, Threshold: 3}
		for _, tr := range []*Tracker{tr, fresh, tr} {
			why, err := tr.Paused()
			if err == nil || why != "" || !strings.Contains(err.Error(), "journal.jsonl:3: ") || !strings.Contains(err.Error(), "reset --broken") {
				t.Errorf("%q: %q, %v", line, why, err)
			}
			if err := tr.hallucinated(denied("x")); err == nil || errors.Is(err, errAgentPaused) {
				t.Errorf("%q: counted behind it: %v", line, err)
			}
		}
		if _, err := fresh.Journal.Events(0, func(*Event) bool { return true }); err == nil {
			t.Errorf("%q: events without an error", line)
		}
		if _, err := fresh.Journal.Standings(); err == nil {
			t.Errorf("%q: standings without an error", line)
		}
		if err := fresh.Remind(); err == nil {
			t.Errorf("%q: reminded without an error", line)
		}
		if err := os.WriteFile(tr.Journal.path, before, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if why := isPaused(t, tr); why != "" {
		t.Errorf("mended, but %s", why)
	}
}

// A journal that is set aside is kept, and processes that had it open go on.
func TestSetAside(t *testing.T) {
	tr := newTracker(t, 1)
	if _, err := tr.Journal.SetAside(); err == nil {
		t.Error("there was none to set aside")
	}
	tr.Workspace = ""
	_ = tr.hallucinated(denied("x"))
	other := *tr
	other.Journal = NewJournal(tr.Journal.path)
	if isPaused(t, &other) == "" {
		t.Fatal("not paused")
	}
	aside, err := tr.Journal.SetAside()
	if err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(aside); err != nil || !strings.Contains(string(data), `"command":"x"`) {
		t.Errorf("%q, %v", data, err)
	}
	for _, tr := range []*Tracker{tr, &other} {
		if why := isPaused(t, tr); why != "" {
			t.Error(why)
		}
	}
	if err := os.RemoveAll(filepath.Dir(tr.Journal.path)); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Paused(); err == nil || !strings.Contains(err.Error(), "is missing") {
		t.Errorf("a journal that went away: %v", err)
	}
	below := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(below, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := NewJournal(filepath.Join(below, "journal.jsonl")).SetAside(); err == nil {
		t.Error("set aside what cannot be there")
	}
}

// What cannot be stored is an error.
func TestUnwritable(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	isDir := filepath.Join(dir, "dir")
	if err := os.Mkdir(isDir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(file, "journal.jsonl"), isDir} {
		tr := &Tracker{Journal: NewJournal(path), Key: testKey, Threshold: 1}
		if err := tr.hallucinated(denied("x")); err == nil || errors.Is(err, errAgentPaused) {
			t.Errorf("%s: %v", path, err)
		}
		if _, err := tr.Journal.Events(0, func(*Event) bool { return true }); err == nil {
			t.Errorf("%s: events without an error", path)
		}
		if err := tr.Escalated("webhook", nil); err == nil {
			t.Errorf("%s: escalated without an error", path)
		}
	}
	if why, err := (&Tracker{Journal: NewJournal(filepath.Join(file, "journal.jsonl"))}).Paused(); why != "" || err == nil {
		t.Errorf("below a file: %q, %v", why, err)
	}
	dangling := filepath.Join(dir, "dangling")
	if err := os.Symlink(filepath.Join(dir, "no", "where"), dangling); err != nil {
		t.Fatal(err)
	}
	if err := (&Tracker{Journal: NewJournal(dangling)}).hallucinated(denied("x")); err == nil {
		t.Error("counted where nothing can be written")
	}
	if events, err := NewJournal(filepath.Join(dir, "none")).Events(1, nil); events != nil || err != nil {
		t.Errorf("no journal: %v, %v", events, err)
	}
}

type recorderFunc func(permission.Record) error

func (f recorderFunc) Record(_ context.Context, r permission.Record) error { return f(r) }

// TestDryRun: what a dry run would have refused is stored as such. It neither
// counts nor is told with a pause.
func TestDryRun(t *testing.T) {
	tr := newTracker(t, 2)
	var alert Alert
	tr.Escalate = func(a Alert) { alert = a }
	r := tr.Recorder(recorderFunc(func(permission.Record) error { return nil }))
	for _, behavior := range []permission.Behavior{0, permission.Deny, 0, permission.Deny} {
		use := permission.ToolUse{Tool: "Bash", Input: json.RawMessage(`{"command":"npm run x"}`)}
		d := permission.Decision{Behavior: permission.Allow, Refusal: permission.Refusal{Behavior: behavior, Kind: "not_whitelisted"}}
		if behavior != 0 {
			d.Behavior = behavior
		}
		if err := r.Record(t.Context(), permission.Record{Use: use, Result: permission.Result{Decision: d}}); err != nil {
			t.Fatal(err)
		}
	}
	if alert.Count != 2 || len(alert.Events) != 2 || alert.Events[0].DryRun {
		t.Errorf("told: %+v", alert)
	}
	all, err := tr.Journal.Events(0, func(*Event) bool { return true })
	if err != nil || len(all) != 4 || !all[0].DryRun || all[1].DryRun || !all[2].DryRun {
		t.Errorf("%+v, %v", all, err)
	}
	copied, err := os.ReadFile(filepath.Join(tr.Workspace, LogFile))
	if err != nil || strings.Count(string(copied), `"dry_run":true`) != 2 {
		t.Errorf("%s, %v", copied, err)
	}
	tr.Journal = NewJournal(t.TempDir())
	if err := tr.wouldRefuse(&CommandValidationError{}); err == nil {
		t.Error("no error of a journal that is a directory")
	}
}

// Only denials of the whitelist count, before the record is written.
func TestRecorder(t *testing.T) {
	refusal := permission.Refusal{Behavior: permission.Deny, Kind: "too_long", Reason: "600 bytes"}
	asking := refusal
	asking.Behavior = permission.Ask
	dry := refusal
	dry.Behavior = 0
	lenient := refusal
	lenient.Lenient = true
	const edited = "edited"
	for _, tt := range []struct {
		about  string
		result permission.Decision
		counts bool
	}{
		{"a person's own words", permission.Decision{Behavior: permission.Deny, Reason: edited, Refusal: refusal}, false},
		{"denied by the whitelist", permission.Decision{Behavior: permission.Deny, Refusal: refusal}, true},
		{"denied by a rule, and by the whitelist", permission.Decision{Behavior: permission.Deny, Layer: permission.LayerDenyList, Refusal: refusal}, true},
		{"asked, and denied", permission.Decision{Behavior: permission.Deny, Refusal: asking}, true},
		{"no behavior", permission.Decision{Refusal: refusal}, true},
		{"asked, and allowed", permission.Decision{Behavior: permission.Allow, Refusal: asking}, false},
		{"dry run", permission.Decision{Behavior: permission.Deny, Refusal: dry}, false},
		{"dry run, and allowed", permission.Decision{Behavior: permission.Allow, Refusal: dry}, false},
		{"denied for want of a whitelist", permission.Decision{Behavior: permission.Deny, Refusal: permission.Refusal{Behavior: permission.Deny, Kind: "no_whitelist"}}, false},
		{"denied by a rule", permission.Decision{Behavior: permission.Deny}, false},
		{"paused already", permission.Decision{Behavior: permission.Deny, Interrupt: true, Refusal: refusal}, false},
		{"it only looks, and the list is strict", permission.Decision{Behavior: permission.Deny, Tier: 1, Refusal: refusal}, true},
		{"it only looks, and the list is permissive", permission.Decision{Behavior: permission.Deny, Tier: 1, Refusal: lenient}, false},
		{"it does more, and the list is permissive", permission.Decision{Behavior: permission.Deny, Tier: 2, Refusal: lenient}, true},
	} {
		tr := newTracker(t, 1)
		counted, recorded := false, 0
		failure := errors.New("the disk is full")
		r := tr.Recorder(recorderFunc(func(r permission.Record) error {
			recorded++
			counted = isPaused(t, tr) != ""
			return failure
		}))
		use := permission.ToolUse{Tool: "Bash", Input: json.RawMessage(`{"command":"npm run x"}`)}
		told := permission.Record{Use: use, Result: permission.Result{Decision: tt.result}}
		if tt.result.Reason == edited {
			told.Edited = json.RawMessage(`{"command":"npm run y"}`)
		}
		err := r.Record(t.Context(), told)
		if counted != tt.counts || recorded != 1 || !errors.Is(err, failure) || errors.Is(err, errAgentPaused) {
			t.Errorf("%s: counted %v, recorded %d, %v", tt.about, counted, recorded, err)
		}
	}
	tr := newTracker(t, 1)
	tr.Journal = NewJournal(t.TempDir())
	r := tr.Recorder(recorderFunc(func(permission.Record) error { return nil }))
	for _, input := range []string{`{"command":"x"}`, `{`, `{"x":1}`} {
		bad := permission.Record{Use: permission.ToolUse{Tool: "Bash", Input: json.RawMessage(input)}}
		bad.Result.Refusal = refusal
		if err := r.Record(t.Context(), bad); err == nil {
			t.Error("what cannot be counted is recorded as if it were")
		}
	}
	if got := commandOf(permission.ToolUse{Tool: "X", Input: json.RawMessage(`{"a":1}`)}); got != `X {"a":1}` {
		t.Error(got)
	}
}

// In the command line that ends a pause the plan is one word, whatever its
// name.
func TestResumeCommand(t *testing.T) {
	for plan, want := range map[string]string{
		"/p/plan.json": "/p/plan.json", "": "''", "/p q/it's": `'/p q/it'\''s'`, "/p/$(id)": "'/p/$(id)'", "-x": "-x", "/ü": "'/ü'",
	} {
		if got := resumeCommand(Key{Plan: plan}); got != "agent-wrapper resume --plan "+want {
			t.Errorf("%q: %s", plan, got)
		}
	}
}

// Several goroutines of several processes: no event is lost or counted twice.
func TestSeveralAtOnce(t *testing.T) {
	one := newTracker(t, 1<<30)
	var all sync.WaitGroup
	for range 4 {
		tr := *one
		tr.Journal = NewJournal(one.Journal.path)
		for range 2 {
			all.Go(func() {
				for range 25 {
					if err := tr.hallucinated(denied("x")); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	all.Wait()
	if s, err := one.Journal.standing(testKey); s.count != 200 || err != nil {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestKill: a counting process is killed at a random moment. Every event that
// it reported as stored is counted once; one in progress may be.
func TestKill(t *testing.T) {
	slow.Test(t)
	tr := newTracker(t, 1<<30)
	counted := 0
	for range *kills {
		told := killed(t, tr.Journal.path, 1+rand.IntN(40))
		s, err := tr.Journal.standing(testKey)
		if n := s.count - counted; err != nil || n < told || n > told+1 {
			t.Fatalf("%d events were told, %d were counted: %v", told, n, err)
		}
		counted = s.count
	}
	if err := tr.hallucinated(denied("x")); err != nil {
		t.Error(err)
	}
	if s, _ := tr.Journal.standing(testKey); s.count != counted+1 {
		t.Errorf("%d after %d", s.count, counted)
	}
	t.Logf("%d kills, %d events told or under way, each counted once", *kills, counted)
}

// killed runs a counting process, kills it after it reported n events, and
// returns how many it reported.
func killed(t *testing.T, journal string, n int) (told int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "WHITELIST_JOURNAL="+journal)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if told++; told == n {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); cmd.ProcessState.Exited() {
		t.Fatalf("it was not killed: %v", err)
	}
	return told
}
