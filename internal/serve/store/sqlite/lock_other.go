//go:build !unix

package sqlite

import (
	"fmt"
	"os"
	"runtime"
)

const hasModes = false

func share(path string) (*os.File, error) { return os.Open(os.DevNull) }

func alone(path string) (*os.File, error) {
	return nil, fmt.Errorf("cannot tell whether %s is in use: not supported on %s", path, runtime.GOOS)
}

func queue(path string) (*os.File, error) { return os.Open(os.DevNull) }

func turn(*os.File) (begun func(), err error) { return func() {}, nil }
