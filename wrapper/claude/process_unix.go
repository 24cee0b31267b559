//go:build unix && !linux

package claude

import (
	"os/exec"
	"syscall"
)

// dieWithUs puts the process into a session of its own: without our terminal it
// cannot type the answers to its own questions. There is no death signal here:
// when we die its input ends, and then it denies whatever it would have to ask,
// which is everything.
func dieWithUs(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
}

func lockThread() {}

func waitFor(int) bool { return false }

// killTree kills a process and its group.
func killTree(pid int) {
	syscall.Kill(-pid, syscall.SIGKILL)
	syscall.Kill(pid, syscall.SIGKILL)
}
