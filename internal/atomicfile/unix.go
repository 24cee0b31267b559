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
//
// The lock is that of the directory that the path names when it is acquired. If the
// directory that was waited for has been removed and another made, that one is locked;
// if none was made, the error is fs.ErrNotExist.
func Lock(dir string) (unlock func(), err error) {
	unlock, _, err = flock(dir, syscall.LOCK_EX)
	return unlock, err
}

// TryLock is Lock without waiting; free reports whether the lock was acquired.
func TryLock(dir string) (unlock func(), free bool, err error) {
	return flock(dir, syscall.LOCK_EX|syscall.LOCK_NB)
}

func flock(dir string, how int) (unlock func(), free bool, err error) {
	for {
		d, err := os.Open(dir)
		if err != nil {
			return nil, false, err
		}
		if free, err := flockFile(d, how); err != nil || !free {
			d.Close()
			return nil, false, err
		}
		if names(dir, d) {
			return func() { d.Close() }, true, nil
		}
		d.Close() // removed since it was opened: nobody else would find it locked
	}
}

// flockFile locks an open directory. It is not free if how has LOCK_NB and another
// process holds the lock.
func flockFile(d *os.File, how int) (free bool, err error) {
	for err = syscall.EINTR; errors.Is(err, syscall.EINTR); {
		err = syscall.Flock(int(d.Fd()), how)
	}
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		return false, nil
	}
	return false, fmt.Errorf("cannot lock %s: %w", d.Name(), err)
}

// names reports whether a path still names an open file.
func names(path string, f *os.File) bool {
	now, err := os.Stat(path)
	was, errOpen := f.Stat()
	return errors.Join(err, errOpen) == nil && os.SameFile(now, was)
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

// SyncDir makes the names in a directory last.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) { // by the file system
		err = nil
	}
	return errors.Join(err, d.Close())
}
