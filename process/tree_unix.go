//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package process

import "syscall"

// waitFor cannot tell of the end of a process that is still to be reaped.
func waitFor(int) bool { return false }

// killTree kills a process and its group.
func killTree(pid int) {
	syscall.Kill(-pid, syscall.SIGKILL)
	syscall.Kill(pid, syscall.SIGKILL)
}
