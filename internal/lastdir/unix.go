//go:build unix

package lastdir

import (
	"io/fs"
	"syscall"
)

// unblocked has a file opened without waiting for anybody, or following a link. (That a
// Root follows one within its directory all the same is why Read looks before.)
const unblocked = syscall.O_NONBLOCK | syscall.O_NOFOLLOW

// names returns how many names a file has.
func names(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink)
	}
	return 0 // not known
}
