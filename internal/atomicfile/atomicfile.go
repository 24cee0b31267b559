// Package atomicfile replaces files atomically: a reader, even after a crash,
// sees either the old contents or the new ones.
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// maxLinks is the maximum length of a chain of symbolic links.
const maxLinks = 40

// Target follows symbolic links to the file that a path denotes, which need not
// exist. Replacing the path itself would leave the link's target unchanged.
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
			// Not filepath.Join, which cleans: ".." behind a link is relative
			// to the link's target.
			dir, _ := filepath.Split(path)
			link = dir + link
		}
		path = link
	}
	return "", fmt.Errorf("%s: more than %d symbolic links", path, maxLinks)
}

// inRealDir returns a path whose directory has no links and no "..", as far as
// the directory exists.
func inRealDir(path string) (string, error) {
	dir, base := filepath.Split(path)
	real, err := filepath.EvalSymlinks(dir)
	if dir == "" || errors.Is(err, fs.ErrNotExist) {
		return filepath.Clean(path), nil
	}
	return filepath.Join(real, base), err
}

// Write replaces the file, or creates it with mode perm. An existing file keeps
// its mode, and its owner if the process may set it. Symbolic links are
// replaced, not followed; see Target.
func Write(path string, data []byte, perm fs.FileMode) error {
	temp, err := stage(path, data, perm)
	if err != nil {
		return err
	}
	return commit(temp, path)
}

// stage writes the data to a temporary file beside path and syncs it.
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

// commit renames the staged file to path.
func commit(temp, path string) error {
	if err := os.Rename(temp, path); err != nil {
		os.Remove(temp)
		return err
	}
	return SyncDir(filepath.Dir(path))
}
