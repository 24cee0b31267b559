package tty

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// Session identifies the session of processes that a person started at the
// terminal: its leader, usually a shell, with the start time of the process and
// of the machine. It is not ok without a terminal, or if the system does not
// provide these.
func Session() (id string, ok bool) {
	own := status("self")
	const sid, tty, started = 3, 4, 19 // fields after the name
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

// status returns the fields of /proc/PID/stat after the name; nil if the
// process has ended.
func status(pid string) [][]byte {
	data, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return nil
	}
	// The name, in parentheses, can contain anything.
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(fields) < 20 {
		return nil
	}
	return fields
}
