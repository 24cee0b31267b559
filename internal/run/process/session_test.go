//go:build linux

package process

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"

	"github.com/creack/pty"
)

// session starts a program of the test binary as a session.
func (c *census) session(args ...string) *Session {
	c.t.Helper()
	command := c.command(args...)
	cmd := exec.Command(command.Args[0], command.Args[1:]...)
	cmd.Env = command.Env
	s, err := StartSession(cmd)
	if err != nil {
		c.t.Fatal(err)
	}
	return s
}

// TestSessionKilled: Kill kills a program and its descendants, including those in
// sessions of their own.
func TestSessionKilled(t *testing.T) {
	c := newCensus(t)
	s := c.session("settler", "deaf", "deaf")
	all := c.born(3)
	if below := descendants(s.cmd.Process.Pid); len(below) != 2 || parentOf(below[0]) != s.cmd.Process.Pid {
		t.Errorf("descendants %v", below)
	}
	s.Kill()
	if err := s.Wait(); err == nil {
		t.Error("it was killed, and that is no error")
	}
	c.dead(all)
	s.Kill() // the pid may belong to another process by now
}

// TestSessionTalks: what is written can be read, and the streams end with the
// program.
func TestSessionTalks(t *testing.T) {
	s := newCensus(t).session("copy")
	if _, err := s.Write([]byte("to and fro")); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(s)
	if err != nil || string(text) != "to and fro" {
		t.Errorf("%q, %v", text, err)
	}
	if err := s.Wait(); err != nil {
		t.Error(err)
	}
	if text, err := io.ReadAll(s.Stderr()); err != nil || len(text) > 0 {
		t.Errorf("%q, %v", text, err)
	}
}

// TestSessionSilent: processes that a program leaves running do not hold its
// streams open.
func TestSessionSilent(t *testing.T) {
	c := newCensus(t)
	s := c.session("deserter", "deaf")
	left := c.born(1)
	text, err := io.ReadAll(s)
	if err != nil || string(text) != "done" {
		t.Errorf("%q, %v", text, err)
	}
	if err := s.Wait(); err != nil {
		t.Error(err)
	}
	for _, conn := range left {
		conn.Close() // its end
	}
}

// TestSessionNotStarted: a file that is not a program is an error.
func TestSessionNotStarted(t *testing.T) {
	if s, err := StartSession(exec.Command(t.TempDir())); err == nil || s != nil {
		t.Error(s, err)
	}
}

// TestIgnoredSignals: what we were started to ignore, as by nohup or by &, ends what we
// start for an agent.
func TestIgnoredSignals(t *testing.T) {
	ignored := []os.Signal{os.Interrupt, syscall.SIGHUP}
	signal.Ignore(ignored...)
	defer signal.Reset(ignored...)
	status := func() *exec.Cmd { return exec.Command("/bin/grep", "SigIgn", "/proc/self/status") }
	s, err := StartSession(status())
	if err != nil {
		t.Fatal(err)
	}
	said, _ := io.ReadAll(s)
	s.Wait()
	signal.Ignore(ignored...)
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	l, err := StartLeader(status(), tty)
	if err != nil {
		t.Fatal(err)
	}
	l.Wait()
	line := make([]byte, 100)
	n, err := master.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	tty.Close()
	for _, text := range []string{string(said), string(line[:n])} {
		var mask uint64
		if _, err := fmt.Sscanf(text, "SigIgn: %x", &mask); err != nil || mask&(1<<(syscall.SIGINT-1)|1<<(syscall.SIGHUP-1)) != 0 {
			t.Errorf("%q, %v", text, err)
		}
	}
}
