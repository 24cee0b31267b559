package terminal

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
)

// server is the variable with which the test program is a server that is killed.
const server = "TERMINAL_TEST_SERVER"

func TestMain(m *testing.M) {
	if line := os.Getenv(server); line != "" {
		c, err := open(bashLine(line), "/", os.Environ(), size{}, func(p []byte) { os.Stdout.Write(p) })
		if err != nil {
			panic(err)
		}
		os.Exit(c.wait())
	}
	if dir := os.Getenv(victim); dir != "" {
		serve(dir)
	}
	os.Exit(m.Run())
}

func bashLine(line string) []string { return []string{"bash", "--norc", "-c", "--", line} }

// screen collects output, and tells of it.
type screen struct {
	mu   sync.Mutex
	all  bytes.Buffer
	news chan struct{}
}

func newScreen() *screen { return &screen{news: make(chan struct{}, 1)} }

func (s *screen) put(p []byte) {
	s.mu.Lock()
	s.all.Write(p)
	s.mu.Unlock()
	select {
	case s.news <- struct{}{}:
	default:
	}
}

func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.String()
}

// until waits until the screen shows a text.
func (s *screen) until(t *testing.T, want string) {
	t.Helper()
	late := time.After(20 * time.Second)
	for !strings.Contains(s.text(), want) {
		select {
		case <-s.news:
		case <-late:
			t.Fatalf("the screen shows %q and never %q", s.text(), want)
		}
	}
}

func opened(t *testing.T, line string) (*console, *screen) {
	t.Helper()
	s := newScreen()
	c, err := open(bashLine(line), t.TempDir(), []string{"PATH=" + os.Getenv("PATH"), "TERM=dumb"}, size{100, 40}, s.put)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.leader.Kill(); c.wait() })
	return c, s
}

func TestConsole(t *testing.T) {
	for _, tt := range []struct {
		line, want string
		exit       int
	}{
		{"echo a; echo b >&2", "a\r\nb\r\n", 0},
		{"stty size; test -t 0 && test -t 1 && test -t 2 && echo all", "40 100\r\nall\r\n", 0},
		{"echo hi >/dev/tty", "hi\r\n", 0}, // it is the controlling terminal
		{"exit 7", "", 7},
		{"kill -TERM $$", "", 143},
		{"seq 1 150000 | tail -n 1; printf %s \"$-\"", "150000\r\nhBc", 0},
	} {
		c, s := opened(t, tt.line)
		if exit := c.wait(); exit != tt.exit || s.text() != tt.want {
			t.Errorf("%s: %d, %q", tt.line, exit, s.text())
		}
	}
}

// TestAllOutput: the end of a program takes nothing of its output away.
func TestAllOutput(t *testing.T) {
	c, s := opened(t, "seq 1 100000")
	c.wait()
	lines := strings.Fields(s.text())
	if len(lines) != 100000 || lines[99999] != "100000" {
		t.Errorf("%d lines", len(lines))
	}
}

func TestTyped(t *testing.T) {
	c, s := opened(t, "read -r x; echo \"got $x\"; exit 3")
	if err := c.write([]byte("one two\r")); err != nil {
		t.Fatal(err)
	}
	if exit := c.wait(); exit != 3 || !strings.Contains(s.text(), "got one two\r\n") {
		t.Errorf("%d, %q", exit, s.text())
	}
	if err := c.write([]byte("x")); err == nil {
		t.Error("typed to a program that has ended")
	}
}

// TestInterrupted: ^C ends what runs, also of a server that was started with & or nohup.
func TestInterrupted(t *testing.T) {
	signal.Ignore(os.Interrupt, syscall.SIGHUP)
	defer signal.Reset(os.Interrupt, syscall.SIGHUP)
	c, s := opened(t, "echo on; sleep 1000")
	s.until(t, "on")
	if err := c.write([]byte("\x03")); err != nil {
		t.Fatal(err)
	}
	if exit := c.wait(); exit != 130 {
		t.Errorf("%d, %q", exit, s.text())
	}
}

// pids returns the numbers that a screen shows.
func pids(t *testing.T, text string) (all []int) {
	t.Helper()
	for _, f := range strings.Fields(text) {
		if n, err := strconv.Atoi(f); err == nil {
			all = append(all, n)
		}
	}
	return all
}

func alive(pid int) bool {
	state, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !bytes.Contains(state, []byte(") Z "))
}

// TestNothingIsLeft: what a command leaves in the background ends with it, in its
// group or in one of its own.
func TestNothingIsLeft(t *testing.T) {
	c, s := opened(t, "trap '' HUP; sleep 1000 & echo $!; set -m; sleep 1000 & echo $!; echo over")
	c.wait()
	got := pids(t, s.text())
	if len(got) != 2 {
		t.Fatalf("%q", s.text())
	}
	for _, pid := range got {
		gone(t, pid)
	}
}

