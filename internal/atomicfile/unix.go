//go:build unix

package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// Lock waits for the lock of the directory and holds it against other processes
// until unlock is called or the process ends. It locks the directory because
// the lock of a file would be lost when the file is replaced, and a lock file
// would remain.
func Lock(dir string) (unlock func(), err error) {
	unlock, _, err = flock(dir, syscall.LOCK_EX)
	return unlock, err
}

// TryLock is Lock without waiting; free reports whether the lock was acquired.
func TryLock(dir string) (unlock func(), free bool, err error) {
	return flock(dir, syscall.LOCK_EX|syscall.LOCK_NB)
}

func flock(dir string, how int) (unlock func(), free bool, err error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, false, err
	}
	for err = syscall.EINTR; errors.Is(err, syscall.EINTR); {
		err = syscall.Flock(int(d.Fd()), how)
	}
	if err == nil {
		return func() { d.Close() }, true, nil
	}
	d.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, false, nil
	}
	return nil, false, fmt.Errorf("cannot lock %s: %w", dir, err)
}

// keepOwner gives the file the owner of another, if permitted.
func keepOwner(f *os.File, old fs.FileInfo) {
	if old == nil {
		return
	}
	if s, ok := old.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(int(s.Uid), int(s.Gid)) // only root may always do so
	}
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) { // not supported by some file systems
		err = nil
	}
	return errors.Join(err, d.Close())
}
