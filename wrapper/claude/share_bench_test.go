package claude

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/audit"
	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// BenchmarkShare measures the part of agent-wrapper in an allowed tool use of the
// agent CLI: from each of its two requests to our answer, the hook's and
// can_use_tool's, added up, with the whole engine and its record on disk. It reports
// the median and the 99th percentile.
func BenchmarkShare(b *testing.B) {
	for _, sync := range []struct {
		name string
		sync audit.Sync
	}{{"none", audit.SyncNone}, {"group", audit.SyncGroup}} {
		b.Run(sync.name, func(b *testing.B) {
			dir, shares := b.TempDir(), []time.Duration(nil)
			e := shareEngine(b, dir, sync.sync)
			cli := agent(b, nil, func(f *fake) {
				f.ready()
				b.ResetTimer()
				for i := 0; b.Loop(); i++ {
					shares = append(shares, f.share(fmt.Sprintf("u%d", i), dir))
				}
				f.ends()
			})
			if _, err := e.Drive(b.Context(), &Agent{Start: cli}, wrapper.Task{Prompt: "x"}); err != nil {
				b.Error(err)
			}
			slices.Sort(shares)
			b.ReportMetric(float64(shares[len(shares)/2].Microseconds()), "p50-us")
			b.ReportMetric(float64(shares[len(shares)*99/100].Microseconds()), "p99-us")
		})
	}
}

// share plays a tool use and returns how long our answers took.
func (f *fake) share(id, dir string) time.Duration {
	line := bash("go test ./... 2>&1 | tail -20")
	f.wants(id, "Bash", line)
	begin := time.Now()
	f.hooks(id, "Bash", line, dir)
	f.hear()
	f.asks(id, "Bash", line)
	f.hear()
	took := time.Since(begin)
	f.results(id, true, "user_temporary")
	return took
}

func shareEngine(b *testing.B, dir string, sync audit.Sync) *engine.Engine {
	state := filepath.Join(dir, "state")
	if err := os.Mkdir(state, 0o700); err != nil {
		b.Fatal(err)
	}
	settings, err := policy.Parse([]byte(`allow = ["Bash(go test:*)", "Read", "Edit"]`+"\n"+`deny = ["Read(.env)"]`), "bench")
	if err != nil {
		b.Fatal(err)
	}
	e, err := engine.Open(engine.Options{Dir: dir, Dirs: &engine.Dirs{State: state}, Isolated: true, Settings: settings, Sync: sync})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := e.Close(); err != nil {
			b.Error(err)
		}
	})
	return e
}
