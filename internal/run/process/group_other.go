//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package process

import (
	"math"
	"os"
	"os/exec"
)

// signalled is larger than any exit code: no exit code stands for a signal here.
const signalled = math.MaxInt

// terminal is unused here.
type terminal struct{}

// ownGroup does nothing: there are no process groups, and only the program itself
// is killed.
func ownGroup(*exec.Cmd) *terminal { return nil }

func (*terminal) giveBack(bool) {}

func (*child) attend() {}

func (*child) stop() {}

func terminate(p *os.Process) { _ = p.Kill() }

func kill(p *os.Process) error { return p.Kill() }

func lives(*os.Process) bool { return false }

func exitCode(s *os.ProcessState) int { return s.ExitCode() }
