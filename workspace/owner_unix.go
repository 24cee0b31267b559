//go:build unix

package workspace

import (
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
