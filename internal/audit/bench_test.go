package audit

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

// sink accepts lines, as a record does.
type sink func() error

// plainAppend writes a line as long as a record and nothing else, so that the
// difference to a record is the cost of the chain, the masks and the head.
func plainAppend(b *testing.B, durable bool) sink {
	f, err := os.OpenFile(filepath.Join(b.TempDir(), "plain"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	line := make([]byte, 580)
	line[579] = '\n'
	var mu sync.Mutex
	return func() error {
		mu.Lock()
		defer mu.Unlock()
		if _, err := f.Write(line); err != nil || !durable {
			return err
		}
		return f.Sync()
	}
}

func recording(b *testing.B, s Sync) sink {
	l, err := Open(filepath.Join(b.TempDir(), "log"), Options{Sync: s})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	r := record(`{"command":"go test ./... 2>&1 | head -20"}`, "")
	return func() error { return l.Record(context.Background(), r) }
}

// BenchmarkDurability measures how long a decision waits for its record, by
// setting and number of concurrent decisions, beside a plain append.
func BenchmarkDurability(b *testing.B) {
	sinks := []struct {
		name string
		make func(*testing.B) sink
	}{
		{"plain", func(b *testing.B) sink { return plainAppend(b, false) }},
		{"none", func(b *testing.B) sink { return recording(b, SyncNone) }},
		{"plain+fsync", func(b *testing.B) sink { return plainAppend(b, true) }},
		{"each", func(b *testing.B) sink { return recording(b, SyncEach) }},
		{"group", func(b *testing.B) sink { return recording(b, SyncGroup) }},
	}
	for _, writers := range []int{1, 8, 64} {
		for _, s := range sinks {
			b.Run(fmt.Sprintf("%s/%d", s.name, writers), func(b *testing.B) { durability(b, s.make(b), writers) })
		}
	}
}

func durability(b *testing.B, add sink, writers int) {
	waits := make([][]time.Duration, writers)
	var all sync.WaitGroup
	b.ResetTimer()
	for w := range writers {
		all.Go(func() {
			for range b.N/writers + 1 {
				start := time.Now()
				if err := add(); err != nil {
					b.Error(err)
					return
				}
				waits[w] = append(waits[w], time.Since(start))
			}
		})
	}
	all.Wait()
	b.StopTimer()
	sorted := slices.Concat(waits...)
	slices.Sort(sorted)
	b.ReportMetric(float64(len(sorted))/b.Elapsed().Seconds(), "records/s")
	b.ReportMetric(float64(sorted[len(sorted)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(sorted[len(sorted)*99/100].Microseconds()), "p99-µs")
}

// BenchmarkVerify reads a record of 1,000 lines.
func BenchmarkVerify(b *testing.B) {
	path := filepath.Join(b.TempDir(), "log")
	l, err := Open(path, Options{Sync: SyncNone})
	if err != nil {
		b.Fatal(err)
	}
	for range 999 {
		if err := l.Record(context.Background(), record(`{"command":"go test ./... 2>&1 | head -20"}`, "")); err != nil {
			b.Fatal(err)
		}
	}
	l.Close()
	info, _ := os.Stat(path)
	b.SetBytes(info.Size())
	for b.Loop() {
		if r, err := Verify(path, path+".head", ""); err != nil || len(r.Faults) > 0 {
			b.Fatal(r, err)
		}
	}
}
