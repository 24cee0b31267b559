// Package atomicfile replaces a file in one step: whoever reads it, or is there
// after a crash, finds the old text or the new one, whole.
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// maxLinks is how many symbolic links are followed, one after the other.
const maxLinks = 40

// Target follows symbolic links to the file that a path stands for, which need
// not exist: to replace the path itself would leave the link's file as it was.
func Target(path string) (string, error) {
	for range maxLinks {
		info, err := os.Lstat(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			return inRealDir(path)
		}
		link, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(link) {
			// Not joined, which cleans: ".." behind a link is meant from where
			// the link leads.
			dir, _ := filepath.Split(path)
			link = dir + link
		}
		path = link
	}
	return "", fmt.Errorf("%s: more than %d symbolic links", path, maxLinks)
}

// inRealDir is a path without links and ".." in the directory before its last
// name, as far as that directory exists.
func inRealDir(path string) (string, error) {
	dir, base := filepath.Split(path)
	real, err := filepath.EvalSymlinks(dir)
	if dir == "" || errors.Is(err, fs.ErrNotExist) {
		return filepath.Clean(path), nil
	}
	return filepath.Join(real, base), err
}

// Write replaces the file, or makes it with the mode perm. A file that is there
// keeps its mode, and its owner where the process may give it away. Symbolic
// links are replaced, not followed: see Target.
func Write(path string, data []byte, perm fs.FileMode) error {
	temp, err := stage(path, data, perm)
	if err != nil {
		return err
	}
	return commit(temp, path)
}

// stage writes the text to a file beside path and brings it to the disk.
func stage(path string, data []byte, perm fs.FileMode) (temp string, err error) {
	old, err := os.Lstat(path)
	switch {
	case err == nil && !old.Mode().IsRegular():
		return "", fmt.Errorf("%s is no regular file", path)
	case err == nil:
		perm = old.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return "", err
	}
	keepOwner(f, old)
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(perm), f.Sync(), f.Close()); err != nil {
		os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

// commit puts the staged file in the place of the other.
func commit(temp, path string) error {
	if err := os.Rename(temp, path); err != nil {
		os.Remove(temp)
		return err
	}
	return syncDir(filepath.Dir(path))
}
