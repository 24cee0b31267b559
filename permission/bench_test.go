package permission

import (
	"fmt"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// BenchmarkEvaluate is the hot path: one tool use under policies of growing
// size, without a trace.
func BenchmarkEvaluate(b *testing.B) {
	uses := map[string]ToolUse{
		"bash": using("Bash", "git status && npm run test | head -20"),
		"edit": using("Edit", workspace+"/src/a.go"),
	}
	for _, n := range []int{10, 100, 1000, 10000} {
		p := (spec{risk: true}).policy(b)
		allow := parseRules(b, patterns.Allow, "Bash(git:*); Bash(npm run test); Bash(head:*); Edit(src/**)", "x")
		for i := range n {
			allow = append(allow, parseRules(b, patterns.Allow, fmt.Sprintf("Bash(tool%d run:*)", i), "x")...)
		}
		p.Allow = patterns.NewSet(place, allow...)
		for name, use := range uses {
			use.Dir = workspace
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if d := Evaluate(p, nil, &use, fakeFS{}, nil); d.Behavior != Allow {
						b.Fatal(outcome(d))
					}
				}
			})
		}
	}
}
