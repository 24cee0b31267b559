//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// procStatus returns a number of /proc/PID/status, in KiB.
func procStatus(t *testing.T, pid int, key string) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "\n"+key+":")
	fields := strings.Fields(rest)
	if !found || len(fields) == 0 {
		t.Fatalf("no %s", key)
	}
	n, err := strconv.Atoi(fields[0])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestEditorConversation: 50 turns with 500 tool uses and 100 questions, answered out of
// order: nothing is lost, and the program does not grow.
func TestEditorConversation(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	const turns, perTurn = 50, 10
	c := talks(t, "--ask", "Bash(npm:*)", "--allow", "Bash")
	c.fast = true
	r := rand.New(rand.NewPCG(15, 4))
	early, want := 0, map[string]int{}
	for n := range turns {
		lines := []string{}
		for i := range perTurn - 2 {
			lines = append(lines, fmt.Sprintf("ls %d", i))
		}
		pair := fmt.Sprintf(`{"tool":"Bash","input":{"command":"npm i %d"},"beside":[{"tool":"Bash","input":{"command":"npm ci %d"}}]}`, n, n)
		lines = slices.Insert(lines, r.IntN(len(lines)), pair)
		c.seen = nil
		c.send(object{"type": "user_message", "text": wants(lines...)})
		asked := []wrapper.Event{c.until(wrapper.ApprovalRequiredEvent), c.until(wrapper.ApprovalRequiredEvent)}
		for _, i := range r.Perm(2) {
			choice := []string{"once", "deny"}[r.IntN(2)]
			want["person "+map[string]string{"once": "allow", "deny": "deny"}[choice]]++
			c.send(answers(asked[i], choice))
		}
		c.until(wrapper.DoneEvent)
		got := map[string]int{}
		for _, e := range c.seen {
			if e.Type == wrapper.DecisionEvent {
				got[e.ToolUseID]++
			}
			if e.Type == wrapper.ErrorEvent || e.Type == wrapper.AnswerRefusedEvent {
				t.Errorf("%+v", e)
			}
		}
		if len(got) != perTurn {
			t.Errorf("turn %d: %v", n, got)
		}
		if n == 9 {
			early = procStatus(t, c.cmd.Process.Pid, "VmRSS")
		}
	}
	late := procStatus(t, c.cmd.Process.Pid, "VmRSS")
	t.Logf("memory after 10 turns %d KiB, after %d turns %d KiB", early, turns, late)
	if late > early+24<<10 {
		t.Errorf("it grows from %d to %d KiB", early, late)
	}
	if code := c.ends(); code != 0 {
		t.Error(code)
	}
	want["rule allow"] = turns * (perTurn - 2)
	got := map[string]int{}
	for _, d := range recorded(t, c.audit) {
		got[d.By+" "+d.Behavior]++
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("recorded %v, want %v", got, want)
	}
}

// decision is one in the record.
type decision struct {
	Kind, Use, Behavior, By string
	Input                   struct{ Command string }
}

// recorded returns the decisions of a record.
func recorded(t *testing.T, audit string) []decision {
	t.Helper()
	text, err := os.ReadFile(audit)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a program that did not start has none
		t.Fatal(err)
	}
	var all []decision
	for line := range strings.Lines(string(text)) {
		var d decision
		if json.Unmarshal([]byte(line), &d) == nil && d.Kind == "decision" {
			all = append(all, d)
		}
	}
	return all
}

// TestEditorBurst: what the agent writes as fast as it can, long and odd, arrives whole
// and in order; the agent waits for a slow reader, and the program does not grow.
func TestEditorBurst(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	const lines = 10_000
	odd := strings.Repeat("x\x00\u2028\ufffd\U0001f600\"\\", 64)
	long := strings.Repeat("é\n", 1<<17)
	text, _ := json.Marshal(odd)
	c := talks(t, "--allow", "Bash")
	c.fast = true
	c.send(object{"type": "user_message", "text": fmt.Sprintf("{\"text\":%s,\"times\":%d}\n", text, lines) + wants("ls")})
	began := time.Now()
	for i := range lines {
		if e := c.until(wrapper.ChunkEvent); e.Text != fmt.Sprintf("%d %s", i, odd) {
			t.Fatalf("chunk %d: %.100q", i, e.Text)
		}
		c.seen = nil
	}
	took := time.Since(began)
	peak := procStatus(t, c.cmd.Process.Pid, "VmHWM")
	t.Logf("%d events of %d bytes in %v, %.0f a second; at most %d KiB", lines, len(odd), took, lines/took.Seconds(), peak)
	if peak > 128<<10 {
		t.Errorf("%d KiB", peak)
	}
	c.until(wrapper.DoneEvent)
	huge, _ := json.Marshal(long)
	c.send(object{"type": "user_message", "text": fmt.Sprintf("{\"text\":%s,\"times\":3}\n", huge) + wants(`{"tool":"Write","input":{"file_path":"x","content":`+string(huge)+`}}`)})
	for i := range 3 {
		if e := c.until(wrapper.ChunkEvent); e.Text != fmt.Sprintf("%d %s", i, long) {
			t.Fatalf("chunk %d has %d bytes", i, len(e.Text))
		}
	}
	e := c.until(wrapper.ApprovalRequiredEvent)
	var input struct{ Content string }
	if err := json.Unmarshal(e.Input, &input); err != nil || input.Content != long {
		t.Error(err, len(e.Input))
	}
	c.send(answers(e, "once"))
	c.until(wrapper.DoneEvent)
	if code := c.ends(); code != 0 {
		t.Error(code)
	}
	t.Log("it used", c.cmd.ProcessState.UserTime()+c.cmd.ProcessState.SystemTime(), "of processor time")
}