// The read has a limit, since a bash that gets the signal on its way into read waits
// for its line first.
func TestStop(t *testing.T) {
	c, s := opened(t, "trap 'echo asked; exit 4' TERM; echo ready; while :; do read -r -t 1; done")
	s.until(t, "ready")
	c.stop(20 * time.Second)
	if exit := c.wait(); exit != 4 || !strings.Contains(s.text(), "asked") {
		t.Errorf("%d, %q", exit, s.text())
	}
	c, s = opened(t, "trap '' TERM; sleep 1000 & echo $! ready; wait; wait")
	s.until(t, "ready")
	c.stop(20 * time.Millisecond)
	if exit := c.wait(); exit != 137 {
		t.Errorf("%d", exit)
	}
	gone(t, pids(t, s.text())[0])
}

// TestHeldOpen: what has left the session and holds the terminal open keeps nobody
// waiting for the end of a command.
func TestHeldOpen(t *testing.T) {
	c, s := opened(t, "setsid sh -c 'echo $$ away; exec sleep 1000' & read -r go; exit 5")
	s.until(t, "away")
	away := pids(t, s.text())[0]
	defer func() {
		if p, err := os.FindProcess(away); err == nil {
			p.Kill()
		}
	}()
	if err := c.write([]byte("go\r")); err != nil {
		t.Fatal(err)
	}
	if exit := c.wait(); exit != 5 || !alive(away) {
		t.Errorf("%d, %q", exit, s.text())
	}
}

// TestSlowReader: what a program wrote before its end is read, however long the pieces
// take to be stored.
func TestSlowReader(t *testing.T) {
	slow.Test(t)
	var got int
	c, err := open(bashLine("head -c 20000 /dev/zero"), t.TempDir(), []string{"PATH=" + os.Getenv("PATH")}, size{}, func(p []byte) {
		if got == 0 {
			<-time.After(2 * silence)
		}
		got += len(p)
	})
	if err != nil {
		t.Fatal(err)
	}
	if c.wait(); got != 20000 {
		t.Errorf("%d bytes", got)
	}
	c, err = open(bashLine("setsid sh -c 'while echo on; do :; done' & sleep 0.1"), t.TempDir(), []string{"PATH=" + os.Getenv("PATH")}, size{}, func([]byte) {})
	if err != nil {
		t.Fatal(err)
	}
	c.wait() // it ends, and the terminal is gone for what goes on writing
}

// TestUnread: what a program does not read does not keep the person waiting.
func TestUnread(t *testing.T) {
	slow.Test(t)
	c, s := opened(t, "stty raw -echo; echo ready; exec sleep 1000")
	s.until(t, "ready")
	var err error
	for range 100 {
		if err = c.write(make([]byte, maxTyped)); err != nil {
			break
		}
	}
	if err == nil || err.Error() != "the program does not read its input" {
		t.Error(err)
	}
}

func TestBusy(t *testing.T) {
	s := newScreen()
	c, err := open([]string{"bash", "--norc", "--noprofile", "-i"}, t.TempDir(), []string{"PATH=" + os.Getenv("PATH"), "TERM=dumb", "PS1=ready> ", "HISTFILE="}, size{}, s.put)
	if err != nil {
		t.Fatal(err)
	}
	s.until(t, "ready> ")
	if c.busy() {
		t.Error("a shell at its prompt")
	}
	if err := c.write([]byte("read -r x <<<1; echo on; bash -c 'echo j''ob; read -r y; echo got $y'\r")); err != nil {
		t.Fatal(err)
	}
	s.until(t, "job\r\n")
	if !c.busy() {
		t.Error("a job has the foreground")
	}
	c.leader.Kill()
	if exit := c.wait(); exit != 137 {
		t.Error(exit)
	}
}

func TestNoProgram(t *testing.T) {
	if _, err := open([]string{t.TempDir() + "/gone"}, "/", nil, size{}, nil); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := open(bashLine("echo x"), t.TempDir()+"/gone", nil, size{}, nil); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestKilledServer: a server that is killed takes what runs with it.
func TestKilledServer(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), server+"=sleep 1000 & echo $!; sleep 1000 | cat & echo $! $$ ready; wait")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	text := ""
	for r := bufio.NewReader(out); !strings.Contains(text, "ready"); {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		text += line
	}
	cmd.Process.Kill()
	io.Copy(io.Discard, out)
	cmd.Wait()
	got := pids(t, text)
	if len(got) != 3 {
		t.Fatalf("%q", text)
	}
	for _, pid := range got {
		gone(t, pid)
	}
}

// gone waits until a process has ended.
func gone(t *testing.T, pid int) {
	t.Helper()
	late := time.Now().Add(20 * time.Second)
	for alive(pid) {
		if time.Now().After(late) {
			t.Fatalf("%d lives", pid)
		}
		exec.Command("true").Run() // lets time pass
	}
}
