package claude

import (
	"context"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// BenchmarkAsk measures a tool use from the CLI's request to our answer on the
// wire, without the time of the Decider.
func BenchmarkAsk(b *testing.B) {
	for _, size := range []struct {
		name  string
		bytes int
	}{{"small", 20}, {"64KiB", 64 << 10}} {
		b.Run(size.name, func(b *testing.B) {
			input := bash(strings.Repeat("x", size.bytes))
			d := decider(func(_ context.Context, use permission.ToolUse) (permission.Result, error) { return allow(use) })
			b.ReportAllocs()
			_, err := drive(b.Context(), launch{Task: wrapper.Task{Prompt: "x", Dir: "/w", Decider: d}, Agent: Agent{Start: agent(b, nil, func(f *fake) {
				f.ready()
				b.ResetTimer()
				for b.Loop() {
					f.asks("u1", "Bash", input)
					f.hear()
					f.results("u1", true, "user_temporary")
				}
				f.ends()
			})}})
			if err != nil {
				b.Error(err)
			}
		})
	}
}
