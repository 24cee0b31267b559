package process

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stopped is the code by which the system tells of a program that was stopped
// (CLD_STOPPED).
const stopped = 5

// attend waits until the program has ended, and leaves it to be reaped. When it
// is stopped so are we, as the shell expects that started us.
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
		_ = unix.Waitid(unix.P_PID, p.cmd.Process.Pid, nil, unix.WSTOPPED|unix.WNOHANG, nil) // this is known now
		if p.terminal != nil {
			p.terminal.pause(p.cmd.Process.Pid)
		}
	}
}

// stopTime is how long we wait for our own stop: nothing stops us where no shell
// could let us go on.
const stopTime = 200 * time.Millisecond

// pause stops us, with the terminal as it was, and then lets the group go on.
func (t *terminal) pause(group int) {
	t.giveBack(true)
	goesOn := make(chan os.Signal, 1)
	signal.Notify(goesOn, syscall.SIGCONT)
	defer signal.Stop(goesOn)
	_ = unix.Kill(0, unix.SIGTSTP) // to our own group: it cannot fail
	select {
	case <-goesOn:
	case <-time.After(stopTime):
	}
	if inFront(t.file) {
		t.lent.Store(unix.IoctlSetPointerInt(int(t.file.Fd()), unix.TIOCSPGRP, group) == nil)
	}
	_ = unix.Kill(-group, unix.SIGCONT)
}
