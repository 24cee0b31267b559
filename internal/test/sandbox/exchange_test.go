//go:build sandbox && linux

package sandbox

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/run/process"
	"github.com/agent-wrapper/agent-wrapper/internal/sandbox/kernel"
)

var starts = flag.Int("starts", 100, "how many commands start while directories are exchanged")

// TestExchanged: two commands in the background exchange directories, of which one has a
// secret and the other now and then something else of that name, while others are planned and
// start: none reads the secret.
func TestExchanged(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	for name, text := range map[string]string{"p/a/.env": "top-secret", "p/b/x": "", "p/c/d/x": "", "decoy": "decoy"} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
	}
	r, err := engine.Load(engine.Options{Dir: root, Dirs: &engine.Dirs{State: t.TempDir()}, NoRecord: true, Isolated: true})
	must(t, err)
	b, err := unix.Open(filepath.Join(root, "p/b"), unix.O_PATH|unix.O_CLOEXEC, 0) // the directory that has no secret at first
	must(t, err)
	defer unix.Close(b)
	done := make(chan struct{})
	ended := make(chan struct{}, 2)
	at := func(name string) string { return filepath.Join(root, name) }
	loop := func(step func(i int)) {
		defer func() { ended <- struct{}{} }()
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
				step(i)
			}
		}
	}
	go loop(func(i int) {
		_ = unix.Renameat2(unix.AT_FDCWD, at("p/a"), unix.AT_FDCWD, at("p/b"), unix.RENAME_EXCHANGE)
		if i%7 == 0 {
			_ = unix.Renameat2(unix.AT_FDCWD, at("p/b"), unix.AT_FDCWD, at("p/c/d"), unix.RENAME_EXCHANGE)
		}
		wander(20 * (i % 5))
	})
	go loop(func(i int) {
		_ = unix.Linkat(unix.AT_FDCWD, at("decoy"), b, ".env", 0)
		wander(40 * (i % 3))
		_ = unix.Unlinkat(b, ".env", 0)
	})
	began, refused := 0, map[string]int{}
	for range *starts {
		plan, err := r.Sandbox(root)
		if err != nil {
			refused[err.Error()]++
			continue
		}
		var said bytes.Buffer
		c := &process.Command{
			Args: []string{"bash", "-c", "echo began; for i in 1 2 3; do cat p/*/.env p/c/d/.env; done"}, Dir: root,
			Env: []string{"PATH=/usr/bin:/bin"}, Stdout: &said, Stderr: &said, Limit: time.Minute,
		}
		held := kernel.Held{Plan: plan}
		if _, err := held.Run(t.Context(), c); err != nil {
			refused[err.Error()]++
		}
		if strings.Contains(said.String(), "began") {
			began++
		}
		if strings.Contains(said.String(), "top-secret") {
			t.Errorf("it is read: %s\nthe plan: %v", said.String(), plan.Denied)
			break
		}
	}
	close(done)
	<-ended
	<-ended
	t.Logf("%d of %d began", began, *starts)
	for why, n := range refused {
		t.Logf("%d: %s", n, why)
	}
	if began == 0 {
		t.Error("none began")
	}
}

// wander lets others run for a while, so that two who go on at their own pace meet at all
// moments.
func wander(n int) {
	for range n {
		runtime.Gosched()
	}
}
