//go:build sandbox && linux && (amd64 || arm64)

package kernel

import (
	"flag"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/agent-wrapper/agent-wrapper/internal/run/process"
)

var turns = flag.Int("turns", 10, "how often each command is timed")

// TestCost shows what a program that runs already pays for a command in the sandbox, layer by
// layer, in turn with the same command without a sandbox. It only shows figures: a busy machine
// has others, of which the least is the best.
func TestCost(t *testing.T) {
	w := newWorld(t)
	plan := w.plan()
	ways := []struct {
		name string
		omit []string
		bare bool
		room bool
		wait bool // until the sandbox is there
	}{
		{name: "bash", bare: true},
		{name: "bash in the sandbox"},
		{name: "bash in a room", room: true},
		{name: "bash in a room, the sandbox built ahead", room: true, wait: true},
		{name: "without landlock", omit: []string{"landlock"}},
		{name: "without seccomp", omit: []string{"seccomp"}},
		{name: "without masks and what is protected", omit: []string{"masks", "protected"}},
		{name: "without /dev and masks", omit: []string{"masks", "devices"}},
		{name: "without mounts", omit: []string{"mounts"}},
		{name: "without the network", omit: []string{"net", "network"}},
		{name: "without IPC", omit: []string{"ipc"}},
		{name: "without any but users and processes", omit: []string{"mounts", "net", "network", "ipc", "landlock", "seccomp", "limits"}},
	}
	room := openRoom(t)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	must(t, err)
	defer null.Close()
	type cost struct{ took, cpu time.Duration }
	costs := make([][]cost, len(ways))
	for range *turns {
		for i, way := range ways {
			c := &process.Command{Args: []string{"/bin/bash", "--norc", "-c", ":"}, Dir: w.Work, Env: []string{"PATH=/usr/bin:/bin"}}
			var ahead *Process
			if way.wait {
				ahead, err = room.Prepare(plan)
				must(t, err)
				room.waits()
			}
			before, began := cpuOfChildren(t), time.Now()
			run := func() (process.Result, error) { return (&Held{Plan: plan, omit: way.omit}).Run(t.Context(), c) }
			if way.bare {
				run = func() (process.Result, error) { return c.Run(t.Context()) }
			}
			if way.room { // whose processes are not ours: the CPU is only that of the room's start
				run = func() (process.Result, error) {
					p, cmd, streams := ahead, &exec.Cmd{Path: c.Args[0], Args: c.Args, Dir: c.Dir, Env: c.Env}, [3]*os.File{null, null, null}
					if p == nil {
						p, err = begin(room, plan, cmd, streams)
					} else {
						err = p.Start(cmd, streams)
					}
					if err != nil {
						return process.Result{}, err
					}
					code, err := p.Wait()
					return process.Result{Exit: code}, err
				}
			}
			res, err := run()
			if err != nil || res.Exit != 0 {
				t.Fatalf("%s: %v, %v", way.name, res, err)
			}
			costs[i] = append(costs[i], cost{time.Since(began), cpuOfChildren(t) - before})
		}
	}
	for i, way := range ways {
		least := func(of func(cost) time.Duration) time.Duration {
			return of(slices.MinFunc(costs[i], func(a, b cost) int { return int(of(a) - of(b)) })).Round(10 * time.Microsecond)
		}
		t.Logf("%-36s least time %8v  least CPU of what is started %8v", way.name, least(func(c cost) time.Duration { return c.took }), least(func(c cost) time.Duration { return c.cpu }))
	}
}

func cpuOfChildren(t *testing.T) time.Duration {
	var u unix.Rusage
	must(t, unix.Getrusage(unix.RUSAGE_CHILDREN, &u))
	return time.Duration(unix.TimevalToNsec(u.Utime) + unix.TimevalToNsec(u.Stime))
}
