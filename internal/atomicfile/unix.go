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
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	for err = syscall.EINTR; errors.Is(err, syscall.EINTR); {
		err = syscall.Flock(int(d.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		d.Close()
		return nil, fmt.Errorf("cannot lock %s: %w", dir, err)
	}
	return func() { d.Close() }, nil
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
