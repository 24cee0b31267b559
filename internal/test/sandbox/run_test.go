//go:build sandbox && linux

package sandbox

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// TestExitCodes: a command ends inside the sandbox as it does without.
func TestExitCodes(t *testing.T) {
	for script, want := range map[string]int{
		"exit 0": 0, "exit 7": 7, "kill -TERM $$": 143, "kill -KILL $$": 137, "no-such-program": 127, "/etc/passwd": 126,
		"(sleep 1000 &) ; exit 5": 5, "setsid sleep 1000 & exit 6": 6,
	} {
		w := newWorld(t, nil)
		write(t, w, "run.sh", script)
		out, err := w.command("run.sh").CombinedOutput()
		if got := code(err); got != want {
			t.Errorf("%s: exit code %d, want %d\n%s", script, got, want, out)
		}
	}
}

// TestSmallProgram: the first process is the small program beside ours, or ours if there is
// none; one of another build is refused.
func TestSmallProgram(t *testing.T) {
	w := newWorld(t, nil)
	write(t, w, "run.sh", "echo done")
	run := func(dir string) (string, int) {
		cmd := w.command("run.sh")
		cmd.Path = filepath.Join(dir, "agent-wrapper")
		out, err := cmd.CombinedOutput()
		return string(out), code(err)
	}
	alone := t.TempDir()
	must(t, os.Link(program, filepath.Join(alone, "agent-wrapper")))
	if out, got := run(alone); got != 0 || !strings.Contains(out, "done") {
		t.Errorf("without the small program: exit code %d\n%s", got, out)
	}
	small := filepath.Join(alone, "agent-wrapper-sandbox")
	build := exec.Command("go", "build", "-ldflags", "-X github.com/agent-wrapper/agent-wrapper/internal/build.Version=v0.0.1", "-o", small, commands+"agent-wrapper-sandbox")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, got := run(alone); got != 1 || strings.Contains(out, "done") || !strings.Contains(out, "is not of the same build") {
		t.Errorf("with one of another build: exit code %d\n%s", got, out)
	}
	must(t, os.Remove(small))
	must(t, os.WriteFile(small, []byte("#!/bin/sh\nexit 0\n"), 0o755))
	if out, got := run(alone); got != 1 || strings.Contains(out, "done") {
		t.Errorf("with another program: exit code %d\n%s", got, out)
	}
	// What ends before it has built a sandbox, as one that is killed does, tells nothing of the
	// machine: nothing runs with --sandbox=on, either.
	on := w.command("run.sh", "--sandbox=on")
	on.Path = filepath.Join(alone, "agent-wrapper")
	if out, err := on.CombinedOutput(); err == nil || strings.Contains(string(out), "done") || !strings.Contains(string(out), "there is no sandbox at the moment, so nothing runs") {
		t.Errorf("with another program and --sandbox=on: %v\n%s", err, out)
	}
	out, err := exec.Command(filepath.Join(filepath.Dir(program), "agent-wrapper-sandbox")).CombinedOutput()
	if got := code(err); got != 2 || !strings.Contains(string(out), "exec --sandbox") {
		t.Errorf("by hand: exit code %d\n%s", got, out)
	}
}

// TestLimit: the time limit ends everything, also what ignores signals.
func TestLimit(t *testing.T) {
	w := newWorld(t, nil)
	write(t, w, "run.sh", `trap '' TERM; setsid sleep 88888.5 & sleep 88888.5; sleep 88888.5`)
	out, err := w.command("run.sh", "--timeout", "1s").CombinedOutput()
	if got := code(err); got != 137 || len(alive("88888.5")) > 0 || !strings.Contains(string(out), "the time limit") {
		t.Errorf("exit code %d, %d alive\n%s", got, len(alive("88888.5")), out)
	}
}

