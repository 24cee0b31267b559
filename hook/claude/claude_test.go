package claude

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/hook"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Commands are found where the host finds them, with all that they run.
func TestCommandLines(t *testing.T) {
	project, home := t.TempDir(), t.TempDir()
	write(t, project+"/.claude/commands/one.md", "---\nallowed-tools: Bash\n---\nstate: !`git status` and !`git  diff`\n")
	write(t, project+"/.claude/commands/sub/two.md", "!`two`")
	write(t, project+"/.claude/skills/three/SKILL.md", "```!\nfirst\nsecond\n```\n")
	write(t, home+"/.claude/commands/four.md", "nothing `runs` here")
	write(t, home+"/.claude/plugins/cache/x/plug/commands/five.md", "!`five`")
	write(t, home+"/.claude/plugins/cache/x/plug/skills/six/SKILL.md", "!`six`")
	for name, want := range map[string]string{
		"one": "git status|git  diff", "sub:two": "two", "two": "two", "three": "first\nsecond", "four": "", "plug:five": "five", "plug:six": "six",
		"clear": "", "plug:gone": "error", "../one": "error", `a\b`: "error", "": "error",
	} {
		from := "projectSettings"
		if name == "clear" {
			from = "builtin"
		}
		lines, err := commandLines(&hook.Event{Command: name, From: from}, project, home)
		got := strings.Join(lines, "|")
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%q: %q (%v), want %q", name, got, err, want)
		}
	}
}

// What takes the hook out or lets questions pass by a person does not count.
func TestLoosens(t *testing.T) {
	project, home := t.TempDir(), t.TempDir()
	user := home + "/.claude/settings.json"
	ours := `{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"/bin/agent-wrapper","args":["hook","claude"]}]}]}`
	for _, tt := range []struct {
		name, file, text string
		loosens          bool
	}{
		{"ours", user, ours + "}", false},
		{"in a shell", user, `{"hooks":{"PreToolUse":[{"hooks":[{"command":"timeout 590 '/bin/agent-wrapper' hook claude; exit 2"}]}]}}`, false},
		{"taken out", user, `{}`, true},
		{"removed", user, ``, true},
		{"another event", user, `{"hooks":{"Stop":[{"hooks":[{"command":"agent-wrapper hook claude"}]}]}}`, true},
		{"another host", user, `{"hooks":{"PreToolUse":[{"hooks":[{"command":"agent-wrapper hook codex"}]}]}}`, true},
		{"switched off", user, ours + `,"disableAllHooks":true}`, true},
		{"not switched off", user, ours + `,"disableAllHooks":false}`, false},
		{"bypass", user, ours + `,"permissions":{"defaultMode":"bypassPermissions"}}`, true},
		{"auto", user, ours + `,"permissions":{"defaultMode":"auto"}}`, true},
		{"acceptEdits", user, ours + `,"permissions":{"defaultMode":"acceptEdits"}}`, false},
		{"twice", user, ours + `,"disableAllHooks":false,"disableAllHooks":true}`, true},
		{"no JSON", user, ours, true},
		{"of the project, and the user's is ours", project + "/.claude/settings.local.json", `{"permissions":{"allow":["Bash"]}}`, false},
	} {
		write(t, user, ours+"}")
		e := &hook.Event{File: tt.file}
		if why := loosens(e, project, home, []byte(tt.text)); (why != "") != tt.loosens {
			t.Errorf("%s: %q", tt.name, why)
		}
	}
}

// The host shows an ask in its window, in modes in which a person answers.
func TestAsks(t *testing.T) {
	var asked []string
	for _, mode := range []string{"default", "acceptEdits", "plan", "auto", "bypassPermissions", "dontAsk", ""} {
		for _, entry := range []string{"cli", "sdk-cli", "sdk-ts", ""} {
			for _, attended := range []string{"", "1", "0"} {
				env := map[string]string{"CLAUDE_CODE_ENTRYPOINT": entry, "CLAUDE_CODE_SESSION_ATTENDED": attended}
				if asks(mode, func(name string) string { return env[name] }) {
					asked = append(asked, mode+" "+entry+" "+attended)
				}
			}
		}
	}
	want := []string{"default cli ", "default cli 1", "acceptEdits cli ", "acceptEdits cli 1", "plan cli ", "plan cli 1"}
	if !slices.Equal(asked, want) {
		t.Errorf("%q", asked)
	}
}
