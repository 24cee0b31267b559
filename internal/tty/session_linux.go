package tty

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// Session names the session of processes that a person has begun at the
// terminal: that of its leader, the shell, with the time of its start and of
// the machine's. There is none where there is no terminal, or the system does not
// tell.
func Session() (id string, ok bool) {
	own := status("self")
	const sid, tty, started = 3, 4, 19 // behind the name
	if own == nil || string(own[tty]) == "0" {
		return "", false
	}
	leader := status(string(own[sid]))
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if leader == nil || err != nil {
		return "", false
	}
	begin, _, _ := strings.Cut(string(boot), "-")
	return fmt.Sprintf("tty-%s-%s-%s", own[sid], leader[started], begin), true
}

// status is what the system tells of a process, behind its name; nil of one that
// has ended.
func status(pid string) [][]byte {
	data, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return nil
	}
	// The name, in parentheses, may hold anything.
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(fields) < 20 {
		return nil
	}
	return fields
}