// TestLimitsOfPolicy: what the policy says of memory, processes and time holds, also where
// it is only the project's. The kernel holds root to no number of processes.
func TestLimitsOfPolicy(t *testing.T) {
	const many = "python3 -c 'import os, time\nfor _ in range(60):\n    if os.fork() == 0: time.sleep(3); os._exit(0)' && echo done"
	type row struct {
		limit, script string
		want          int
		said          string
		user          bool // root is not held
	}
	for _, user := range []bool{false, true} {
		if user && os.Getuid() != 0 {
			continue // that is who we are
		}
		for _, r := range []row{
			{"memory_mb = 150", "python3 -c 'bytearray(300 << 20)'", 1, "MemoryError", false},
			{"memory_mb = 600", "python3 -c 'bytearray(300 << 20)'", 0, "", false},
			{"processes = 30", many, 1, "temporarily unavailable", true},
			{"processes = 200", many, 0, "done", false},
			{"timeout_seconds = 1", "sleep 60", 143, "ended after 1s: the time limit (limits.sandbox.timeout_seconds of the policy)", false},
			{"timeout_seconds = 60", "true", 0, "", false},
		} {
			if r.user && !user && os.Getuid() == 0 || user && r.want == 0 {
				continue
			}
			w := newWorld(t, map[string]string{"agent-wrapper.toml": "[limits.sandbox]\n" + r.limit + "\n"})
			write(t, w, "run.sh", r.script)
			cmd := w.command("run.sh")
			if user {
				asNobody(t, w, cmd)
			}
			out, err := cmd.CombinedOutput()
			if got := code(err); got != r.want || !strings.Contains(string(out), r.said) {
				t.Errorf("%s, an ordinary user %v: exit code %d\n%s", r.limit, user, got, out)
			}
		}
	}
}

// asNobody has an ordinary user run a command, to whom its world belongs.
func asNobody(t *testing.T, w *world, cmd *exec.Cmd) {
	t.Helper()
	const nobody = "65534"
	must(t, exec.Command("chown", "-R", nobody+":"+nobody, filepath.Dir(w.home)).Run())
	must(t, os.Chmod(filepath.Dir(program), 0o755))
	path, err := exec.LookPath("setpriv")
	must(t, err)
	cmd.Args = append([]string{path, "--reuid=" + nobody, "--regid=" + nobody, "--clear-groups", "--inh-caps=-all"}, cmd.Args...)
	cmd.Path = path
}

func code(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	return -1
}

// TestTerminal: the command has the terminal, and ^C reaches it.
func TestTerminal(t *testing.T) {
	w := newWorld(t, nil)
	write(t, w, "run.sh", "test -t 0 && test -t 1 && : >/dev/tty && echo ready; read line; echo \"got $line\"; sleep 1000")
	cmd := w.command("run.sh")
	tty, err := pty.Start(cmd)
	must(t, err)
	defer tty.Close()
	all := ""
	until := func(text string) {
		buf := make([]byte, 4096)
		for !strings.Contains(all, text) {
			n, err := tty.Read(buf)
			all += string(buf[:n])
			if err != nil {
				t.Fatalf("%v before %q: %s", err, text, all)
			}
		}
	}
	until("ready")
	io.WriteString(tty, "a line\n")
	until("got a line")
	io.WriteString(tty, "\x03")
	err = cmd.Wait()
	if got := code(err); got != 130 {
		t.Errorf("exit code %d: %s", got, all)
	}
}

// TestPlan: the sandbox that a policy makes can be read.
func TestPlan(t *testing.T) {
	w := newWorld(t, map[string]string{".env": "x", ".git/HEAD": "x", ".git/config": "x", ".git/hooks/x": ""})
	cmd := exec.Command(program, "policy", "sandbox", "--allow", "WebFetch(example.com)")
	cmd.Dir, cmd.Env = w.project, w.env()
	out, err := cmd.CombinedOutput()
	must(t, err)
	for _, want := range []string{w.project + "/.env  (it holds secrets)", w.project + "/.git/hooks  (it changes what git does)", w.home + "/.local/state/agent-wrapper  (what agent-wrapper keeps: decisions, answers, credentials)", "WebFetch(example.com)", "can build this sandbox"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is missing:\n%s", want, out)
		}
	}
}

