package process

import (
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// Leader is a running program that leads a session of processes on a terminal of
// its own. On Linux and FreeBSD it is killed when we die, and the rest of its
// foreground group gets SIGHUP then because its terminal is gone. Its methods are
// safe for concurrent use.
type Leader struct {
	cmd   *exec.Cmd
	ended chan struct{}

	mu   sync.Mutex
	gone bool // reaped: its pid may belong to another process
}

// StartLeader starts a program with a terminal as its streams and as its
// controlling terminal. It sets the streams of cmd, and adds to its SysProcAttr. The caller
// closes tty, which is the side of the program. No signal is ignored there ([DefaultSignals]).
func StartLeader(cmd *exec.Cmd, tty *os.File) (*Leader, error) {
	l := &Leader{cmd: cmd, ended: make(chan struct{})}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	ownTerminal(cmd)
	DefaultSignals()
	if err := launch(cmd, l.attend); err != nil {
		return nil, err
	}
	return l, nil
}

// attend waits until the program has ended, and kills what it has left behind in
// its session before its number can be used again.
func (l *Leader) attend() {
	defer close(l.ended)
	pid := l.cmd.Process.Pid
	if waitFor(pid) {
		killSession(pid)
		l.mu.Lock()
		defer l.mu.Unlock()
		_ = l.cmd.Wait() // Wait returns how it ended
		l.gone = true
		return
	}
	_ = l.cmd.Wait()
	killSession(pid)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone = true
}

// Ended returns a channel that is closed when the program has ended, and what it
// left behind in its session was killed.
func (l *Leader) Ended() <-chan struct{} { return l.ended }

// Wait waits until the program has ended. It returns its exit code, or 128 plus
// the number of the signal that ended it.
func (l *Leader) Wait() int {
	<-l.ended
	return exitCode(l.cmd.ProcessState)
}

// InFront reports whether the program itself reads the keyboard of its terminal,
// and not a job of it. master is the other side of the terminal.
func (l *Leader) InFront(master *os.File) bool { return frontGroup(master) == l.cmd.Process.Pid }

// Signal sends a signal to the program's group, if the program still runs.
func (l *Leader) Signal(sig syscall.Signal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.gone {
		signalGroup(l.cmd.Process.Pid, sig)
	}
}

// Terminate asks the program's group to end.
func (l *Leader) Terminate() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.gone {
		terminate(l.cmd.Process)
	}
}

// SignalFront sends a signal to the group in the foreground of the program's terminal,
// as a key would. master is the other side of the terminal.
func (l *Leader) SignalFront(master *os.File, sig syscall.Signal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if group := frontGroup(master); !l.gone && group > 0 {
		signalGroup(group, sig)
	}
}

// Kill kills the program, all of its descendants and its session, without waiting.
func (l *Leader) Kill() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.gone {
		killTree(l.cmd.Process.Pid)
		killSession(l.cmd.Process.Pid)
	}
}
