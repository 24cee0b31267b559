//go:build amd64 || arm64

package kernel

import (
	"os/exec"
	"syscall"
)

// Hand prepares a program, which is given by its absolute path, for another process to
// start it as a child: cmd becomes what that is to start, in the root directory, with the
// streams of its own and behind them cmd.ExtraFiles. wait must be called once the other
// process has the files, or if it gets none: it closes them here, and returns when the
// command has ended, with the error if there was no sandbox.
func (h *Held) Hand(cmd *exec.Cmd) (wait func() error, err error) {
	a := &around{held: h, stops: make(chan struct{}, 1), done: make(chan struct{}), err: errNoSandbox}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	begun, err := a.prepare(cmd)
	if err != nil {
		return nil, err
	}
	return func() error {
		begun()
		<-a.done
		if ended := a.guard.end(); ended != nil {
			return ended
		}
		return a.err
	}, nil
}
