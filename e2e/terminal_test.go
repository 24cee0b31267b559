//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// terminal is a run of agent-wrapper with a person at a terminal.
type terminal struct {
	t   testing.TB
	cmd *exec.Cmd
	tty *os.File

	mu      sync.Mutex
	text    string
	read    int // how much of text was already expected
	changed chan struct{}
	over    bool
}

// onTerminal starts the run on a new terminal.
func (x wrapped) onTerminal(t testing.TB, b *box, m *model, w *web) *terminal {
	t.Helper()
	cmd := x.command(t, b, m, w)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 50, Cols: 200})
	if err != nil {
		t.Fatal(err)
	}
	term := &terminal{t: t, cmd: cmd, tty: tty, changed: make(chan struct{})}
	t.Cleanup(func() {
		cmd.Process.Kill()
		tty.Close()
	})
	go term.listen()
	return term
}

func (x *terminal) listen() {
	buf := make([]byte, 1<<16)
	for {
		n, err := x.tty.Read(buf)
		x.mu.Lock()
		x.text += string(buf[:n])
		x.over = err != nil
		close(x.changed)
		x.changed = make(chan struct{})
		x.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// expect waits for text behind what was expected before, and returns all up to
// its end.
func (x *terminal) expect(want string) string {
	x.t.Helper()
	timeout := time.After(90 * time.Second)
	for {
		x.mu.Lock()
		rest, over, changed := x.text[x.read:], x.over, x.changed
		at := strings.Index(rest, want)
		if at >= 0 {
			x.read += at + len(want)
			x.mu.Unlock()
			return rest[:at+len(want)]
		}
		x.mu.Unlock()
		if over {
			x.t.Fatalf("the run ended, and %q was not seen; the terminal shows\n%s", want, rest)
		}
		select {
		case <-changed:
		case <-timeout:
			x.t.Fatalf("%q was not seen; the terminal shows\n%s", want, rest)
		}
	}
}

// choices begins the line of choices below a question.
const choices = "o  once"

// types types text at once, as a person does not: at a question one key counts.
func (x *terminal) types(text string) {
	x.t.Helper()
	if _, err := x.tty.WriteString(text); err != nil {
		x.t.Fatal(err)
	}
}

// press waits until a key counts, and presses it.
func (x *terminal) press(key string) {
	x.t.Helper()
	x.expect("> ")
	x.types(key)
}

// question waits for a question about a tool use and answers it with a key; with
// words it is a denial that tells the agent these. It returns what was shown up
// to the choices.
func (x *terminal) question(about, answer string) string {
	x.t.Helper()
	key, words, _ := strings.Cut(answer, " ")
	seen := x.expect(about) + x.expect(choices)
	x.press(key)
	if words != "" {
		x.expect("tell the agent: ")
		x.types(words)
		x.expect(words)
		x.types("\r")
	}
	return seen
}

// asked waits for the end and checks how many questions there were.
func (x *terminal) asked(want int) {
	x.t.Helper()
	_, shown := x.wait()
	if n := strings.Count(shown, choices); n != want {
		x.t.Errorf("%d questions, want %d\n%s", n, want, shown)
	}
}

// wait waits for the end and gives all that the terminal showed.
func (x *terminal) wait() (code int, shown string) {
	x.t.Helper()
	stop := time.AfterFunc(time.Minute, func() { x.cmd.Process.Kill() })
	defer stop.Stop()
	x.cmd.Wait()
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.cmd.ProcessState.ExitCode(), x.text
}
