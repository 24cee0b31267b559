//go:build e2e

package e2e

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

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

// gone waits until no process runs the program; it reports how long that took.
func gone(path string, limit time.Duration) (time.Duration, bool) {
	start := time.Now()
	for {
		if len(agents(path)) == 0 {
			return time.Since(start), true
		}
		if time.Since(start) > limit {
			return time.Since(start), false
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// end kills processes of ours and waits until they are dead.
func end(pids []int) {
	for _, pid := range pids {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	for _, pid := range pids {
		for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			if _, state := status(pid); state == 'Z' || state == 'X' {
				break
			}
		}
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
