//go:build darwin || dragonfly || netbsd || openbsd

package process

import "syscall"

// dieWithUs does nothing: the system cannot signal a program when its parent
// dies.
func dieWithUs(*syscall.SysProcAttr) {}
