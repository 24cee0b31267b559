//go:build amd64 || arm64

package inside

import (
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// RoomArg makes the program a room: see room. The port of its proxy stands in RoomPort.
const (
	RoomArg  = "room"
	RoomPort = "AW_ROOM_PORT"

	waitsArg = "waits" // makes it a first process that has time before its order comes
)

// FirstEnv is the environment of the first process, which does one thing after the other.
var FirstEnv = []string{"GOMAXPROCS=1", "GOGC=off"}

// room is a process that has what the commands of a session share, the namespaces of
// users, of the network and of IPC, and starts their first processes: one for each "next",
// which then waits for its order on a line of its own. They end with it, and it ends when
// nobody is on its line any more.
func room(l *line) (int, error) {
	unix.CloseOnExec(lineFD)
	port, err := strconv.Atoi(os.Getenv(RoomPort))
	if err == nil {
		err = l.loopback(port)
	}
	if err != nil {
		return 0, &missing{network, err}
	}
	if err := l.say("ready"); err != nil {
		return 0, err
	}
	for {
		switch said, err := hear(l.fd); {
		case errors.Is(err, errOver):
			return 0, nil
		case err != nil:
			return 0, err
		case said.Word == "next":
			reap()
			if err := l.startFirst(); err != nil {
				return 0, &missing{namespaces, err}
			}
		}
	}
}

// startFirst starts a first process, and hands out the other end of its line and a
// descriptor of the process.
func (l *line) startFirst() error {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(ends[0])
	defer unix.Close(ends[1])
	process := -1
	_, err = syscall.ForkExec("/proc/self/exe", []string{Name, waitsArg}, &syscall.ProcAttr{
		Dir: "/", Env: FirstEnv, Files: []uintptr{0, 1, 2, uintptr(ends[1])},
		Sys: &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID, Setsid: true, Pdeathsig: unix.SIGKILL, PidFD: &process},
	})
	if err != nil {
		return err
	}
	defer unix.Close(process)
	return Say(l.fd, "process", ends[0], process)
}

// waits is a first process that does what it can before its order comes.
func waits(l *line) (int, error) {
	filter, err := program()
	if err != nil {
		return 0, &missing{seccomp, err}
	}
	if err := dropBounds(); err != nil {
		return 0, &missing{capabilities, err}
	}
	warm()
	return inside(l, ahead{filter: filter, bounded: true})
}

// warm reads an order of no consequence, so that what that takes is in memory.
func warm() {
	text, err := json.Marshal(&Order{Args: []string{"a"}, Writable: []string{"b"}, Omit: []string{"c"}})
	if err == nil {
		_ = json.Unmarshal(text, new(Order)) // it is not used
	}
}

// reap takes note of the processes that have ended.
func reap() {
	for {
		if pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); pid <= 0 && !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
