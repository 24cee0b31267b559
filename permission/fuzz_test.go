package permission

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// FuzzEvaluate evaluates any tool with any input: it must not panic, must
// repeat its decision, must deny malformed input, must not allow anything
// under a deny for everything, and must not work more than the input is long.
func FuzzEvaluate(f *testing.F) {
	for _, part := range parts {
		use := using("Bash", part)
		f.Add(use.Tool, string(use.Input), workspace)
	}
	for _, text := range others {
		tool, text, _ := strings.Cut(text, ": ")
		f.Add(tool, string(using(tool, text).Input), "")
	}
	f.Add("Bash", `{"command":"ls","command":"rm"}`, "x")
	f.Add("Glob", `{"pattern":"../{a,/b}/*","path":"~"}`, "/")
	some := spec{risk: true, allow: "Bash(ls:*); Bash(git:*); Read; Edit(src/**)", ask: "Bash(git push:*)", deny: "Bash(rm:*); Read(./.env)"}.policy(f)
	none := spec{mode: "bypassPermissions", allow: "Bash; Read; Edit", deny: "*"}.policy(f)
	f.Fuzz(func(t *testing.T, tool, input, dir string) {
		use := ToolUse{Tool: tool, Input: []byte(input), Dir: dir}
		tr := &Trace{}
		first, over := proportionate(some, &use, len(input))
		if over != "" {
			t.Fatalf("an input of %d bytes: %s", len(input), over)
		}
		second := Evaluate(some, nil, &use, fakeFS{}, tr)
		if strings.Contains(first.Reason, "the evaluator failed") || strings.Contains(second.Reason, "the evaluator failed") {
			t.Fatalf("%q, %q", first.Reason, second.Reason)
		}
		if outcome(first) != outcome(second) || first.Reason != second.Reason {
			t.Fatalf("%s, then %s", outcome(first), outcome(second))
		}
		if first.Behavior < Allow || first.Behavior > Deny || first.Layer < LayerGuard || first.Reason == "" {
			t.Fatalf("%+v", first)
		}
		if d := Evaluate(none, nil, &use, fakeFS{}, nil); d.Behavior != Deny {
			t.Fatalf("a deny for everything is passed: %s (%s)", outcome(d), d.Reason)
		}
	})
}

// proportionate decides a use of so many bytes, and says so if it allocated more than is in
// proportion.
func proportionate(p *Policy, use *ToolUse, size int) (d Decision, over string) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	d = Evaluate(p, nil, use, fakeFS{}, nil)
	runtime.ReadMemStats(&after)
	n, bytes := int(after.Mallocs-before.Mallocs), int(after.TotalAlloc-before.TotalAlloc)
	if n > 300_000+4*size || bytes > 64<<20+size<<9 {
		over = fmt.Sprintf("%d allocations of %d KB", n, bytes>>10)
	}
	return d, over
}
