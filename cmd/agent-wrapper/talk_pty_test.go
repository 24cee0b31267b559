//go:build linux

package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/ask"
	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
)

// talking starts a conversation with the pretend agent.
func talking(t *testing.T, home string, flags ...string) *terminal {
	t.Helper()
	x := started(t, home, append([]string{"run", "--agent-command", "pretend-agent", "--cwd", home}, flags...)...)
	x.wait("  /help")
	return x
}

// says types a prompt and sends it.
func (x *terminal) sends(text string) {
	x.t.Helper()
	x.types(text)
	x.wait("> " + text)
	x.types("\r")
}

// bashUse is a prompt that has the pretend agent run a command.
func bashUse(command string) string {
	return fmt.Sprintf(`{"Tool":"Bash","Input":{"command":%q}}`, command)
}

// A person has two turns, with a question, and ends; what was typed is kept for the next
// conversation, and the session can be continued.
func TestTalk(t *testing.T) {
	home, session := t.TempDir(), "5f0e4c1a-0c66-4f8e-9a53-2b1d6e7f8a90"
	t.Setenv("PRETEND_SESSION", session)
	x := talking(t, home, "--ask", "Bash(touch:*)")
	x.sends("hello there")
	x.wait("\nhello there")
	x.wait("  /help")
	x.sends(bashUse("touch x"))
	x.wait("o  once")
	x.press("o")
	x.wait("ran with")
	x.wait("  /help")
	x.sends("/why")
	x.wait("1. ALLOW")
	x.wait("approved by you")
	x.types("\x04")
	if code, shown := x.end(); code != 0 {
		t.Errorf("exit code %d:\n%s", code, shown)
	}
	if now := x.modes(); now != x.was {
		t.Errorf("the terminal was not restored: %+v", now)
	}
	kept, _ := filepath.Glob(home + "/.local/state/agent-wrapper/conversations/*/prompts.jsonl")
	if len(kept) != 1 {
		t.Fatalf("kept: %q", kept)
	}
	if info, err := os.Stat(kept[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the history: %v, %v", info.Mode(), err)
	}

	x = talking(t, home, "--continue", "--history", "off")
	x.types("\x1b[A") // nothing is there
	x.sends("again")
	x.wait("session " + session)
	x.wait("  /help")
	x.sends("/quit")
	if code, shown := x.end(); code != 0 {
		t.Errorf("exit code %d:\n%s", code, shown)
	}
	if data, _ := os.ReadFile(kept[0]); strings.Contains(string(data), "again") || !strings.Contains(string(data), "hello there") {
		t.Errorf("the history: %s", data)
	}
}

// ^C ends a turn and not the agent; a question that is open ends with it.
func TestTalkInterrupt(t *testing.T) {
	t.Parallel()
	x := talking(t, t.TempDir(), "--ask", "Bash(touch:*)")
	x.sends(bashUse("touch x"))
	x.wait("o  once")
	x.wait(ask.Prompt)
	x.types("\x03")
	x.wait("(interrupted)")
	x.wait("  /help")
	x.sends("go on")
	x.wait("\ngo on")
	x.wait("  /help")
	x.types("\x03")
	x.wait("^C again")
	x.types("\x03")
	if code, shown := x.end(); code != 0 || strings.Contains(shown, "ran with") || strings.Count(shown, "session pretend-1") != 1 {
		t.Errorf("exit code %d:\n%s", code, shown)
	}
}

// However a conversation ends, the terminal is as it was before.
func TestTalkRestores(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT} {
		x := talking(t, t.TempDir())
		x.types("some text")
		x.wait("some text")
		x.cmd.Process.Signal(sig)
		code, shown := x.end()
		if now := x.modes(); now != x.was || code != 128+int(sig) {
			t.Errorf("%v: exit code %d, restored %v:\n%s", sig, code, now == x.was, shown)
		}
	}
}

// A breach ends the conversation.
func TestTalkBreach(t *testing.T) {
	x := talking(t, t.TempDir())
	x.sends(`{"Rogue":true,"Tool":"Bash","Input":{"command":"touch x"}}`)
	if code, shown := x.end(); code != 3 || !strings.Contains(shown, "breach") {
		t.Errorf("exit code %d:\n%s", code, shown)
	}
}

