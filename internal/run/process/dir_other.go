//go:build !linux

package process

import (
	"errors"
	"path/filepath"
)

// openDir checks the path: without /proc/self/fd no program can be started in an open
// directory.
func openDir(path string) (*Dir, error) {
	real, err := filepath.EvalSymlinks(path)
	if err == nil && real != path {
		err = errors.New("a part of it is a link")
	}
	if err != nil {
		return nil, err
	}
	return &Dir{path: path}, nil
}
