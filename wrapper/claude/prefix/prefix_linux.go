package prefix

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/agent-wrapper/agent-wrapper/internal/build"
	"github.com/agent-wrapper/agent-wrapper/internal/outputs"
)

// init takes over if the program was started by the agent CLI, and does not return then.
// That it is here, in a package that imports few others, is for speed.
func init() {
	if len(os.Args) == 0 || filepath.Base(os.Args[0]) != Name {
		return
	}
	runtime.LockOSThread() // the child is killed when the thread that started it ends
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
	if err := Write(l, &Asked{Build: build.Name(), Text: args[1], Dir: dir, Env: os.Environ()}); err != nil {
		return 0, err
	}
	var a Answer
	if err := Read(l, &a); err != nil {
		return 0, fmt.Errorf("there was no answer: %w", err)
	}
	switch {
	case a.Refused != "":
		return 0, errors.New(a.Refused)
	case a.Process != nil:
		return l.start(&a)
	}
	return 0, fmt.Errorf("%s: %w", a.Path, syscall.Exec(a.Path, a.Args, a.environ()))
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
	fd   int
	came []int // descriptors
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
		more, err = unix.SendmsgN(l.fd, data[n:], nil, nil, unix.MSG_NOSIGNAL)
		if errors.Is(err, unix.EINTR) {
			err = nil
		}
		n += max(more, 0)
	}
	return n, err
}

func (l *line) Read(p []byte) (int, error) {
	side := make([]byte, unix.CmsgSpace(4*4))
	for {
		n, m, _, _, err := unix.Recvmsg(l.fd, p, side, unix.MSG_CMSG_CLOEXEC)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err == nil && n == 0 && len(p) > 0 {
			err = io.EOF
		}
		if all, bad := unix.ParseSocketControlMessage(side[:max(m, 0)]); bad == nil {
			for i := range all {
				fds, _ := unix.ParseUnixRights(&all[i]) // what is no descriptor is none
				l.came = append(l.came, fds...)
			}
		}
		return max(n, 0), err
	}
}

// start starts the child, waits for its end and returns its exit code. Signals reach it
// by the group, as they would without us; we wait for what it makes of them.
func (l *line) start(a *Answer) (int, error) {
	signals := make(chan os.Signal, 1)
	for _, s := range []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	files := []uintptr{0, 1, 2}
	for _, fd := range l.came {
		files = append(files, uintptr(fd))
	}
	written := outputs.Of(os.Stdout, os.Stderr)
	child := -1
	a.Process.PidFD = &child
	pid, err := syscall.ForkExec(a.Path, a.Args, &syscall.ProcAttr{Dir: "/", Env: a.Env, Files: files, Sys: a.Process})
	if err != nil {
		return 0, fmt.Errorf("there are no walls here: namespaces: %w", err)
	}
	for _, fd := range l.came {
		unix.Close(fd)
	}
	var last Answer
	heard := make(chan error, 1)
	go func() {
		err := Read(l, &last)
		if err != nil { // whoever decides has ended, and so does what it has allowed
			_ = unix.PidfdSendSignal(child, unix.SIGKILL, nil, 0) // it may have ended too
		}
		heard <- err
	}()
	code, err := ended(pid)
	if err != nil {
		return 0, err
	}
	end := Ended{Exit: code}
	if code != 0 {
		end.Output = written.Read()
	}
	_ = Write(l, &end) // or whoever decides has ended, as is heard
	if err := <-heard; err != nil {
		return 0, fmt.Errorf("whoever decided it has ended: %w", err)
	}
	if last.Refused != "" {
		return 0, errors.New(last.Refused)
	}
	_, _ = os.Stderr.WriteString(last.Says) // the command has ended
	return code, nil
}

// ended waits for a child and returns its exit code, as a shell has it.
func ended(pid int) (int, error) {
	for {
		var how unix.WaitStatus
		switch _, err := unix.Wait4(pid, &how, 0, nil); {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, err
		case how.Signaled():
			return 128 + int(how.Signal()), nil
		default:
			return how.ExitStatus(), nil
		}
	}
}
