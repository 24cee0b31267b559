//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package process

import (
	"os"
	"os/exec"
)

// ownSession does nothing: when we die the program's input ends.
func ownSession(*exec.Cmd) {}

func waitFor(int) bool { return false }

// killTree kills a process.
func killTree(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		p.Kill()
	}
}
