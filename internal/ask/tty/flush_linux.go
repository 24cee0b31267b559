package tty

import (
	"os"

	"golang.org/x/sys/unix"
)

// flush discards input that was typed but not read.
func flush(in *os.File) {
	_ = unix.IoctlSetInt(int(in.Fd()), unix.TCFLSH, unix.TCIFLUSH) // remaining input falls into the grace period
}
