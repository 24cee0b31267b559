//go:build amd64 || arm64

package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// watch sees what a command makes that it must never make: git, which is started by others
// meanwhile, would obey it as soon as it is there.
type watch struct {
	never []string
	file  *os.File       // of inotify(7), nil if there is nothing to watch
	dirs  map[int]string // by their descriptors
	sees  sync.WaitGroup
	made  string // why the command is ended, "" if it is not; set by what sees
}

// newWatch begins to watch. The error says that a path is there by now, or cannot be watched.
func newWatch(never []string) (*watch, error) {
	w := &watch{never: never, dirs: map[int]string{}}
	if len(never) == 0 {
		return w, nil
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("what a command makes cannot be watched: %w", err)
	}
	w.file = os.NewFile(uintptr(fd), "inotify")
	for _, name := range never {
		dir := path.Dir(name)
		id, err := unix.InotifyAddWatch(fd, dir, unix.IN_CREATE|unix.IN_MOVED_TO|unix.IN_ONLYDIR|unix.IN_DONT_FOLLOW)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("what a command makes in %s cannot be watched: %w", dir, err), w.file.Close())
		}
		w.dirs[id] = dir
	}
	for _, name := range never {
		if _, err := os.Lstat(name); !errors.Is(err, os.ErrNotExist) {
			return nil, errors.Join(fmt.Errorf("%s is there, and was not when the sandbox was planned", name), w.file.Close())
		}
	}
	return w, nil
}

// begin has the command ended by a call of strike, once, when it makes what it must not.
func (w *watch) begin(strike func()) {
	if w.file == nil {
		return
	}
	w.sees.Go(func() {
		var events [16 << 10]byte
		for w.made == "" {
			n, err := w.file.Read(events[:])
			if err != nil {
				return // it is over
			}
			w.made = w.seen(events[:n])
		}
		strike()
	})
}

// seen returns why events end the command, "" if they do not.
func (w *watch) seen(events []byte) string {
	for len(events) >= unix.SizeofInotifyEvent {
		id, mask := int(int32(binary.NativeEndian.Uint32(events))), binary.NativeEndian.Uint32(events[4:])
		end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(events[12:]))
		name := path.Join(w.dirs[id], unix.ByteSliceToString(events[unix.SizeofInotifyEvent:end]))
		switch {
		case mask&unix.IN_Q_OVERFLOW != 0:
			return "so much was made in a directory of git that it cannot be watched"
		case slices.Contains(w.never, name):
			return "there was " + name + ", which no command needs, and which git obeys"
		}
		events = events[end:]
	}
	return ""
}

// end is called when nothing of the command is left. It sees what nobody has yet, as of a
// command that ended right behind it, takes away what was made, and the error says why the
// command was ended, or does not count.
func (w *watch) end() error {
	if w.file == nil {
		return nil
	}
	errLast := w.file.SetReadDeadline(time.Unix(1, 0)) // which ends begin
	w.sees.Wait()
	if w.made == "" && errLast == nil {
		w.made, errLast = w.rest()
	}
	if errLast != nil {
		w.made = "what it made cannot be told: " + errLast.Error()
	}
	w.file.Close()
	if w.made == "" {
		return nil
	}
	errs := []error{&made{w.made}}
	for _, name := range w.never {
		errs = append(errs, os.RemoveAll(name))
	}
	return errors.Join(errs...)
}

// rest reads the events that are left.
func (w *watch) rest() (made string, err error) {
	conn, err := w.file.SyscallConn()
	if err != nil {
		return "", err
	}
	errControl := conn.Control(func(fd uintptr) {
		var events [16 << 10]byte
		for made == "" && err == nil {
			var n int
			if n, err = unix.Read(int(fd), events[:]); err == nil {
				made = w.seen(events[:n])
			} else if errors.Is(err, unix.EINTR) {
				err = nil
			}
		}
	})
	if errors.Is(err, unix.EAGAIN) {
		err = nil // that was all
	}
	return made, errors.Join(err, errControl)
}
