package hook_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/hook"
	"github.com/agent-wrapper/agent-wrapper/internal/hook/hosts"
	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
)

// denyAll denies whatever the recorded payloads do.
const denyAll = `
deny = ["Bash", "Monitor", "Read", "Grep", "Glob", "LS", "Edit", "Write", "WebFetch", "WebSearch", "Skill", "Agent", "mcp__m", "Workflow"]
mode = "dontAsk"
`

// mutations change a payload.
var mutations = []func(r *rand.Rand, text string) string{
	func(r *rand.Rand, text string) string { return text[:r.IntN(len(text)+1)] },
	func(r *rand.Rand, text string) string { return text[r.IntN(len(text)):] },
	func(r *rand.Rand, text string) string { // a byte
		b := []byte(text)
		b[r.IntN(len(b))] = byte(r.IntN(256))
		return string(b)
	},
	func(r *rand.Rand, text string) string { // a piece is left out
		i := r.IntN(len(text))
		return text[:i] + text[min(len(text), i+1+r.IntN(12)):]
	},
	func(r *rand.Rand, text string) string { // a piece comes twice
		i, n := r.IntN(len(text)), 1+r.IntN(60)
		return text[:min(len(text), i+n)] + text[i:]
	},
	func(r *rand.Rand, text string) string { // something is put in
		odd := []string{"\x00", `"`, "{", "}", "[", ",", ":", "\\u0000", "null", "true", "1e999", "\xff", "é", " ", "\n", `"a":1,`, `\ud800`, "\ufeff"}
		i := r.IntN(len(text))
		return text[:i] + odd[r.IntN(len(odd))] + text[i:]
	},
	func(r *rand.Rand, text string) string { // letters in another case
		i := r.IntN(len(text))
		return text[:i] + strings.ToUpper(text[i:min(len(text), i+1+r.IntN(3))]) + text[min(len(text), i+3):]
	},
	member(func(r *rand.Rand, o map[string]any, key string) { delete(o, key) }),
	member(func(r *rand.Rand, o map[string]any, key string) {
		o[key] = []any{nil, 1, true, "", "x", []any{}, map[string]any{}, []any{"Bash"}}[r.IntN(8)]
	}),
	member(func(r *rand.Rand, o map[string]any, key string) { o[strings.ToUpper(key[:1])+key[1:]] = o[key] }),
	member(func(r *rand.Rand, o map[string]any, key string) {
		o["permission_mode"], o["cursor_version"] = "bypassPermissions", []any{"1", nil, ""}[r.IntN(3)]
	}),
	member(func(r *rand.Rand, o map[string]any, key string) {
		if in, ok := o["tool_input"].(map[string]any); ok {
			for k, v := range in {
				in[k+"2"] = v
				delete(in, k)
				break
			}
		}
	}),
	func(_ *rand.Rand, text string) string { return text + text },
	func(_ *rand.Rand, text string) string { return "log\n" + text },
	func(_ *rand.Rand, text string) string { return "[" + text + "]" },
}

// member changes one member of the object that a payload is.
func member(change func(r *rand.Rand, o map[string]any, key string)) func(*rand.Rand, string) string {
	return func(r *rand.Rand, text string) string {
		var o map[string]any
		if json.Unmarshal([]byte(text), &o) != nil || len(o) == 0 {
			return text
		}
		var keys []string
		for key := range o {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		change(r, o, keys[r.IntN(len(keys))])
		out, err := json.Marshal(o)
		if err != nil {
			return text
		}
		return string(out)
	}
}

// Whatever a payload is changed to, what is denied does not run: an answer that the host
// takes as an allow is one.
func TestMutated(t *testing.T) {
	slow.Test(t)
	m := newMachine(t, denyAll)
	m.noSync = true
	count := 60
	if os.Getenv("AW_LONG") != "" {
		count = 10_000
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d, %d payloads a host", seed, count)
	r := rand.New(rand.NewPCG(seed, 1))
	for _, h := range hosts.All() {
		var base []string
		for _, p := range payloads(t, m.project) {
			if p.hostOf() == h.Name && !strings.Contains(p.name, "ermission") && !runs(h.Name, m.hears(t, h.Name, p.text)) {
				base = append(base, p.text)
			}
		}
		if len(base) < 3 {
			t.Fatalf("%s: only %d payloads are denied", h.Name, len(base))
		}
		for range count {
			text := base[r.IntN(len(base))]
			for range 1 + r.IntN(3) {
				if text != "" {
					text = mutations[r.IntN(len(mutations))](r, text)
				}
			}
			if o := m.hears(t, h.Name, text); runs(h.Name, o) {
				t.Errorf("%s runs %q: %d %s%s", h.Name, text, o.Code, o.Stdout, o.Stderr)
			}
		}
	}
}

// The judge of TestMutated finds what hosts were measured to run.
func TestJudge(t *testing.T) {
	deny := `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny"}}`
	for _, tt := range []struct {
		host string
		o    hook.Output
		runs bool
	}{
		{hook.Claude, hook.Output{}, true},
		{hook.Claude, hook.Output{Stdout: []byte(deny)}, false},
		{hook.Claude, hook.Output{Stdout: []byte(deny), Code: 1}, true},
		{hook.Claude, hook.Output{Stdout: []byte(`{"decision":"deny",` + deny[1:])}, true},
		{hook.Claude, hook.Output{Stdout: []byte("x" + deny)}, true},
		{hook.Claude, hook.Block("no"), false},
		{hook.Codex, hook.Output{}, true},
		{hook.Codex, hook.Output{Code: 2}, true},
		{hook.Codex, hook.Output{Code: 1, Stderr: []byte("x")}, true},
		{hook.Codex, hook.Block("no"), false},
		{hook.Gemini, hook.Output{Code: 2, Stderr: []byte("x"), Stdout: []byte(`{"decision":"allow"}`)}, true},
		{hook.Gemini, hook.Block(""), false},
		{hook.Qwen, hook.Block("no"), false},
		{hook.Qwen, hook.Output{Code: 2, Stdout: []byte("x")}, true},
		{hook.Copilot, hook.Output{}, true},
		{hook.Copilot, hook.Output{Stdout: []byte(`{"permissionDecision":"deny"}`)}, false},
		{hook.Crush, hook.Output{Stdout: []byte(`{"decision":"ask"}`)}, true},
		{hook.Crush, hook.Output{Stdout: []byte(`{"decision":"deny"}`)}, false},
		{hook.OpenCode, hook.Output{}, false},
		{hook.OpenCode, hook.Output{Stdout: []byte(`{"decision":"allow"}`)}, true},
	} {
		if got := runs(tt.host, tt.o); got != tt.runs {
			t.Errorf("%s: %d %s %s: runs %v", tt.host, tt.o.Code, tt.o.Stdout, tt.o.Stderr, got)
		}
	}
}
