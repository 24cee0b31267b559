//go:build e2e

package e2e

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// patience is how long what ends by itself, or was killed, may take on a busy machine.
const patience = 30 * time.Second

// adoptOrphans makes every process that our runs leave behind a child of ours.
func adoptOrphans() error {
	const prSetChildSubreaper = 36
	if _, _, e := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0, 0, 0, 0); e != 0 {
		return e
	}
	return nil
}

// descendants gives all processes below us that are not yet dead.
func descendants() []int {
	children := map[int][]int{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if parent, state := status(pid); state != 'Z' && state != 'X' {
			children[parent] = append(children[parent], pid)
		}
	}
	all := append([]int{}, children[os.Getpid()]...)
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all
}

// status gives the parent and the state of a process, 0 and 'X' if it is gone.
func status(pid int) (parent int, state byte) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, 'X'
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 || len(fields[0]) != 1 {
		return 0, 'X'
	}
	parent, _ = strconv.Atoi(string(fields[1]))
	return parent, fields[0][0]
}

// agents gives the processes below us that run the given program.
func agents(path string) []int {
	var found []int
	for _, pid := range descendants() {
		if exe, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe"); err == nil && exe == path {
			found = append(found, pid)
		}
	}
	return found
}

// ended waits until a process has ended; false if it has not by the deadline.
func ended(pid int, deadline time.Time) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err == unix.ESRCH
	}
	defer unix.Close(fd)
	for {
		left := max(0, time.Until(deadline)).Milliseconds()
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(left))
		if err != unix.EINTR {
			return n > 0
		}
	}
}

// allEnded waits until a list of processes, which is made anew each time, is
// empty. It reports how long that took, and false if it took too long.
func allEnded(list func() []int, limit time.Duration) (time.Duration, bool) {
	start := time.Now()
	for pids := list(); len(pids) > 0; pids = list() {
		for _, pid := range pids {
			if !ended(pid, start.Add(limit)) {
				return time.Since(start), false
			}
		}
	}
	return time.Since(start), true
}

// gone waits until no process runs the program; it reports how long that took.
func gone(path string, limit time.Duration) (time.Duration, bool) {
	return allEnded(func() []int { return agents(path) }, limit)
}

// settled waits until all that a run has left has ended by itself: what it did
// is on disk then.
func settled(t testing.TB) {
	t.Helper()
	if _, all := allEnded(descendants, patience); !all {
		t.Errorf("processes of the run live on: %v", descendants())
	}
}

// end kills processes of ours and waits until they are dead.
func end(pids []int) {
	for _, pid := range pids {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	deadline := time.Now().Add(patience)
	for _, pid := range pids {
		ended(pid, deadline)
	}
	reap()
}

// reap buries the dead that were left to us. It is called when no command that
// we started ourselves is running.
func reap() {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if pid <= 0 && err != syscall.EINTR {
			return
		}
	}
}
