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

// signalled is added to the number of the signal that ended a program, as shells
// do.
const signalled = 128

// terminal is the terminal whose foreground the program's group has in our place;
// nil if it has none.
type terminal struct {
	file *os.File
	was  *term.State
	lent atomic.Bool // the group is in the foreground
}

// ownGroup starts the program in a process group of its own. If its input is the
// terminal in whose foreground we are, that group becomes the foreground group.
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

// ownSession starts the program in a session of its own. Without our terminal it
// cannot type answers to its own questions.
func ownSession(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	dieWithUs(cmd.SysProcAttr)
}

// ownTerminal starts the program in a session of its own, with its standard input
// as its controlling terminal.
func ownTerminal(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Setctty = true, true
	dieWithUs(cmd.SysProcAttr)
}

// frontGroup returns the group in the foreground of a terminal, 0 if it is unknown.
func frontGroup(tty *os.File) int {
	raw, err := tty.SyscallConn()
	if err != nil {
		return 0
	}
	group := 0
	_ = raw.Control(func(fd uintptr) { // on an error the group is unknown
		if pid, err := unix.IoctlGetInt(int(fd), unix.TIOCGPGRP); err == nil {
			group = pid
		}
	})
	return group
}

func signalGroup(pid int, sig syscall.Signal) { _ = unix.Kill(-pid, sig) } // it may have ended

// inFront reports whether we are in the foreground group of a terminal.
func inFront(in *os.File) bool {
	front, err := unix.IoctlGetInt(int(in.Fd()), unix.TIOCGPGRP)
	return err == nil && front == unix.Getpgrp()
}

// giveBack makes us the foreground group again. With reset it also restores the
// mode of the terminal, which a program that was killed may have left unusable.
func (t *terminal) giveBack(reset bool) {
	if t == nil || !t.lent.Swap(false) {
		return
	}
	// We are in the background now, where this ioctl would stop us with SIGTTOU.
	signal.Ignore(syscall.SIGTTOU)
	defer signal.Reset(syscall.SIGTTOU)
	fd := int(t.file.Fd())
	_ = unix.IoctlSetPointerInt(fd, unix.TIOCSPGRP, unix.Getpgrp()) // the terminal may be gone
	if reset && t.was != nil {
		_ = term.Restore(fd, t.was)
	}
}

// terminate asks a group to end. SIGCONT lets a stopped one receive the signal.
func terminate(p *os.Process) {
	_ = unix.Kill(-p.Pid, unix.SIGTERM) // if it fails, so does kill, whose error is reported
	_ = unix.Kill(-p.Pid, unix.SIGCONT)
}

func kill(p *os.Process) error { return unix.Kill(-p.Pid, unix.SIGKILL) }

// lives reports whether the group of a reaped program has a process. As long as
// it does, the system does not reuse the number.
func lives(p *os.Process) bool { return !errors.Is(unix.Kill(-p.Pid, 0), unix.ESRCH) }

func exitCode(s *os.ProcessState) int {
	if status, ok := s.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return signalled + int(status.Signal())
	}
	return s.ExitCode()
}
