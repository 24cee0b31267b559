//go:build unix

package policy

import (
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// owner returns the user that owns a file; ok is false if that is not known.
func owner(info fs.FileInfo) (uid uint32, ok bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return stat.Uid, true
}

// isOurs reports whether a user is the person or root.
func isOurs(uid uint32) bool {
	return person{os.Getuid(), os.Geteuid(), os.Getenv("SUDO_UID")}.owns(uid)
}

// person is the user of this process and, under sudo, who called it: git has it so
// (safe.directory in git-config(1)).
type person struct {
	real, effective int
	caller          string
}

func (p person) owns(uid uint32) bool {
	if uid == 0 || int64(uid) == int64(p.real) || int64(uid) == int64(p.effective) {
		return true
	}
	caller, err := strconv.ParseUint(p.caller, 10, 32)
	return p.effective == 0 && err == nil && uid == uint32(caller)
}
