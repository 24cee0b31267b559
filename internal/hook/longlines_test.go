//go:build unix

package hook_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/hook"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
)

// longPolicy has rules of each kind for commands, paths and hosts.
const longPolicy = `
allow = ["Bash(git status)", "Bash(npm run build:*)", "Read(./**)", "Edit(src/**)"]
ask = ["Bash(git push:*)", "Bash(docker * x)"]
deny = ["Bash(rm:*)", "Bash(git branch -D:*)", "Bash(pnpm run test:*)", "Read(.env)", "Read(secrets/**)", "Edit(*.lock)", "WebFetch(evil.example)"]
`

// corpusLines returns the commands of the corpora.
func corpusLines(t *testing.T) (lines []string) {
	for _, name := range []string{"everyday", "redteam", "redteam3", "suites"} {
		data, err := os.ReadFile("../../testdata/cases/" + name + ".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		for text := range bytes.Lines(data) {
			var row struct {
				Command string
				Input   struct{ Command string }
			}
			_ = json.Unmarshal(text, &row) // the input of another tool is none
			if line := cmp.Or(row.Command, row.Input.Command); strings.TrimSpace(line) != "" {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// longLine makes a line of the longest length that is read: a line of the corpora, or
// pieces and words of some, repeated and changed.
func longLine(r *rand.Rand, lines []string) string {
	const length = shell.MaxLine - 1024
	line := func() string { return lines[r.IntN(len(lines))] }
	join := []string{" ", "; ", " && ", " | ", "\n", " & ", ""}[r.IntN(7)]
	before, part, after := "", line(), ""
	switch r.IntN(4) {
	case 0: // words of a line
		words := strings.Fields(line())
		i := r.IntN(len(words) + 1)
		before, part, after = strings.Join(words[:i], " ")+" ", strings.Join(words[i:min(len(words), i+1+r.IntN(2))], " ")+" ", strings.Join(words[i:], " ")
	case 1: // any piece
		i := r.IntN(len(part))
		before, part, after = part[:i], part[i:min(len(part), i+1+r.IntN(12))], part[i:]
	case 2: // lines in turn
		part += join + line()
	}
	if part = part + join; strings.TrimSpace(part) == "" {
		part = "*" + part
	}
	text := before + strings.Repeat(part, max(0, length-len(before)-len(after))/len(part)) + after
	for range r.IntN(4) {
		text = mutations[2+r.IntN(5)](r, text)
	}
	return strings.ToValidUTF8(text, "?")
}

// processTime returns the processor time of this process, which other programs on a busy
// machine hardly change.
func processTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// Whatever follows a denied command, and however long it is, the line does not run: an
// answer is there, and it is no. The processor time that it took is reported.
func TestMutatedLongLines(t *testing.T) {
	slow.Test(t)
	m := newMachine(t, longPolicy)
	m.noSync = true
	count := 40
	if os.Getenv("AW_LONG") != "" {
		count = 10_000
	}
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 2))
	lines := corpusLines(t)
	var longest time.Duration
	var slowest string
	times := [4]int{}
	for range count {
		line := "rm x; " + longLine(r, lines)
		payload, err := json.Marshal(map[string]any{
			"session_id": "s", "transcript_path": "", "cwd": m.project, "hook_event_name": "PreToolUse",
			"tool_name": "Bash", "tool_input": map[string]any{"command": line}, "permission_mode": "default",
		})
		if err != nil {
			t.Fatal(err)
		}
		start := processTime(t)
		o := m.hears(t, hook.Claude, string(payload))
		took := processTime(t) - start
		if runs(hook.Claude, o) {
			t.Errorf("it runs: %.200q", line)
		}
		if took > longest {
			longest, slowest = took, line
		}
		for i, limit := range []time.Duration{50, 100, 1000} {
			if took > limit*time.Millisecond {
				times[i+1]++
			}
		}
	}
	t.Logf("seed %d, %d lines: slowest %v, %d above 50 ms, %d above 100 ms, %d above 1 s", seed, count, longest, times[1], times[2], times[3])
	t.Logf("the slowest: %.150q", slowest)
}
