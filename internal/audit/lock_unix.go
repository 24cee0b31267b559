//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package audit

import (
	"errors"
	"fmt"
	"syscall"
)

// lock waits for an exclusive lock of the file, against other processes and
// other open files of this one. It ends with the process that holds it.
func lock(f interface{ Fd() uintptr }) error { return flock(f, syscall.LOCK_EX) }

// share waits for a shared lock, hence until nobody writes.
func share(f interface{ Fd() uintptr }) error { return flock(f, syscall.LOCK_SH) }

func unlock(f interface{ Fd() uintptr }) error { return flock(f, syscall.LOCK_UN) }

func flock(f interface{ Fd() uintptr }, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if err == nil {
			return nil
		}
		if !errors.Is(err, syscall.EINTR) {
			return fmt.Errorf("lock the audit log: %w", err)
		}
	}
}
