//go:build !unix

package claude

import (
	"os"
	"os/exec"
)

// dieWithUs does nothing here: when we die the process's input ends, and then
// it denies whatever it would have to ask, which is everything.
func dieWithUs(*exec.Cmd) {}

func lockThread() {}

func waitFor(int) bool { return false }

// killTree kills a process.
func killTree(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		p.Kill()
	}
}
