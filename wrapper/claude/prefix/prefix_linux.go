package prefix

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/agent-wrapper/agent-wrapper/internal/build"
)

// init takes over if the program was started by the agent CLI, and does not return then.
// That it is here, in a package that imports few others, is for speed.
func init() {
	if len(os.Args) == 0 || filepath.Base(os.Args[0]) != Name {
		return
	}
	code, err := front(os.Args)
	if err != nil {
		fmt.Fprintf(os.Stderr, "agent-wrapper: this did not run: %v\n", err)
		code = refused
	}
	os.Exit(code)
}

// front asks and does what the answer says. It returns how the command has ended if that
// was not in place of this process.
func front(args []string) (int, error) {
	if len(args) != 2 {
		return 0, fmt.Errorf("it was started with %d arguments, and not with the command alone", len(args)-1)
	}
	l, err := dial(filepath.Dir(args[0]))
	if err != nil {
		return 0, fmt.Errorf("whoever decides what it may do is not there any more: %w", err)
	}
	dir, err := os.Readlink("/proc/self/cwd")
	if err != nil {
		return 0, err
	}
	signals := make(chan os.Signal, 8)
	for _, s := range []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	l.rights = unix.UnixRights(0, 1, 2)
	if err := Write(l, &Asked{Build: build.Name(), Text: args[1], Dir: dir, Env: os.Environ()}); err != nil {
		return 0, err
	}
	a, err := l.answer(signals)
	switch {
	case err != nil:
		return 0, fmt.Errorf("there was no answer: %w", err)
	case a.Refused != "":
		return 0, errors.New(a.Refused)
	case a.Ran:
		_, _ = os.Stderr.WriteString(a.Says) // the command has ended
		return a.Code, nil
	}
	select {
	case s := <-signals:
		return 128 + int(s.(syscall.Signal)), nil // what has reached us was for the command
	default:
		return 0, fmt.Errorf("%s: %w", a.Path, syscall.Exec(a.Path, a.Args, a.environ()))
	}
}

// answer waits for the answer, and passes signals on until it comes. A signal may not come
// to an end with the command: whoever runs it there decides.
func (l *line) answer(signals <-chan os.Signal) (*Answer, error) {
	a, heard := &Answer{}, make(chan error, 1)
	go func() { heard <- Read(l, a) }()
	for {
		select {
		case err := <-heard:
			return a, err
		case s := <-signals:
			_ = Write(l, &Signal{int(s.(syscall.Signal))}) // if nobody is there, the answer fails
		}
	}
}

// environ returns our environment without what is to be dropped, byte by byte.
func (a *Answer) environ() []string {
	return slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(a.Drop, name)
	})
}

// line is the connection to whoever decides.
type line struct {
	fd     int
	rights []byte // descriptors for what is written next
}

func dial(dir string) (*line, error) {
	at, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(at)
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return &line{fd: fd}, unix.Connect(fd, &unix.SockaddrUnix{Name: fmt.Sprintf("/proc/self/fd/%d/%s", at, Socket)}) // a path of any length
}

func (l *line) Write(data []byte) (int, error) {
	n, err := 0, error(nil)
	for n < len(data) && err == nil {
		var more int
		more, err = unix.SendmsgN(l.fd, data[n:], l.rights, nil, unix.MSG_NOSIGNAL)
		if err == nil {
			l.rights = nil
		}
		if errors.Is(err, unix.EINTR) {
			err = nil
		}
		n += max(more, 0)
	}
	return n, err
}

func (l *line) Read(p []byte) (int, error) {
	for {
		n, err := unix.Read(l.fd, p)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err == nil && n == 0 && len(p) > 0:
			err = io.EOF
		}
		return max(n, 0), err
	}
}
