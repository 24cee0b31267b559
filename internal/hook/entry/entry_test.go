package entry

import (
	"slices"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/text/shellword"
)

// TestOf: what install writes is known again, with its program, and so is what a person
// has written; what only looks like it is not.
func TestOf(t *testing.T) {
	t.Parallel()
	for _, binary := range []string{"/a/b", "/it's/a b", "/x'; y", "'", "/ünï", "/agent-wrapper"} {
		for _, line := range []string{Guard(binary, "codex", Guarded), GuardInBash(binary, "codex", 7*time.Second)} {
			if got, ok := Of(line, nil); !ok || got != (Hook{"codex", binary, Line}) {
				t.Errorf("%s: %+v, %v", line, got, ok)
			}
		}
	}
	for _, tt := range []struct {
		command string
		args    []string
		want    Hook // zero for none
	}{
		{"/usr/bin/agent-wrapper", Args("claude"), Hook{"claude", "/usr/bin/agent-wrapper", Spawned}},
		{`C:\bin\agent-wrapper.exe`, Args("claude"), Hook{"claude", `C:\bin\agent-wrapper.exe`, Spawned}},
		{"/usr/bin/agent-wrapper", []string{"hook", "claude", "--approvals", "none"}, Hook{"claude", "/usr/bin/agent-wrapper", ByHand}},
		{"agent-wrapper hook codex", nil, Hook{"codex", "agent-wrapper", ByHand}},
		{"timeout 5 '/a b/agent-wrapper' hook qwen || exit 2", nil, Hook{"qwen", "/a b/agent-wrapper", ByHand}},
		{`x "/a b/agent-wrapper-2"  hook gemini`, nil, Hook{"gemini", "/a b/agent-wrapper-2", ByHand}},
		{"bash", []string{"-c", "agent-wrapper hook codex; exit 2"}, Hook{"codex", "agent-wrapper", ByHand}},
		{"/usr/bin/agent-wrapper", []string{"hook"}, Hook{}},
		{"/usr/bin/agent-wrapper", []string{"approvals", "claude"}, Hook{}},
		{"/agent-wrapper/other", Args("claude"), Hook{}},
		{"/agent-wrapper/other hook claude", nil, Hook{}},
		{"other hook claude", nil, Hook{}},
		{"", nil, Hook{}}, {"aw=", nil, Hook{}}, {"aw='x", nil, Hook{}}, {"aw='/a'", nil, Hook{}},
		{"aw='/a'; other hook codex", nil, Hook{}}, {"bash -c 'x'", nil, Hook{}}, {"bash -c aw", nil, Hook{}},
	} {
		if got, ok := Of(tt.command, tt.args); got != tt.want || ok != (tt.want != Hook{}) {
			t.Errorf("%s %q: %+v, %v", tt.command, tt.args, got, ok)
		}
	}
}

// TestMoved: our program is replaced in each form, and nothing else, and its time is cut
// only where a limit is given.
func TestMoved(t *testing.T) {
	t.Parallel()
	const other = "/o'p/it$1"
	tests := []struct {
		command string
		args    []string
		want    string
		rest    []string
	}{
		{"/usr/bin/agent-wrapper", Args("claude"), other, Args("claude")},
		{"/usr/bin/agent-wrapper", []string{"hook", "claude", "--approvals", "none"}, other, []string{"hook", "claude", "--approvals", "none"}},
		{"agent-wrapper hook codex", nil, shellword.Single(other) + " hook codex", nil},
		{`timeout -k 1 590 '/a b/agent-wrapper' hook x; exit 2`, nil, "timeout -k 1 1.5 " + shellword.Single(other) + " hook x; exit 2", nil},
		{"bash", []string{"-c", "agent-wrapper hook x; sleep 590"}, "bash", []string{"-c", shellword.Single(other) + " hook x; sleep 1.5"}},
		{Guard("/a b/agent-wrapper", "codex", Guarded), nil, Guard(other, "codex", 1500*time.Millisecond), nil},
		{GuardInBash("/it's/agent-wrapper", "crush", Guarded), nil, GuardInBash(other, "crush", 1500*time.Millisecond), nil},
		{"timeout 5 other", nil, "timeout 5 other", nil},
	}
	for _, tt := range tests {
		command, args := Moved(tt.command, tt.args, other, 1500*time.Millisecond)
		if command != tt.want || !slices.Equal(args, tt.rest) {
			t.Errorf("%s %q: %s %q, want %s", tt.command, tt.args, command, args, tt.want)
		}
	}
	if got, _ := Moved("timeout 9 agent-wrapper hook x", nil, "/b", 0); got != "timeout 9 '/b' hook x" {
		t.Error(got)
	}
	if got, want := MovedPlugin(Plugin("/a", Limit), `/b "c"`, 2*time.Second), Plugin(`/b "c"`, 2*time.Second); got != want {
		t.Error(got)
	}
	if got, want := MovedPlugin(Plugin("/a", Limit), "/b", 0), Plugin("/b", Limit); got != want {
		t.Error(got)
	}
}
