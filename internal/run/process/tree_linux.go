package process

import (
	"bytes"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// waitFor waits until the process has ended and can be reaped. It returns false
// if that cannot be found out.
func waitFor(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return err == nil
		}
	}
}

// killTree kills a process that is not yet reaped, its group and all of its
// descendants, because an agent CLI starts its shells in sessions of their own.
// All are stopped first, so that none can fork meanwhile.
func killTree(pid int) {
	stopped := map[int]bool{}
	for found := []int{pid}; len(found) > 0; found = newOnes(descendants(pid), stopped) {
		for _, p := range found {
			stopped[p] = true
			syscall.Kill(p, syscall.SIGSTOP)
		}
	}
	for p := range stopped {
		syscall.Kill(p, syscall.SIGKILL)
	}
	syscall.Kill(-pid, syscall.SIGKILL)
}

func newOnes(pids []int, known map[int]bool) []int {
	var fresh []int
	for _, p := range pids {
		if !known[p] {
			fresh = append(fresh, p)
		}
	}
	return fresh
}

// descendants returns the processes below one.
func descendants(root int) []int {
	children := map[int][]int{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			parent := parentOf(pid)
			children[parent] = append(children[parent], pid)
		}
	}
	below := children[root]
	for i := 0; i < len(below); i++ {
		below = append(below, children[below[i]]...)
	}
	return below
}

// killSession kills the group of a process that is not yet reaped, and what is in
// its session: the jobs of a shell have groups of their own.
func killSession(pid int) {
	syscall.Kill(-pid, syscall.SIGKILL)
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if p, err := strconv.Atoi(e.Name()); err == nil && p != pid && statOf(p, sessionField) == pid {
			syscall.Kill(p, syscall.SIGKILL)
		}
	}
}

// The fields of /proc/PID/stat behind the name (proc_pid_stat(5)).
const (
	parentField  = 1
	sessionField = 3
)

// parentOf returns the parent of a process, 0 if it is gone.
func parentOf(pid int) int { return statOf(pid, parentField) }

// statOf returns a field of the status of a process, 0 if it is gone.
func statOf(pid, field int) int {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	// The name in parentheses may contain anything: read after the last one.
	rest := stat[bytes.LastIndexByte(stat, ')')+1:]
	if fields := bytes.Fields(rest); len(fields) > field {
		value, _ := strconv.Atoi(string(fields[field]))
		return value
	}
	return 0
}

// Ancestors returns the processes that have started this one, the parent first, as far
// as the system tells.
func Ancestors() []int {
	var all []int
	for pid := os.Getppid(); pid > 0; pid = parentOf(pid) {
		all = append(all, pid)
	}
	return all
}
