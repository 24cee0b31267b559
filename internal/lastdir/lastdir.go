// Package lastdir reads the file in which a shell has written its directory at its end (pwd -P).
// What ran in the shell, inside the sandbox too, may have put anything in the place of that
// file: a link to what cannot be read there, a pipe on which a reader
// waits for ever. What is read is the directory of a shell or an error.
package lastdir

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// maxText is how long the file may be: PATH_MAX of Linux, with the newline in place of the
// NUL.
const maxText = 4096

// Read returns the directory in a file of an open directory. No link is followed, and
// nothing is waited for. The directory is there, and its name does not end in a newline,
// which $(...) would cut off. The error is fs.ErrNotExist if there is no such file.
func Read(at *os.Root, name string) (string, error) {
	text, err := read(at, name)
	if err != nil {
		return "", err
	}
	dir, whole := strings.CutSuffix(text, "\n")
	if !whole || strings.HasSuffix(dir, "\n") || strings.Contains(dir, "\x00") || !filepath.IsAbs(dir) {
		return "", fmt.Errorf("%s has no absolute path with a newline behind it", name)
	}
	dir = filepath.Clean(dir)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", fmt.Errorf("%s does not name a directory that is there", name)
	}
	return dir, nil
}

// read returns the text of the file.
func read(at *os.Root, name string) (string, error) {
	found, err := at.Lstat(name)
	if err != nil {
		return "", err
	}
	if !found.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no file: %v", name, found.Mode())
	}
	f, err := at.OpenFile(name, os.O_RDONLY|unblocked, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return "", err
	case !os.SameFile(found, info):
		return "", fmt.Errorf("%s was replaced while it was opened", name)
	case names(info) != 1:
		return "", fmt.Errorf("%s has other names", name)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxText+1))
	if len(text) > maxText {
		return "", fmt.Errorf("%s is longer than a path", name)
	}
	return string(text), err
}