// TestUnplanned: where a sandbox can be built but not planned, nothing runs.
func TestUnplanned(t *testing.T) {
	w := newWorld(t, nil)
	for len(w.project) < 4000 {
		w.project += "/" + strings.Repeat("d", 90)
	}
	must(t, os.MkdirAll(w.project, 0o700))
	dir, err := os.OpenRoot(w.project)
	must(t, err)
	defer dir.Close()
	must(t, dir.Mkdir(strings.Repeat("n", 200), 0o700)) // too long for a path
	must(t, dir.WriteFile("x.sh", []byte("echo ran"), 0o600))
	for _, of := range []string{"--sandbox", "--sandbox=on"} {
		cmd := w.command("x.sh", of)
		if out, err := cmd.CombinedOutput(); err == nil || strings.Contains(string(out), "ran\n") || !strings.Contains(string(out), "so there is no sandbox and nothing runs") {
			t.Errorf("%s: %v\n%s", of, err, out)
		}
	}
}

// TestKept: a command does not see what agent-wrapper keeps, but the copy of a kubeconfig that
// it is given.
func TestKept(t *testing.T) {
	w := newWorld(t, map[string]string{"../.local/state/agent-wrapper/sessions/x": "secret-text", "kube.yaml": "a-config"})
	write(t, w, "run.sh", `ls -A ~/.local/state/agent-wrapper; echo "and $(cat "$KUBECONFIG")"; echo x >>"$KUBECONFIG"`)
	out, err := w.command("run.sh", "--kubeconfig", "kube.yaml").CombinedOutput()
	if err != nil || string(out) != "and a-config\n" {
		t.Errorf("%v\n%s", err, out)
	}
	if kept, _ := filepath.Glob(w.home + "/.local/state/agent-wrapper/audit.jsonl"); len(kept) != 1 {
		t.Error("nothing was recorded")
	}
	if left, _ := filepath.Glob(w.home + "/.local/state/agent-wrapper/exec-runs/*"); len(left) != 0 {
		t.Errorf("%q stay", left)
	}
}

// TestHomeAmongTemporary: a home below /tmp is there, as any other is: read-only, without
// logins, and with the caches of tools. What lies beside it is not.
func TestHomeAmongTemporary(t *testing.T) {
	w := newWorldIn(t, "/tmp", map[string]string{"../.profile": "greet() { echo hello; }\n", "../.ssh/id_rsa": "key\n", "../.npm/_logs/x": "", "../../beside": "x"})
	for script, want := range map[string]string{
		". ~/.profile && greet":                                          "hello\n",
		"echo evil >>~/.profile || echo kept":                            "kept\n",
		"cat ~/.ssh/id_rsa || echo none":                                 "none\n",
		"echo x >~/.npm/_logs/y && cat ~/.npm/_logs/y":                   "x\n",
		"ls ../../beside || echo none":                                   "none\n",
		"echo made >here && echo t >/tmp/t && cat /tmp/t ~/project/here": "t\nmade\n",
	} {
		write(t, w, "run.sh", "exec 2>/dev/null; "+script)
		if out, err := w.command("run.sh").Output(); err != nil || string(out) != want {
			t.Errorf("%s: %v\n%s", script, err, out)
		}
	}
	if data, err := os.ReadFile(w.home + "/.profile"); err != nil || strings.Contains(string(data), "evil") {
		t.Errorf("%v: %s", err, data)
	}
}

// TestTempBelow: a directory for temporary files below another one is there.
func TestTempBelow(t *testing.T) {
	w := newWorld(t, nil)
	write(t, w, "run.sh", `test -z "$(ls "$TMPDIR")" && echo x >"$TMPDIR/made" && echo y >/tmp/made && cat "$TMPDIR/made"`)
	below := t.TempDir()
	must(t, os.WriteFile(below+"/there", nil, 0o600))
	cmd := w.command("run.sh")
	cmd.Env = append(cmd.Env, "TMPDIR="+below)
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "x\n" {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := os.Lstat(below + "/made"); err == nil {
		t.Error("it was written outside")
	}
}
