//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package process

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// signalled is what is added to the number of the signal that ended a program.
const signalled = 128

// terminal is the terminal that the program's group has in our place; nil: it
// has none.
type terminal struct {
	file *os.File
	was  *term.State
	lent atomic.Bool // the group has it
}

// ownGroup gives the program a process group of its own, and our place in the
// foreground of the terminal if its input is that.
func ownGroup(cmd *exec.Cmd) *terminal {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithUs(cmd.SysProcAttr)
	in, ok := cmd.Stdin.(*os.File)
	if !ok {
		return nil
	}
	if !inFront(in) {
		return nil
	}
	cmd.SysProcAttr.Foreground, cmd.SysProcAttr.Ctty = true, int(in.Fd())
	was, err := term.GetState(int(in.Fd()))
	if err != nil {
		was = nil
	}
	t := &terminal{file: in, was: was}
	t.lent.Store(true)
	return t
}

// ownSession puts the program into a session of its own: without our terminal it
// cannot type the answers to its own questions.
func ownSession(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	dieWithUs(cmd.SysProcAttr)
}

// inFront reports whether we are in the foreground of a terminal.
func inFront(in *os.File) bool {
	front, err := unix.IoctlGetInt(int(in.Fd()), unix.TIOCGPGRP)
	return err == nil && front == unix.Getpgrp()
}

// giveBack takes the terminal back; a program that was ended may have left it
// in a state that nobody can type in.
func (t *terminal) giveBack(reset bool) {
	if t == nil || !t.lent.Swap(false) {
		return
	}
	// We are in the background now, and who is there is stopped for this.
	signal.Ignore(syscall.SIGTTOU)
	defer signal.Reset(syscall.SIGTTOU)
	fd := int(t.file.Fd())
	_ = unix.IoctlSetPointerInt(fd, unix.TIOCSPGRP, unix.Getpgrp()) // it may be gone
	if reset && t.was != nil {
		_ = term.Restore(fd, t.was)
	}
}

// terminate asks a group to end; one that is stopped would not hear it.
func terminate(p *os.Process) {
	_ = unix.Kill(-p.Pid, unix.SIGTERM) // if it fails, so does kill, which says so
	_ = unix.Kill(-p.Pid, unix.SIGCONT)
}

func kill(p *os.Process) error { return unix.Kill(-p.Pid, unix.SIGKILL) }

// lives reports whether there is a process in the group of a program that was
// reaped. As long as there is, no other process gets the number.
func lives(p *os.Process) bool { return !errors.Is(unix.Kill(-p.Pid, 0), unix.ESRCH) }

func exitCode(s *os.ProcessState) int {
	if status, ok := s.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return signalled + int(status.Signal())
	}
	return s.ExitCode()
}
