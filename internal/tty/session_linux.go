package tty

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
)

// Session names the session of processes that a person has begun at the
// terminal: that of its leader, the shell, with the time of its start and of
// the machine's. There is none where there is no terminal.
func Session() (string, error) {
	own, err := status("self")
	if err != nil {
		return "", err
	}
	const sid, tty, started = 3, 4, 19 // behind the name
	if string(own[tty]) == "0" {
		return "", ErrNoSession
	}
	leader, err := status(string(own[sid]))
	if err != nil {
		return "", ErrNoSession // it has ended
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	begin, _, _ := strings.Cut(string(boot), "-")
	return fmt.Sprintf("tty-%s-%s-%s", own[sid], leader[started], begin), nil
}

// status is what the system tells of a process, behind its name.
func status(pid string) ([][]byte, error) {
	data, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return nil, err
	}
	// The name, in parentheses, may hold anything.
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(fields) < 20 {
		return nil, errors.New("the system tells nothing of a process")
	}
	return fields, nil
}
