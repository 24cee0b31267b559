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
