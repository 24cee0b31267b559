//go:build walls && linux

package walls

import (
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// TestExitCodes: a command ends inside walls as it does without.
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

// TestLimit: the time limit ends everything, also what ignores signals.
func TestLimit(t *testing.T) {
	w := newWorld(t, nil)
	write(t, w, "run.sh", `trap '' TERM; setsid sleep 88888.5 & sleep 88888.5; sleep 88888.5`)
	out, err := w.command("run.sh", "--timeout", "1s").CombinedOutput()
	if got := code(err); got != 137 || len(alive("88888.5")) > 0 || !strings.Contains(string(out), "the time limit") {
		t.Errorf("exit code %d, %d alive\n%s", got, len(alive("88888.5")), out)
	}
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

// TestPlan: what a policy makes of walls can be read.
func TestPlan(t *testing.T) {
	w := newWorld(t, map[string]string{".env": "x", ".git/HEAD": "x", ".git/config": "x", ".git/hooks/x": ""})
	cmd := exec.Command(program, "policy", "walls", "--allow", "WebFetch(example.com)")
	cmd.Dir, cmd.Env = w.project, w.env()
	out, err := cmd.CombinedOutput()
	must(t, err)
	for _, want := range []string{w.project + "/.env  (it holds secrets)", w.project + "/.git/hooks  (it changes what git does)", "WebFetch(example.com)", "can build these walls"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is missing:\n%s", want, out)
		}
	}
}
