//go:build linux

package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/policy"
)

// TestQuestionsEnd: a question that is answered by a line ends at once with a signal, with
// its exit code, and nothing is done.
func TestQuestionsEnd(t *testing.T) {
	t.Parallel()
	questions := []struct {
		args     []string
		question string
		written  string // below the home directory
		said     string
	}{
		{[]string{"trust"}, "Do you trust exactly these settings? [y/N] ", ".local/state/agent-wrapper/trust.json", "it is not trusted: ended by "},
		{[]string{"init", "--force"}, "Write agent-wrapper.toml? [Y/n] ", ".gitignore", "nothing was written: ended by "},
		{[]string{"init"}, "Add them? Nothing else changes. [y/N] ", ".gitignore", "nothing was written: ended by "},
		{[]string{"install", "claude"}, "Install the hook? [y/N] ", ".claude/settings.json", "nothing was written: ended by "},
		{[]string{"approvals", "login", "--server", "http://127.0.0.1:1"}, "Token (not shown as you type): ", ".local/state/agent-wrapper/credentials.json", "ended by "},
	}
	for _, q := range questions {
		for _, end := range []struct {
			typed  string
			signal syscall.Signal
			name   string
		}{{typed: "y\x03", signal: syscall.SIGINT, name: "SIGINT"}, {signal: syscall.SIGTERM, name: "SIGTERM"}} {
			home := t.TempDir()
			if err := os.Mkdir(filepath.Join(home, ".claude"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(home, policy.FileName), []byte("allow = [\"Bash(ls)\"]\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			args := q.args
			if args[0] == "trust" || args[0] == "init" {
				args = append(args[:len(args):len(args)], "--cwd", home)
			}
			x := started(t, home, args...)
			x.wait(q.question)
			if end.typed != "" {
				x.types(end.typed)
			} else {
				x.cmd.Process.Signal(end.signal)
			}
			x.wait(q.said + end.name)
			if code, shown := x.end(); code != codeSignal+int(end.signal) || x.modes() != x.was {
				t.Errorf("%q, %s: exit code %d, settings of the terminal restored: %v\n%s", q.args, end.name, code, x.modes() == x.was, shown)
			}
			if _, err := os.Stat(filepath.Join(home, q.written)); err == nil {
				t.Errorf("%q, %s: %s was written", q.args, end.name, q.written)
			}
		}
	}
}
