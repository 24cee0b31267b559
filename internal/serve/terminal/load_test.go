package terminal

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/audit"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store/sqlite"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// BenchmarkLoad runs 200 sessions that write 10 KB/s each and one that writes as fast
// as it can, all into the chat of a real store. It fails if a viewer misses something.
func BenchmarkLoad(b *testing.B) { load(b, 200, 400<<20, 20) }

// TestLoad is a small BenchmarkLoad.
func TestLoad(t *testing.T) { load(t, 5, 20<<20, 1) }

func load(t testing.TB, sessions, size, least int) {
	dir := t.TempDir()
	db, err := sqlite.Open(t.Context(), filepath.Join(dir, "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	m, err := Open(t.Context(), Options{
		Store: db, Server: "one", Private: filepath.Join(dir, "private"), Most: sessions + 1, Grace: time.Second,
		Decider: func(store.Session, permission.Approver) (Decider, error) {
			return rules{mu: new(sync.Mutex), outcomes: new([]audit.Outcome)}, nil
		},
		Approver: func(store.Session, approval.Broker) permission.Approver { return nil },
		Warn:     func(s string) { t.Error(s) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	before := resident(t)
	var group sync.WaitGroup
	begin := func(line string) (string, *View) {
		s, err := m.Create(t.Context(), store.Session{ConversationID: fmt.Sprint(line), Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		v, err := m.Subscribe(s.ID, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Execute(t.Context(), s.ID, Request{Command: line}); err != nil {
			t.Fatal(err)
		}
		return s.ID, v
	}
	var seen sync.Map
	for i := range sessions {
		id, v := begin(fmt.Sprintf("n=0; while :; do printf '%%0998d\\n' $n $((n+1)) $((n+2)) $((n+3)) $((n+4)); n=$((n+5)); read -rt 0.5; done # %d", i))
		group.Go(func() { seen.Store(id, counted(t, v)) })
	}
	_, v := begin(fmt.Sprintf("yes %s | head -c %d", strings.Repeat("0123456789", 12), size))
	began := time.Now()
	got := 0
	for got < size {
		out, err := v.Next(t.Context())
		if err != nil || out.Lost > 0 {
			t.Fatalf("%d bytes of the fast session are lost: %v", out.Lost, err)
		}
		got += len(out.Data)
	}
	took := time.Since(began)
	rate := float64(size) / 1e6 / took.Seconds()
	after := resident(t)
	m.Close()
	group.Wait()
	lines := 0
	seen.Range(func(_, n any) bool { lines += n.(int); return true })
	t.Logf("%d sessions, %.1f s: %.1f MB/s of one, %.1f KB/s of each other, RSS %d MiB before and %d MiB at the end",
		sessions, took.Seconds(), rate, float64(lines)/float64(sessions)/took.Seconds(), before>>20, after>>20)
	if rate < float64(least) {
		t.Errorf("%.1f MB/s", rate)
	}
	if after > before+int64(sessions+1)*(kept+chatBehind)+128<<20 {
		t.Errorf("RSS %d MiB", after>>20)
	}
}

// counted views a session to its end, and returns how many numbers it has seen. None
// may be missing.
func counted(t testing.TB, v *View) int {
	var rest []byte
	next := 0
	for {
		out, err := v.Next(t.Context())
		if err != nil {
			return next
		}
		if out.Lost > 0 {
			t.Errorf("%d bytes are lost", out.Lost)
		}
		rest = append(rest, out.Data...)
		for {
			line, more, ok := bytes.Cut(rest, []byte("\r\n"))
			if !ok {
				break
			}
			rest = more
			if bytes.HasPrefix(line, []byte("$ ")) {
				continue
			}
			if n, err := strconv.Atoi(string(line)); err != nil || n != next {
				t.Errorf("%.80q behind %d", line, next)
				return next
			}
			next++
		}
	}
}

// resident returns the bytes of memory of this process.
func resident(t testing.TB) int64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}
