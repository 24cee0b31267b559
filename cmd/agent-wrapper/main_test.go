package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/internal/whitelist"
)

// TestReport: an error shows only its text, whatever file name it contains.
func TestReport(t *testing.T) {
	var errs strings.Builder
	a := &app{err: &errs}
	_, err := os.Open(filepath.Join(t.TempDir(), "a\x1b[2J\u202e\r"))
	if a.report(err); strings.ContainsAny(errs.String(), "\x1b\u202e\r") || !strings.Contains(errs.String(), "<U+001B>[2J<U+202E>") {
		t.Errorf("%q", errs.String())
	}
}

// TestShownText: no command writes text with control characters.
func TestShownText(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	const odd = "x\x1b[2J\u202e\r"
	ws := filepath.Join(t.TempDir(), "ws"+odd)
	if err := os.Mkdir(ws, 0o700); err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(ws, "list"+odd+".json")
	for _, args := range [][]string{
		{"whitelist", "init", "--cwd", ws, "--default", "--print"},
		{"whitelist", "validate", "--cwd", ws, "npm run " + odd},
		{"whitelist", "validate", "--cwd", ws, list},
		{"whitelist", "validate", "--cwd", ws},
		{"hallucinations", "list"},
		{"hallucinations", "reset", "--plan", odd, "--yes"},
		{"resume", "--plan", odd},
		{"classify", "npm run " + odd},
		{"check", "Bash", `{"command":"npm run \u001b[2J\u202e"}`, "--cwd", ws, "--output", "text"},
		{"explain", "Bash", `{"command":"npm run \u001b[2J\u202e"}`, "--cwd", ws},
		{"policy", "show", "--cwd", ws},
		{"policy", "validate", list},
		{"policy", "lint", list},
		{"trust", list},
		{"untrust", list},
		{"init", "--yes", "--cwd", ws},
		{"audit", "verify", list},
		{"audit", "search", list},
		{"exec", "history"},
		{"security", "validate-commands", "--plan", list},
		{"execute", list},
		{odd},
		{"check", odd, "{}"},
		{"check", "Bash", odd},
		{"run", "--" + odd},
	} {
		if args[len(args)-1] == list {
			if err := os.WriteFile(list, whitelist.Default, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var out strings.Builder
		a := &app{in: strings.NewReader(""), out: &out, err: &out}
		a.run(t.Context(), args)
		if strings.ContainsAny(out.String(), "\x1b\u202e\r") {
			t.Errorf("%q shows %q", args, out.String())
		}
		os.Remove(list)
	}
}

// Help is read on terminals of 80 columns, which would cut longer lines inside
// words.
func TestHelpIsNarrow(t *testing.T) {
	t.Parallel()
	var each func(cmd *cobra.Command)
	each = func(cmd *cobra.Command) {
		var out bytes.Buffer
		a := &app{in: strings.NewReader(""), out: &out, err: &out}
		args := append(strings.Fields(cmd.CommandPath())[1:], "--help")
		if code := a.run(t.Context(), args); code != codeDone {
			t.Fatalf("%q: exit code %d: %s", args, code, out.String())
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
				t.Errorf("%q: a line of %d columns: %s", args, n, line)
			}
		}
		for _, sub := range cmd.Commands() {
			if sub.Name() != "completion" { // its words are cobra's
				each(sub)
			}
		}
	}
	each((&app{}).commands())
}
