//go:build linux || freebsd

package process

import "syscall"

// dieWithUs has the kernel kill the program when we die.
func dieWithUs(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }
