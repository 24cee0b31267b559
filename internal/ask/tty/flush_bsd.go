//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package tty

import (
	"os"

	"golang.org/x/sys/unix"
)

// fread is FREAD of <sys/file.h>: the input queue.
const fread = 1

// flush discards input that was typed but not read.
func flush(in *os.File) {
	_ = unix.IoctlSetPointerInt(int(in.Fd()), unix.TIOCFLUSH, fread) // remaining input falls into the grace period
}
