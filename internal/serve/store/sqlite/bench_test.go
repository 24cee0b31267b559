package sqlite_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
)

var (
	anna  = approval.Principal{Role: approval.Person, Name: "anna"}
	asker = approval.Principal{Role: approval.Agent, Name: "agent"}
)

// shown is a question of a usual size.
var shown = json.RawMessage(`{"title":"` + strings.Repeat("word ", 400) + `"}`)

func pending(b testing.TB, s store.Store, id string) {
	_, err := s.Submit(b.Context(), approval.Entry{
		State: approval.State{Terms: approval.Terms{ID: id, Digest: "d", Asker: asker}}, Question: shown, Project: "/w", Session: "s",
	})
	if err != nil {
		b.Fatal(err)
	}
}

// life is that of an approval: three transactions, of which each is on disk.
func life(b *testing.B, s store.Store, id string) {
	pending(b, s, id)
	_, err := s.Answer(b.Context(), approval.Event{Kind: approval.Approve, ID: id, Digest: "d", By: anna}, json.RawMessage(`{"choice":"once"}`))
	if err != nil {
		b.Fatal(err)
	}
	if _, err := s.Consume(b.Context(), id, "d"); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkLife measures an approval from its question to its use, by one and by 100 at
// the same time.
func BenchmarkLife(b *testing.B) {
	for _, people := range []int{1, 100} {
		b.Run(fmt.Sprint(people), func(b *testing.B) {
			s := open(b, filepath.Join(b.TempDir(), "store.db"))
			var number atomic.Int64
			var all sync.WaitGroup
			b.ResetTimer()
			for range people {
				all.Go(func() {
					for n := number.Add(1); n <= int64(b.N); n = number.Add(1) {
						life(b, s, fmt.Sprint(n))
					}
				})
			}
			all.Wait()
			b.ReportMetric(3*float64(b.N)/b.Elapsed().Seconds(), "tx/s")
		})
	}
}

// BenchmarkRead measures what is asked most often, with 2,000 approvals that wait.
func BenchmarkRead(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "store.db"))
	for n := range 2000 {
		pending(b, s, fmt.Sprint(n))
	}
	token := store.Token{ID: "1", Hash: [32]byte{1}}
	if err := s.CreateToken(b.Context(), token); err != nil {
		b.Fatal(err)
	}
	for name, read := range map[string]func() error{
		"Get": func() error { _, err := s.Get(b.Context(), "1000"); return err },
		"List100": func() error {
			_, err := s.List(b.Context(), approval.Filter{Status: []approval.Status{approval.Pending}, Limit: 100})
			return err
		},
		"Token": func() error { _, err := s.Token(b.Context(), token.Hash); return err },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := read(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkWaiting measures the memory of a store with 2,000 approvals, each of which
// somebody waits for.
func BenchmarkWaiting(b *testing.B) {
	for b.Loop() {
		s := open(b, filepath.Join(b.TempDir(), "store.db"))
		idle := inUse()
		last := int64(0)
		for n := range 2000 {
			pending(b, s, fmt.Sprint(n))
			last++
		}
		var all sync.WaitGroup
		for range 2000 {
			all.Go(func() { s.Wait(b.Context(), last) })
		}
		b.ReportMetric(float64(inUse()-idle)/(1<<20), "MiB")
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		all.Wait()
	}
}

// inUse returns the memory of the process in bytes, that of SQLite included, which is
// not on the heap; 0 if the system does not tell.
func inUse() int64 {
	debug.FreeOSMemory()
	text, _ := os.ReadFile("/proc/self/statm")
	var size, resident int64
	fmt.Sscan(string(text), &size, &resident)
	return resident * int64(os.Getpagesize())
}
