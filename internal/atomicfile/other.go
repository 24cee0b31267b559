//go:build !unix

package atomicfile

import (
	"fmt"
	"io/fs"
	"os"
	"runtime"
)

// Lock is not supported on this system.
func Lock(dir string) (unlock func(), err error) {
	return nil, fmt.Errorf("cannot lock %s: not supported on %s", dir, runtime.GOOS)
}

// TryLock is not supported on this system.
func TryLock(dir string) (unlock func(), free bool, err error) {
	unlock, err = Lock(dir)
	return unlock, false, err
}

func keepOwner(*os.File, fs.FileInfo) {}

// SyncDir does nothing: this system has no such call.
func SyncDir(string) error { return nil }
