//go:build linux

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
)

var execKills = flag.Int("exec-kills", 10, "how often exec is killed")

// noting is a kubectl that first notes whether the record has a decision that
// allows the call.
const noting = `#!/bin/bash
if grep -q "\"command\":\"kubectl apply $2\".*\"behavior\":\"allow\"" "$HOME/.local/state/agent-wrapper/audit.jsonl"; then
	echo "$2 recorded" >> "$HOME/calls"
else
	echo "$2 unrecorded" >> "$HOME/calls"
fi
for i in 1 2 3 4 5 6 7 8; do /bin/true; done
`

// killed runs exec in a home of its own.
type killed struct {
	*testing.T
	home string
}

// command returns a call of the program.
func (k *killed) command(args ...string) *exec.Cmd {
	cmd := exec.Command("agent-wrapper", args...)
	cmd.Env = append(os.Environ(), "HOME="+k.home, "TMPDIR="+k.home+"/tmp", "PATH="+k.home+"/bin:"+os.Getenv("PATH"))
	cmd.Dir = k.home
	return cmd
}

// one returns the nth run, with private files.
func (k *killed) one(n int) *exec.Cmd {
	return k.command("exec", "--kubeconfig", "config", "--temp-dir", "--allow", "Bash(kubectl apply:*)", "--", fmt.Sprintf("kubectl apply x%d", n))
}

// start starts a run. gone waits until no process of it is left: one that the program was
// about to start when it was killed holds its locks until it is another program.
func (k *killed) start(cmd *exec.Cmd) (gone func()) {
	k.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		k.Fatal(err)
	}
	cmd.Stdout = w
	err = errors.Join(cmd.Start(), w.Close())
	if err != nil {
		k.Fatal(err)
	}
	return func() {
		k.Helper()
		if _, err := io.Copy(io.Discard, r); err != nil {
			k.Error(err)
		}
		r.Close()
	}
}

// must runs the program and requires exit code 0.
func (k *killed) must(args ...string) {
	k.Helper()
	if out, err := k.command(args...).CombinedOutput(); err != nil {
		k.Fatalf("%v: %v\n%s", args, err, out)
	}
}

// left returns the private files that exist.
func (k *killed) left() []string {
	k.Helper()
	var found []string
	for _, dir := range []string{".local/state/agent-wrapper/exec-runs", "tmp"} {
		files, err := os.ReadDir(filepath.Join(k.home, dir))
		if err != nil {
			k.Fatal(err)
		}
		for _, f := range files {
			found = append(found, filepath.Join(dir, f.Name()))
		}
	}
	return found
}

// notesStray checks that noting detects a call without a decision.
func (k *killed) notesStray() {
	k.Helper()
	file := filepath.Join(k.home, "calls")
	before, _ := os.ReadFile(file)
	stray := exec.Command(filepath.Join(k.home, "bin/kubectl"), "apply", "stray")
	stray.Env = []string{"HOME=" + k.home, "PATH=" + os.Getenv("PATH")}
	runErr := stray.Run()
	after, err := os.ReadFile(file)
	if err != nil || runErr != nil || string(after) != string(before)+"stray unrecorded\n" {
		k.Fatalf("a stray call: %v, %v\n%s", runErr, err, after)
	}
	if err := os.WriteFile(file, before, 0o600); err != nil {
		k.Fatal(err)
	}
}

// TestKilledExec: exec that is killed at random moments has run nothing without a
// record, the record verifies, and the next run removes the private files that
// were left.
func TestKilledExec(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	k := &killed{t, withStub(t)}
	if err := os.WriteFile(filepath.Join(k.home, "bin/kubectl"), []byte(noting), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(k.home, "tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if err := k.one(0).Run(); err != nil {
		t.Fatal(err)
	}
	whole := time.Since(begun)
	k.notesStray()
	random := rand.New(rand.NewPCG(7, uint64(*execKills)))
	runs, kills, private := 0, 0, 0
	for ; kills < *execKills && runs < 10**execKills; runs++ {
		cmd := k.one(runs + 1)
		began := time.Now()
		gone := k.start(cmd)
		kill := time.AfterFunc(time.Duration(random.Int64N(int64(whole))), func() { cmd.Process.Kill() })
		if cmd.Wait() != nil {
			kills++
		} else {
			whole = min(whole, time.Since(began)) // the first one was slow
		}
		kill.Stop()
		gone()
		if len(k.left()) > 0 {
			private++
		}
		k.must("audit", "verify")
		k.must("exec", "--", "true")
		if left := k.left(); len(left) > 0 {
			t.Fatalf("after kill %d and another run there is still %v", kills, left)
		}
	}
	if kills < *execKills {
		t.Errorf("%d kills in %d runs", kills, runs)
	}
	data, err := os.ReadFile(filepath.Join(k.home, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	calls := strings.Fields(strings.ReplaceAll(string(data), " recorded", ""))
	if strings.Contains(string(data), "unrecorded") {
		t.Errorf("a command ran before its decision was recorded:\n%s", data)
	}
	t.Logf("%d kills in %d runs; %d left private files for the next; %d commands began, each with a decision recorded before", kills, runs, private, len(calls)-1)
}
