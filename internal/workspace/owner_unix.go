//go:build unix

package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// owned reports whether a file belongs to the current user.
func owned(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int64(stat.Uid) == int64(os.Geteuid())
}

// there is os.Stat where only the error counts, of which there is a lot: all that is not
// there is looked for in every directory above, for each command of git.
func there(name string) error {
	for {
		var stat syscall.Stat_t
		if err := syscall.Stat(name, &stat); err != syscall.EINTR {
			return err
		}
	}
}

// names returns how many names a file has, by hard links.
func names(info os.FileInfo) int {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(s.Nlink)
	}
	return 1
}

// Identity returns by what the file at a path, without links, is known whatever it is called,
// "" if there is none.
func Identity(name string) string {
	var stat syscall.Stat_t
	if err := syscall.Lstat(name, &stat); err != nil {
		return ""
	}
	return fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)
}

// open opens a file or a directory to read, whichever is wanted. What has become something
// else meanwhile is not: a pipe would block.
func open(name string, directory bool) (*os.File, error) {
	flags := syscall.O_NONBLOCK
	if directory {
		flags |= syscall.O_DIRECTORY
	}
	f, err := os.OpenFile(name, os.O_RDONLY|flags, 0)
	if err != nil || directory {
		return f, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: errors.New("it is no file")}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
