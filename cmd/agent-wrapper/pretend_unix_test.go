//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// pretendShell is a shell with one job in the foreground. When the job stops, it
// says so, reads a line, and continues the job.
func pretendShell() {
	signal.Ignore(syscall.SIGTTOU)
	exe, err := exec.LookPath(os.Args[1])
	if err != nil {
		os.Exit(9)
	}
	job, err := os.StartProcess(exe, os.Args[1:], &os.ProcAttr{
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
		Sys:   &syscall.SysProcAttr{Setpgid: true, Foreground: true, Ctty: 0},
	})
	if err != nil {
		os.Exit(9)
	}
	for {
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(job.Pid, &status, syscall.WUNTRACED, nil); err != nil {
			os.Exit(9)
		}
		if !status.Stopped() {
			fmt.Printf("[ended %d]\n", status.ExitStatus())
			os.Exit(status.ExitStatus())
		}
		unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, syscall.Getpgrp())
		fmt.Println("[stopped]")
		os.Stdin.Read(make([]byte, 100))
		fmt.Println("[goes on]")
		unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, job.Pid)
		syscall.Kill(-job.Pid, syscall.SIGCONT)
	}
}

// typeOn inserts text into the input of a terminal.
func typeOn(tty *os.File, text string) {
	for i := range len(text) {
		unix.IoctlSetPointerInt(int(tty.Fd()), unix.TIOCSTI, int(text[i]))
	}
}

// pretendEditor writes the text of its first file to its second, and prints what
// the second contained.
func pretendEditor() {
	text, err := os.ReadFile(os.Args[1])
	if err != nil || string(text) == "fail" {
		os.Exit(3)
	}
	path := os.Args[len(os.Args)-1]
	was, err := os.ReadFile(path)
	if err != nil {
		os.Exit(4)
	}
	file, _ := os.Stat(path)
	dir, _ := os.Stat(filepath.Dir(path))
	fmt.Printf("editing %s, mode %o in %o\n", strings.TrimSpace(string(was)), file.Mode().Perm(), dir.Mode().Perm())
	if os.WriteFile(path, text, 0o600) != nil {
		os.Exit(5)
	}
}

// fullMain is the program where a file that may not grow is an error, as on a disk that
// is full, and no signal.
func fullMain() {
	signal.Ignore(syscall.SIGXFSZ)
	main()
}
