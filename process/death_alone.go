//go:build darwin || dragonfly || netbsd || openbsd

package process

import "syscall"

// dieWithUs does nothing here: no signal tells a program of the death of its
// parent.
func dieWithUs(*syscall.SysProcAttr) {}
