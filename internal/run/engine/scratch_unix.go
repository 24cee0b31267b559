//go:build unix

package engine

import (
	"io/fs"
	"os"
	"syscall"
)

// owned reports whether a file belongs to the current user.
func owned(info fs.FileInfo) bool { return belongs(info, os.Geteuid()) }

func belongs(info fs.FileInfo, uid int) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int64(stat.Uid) == int64(uid)
}

// unshared reports whether only root and the user can replace what the user has in
// a directory: others may not write there, or it is sticky (sticky in inode(7)).
func unshared(info fs.FileInfo) bool {
	const others = 0o022
	return (owned(info) || belongs(info, 0)) && (info.Mode().Perm()&others == 0 || info.Mode()&fs.ModeSticky != 0)
}
