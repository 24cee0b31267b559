//go:build unix

package sqlite

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// hasModes reports whether the mode of a file says who may access it.
const hasModes = true

// share holds the store at path against Restore until the file is closed. Several
// processes may do so. The lock is a file of its own, which is never removed: see
// create.
func share(path string) (*os.File, error) { return flock(path, syscall.LOCK_SH) }

func flock(path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for err = syscall.EINTR; errors.Is(err, syscall.EINTR); {
		err = syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = fmt.Errorf("%s is in use", path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
