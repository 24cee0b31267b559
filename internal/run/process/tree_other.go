//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package process

import (
	"os"
	"os/exec"
	"syscall"
)

// ownSession does nothing: when we die the program's input ends.
func ownSession(*exec.Cmd) {}

// ownTerminal does nothing: there are no terminals of this kind.
func ownTerminal(*exec.Cmd) {}

func frontGroup(*os.File) int { return 0 }

func signalGroup(pid int, _ syscall.Signal) { killTree(pid) }

func killSession(int) {}

func waitFor(int) bool { return false }

// killTree kills a process.
func killTree(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		p.Kill()
	}
}
