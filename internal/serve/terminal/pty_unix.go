//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package terminal

import (
	"os"

	"golang.org/x/sys/unix"
)

// pollable returns the master side of a terminal as a file with deadlines, and closes
// the one it is given. Package pty takes the descriptor of a file by Fd, after which
// reads and writes block without a limit.
func pollable(master *os.File) (*os.File, error) {
	defer master.Close()
	fd, err := unix.FcntlInt(master.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), master.Name()), nil
}

// echoes reports whether a terminal shows what is typed.
func echoes(master *os.File) bool {
	raw, err := master.SyscallConn()
	if err != nil {
		return false
	}
	shows := false
	err = raw.Control(func(fd uintptr) {
		t, err := unix.IoctlGetTermios(int(fd), getTermios)
		shows = err == nil && t.Lflag&unix.ECHO != 0
	})
	return err == nil && shows
}

// setSize sets the size of a terminal, and leaves its deadlines as they are.
func setSize(master *os.File, at size) error {
	raw, err := master.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Col: at.columns, Row: at.rows})
	})
	if err != nil {
		return err
	}
	return failed
}
