//go:build unix

package client

import (
	"io/fs"
	"os"
	"syscall"
)

// shared reports whether others than the user may read or have made a file.
func shared(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return info.Mode().Perm()&0o077 != 0 || !ok || int(stat.Uid) != os.Geteuid()
}
