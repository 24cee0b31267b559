package claude

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/hook"
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
	write(t, project+"/.claude/commands/hidden.md", "`!`a !`touch b`") // the line that runs begins within another
	write(t, home+"/.claude/commands/four.md", "nothing `runs` here")
	write(t, home+"/.claude/plugins/cache/x/plug/commands/five.md", "!`five`")
	write(t, home+"/.claude/plugins/cache/x/plug/skills/six/SKILL.md", "!`six`")
	for name, want := range map[string]string{
		"one": "git status|git  diff", "sub:two": "two", "two": "two", "three": "first\nsecond", "hidden": "a !|touch b", "four": "", "plug:five": "five", "plug:six": "six",
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

// Words of the person that become part of a command line are not known.
func TestCommandArguments(t *testing.T) {
	project, home := t.TempDir(), t.TempDir()
	write(t, project+"/.claude/commands/log.md", "!`echo $ARGUMENTS`")
	write(t, project+"/.claude/commands/one.md", "!`echo $1`")
	for _, name := range []string{"log", "one"} {
		if lines, err := commandLines(&hook.Event{Command: name, Words: "x; touch y"}, project, home); err == nil {
			t.Errorf("%s: %q", name, lines)
		}
		if lines, err := commandLines(&hook.Event{Command: name}, project, home); err != nil || len(lines) != 1 {
			t.Errorf("%s without words: %q, %v", name, lines, err)
		}
	}
}

// What takes the hook out or lets questions pass by a person does not count.
func TestLoosens(t *testing.T) {
	project, home := t.TempDir(), t.TempDir()
	user := home + "/.claude/settings.json"
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ours := `{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"` + self + `","args":["hook","claude"],"onFailure":"block"}]}]}`
	for _, tt := range []struct {
		name, file, text string
		loosens          bool
	}{
		{"plugin: no hook in the settings", user, `{"permissions":{"allow":["Bash"]},"enabledPlugins":{"agent-wrapper@m":true,"other@m":false}}`, false},
		{"plugin: removed", user, ``, false},
		{"plugin: switched off by name", user, `{"enabledPlugins":{"agent-wrapper@m":false}}`, true},
		{"plugin: switched off by nothing", user, `{"enabledPlugins":{"agent-wrapper@m":[]}}`, true},
		{"plugin: all hooks off", user, `{"disableAllHooks":true}`, true},
		{"plugin: auto", user, `{"permissions":{"defaultMode":"auto"}}`, true},
		{"ours", user, ours + "}", false},
		{"another program", user, strings.Replace(ours, self, "/bin/true", 1) + "}", true},
		{"fails open", user, strings.Replace(ours, `"block"`, `"continue"`, 1) + "}", true},
		{"matches nothing", user, strings.Replace(ours, `[{"hooks"`, `[{"matcher":"(","hooks"`, 1) + "}", true},
		{"only some", user, strings.Replace(ours, `"type"`, `"if":"Bash(rm:*)","type"`, 1) + "}", true},
		{"not waited for", user, strings.Replace(ours, `"type"`, `"async":true,"type"`, 1) + "}", true},
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
		e := &hook.Event{File: tt.file, Plugin: strings.HasPrefix(tt.name, "plugin: ")}
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
