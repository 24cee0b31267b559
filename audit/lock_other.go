//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package audit

import "errors"

// errNoLock: a chain that two processes write to at once would break.
var errNoLock = errors.New("a record cannot be kept on this system: its files cannot be locked")

func lock(interface{ Fd() uintptr }) error { return errNoLock }

func share(interface{ Fd() uintptr }) error { return errNoLock }

func unlock(interface{ Fd() uintptr }) error { return errNoLock }
