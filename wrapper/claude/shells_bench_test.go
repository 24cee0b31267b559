//go:build linux

package claude

import (
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// BenchmarkShell is one command as the agent CLI starts it, with our program in front of
// it and without. The least CPU time of the processes that are started, and of this one,
// says more than the time where others use the machine.
func BenchmarkShell(b *testing.B) {
	bash := findBash(nil)
	if bash == "" {
		b.Skip("there is no bash")
	}
	g := newGuard(b, nil)
	text := g.text("true")
	for _, way := range []struct {
		name string
		args []string
	}{
		{"bare", []string{"-c", text}},
		{"asking", []string{"-c", "'" + g.prefix() + "' \"" + text + "\""}},
	} {
		b.Run(way.name, func(b *testing.B) {
			least, own := time.Hour, time.Hour
			for b.Loop() {
				g.allows("id", "true", "", "")
				before, self := cpuOf(syscall.RUSAGE_CHILDREN), cpuOf(syscall.RUSAGE_SELF)
				cmd := exec.Command(bash, way.args...)
				cmd.Dir = g.work
				if out, err := cmd.CombinedOutput(); err != nil {
					b.Fatalf("%v: %s", err, out)
				}
				least, own = min(least, cpuOf(syscall.RUSAGE_CHILDREN)-before), min(own, cpuOf(syscall.RUSAGE_SELF)-self)
				g.over("id")
			}
			b.ReportMetric(float64(least.Microseconds())/1000, "least-child-ms")
			b.ReportMetric(float64(own.Microseconds())/1000, "least-own-ms")
		})
	}
}

func cpuOf(who int) time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(who, &u) // there is no other outcome
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