// The modes of a conversation are those of set_mode, with the same refusals.
func TestTalkMode(t *testing.T) {
	x := talking(t, t.TempDir())
	x.sends("/mode")
	x.wait("* default\n  acceptEdits")
	x.sends("/mode bypassPermissions")
	x.wait("needs --dangerously-skip-permissions")
	x.types("\x15")
	x.sends("/mode yolo")
	x.wait("unknown permission mode")
	x.types("\x15")
	x.sends("/mode plan")
	x.wait("mode plan")
	x.wait("plan  /help")
	x.sends(bashUse("touch x"))
	x.wait("plan mode")
	x.wait("plan  /help")
	x.sends("/deny bash")
	x.wait("did you mean")
	x.types("\x15")
	x.sends("/deny Bash(ls:*)")
	x.wait("is denied for this session")
	x.sends("/rules")
	x.wait("1  deny Bash(ls:*)")
	x.sends("/revoke 1")
	x.wait("counts no more")
	x.sends("/quit")
	if code, shown := x.end(); code != 0 || strings.Contains(shown, "ran with") {
		t.Errorf("exit code %d:\n%s", code, shown)
	}
}

// What a person learns by typing: which rules there are, which texts, and what is wrong.
func TestTalkMistakes(t *testing.T) {
	home := t.TempDir()
	if code, out := startedAndOver(t, home, "run", "--agent-command", "pretend-agent", "--session", "nonsense"); code != 2 || !strings.Contains(out, "is no session id") {
		t.Errorf("exit code %d: %s", code, out)
	}
	for name, text := range map[string]string{".claude/commands/state.md": "state !`touch ran`", ".claude/skills/tidy/SKILL.md": "---\ndescription: d\n---\ntidy"} {
		path := filepath.Join(home, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	x := talking(t, home, "--deny", "Bash(touch:*)")
	x.sends("/help")
	x.wait("a text of yours or the project: /state /tidy")
	x.sends("/staet")
	x.wait("did you mean /state?")
	x.types("\x15")
	x.sends("hello")
	x.wait("\nhello")
	x.wait("  /help")
	x.sends("/state") // in a later turn: the agent runs
	x.wait("/state is not sent")
	x.wait("your prompt is in the line again")
	x.types("\x03")
	x.sends("/quit")
	x.wait("run --continue goes on with this conversation")
	if code, shown := x.end(); code != 0 {
		t.Errorf("exit code %d:\n%s", code, shown)
	}
	if _, err := os.Stat(filepath.Join(home, "ran")); err == nil {
		t.Error("a denied command line ran")
	}
	x = talking(t, t.TempDir())
	x.sends("/rules")
	x.wait("no rules are set; the mode is default")
	x.sends("/quit")
	x.end()
}

// startedAndOver runs the program at a terminal to its end.
func startedAndOver(t *testing.T, home string, args ...string) (code int, shown string) {
	t.Helper()
	return started(t, home, args...).end()
}

// An agent that is killed, in the midst of what turn ever, is told of, the prompt is in the
// line again, and the next one starts it again.
func TestTalkKilled(t *testing.T) {
	slow.Test(t)
	t.Setenv("PRETEND_SESSION", "5f0e4c1a-0c66-4f8e-9a53-2b1d6e7f8a90")
	random := rand.New(rand.NewPCG(1, 0))
	x := talking(t, t.TempDir())
	for i := range 20 {
		for range random.IntN(3) {
			x.sends("well")
			x.wait("\nwell")
			x.wait("  /help")
		}
		x.sends(fmt.Sprintf(`{"Text":"of %d","Times":1000000}`, i))
		x.wait(fmt.Sprintf("\n%d of %d\n", random.IntN(200), i))
		x.killAgent()
		x.wait("the agent CLI broke off before it had finished")
		x.wait("your prompt is in the line again")
		x.types("\x15")
	}
	x.sends("well")
	x.wait("\nwell")
	x.wait("  /help")
	x.killAgent()
	x.wait("the agent CLI has ended by itself")
	x.sends("and again")
	x.wait("\nand again")
	x.wait("  /help")
	x.sends("/quit")
	if code, shown := x.end(); code != 0 {
		t.Errorf("exit code %d:\n%.2000s", code, shown)
	}
}

// killAgent kills the pretend agent.
func (x *terminal) killAgent() {
	x.t.Helper()
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		stat, _ := os.ReadFile(name)
		var pid, parent int
		if at := strings.LastIndex(string(stat), ") "); at < 0 {
			continue
		} else if n, _ := fmt.Sscanf(string(stat[at+4:]), "%d", &parent); n != 1 || parent != x.cmd.Process.Pid {
			continue
		}
		fmt.Sscanf(string(stat), "%d", &pid)
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			x.t.Error(err)
		}
		return
	}
	x.t.Error("no agent runs")
}