// faults are what may happen at any moment of a conversation.
var faults = map[string]func(c *child){
	"the editor is killed": func(c *child) {
		c.in.Close()
		c.closed()
	},
	"the agent CLI is killed": func(c *child) {
		for _, pid := range children(c.cmd.Process.Pid) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	},
	"the program is killed": func(c *child) { c.cmd.Process.Kill() },
	"the disk is full": func(c *child) {
		var size uint64
		if info, err := os.Stat(c.audit); err == nil {
			size = uint64(info.Size())
		}
		unix.Prlimit(c.cmd.Process.Pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: size + 100, Max: unix.RLIM_INFINITY}, nil)
	},
	"the policy is broken": func(c *child) {
		os.WriteFile(filepath.Join(c.home, "agent-wrapper.toml"), []byte("alow = []\n"), 0o600)
	},
}

// children returns the processes that a process has started.
func children(pid int) []int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	var all []int
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, task := range tasks {
		more, _ := os.ReadFile(task)
		text = append(append(text, ' '), more...)
	}
	for _, field := range strings.Fields(string(text)) {
		if n, err := strconv.Atoi(field); err == nil && !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all
}

// TestEditorFaults: whatever happens at a random moment, no tool use runs that was not
// decided and recorded, everything ends, and the next start works.
func TestEditorFaults(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	n := 4
	if os.Getenv("AW_LONG") != "" {
		n = 200
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			for i := range n {
				at := rand.IntN(60)
				if !faulty(t, fault, at) {
					t.Fatalf("run %d, at event %d", i, at)
				}
			}
		})
	}
}

// faulty has a conversation with a fault after some events. It reports whether all went
// well.
func faulty(t *testing.T, fault func(*child), at int) bool {
	home := t.TempDir()
	policy := filepath.Join(home, "agent-wrapper.toml")
	if err := os.WriteFile(policy, []byte("ask = [\"Bash(npm:*)\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := []string{"--approvals", "stdio", "--allow", "Bash", "--ask", "Bash(npm:*)"}
	c := startsAs(t, "full-wrapper", home, flags...)
	c.fast = true
	task := wants("ls a", `{"tool":"Bash","input":{"command":"npm i"},"beside":[{"tool":"Bash","input":{"command":"npm ci"}}]}`, "ls b", "npm x", "ls c")
	c.send(object{"type": "user_message", "text": task})
	c.send(object{"type": "user_message", "text": task})
	c.suffers(fault, at)
	unix.Prlimit(c.cmd.Process.Pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}, nil)
	ok := !t.Failed()
	allowed := map[string]int{}
	for _, d := range recorded(t, c.audit) {
		if d.Behavior == "allow" {
			allowed[d.Input.Command]++
		}
	}
	text, _ := os.ReadFile(filepath.Join(home, "ran"))
	for line := range strings.Lines(string(text)) {
		var input struct{ Command string }
		json.Unmarshal([]byte(line), &input)
		if allowed[input.Command]--; allowed[input.Command] < 0 {
			t.Errorf("%s ran, and no record allows it", input.Command)
			ok = false
		}
	}
	if err := os.Remove(policy); err != nil {
		t.Fatal(err)
	}
	next := startsIn(t, home, append(flags, "--session", sessionID, "--prompt", wants("ls", "npm i"))...)
	next.send(answers(next.until(wrapper.ApprovalRequiredEvent), "once"))
	next.until(wrapper.DoneEvent)
	if code := next.ends(); code != 0 || next.behaviors() != "rule allow, person allow" {
		t.Errorf("the next start: %d, %s", code, next.behaviors())
		ok = false
	}
	return ok
}

// suffers answers what is asked, has the fault happen after some events, and waits for
// the end.
func (c *child) suffers(fault func(*child), at int) {
	c.t.Helper()
	done := 0
	for n := 0; ; n++ {
		if n == at {
			fault(c)
			fault = func(*child) {}
		}
		e := c.next()
		switch e.Type {
		case "":
			if n < at {
				fault(c)
			}
			c.in.Close()
			c.cmd.Wait()
			return
		case wrapper.ApprovalRequiredEvent:
			c.tries(answers(e, "once"))
		case wrapper.DoneEvent:
			if done++; done == 2 {
				c.in.Close()
			}
		}
	}
}
