//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package audit

import "errors"

// errNoLock: two processes that write at once would break the chain.
var errNoLock = errors.New("this system cannot keep an audit log: its files cannot be locked")

func lock(interface{ Fd() uintptr }) error { return errNoLock }

func share(interface{ Fd() uintptr }) error { return errNoLock }

func unlock(interface{ Fd() uintptr }) error { return errNoLock }
