package process

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stopped is the code of a child that was stopped (CLD_STOPPED in waitid(2)).
const stopped = 5

// attend waits until the program has ended, and leaves it to be reaped. When the
// program is stopped we stop too, as the shell that started us expects.
func (p *child) attend() {
	for {
		var news unix.Siginfo
		err := unix.Waitid(unix.P_PID, p.cmd.Process.Pid, &news, unix.WEXITED|unix.WSTOPPED|unix.WNOWAIT, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil || news.Code != stopped:
			return
		}
		_ = unix.Waitid(unix.P_PID, p.cmd.Process.Pid, nil, unix.WSTOPPED|unix.WNOHANG, nil) // consume this event
		p.stop()
	}
}

// stop stops us, if the program has the terminal. A program that stops when it was
// asked to end is continued: stopped, it cannot end.
func (p *child) stop() {
	switch {
	case p.ending.Load():
		signalGroup(p.cmd.Process.Pid, unix.SIGCONT)
	case p.terminal != nil:
		p.terminal.pause(p.cmd.Process.Pid)
	}
}

// stopTime is how long we wait for our own stop. An orphaned process group is not
// stopped by SIGTSTP.
const stopTime = 200 * time.Millisecond

// pause stops us, with the terminal as it was, and then continues the group.
func (t *terminal) pause(group int) {
	t.giveBack(true)
	goesOn := make(chan os.Signal, 1)
	signal.Notify(goesOn, syscall.SIGCONT)
	defer signal.Stop(goesOn)
	_ = unix.Kill(0, unix.SIGTSTP) // our own group: cannot fail
	select {
	case <-goesOn:
	case <-time.After(stopTime):
	}
	if inFront(t.file) {
		t.lent.Store(unix.IoctlSetPointerInt(int(t.file.Fd()), unix.TIOCSPGRP, group) == nil)
	}
	_ = unix.Kill(-group, unix.SIGCONT)
}
