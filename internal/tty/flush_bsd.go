//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package tty

import (
	"os"

	"golang.org/x/sys/unix"
)

// fread is FREAD of <sys/file.h>: the queue of what was typed.
const fread = 1

// flush drops what was typed and not yet read.
func flush(in *os.File) {
	_ = unix.IoctlSetPointerInt(int(in.Fd()), unix.TIOCFLUSH, fread) // what stays falls into the time of grace
}
