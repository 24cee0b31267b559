//go:build amd64 || arm64

package inside

import (
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// reopen opens the streams of the command anew that are devices of everybody or files to
// read: by those that were opened outside, whoever owns such a file could change its mode.
func (c *command) reopen() error {
	for i, fd := range c.streams {
		if err := reopen(fd, c.file(fd)); err != nil {
			return fmt.Errorf("descriptor %d: %w", i, err)
		}
	}
	return nil
}

// file returns the name outside of the file that a descriptor is, "" if it has none.
func (c *command) file(fd int) string {
	name := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(c.outside, strconv.Itoa(fd), name)
	if err != nil || n == len(name) {
		return ""
	}
	return string(name[:n])
}

func reopen(fd int, file string) error {
	var at unix.Stat_t
	if err := unix.Fstat(fd, &at); err != nil {
		return nil // it is closed
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil {
		return err
	}
	switch mode := flags & unix.O_ACCMODE; {
	case at.Mode&unix.S_IFMT == unix.S_IFCHR:
		for _, name := range nodes {
			var own unix.Stat_t
			if name == "tty" {
				continue // it is the terminal of whoever opens it, who may have none
			}
			if err := unix.Stat("/dev/"+name, &own); err == nil && own.Rdev == at.Rdev {
				return replace(fd, "/dev/"+name, mode, nil)
			}
		}
	case at.Mode&unix.S_IFMT == unix.S_IFREG && mode == unix.O_RDONLY && file != "":
		return replace(fd, file, mode, &at)
	}
	return nil
}

// replace puts a file in place of a descriptor. If it has to be another file, which may be
// withheld or gone, nothing happens.
func replace(fd int, name string, flags int, same *unix.Stat_t) error {
	own, err := unix.Open(name, flags|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil && same != nil {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(own)
	if same != nil {
		var at unix.Stat_t
		if err := unix.Fstat(own, &at); err != nil || at.Dev != same.Dev || at.Ino != same.Ino {
			return nil
		}
		offset, err := unix.Seek(fd, 0, unix.SEEK_CUR)
		if err != nil {
			return err
		}
		if _, err := unix.Seek(own, offset, unix.SEEK_SET); err != nil {
			return err
		}
	}
	return unix.Dup3(own, fd, 0)
}
