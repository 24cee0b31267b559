package tty

import (
	"os"

	"golang.org/x/sys/unix"
)

// flush drops what was typed and not yet read.
func flush(in *os.File) {
	_ = unix.IoctlSetInt(int(in.Fd()), unix.TCFLSH, unix.TCIFLUSH) // what stays falls into the time of grace
}
