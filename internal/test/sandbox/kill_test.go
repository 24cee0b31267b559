//go:build sandbox && linux

package sandbox

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestKills: whenever our program is killed, nothing that it has started inside the sandbox
// lives on, and no mount is left.
func TestKills(t *testing.T) {
	w := newWorld(t, nil)
	// The number of seconds is what the processes are known by.
	const mark = "77777.25"
	write(t, w, "run.sh", `for i in 1 2 3; do setsid sleep `+mark+` & (sleep `+mark+` &) ; done; trap '' TERM HUP INT; sleep `+mark)
	before := mountsNow(t)
	random := rand.New(rand.NewPCG(*seed, 0))
	started := 0
	for i := range *kills {
		cmd := w.command("run.sh")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		must(t, cmd.Start())
		look := time.NewTicker(10 * time.Millisecond)
		for late := time.After(time.Minute); i%2 == 0 && len(alive(mark)) == 0; { // every other time it has begun
			select {
			case <-look.C:
			case <-late:
				t.Fatal("it does not begin")
			}
		}
		moment := time.Duration(random.Int64N(int64(500 * time.Millisecond)))
		<-time.After(moment)
		if len(alive(mark)) > 0 {
			started++
		}
		first := children(cmd.Process.Pid)
		must(t, cmd.Process.Kill())
		cmd.Wait()
		for late := time.After(time.Minute); len(alive(mark))+len(living(first)) > 0; {
			select {
			case <-look.C:
			case <-late:
				t.Fatalf("killed after %v: %v and %v live on", moment, alive(mark), living(first))
			}
		}
		look.Stop()
		if after := mountsNow(t); !bytes.Equal(before, after) {
			t.Fatalf("killed after %v: the mounts are not as before:\n%s", moment, after)
		}
	}
	t.Logf("%d runs are killed, of which %d had begun inside; seed %d", *kills, started, *seed)
}

// children returns the processes that one has started.
func children(pid int) []string {
	var found []string
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range files {
		data, _ := os.ReadFile(file)
		found = append(found, strings.Fields(string(data))...)
	}
	return found
}

// living returns those of some processes that are there.
func living(pids []string) []string {
	return slices.DeleteFunc(slices.Clone(pids), func(pid string) bool {
		_, err := os.Stat("/proc/" + pid)
		return err != nil
	})
}

func mountsNow(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile("/proc/self/mounts")
	must(t, err)
	return data
}

// alive returns the processes with a word on their command lines that are of this
// test: its programs are the only ones with it.
func alive(word string) []string {
	var found []string
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, line := range lines {
		data, err := os.ReadFile(line)
		if err != nil {
			continue
		}
		for arg := range bytes.SplitSeq(bytes.TrimRight(data, "\x00"), []byte{0}) {
			if string(arg) == word {
				found = append(found, line)
			}
		}
	}
	return found
}
