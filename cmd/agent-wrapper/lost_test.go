//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
)

// headless returns the program in a home of its own, without a terminal.
func headless(t *testing.T, uses []string, flags ...string) (cmd *exec.Cmd, complaints *bytes.Buffer, audit string) {
	t.Helper()
	home := t.TempDir()
	audit = home + "/audit.jsonl"
	args := append([]string{"run", "--prompt", strings.Join(uses, "\n"), "--agent-command", "pretend-agent", "--cwd", home, "--audit", audit, "--allow", "Bash"}, flags...)
	cmd = exec.Command("agent-wrapper", args...)
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME=", "XDG_CONFIG_HOME=")
	complaints = &bytes.Buffer{}
	cmd.Stderr = complaints
	t.Cleanup(func() {
		if cmd.Process != nil {
			cmd.Process.Kill()
		}
	})
	return cmd, complaints, audit
}

// allowedUses returns the tool uses that a record allows.
func allowedUses(t *testing.T, audit string) []string {
	t.Helper()
	data, err := os.ReadFile(audit)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for line := range strings.Lines(string(data)) {
		var e struct{ Kind, Use, Behavior string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		if e.Kind == "decision" && e.Behavior == "allow" {
			ids = append(ids, e.Use)
		}
	}
	return ids
}

// verified checks that a record is complete and closed.
func verified(t *testing.T, cmd *exec.Cmd, audit string) {
	t.Helper()
	verify := exec.Command("agent-wrapper", "audit", "verify", audit)
	verify.Env = cmd.Env
	if out, err := verify.CombinedOutput(); err != nil {
		t.Errorf("the record: %v: %s", err, out)
	}
}

// closePipe closes the end of a pipe that is read, while no program is being started: until it
// runs, it has a copy of its own.
func closePipe(end io.Closer) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	end.Close()
}

// TestLostOutput: a run whose standard output fails, from the start or when its
// reader exits, ends with a message and runs nothing more.
func TestLostOutput(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	uses := []string{bash("git status"), bash("git log")}
	lost := func(t *testing.T, cmd *exec.Cmd, complaints *bytes.Buffer, audit string, allowed int) {
		t.Helper()
		cmd.Wait()
		said := complaints.String()
		if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(said, "agent-wrapper: standard output cannot be written, so the run was ended: ") || strings.Count(said, "\n") != 1 {
			t.Errorf("exit code %d, %q", code, said)
		}
		if got := allowedUses(t, audit); len(got) != allowed {
			t.Errorf("allowed: %q", got)
		}
		verified(t, cmd, audit)
	}
	t.Run("full", func(t *testing.T) {
		for _, output := range []string{"jsonl", "text"} {
			cmd, complaints, audit := headless(t, uses, "--output", output)
			full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer full.Close()
			cmd.Stdout = full
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lost(t, cmd, complaints, audit, 0)
		}
	})
	t.Run("no reader", func(t *testing.T) {
		cmd, complaints, audit := headless(t, uses)
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stdout = w
		closePipe(r)
		err = cmd.Start()
		w.Close()
		if err != nil {
			t.Fatal(err)
		}
		lost(t, cmd, complaints, audit, 0)
	})
	t.Run("the reader goes", func(t *testing.T) {
		path, open := gate(t)
		cmd, complaints, audit := headless(t, []string{uses[0], tool("Bash", map[string]any{"command": "git log"}, `,"gate":"`+path+`"`), bash("git diff")})
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(out); lines.Scan() && !strings.Contains(lines.Text(), `"tool_result"`); {
		}
		closePipe(out)
		open()
		lost(t, cmd, complaints, audit, 1)
	})
}

// TestLostAnswers: who does not read the result of a command line that is wrong, or the
// answers of an MCP server, does not kill the program.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	unread := func(cmd *exec.Cmd) int {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		closePipe(r)
		defer w.Close()
		cmd.Stdout = w
		cmd.Run()
		return cmd.ProcessState.ExitCode()
	}
	cmd, complaints, _ := headless(t, nil, "--output", "json", "--wrong")
	if code := unread(cmd); code != codeUsage || !strings.Contains(complaints.String(), "there is no flag --wrong") {
		t.Errorf("exit code %d, %q", code, complaints)
	}
	cmd, complaints, audit := headless(t, nil)
	cmd.Args = []string{"agent-wrapper", "mcp", "--cwd", t.TempDir(), "--audit", audit}
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"approve","arguments":{"tool_name":"Bash","input":{"command":"ls"}}}}`)
	if code := unread(cmd); code != 1 || !strings.Contains(complaints.String(), "broken pipe") {
		t.Errorf("mcp: exit code %d, %q", code, complaints)
	}
	verified(t, cmd, audit)
}

// TestSignals: a signal that ends a run ends it in an orderly way: the agent dies
// and the record is closed. A signal that was ignored at the start has no effect.
func TestSignals(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			path, _ := gate(t)
			cmd, complaints, audit := headless(t, []string{bash("git status"), tool("Bash", map[string]any{"command": "git log"}, `,"gate":"`+path+`"`)})
			out, err := cmd.StdoutPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(out)
			for lines.Scan() && !strings.Contains(lines.Text(), `"tool_result"`) {
			}
			cmd.Process.Signal(sig)
			for lines.Scan() {
			}
			cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != 128+int(sig) || !strings.HasPrefix(complaints.String(), "agent-wrapper: the run was interrupted: SIG") || strings.Count(complaints.String(), "\n") != 1 {
				t.Errorf("exit code %d, %s", code, complaints)
			}
			// Opening the gate succeeds only if a reader waits at it.
			if w, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
				w.Close()
				t.Error("the agent lives on")
			}
			verified(t, cmd, audit)
		})
	}
}

func TestIgnoredSignal(t *testing.T) {
	t.Parallel()
	path, open := gate(t)
	cmd, complaints, audit := headless(t, []string{bash("git status"), tool("Bash", map[string]any{"command": "git log"}, `,"gate":"`+path+`"`)})
	program := cmd.Path
	cmd.Path, _ = exec.LookPath("sh")
	cmd.Args = append([]string{"sh", "-c", `trap "" HUP; exec "$@"`, "sh", program}, cmd.Args[1:]...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.Contains(lines.Text(), `"tool_result"`) {
	}
	cmd.Process.Signal(syscall.SIGHUP)
	open()
	for lines.Scan() {
	}
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 0 || complaints.Len() > 0 || len(allowedUses(t, audit)) != 2 {
		t.Errorf("exit code %d, %s, allowed %q", code, complaints, allowedUses(t, audit))
	}
}
