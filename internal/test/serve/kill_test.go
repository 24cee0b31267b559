//go:build linux && serve

package serve

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"
)

var (
	kills = flag.Int("kills", 10, "how often servers are killed in each test")
	seed  = flag.Uint64("seed", fromEnv(), "of the moments")
)

// fromEnv returns the seed of internal/test/all.
func fromEnv() uint64 {
	n, err := strconv.ParseUint(os.Getenv("AW_SEED"), 10, 64)
	if err != nil {
		n = uint64(time.Now().UnixNano())
	}
	return n
}

// binary is agent-wrapper.
var binary string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "aw-serve")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "agent-wrapper")
	if path := os.Getenv("AW_BINARY"); path != "" {
		binary = path
	} else if err := build(binary); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// build builds agent-wrapper.
func build(to string, flags ...string) error {
	args := append([]string{"build", "-o", to}, flags...)
	cmd := exec.Command("go", append(args, "./cmd/agent-wrapper")...)
	cmd.Dir, cmd.Env = "../../..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w: %s", err, out)
	}
	return nil
}

func newRand(n uint64) *rand.Rand { return rand.New(rand.NewPCG(*seed, n)) }

// ofWorld is how many kills a world sees. After that there is a new one, since the judge
// looks at everything each time.
const ofWorld = 20

// most is how many events there are at most before a strike.
const most = 300

// round has everybody work until something strikes, and judges what is left.
func (w *world) round(r *rand.Rand, hit func() (mend func())) {
	w.t.Helper()
	var stop atomic.Bool
	mend := func() {}
	struck := make(chan struct{})
	w.events.Store(0)
	w.strike.Store(&strike{at: 1 + r.Int64N(most), do: func() {
		mend = hit()
		close(struck)
	}})
	watched := w.watch(w.servers[r.IntN(len(w.servers))])
	all := w.load(r.Uint64(), &stop)
	<-struck
	// Who has not lost their server works on for a while.
	end := make(chan struct{})
	w.strike.Store(&strike{at: w.events.Load() + 1 + r.Int64N(most/4), do: func() { close(end) }})
	idle := make(chan struct{})
	go func() { all.Wait(); close(idle) }()
	select {
	case <-end:
	case <-idle:
	}
	stop.Store(true)
	<-idle
	watched()
	w.strike.Store(nil)
	mend()
	w.judge()
}

// kill returns what kills servers and starts them again.
func kill(all ...*server) func() func() {
	return func() func() {
		for _, s := range all {
			s.strike()
		}
		return func() {
			for _, s := range all {
				s.gone()
			}
			for _, s := range all {
				s.start()
			}
		}
	}
}

// finish brings a world to its end.
func (w *world) finish() {
	w.t.Helper()
	w.drain()
	w.judge()
	for _, s := range w.servers {
		s.end()
		s.allowed()
	}
	w.judgeCopies()
}

// tell fails a test for everything that is wrong.
func (w *world) tell() {
	for _, text := range w.verdict {
		w.t.Error(text)
	}
	states := map[string]int{}
	for _, state := range w.ends {
		states[state]++
	}
	ended := map[string]int{}
	for _, v := range w.book.votes {
		switch {
		case v.withdrawn:
			ended["withdrawn"]++
		case v.quorum > 1 && v.approved:
			ended["approved by two"]++
		}
	}
	for _, g := range w.book.guests {
		if g.revoked {
			ended["credentials revoked"]++
		}
	}
	w.t.Logf("commands by their end: %v; questions: %d, %v; the slowest start took %v", states, len(w.book.votes), ended, w.slowest.Round(time.Millisecond))
}

// TestKilled: a server over SQLite that is killed at any moment loses nothing that
// waits, runs nothing twice and nothing that was not approved.
func TestKilled(t *testing.T) {
	t.Logf("seed %d, %d kills", *seed, *kills)
	for n := 0; n < *kills; n += ofWorld {
		t.Run(strconv.Itoa(n/ofWorld+1), func(t *testing.T) {
			r := newRand(uint64(n))
			w := newWorld(t, binary, "", 1)
			for range min(ofWorld, *kills-n) {
				w.round(r, kill(w.servers[0]))
			}
			w.finish()
			w.tell()
		})
	}
}
