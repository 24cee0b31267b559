//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package terminal

import "golang.org/x/sys/unix"

// getTermios is the request for the settings of a terminal.
const getTermios = unix.TIOCGETA
