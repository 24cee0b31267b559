package hook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/audit"
	"github.com/agent-wrapper/agent-wrapper/internal/hook"
	"github.com/agent-wrapper/agent-wrapper/internal/hook/hosts"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// hookVar has the test binary be a hook of Claude Code, with the machine that it names.
const hookVar = "AW_TEST_HOOK"

func TestMain(m *testing.M) {
	if text := os.Getenv(hookVar); text != "" {
		var at []string
		if err := json.Unmarshal([]byte(text), &at); err != nil {
			panic(err)
		}
		o := hook.Options{
			Host: hosts.Named(hook.Claude), Dir: at[0], Env: func(string) string { return "" },
			Engine: engine.Options{Dirs: &engine.Dirs{User: at[1], State: at[2]}},
		}
		os.Exit(hook.Main(context.Background(), o, os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// command returns a process that is the hook on a payload.
func (m *machine) command(t testing.TB, payload string) *exec.Cmd {
	t.Helper()
	at, err := json.Marshal([]string{m.project, m.user, m.state})
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), hookVar+"="+string(at))
	cmd.Stdin = strings.NewReader(payload)
	return cmd
}

// answers is a person who has one answer to every question.
type answers struct {
	answer permission.Answer
	err    error
	asked  int
}

func (a *answers) Park(context.Context, permission.Request, string) (permission.Answer, string, error) {
	a.asked++
	return a.answer, "q", a.err
}
func (a *answers) Wait(context.Context, string) bool              { return true }
func (a *answers) Withdraw(context.Context, string, string) error { return nil }
func (a *answers) Close() error                                   { return nil }

// asks has a person answer what is asked on the machine.
func (m *machine) asks(a *answers) {
	m.ask = func(*engine.Engine) (hook.Asker, error) { return a, nil }
}

// use is a payload of Claude Code.
func (m *machine) use(session, id, command string) string {
	text, err := json.Marshal(map[string]any{
		"session_id": session, "transcript_path": "/t", "cwd": m.project, "permission_mode": "default",
		"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_use_id": id, "tool_input": map[string]string{"command": command},
	})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// allowed reports whether a hook of Claude Code has allowed.
func allowed(stdout []byte) bool {
	return bytes.Contains(stdout, []byte(`"permissionDecision":"allow"`))
}

// kept returns the number of tool uses that an answer is left for.
func (m *machine) kept(t testing.TB) int {
	t.Helper()
	files, err := filepath.Glob(m.state + "/sessions/*/answers.json")
	if err != nil || len(files) != 1 {
		t.Fatalf("%q, %v", files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Answers []struct{ Left int }
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Answers) == 0 {
		return 0
	}
	return file.Answers[0].Left
}

// verified checks the record, and returns its decisions by behavior.
func (m *machine) verified(t testing.TB) map[string]int {
	t.Helper()
	dirs := engine.Dirs{State: m.state}
	record, err := dirs.Record()
	if err != nil {
		t.Fatal(err)
	}
	head, err := dirs.Head(record)
	if err != nil {
		t.Fatal(err)
	}
	report, err := audit.Verify(record, head, "")
	if err != nil || len(report.Faults) > 0 {
		t.Fatalf("%v, %v", report, err)
	}
	file, err := os.Open(record)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	all := map[string]int{}
	err = audit.Scan(file, &audit.Filter{Kind: "decision"}, func(e *audit.Entry, _ []byte) error {
		all[e.Behavior]++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Hooks of one session that run at the same time use up a counted answer as often as it
// counts, and each of them is recorded.
func TestAtOnce(t *testing.T) {
	hooks, left := 40, 10
	if os.Getenv("AW_LONG") != "" {
		hooks, left = 200, 60
	}
	m := newMachine(t, `ask = ["Bash(touch x)"]`)
	m.asks(&answers{answer: permission.Answer{Behavior: permission.Allow, Scope: permission.ScopeSession, Rules: []string{"Bash(touch x)"}, Times: left + 1}})
	if o := m.hears(t, hook.Claude, m.use("s", "first", "touch x")); !allowed(o.Stdout) {
		t.Fatalf("%s%s", o.Stdout, o.Stderr)
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	ran := 0
	for i := range hooks {
		all.Go(func() {
			out, err := m.command(t, m.use("s", fmt.Sprintf("use%d", i), "touch x")).Output()
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			if allowed(out) {
				ran++
			}
		})
	}
	all.Wait()
	if ran != left || m.kept(t) != 0 {
		t.Errorf("%d of %d have run, and %d are left", ran, left, m.kept(t))
	}
	if got := m.verified(t); got["allow"] != left+1 || got["deny"] != hooks-left {
		t.Errorf("the record has %v", got)
	}
}

// Hooks that are killed at any moment leave a session and a record that can be read, and
// no answer counts more often than it does.
func TestKilled(t *testing.T) {
	slow.Test(t)
	kills := 20
	if os.Getenv("AW_LONG") != "" {
		kills = 200
	}
	m := newMachine(t, `ask = ["Bash(touch x)"]`)
	left := 3 * kills
	m.asks(&answers{answer: permission.Answer{Behavior: permission.Allow, Scope: permission.ScopeSession, Rules: []string{"Bash(touch x)"}, Times: left + 1}})
	if o := m.hears(t, hook.Claude, m.use("s", "first", "touch x")); !allowed(o.Stdout) {
		t.Fatalf("%s%s", o.Stdout, o.Stderr)
	}
	began := time.Now()
	if _, err := m.command(t, m.use("s", "second", "ls")).Output(); err != nil {
		t.Fatal(err)
	}
	longest := 5 * time.Since(began) / 4
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d, %d kills within %v", seed, kills, longest)
	r := rand.New(rand.NewPCG(seed, 1))
	ran, killed := 0, 0
	for i := range kills {
		cmd := m.command(t, m.use("s", fmt.Sprintf("use%d", i), "touch x"))
		var out bytes.Buffer
		cmd.Stdout = &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(time.Duration(r.Int64N(int64(longest))), func() { cmd.Process.Kill() })
		err := cmd.Wait()
		timer.Stop()
		if exit := new(exec.ExitError); errors.As(err, &exit) && exit.ExitCode() == -1 {
			killed++
		}
		if allowed(out.Bytes()) {
			ran++
		}
	}
	now := m.kept(t)
	if used := left - now; ran > used || used > kills {
		t.Errorf("%d have run, and %d were used", ran, used)
	}
	out, err := m.command(t, m.use("s", "last", "touch x")).Output()
	if err != nil || !allowed(out) || m.kept(t) != now-1 {
		t.Errorf("afterwards: %s, %v, %d left of %d", out, err, m.kept(t), now)
	}
	if got := m.verified(t); got["allow"] < ran || got["deny"] > 0 {
		t.Errorf("the record has %v, and %d have run", got, ran)
	}
	t.Logf("%d killed, %d have run, %d left of %d", killed, ran, now, left)
}
