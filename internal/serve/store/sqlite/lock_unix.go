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
func share(path string) (*os.File, error) { return held(path, syscall.LOCK_SH) }

// alone is share against everybody.
func alone(path string) (*os.File, error) { return held(path, syscall.LOCK_EX) }

func held(path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = flock(f, how|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = fmt.Errorf("%s is in use", path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// queue is the file in which the processes wait for their turn.
func queue(path string) (*os.File, error) {
	return os.OpenFile(path+".turn", os.O_RDWR|os.O_CREATE, 0o600)
}

// turn waits for the turn of this process to begin a transaction. SQLite itself sleeps
// and tries again, for longer and longer: a process that writes one transaction after
// the other would keep others out until they give up. Here it has to queue up behind
// the one that waits.
func turn(f *os.File) (begun func(), err error) {
	return func() { _ = flock(f, syscall.LOCK_UN) }, flock(f, syscall.LOCK_EX)
}

func flock(f *os.File, how int) (err error) {
	for err = syscall.EINTR; errors.Is(err, syscall.EINTR); {
		err = syscall.Flock(int(f.Fd()), how)
	}
	return err
}
