//go:build unix

package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// Lock keeps other processes that ask for it from the directory's files until
// unlock is called or the process ends, and waits for those that came first.
// It is the directory that is locked: a file's lock would be lost with the
// file when it is replaced, and no lock file is left behind.
func Lock(dir string) (unlock func(), err error) {
	unlock, _, err = flock(dir, syscall.LOCK_EX)
	return unlock, err
}

// TryLock is Lock for who does not wait: free reports whether nobody has the
// lock, which then is ours.
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

// keepOwner gives the file the owner of another, as far as that is allowed.
func keepOwner(f *os.File, old fs.FileInfo) {
	if old == nil {
		return
	}
	if s, ok := old.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(int(s.Uid), int(s.Gid)) // only root may always
	}
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) { // some file systems cannot
		err = nil
	}
	return errors.Join(err, d.Close())
}
