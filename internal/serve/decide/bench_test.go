package decide_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkUse measures our share of a tool use: from a line in to a line out, through
// pipes, recorded, one after the other.
func BenchmarkUse(b *testing.B) {
	for _, bench := range []struct{ name, params string }{
		{"Bash", `{"tool":"Bash","input":{"command":"cd src && git diff --stat HEAD~3 | head -50"},"toolUseID":"toolu_%d","session":"s"}`},
		{"Write", `{"tool":"Write","input":{"file_path":"src/a.go","content":"` + strings.Repeat("package a\\n", 400) + `"},"toolUseID":"toolu_%d","session":"s"}`},
	} {
		b.Run(bench.name, func(b *testing.B) {
			c := start(b, options{rules: "allow = [\"Bash\", \"Write\"]\nmode = \"acceptEdits\""})
			var took []time.Duration
			for b.Loop() {
				line := fmt.Sprintf(bench.params, len(took))
				begun := time.Now()
				c.plain(`{"jsonrpc":"2.0","id":1,"method":"canUseTool","params":` + line + `}`)
				l := c.raw()
				for strings.Contains(l, `"warning"`) {
					l = c.raw()
				}
				took = append(took, time.Since(begun))
				if !strings.Contains(l, `"behavior":"allow"`) {
					b.Fatal(l)
				}
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-us")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-us")
			c.end()
		})
	}
}
