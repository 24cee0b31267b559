//go:build (amd64 || arm64) && !race

// The first process inside the sandbox fails closed under the race detector.

package claude

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/sandbox"
	"github.com/agent-wrapper/agent-wrapper/internal/sandbox/kernel"
	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// insideGuard is a guard of commands that run inside the sandbox. go test ./... has to pass on a
// machine without one; make test with CI=true counts the skipped test as a failure.
func insideGuard(t *testing.T, plan func() (*sandbox.Plan, error), change func(o *launch)) *guard {
	t.Helper()
	if err := kernel.Probe(t.Context()); err != nil {
		t.Skip(err)
	}
	return newGuard(t, func(o *launch) {
		o.Sandbox = &wrapper.Sandbox{Plan: plan, Made: func(*sandbox.Plan) []sandbox.Path { return nil }}
		change(o)
	})
}

// TestShellsAhead: a sandbox is built when a command is allowed, once; another one in its place if
// it is old; and none is left if the command does not run.
func TestShellsAhead(t *testing.T) {
	var plans atomic.Int32
	scratch, work := t.TempDir(), ""
	g := insideGuard(t, func() (*sandbox.Plan, error) {
		plans.Add(1)
		return &sandbox.Plan{Writable: []sandbox.Path{{Path: work}}}, nil
	}, func(o *launch) { o.Scratch = scratch })
	work, g.keeps = g.work, time.Hour // however slow the machine is
	runs := func(want int32) {
		t.Helper()
		if code, said := g.runs(g.work, nil, g.text("echo a")); code != 0 || said != "a\n" || plans.Load() != want {
			t.Errorf("exit code %d, %q, %d plans", code, said, plans.Load())
		}
		g.over("id")
	}
	built := func() *ahead {
		t.Helper()
		w, err := g.allowed["echo a"][0].ahead()
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	g.allows("id", "echo a", "", "")
	runs(1)
	g.allows("id", "echo a", "", "")
	old := built()
	old.process.Forgo()
	if _, err := old.process.Wait(); err == nil {
		t.Error("they are kept")
	}
	runs(3)
	g.allows("id", "echo a", "", "")
	built().room.Close()
	runs(5)
	g.allows("forgone", "echo a", "", "")
	w := built()
	g.over("forgone")
	if code, err := w.process.Wait(); err == nil {
		t.Errorf("the sandbox of a command that did not run ended with %d", code)
	}
}

// TestShellsInsideTold: what a command inside the sandbox leaves in the place of the directory of
// its shell is gone before the agent CLI looks, unless it is that.
func TestShellsInsideTold(t *testing.T) {
	scratch := t.TempDir()
	g := insideGuard(t, func() (*sandbox.Plan, error) { return &sandbox.Plan{Writable: []sandbox.Path{{Path: scratch}}}, nil }, func(o *launch) { o.Scratch = scratch })
	g.work = filepath.Join(scratch, agentName) // in which the CLI names the file
	told, left := filepath.Join(g.work, "claude-0000-cwd"), filepath.Join(scratch, "claude-0000-cwd")
	for command, want := range map[string]string{"cd /usr": "/usr\n", "ln -s /etc/passwd " + left: "", "mkdir " + left: "", "rm -rf " + g.work + "; mkdir -p " + told: ""} {
		g.allows("id", command, "", "")
		code, said := g.runs(scratch, nil, g.text(command))
		text, err := os.ReadFile(told)
		if string(text) != want || (code == 0) != (want != "") {
			t.Errorf("%s: %d, %q, %q, %v", command, code, said, text, err)
		}
		if err := os.Remove(told); (err == nil) != (want != "") {
			t.Error(err)
		}
		if _, err := os.Lstat(left); err == nil {
			t.Errorf("%s: the file is left", command)
		}
	}
}

// TestShellsHidden: commands inside see nothing of what the agent CLI and commands outside do
// for themselves, but for one that runs no code: that reads the output of tasks.
func TestShellsHidden(t *testing.T) {
	scratch := t.TempDir()
	g := insideGuard(t, func() (*sandbox.Plan, error) {
		return &sandbox.Plan{Temp: []sandbox.Path{{Path: os.TempDir()}}, Writable: []sandbox.Path{{Path: scratch}}}, nil
	}, func(o *launch) { o.Scratch = scratch })
	g.work = filepath.Join(scratch, agentName)
	output, socket := filepath.Join(g.work, "out"), filepath.Join(g.work, socketsName, "s")
	if err := errors.Join(os.WriteFile(output, []byte("said"), 0o600), os.WriteFile(socket, []byte("said"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		command string
		plain   bool
		works   bool
	}{
		{"cat " + output, true, true}, {"cat " + output, false, false}, {"cat " + socket, true, false}, {"cat " + socket, false, false},
		{"echo x >>" + output, true, false}, {"echo x >" + g.work + "/n", true, false}, {"mv " + g.work + " " + scratch + "/x", true, false}, {"mv " + g.work + " " + scratch + "/x", false, false},
		{"ls " + g.work + "/out", true, true}, {"ls " + g.work + "/out", false, false},
	} {
		d := permission.Decision{Behavior: permission.Allow, Sandbox: permission.Inside, OnlyReads: tt.plain}
		g.allow(&permission.ToolUse{ID: "id", Tool: "Bash"}, nil, &permission.Result{Decision: d, UpdatedInput: []byte(`{"command":"` + tt.command + `"}`)})
		if code, said := g.runs(scratch, nil, g.text(tt.command)); (code == 0) != tt.works {
			t.Errorf("%s, plain %v: %d, %q", tt.command, tt.plain, code, said)
		}
	}
	if text, err := os.ReadFile(output); string(text) != "said" {
		t.Errorf("%q, %v", text, err)
	}
}

// TestShellsEnd: a run ends although what builds the sandbox does not answer any more.
func TestShellsEnd(t *testing.T) {
	slow.Test(t)
	g := insideGuard(t, func() (*sandbox.Plan, error) { return &sandbox.Plan{}, nil }, func(*launch) {})
	const command = "echo begun; sleep 1000"
	g.allows("id", command, "", "")
	cmd := exec.Command(g.prefix(), g.text(command))
	out, errOut := cmd.StdoutPipe()
	if err := errors.Join(errOut, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	if begun, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(begun, err)
	}
	stopped := 0
	for _, pid := range children(t) {
		if line, _ := os.ReadFile("/proc/" + pid + "/cmdline"); strings.HasPrefix(string(line), "agent-wrapper-sandbox\x00") {
			number, _ := strconv.Atoi(pid)
			if err := syscall.Kill(number, syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			stopped++
		}
	}
	if stopped != 1 {
		t.Fatalf("%d processes build a sandbox", stopped)
	}
	g.close() // the test fails by its time limit
	if err := cmd.Wait(); err == nil {
		t.Error("the command has ended well")
	}
}

// children returns the numbers of the processes that this one has started.
func children(t *testing.T) (pids []string) {
	t.Helper()
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range tasks {
		text, _ := os.ReadFile(file) // a thread may be gone
		pids = append(pids, strings.Fields(string(text))...)
	}
	return pids
}
