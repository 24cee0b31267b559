//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package process

import "syscall"

// waitFor returns false: the end of a process that is not yet reaped cannot be
// waited for.
func waitFor(int) bool { return false }

// killTree kills a process and its group.
func killTree(pid int) {
	syscall.Kill(-pid, syscall.SIGKILL)
	syscall.Kill(pid, syscall.SIGKILL)
}

// killSession kills the group of a process: the processes of a session cannot be
// listed.
func killSession(pid int) { syscall.Kill(-pid, syscall.SIGKILL) }
