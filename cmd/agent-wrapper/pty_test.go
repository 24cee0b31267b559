package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
)

// terminal is the program on a pseudo-terminal.
type terminal struct {
	t   *testing.T
	tty *os.File
	cmd *exec.Cmd

	mu   sync.Mutex
	more chan struct{} // something was written
	text bytes.Buffer
	seen int // how much of text was waited for
}

// onTerminal runs the pretend agent with these tool uses.
func onTerminal(t *testing.T, uses []string, flags ...string) *terminal {
	t.Helper()
	home := t.TempDir()
	args := append([]string{"run", "--prompt", strings.Join(uses, "\n"), "--agent-command", "pretend-agent", "--cwd", home}, flags...)
	return started(t, home, args...)
}

// started runs the program on a new terminal.
func started(t *testing.T, home string, args ...string) *terminal {
	t.Helper()
	cmd := exec.Command("agent-wrapper", args...)
	cmd.Env = append(os.Environ(), "HOME="+home, "TERM=dumb", "XDG_STATE_HOME=")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 50, Cols: 200})
	if err != nil {
		t.Fatal(err)
	}
	x := &terminal{t: t, tty: tty, cmd: cmd, more: make(chan struct{}, 1)}
	go x.read()
	t.Cleanup(func() {
		cmd.Process.Kill()
		tty.Close()
	})
	return x
}

func (x *terminal) read() {
	buf := make([]byte, 4096)
	for {
		n, err := x.tty.Read(buf)
		x.mu.Lock()
		x.text.Write(buf[:n])
		x.mu.Unlock()
		select {
		case x.more <- struct{}{}:
		default:
		}
		if err != nil { // on Linux EIO is the end
			close(x.more)
			return
		}
	}
}

// wait waits until the terminal shows text, behind what was waited for before.
func (x *terminal) wait(text string) {
	x.t.Helper()
	limit := time.After(30 * time.Second)
	for {
		x.mu.Lock()
		shown := x.text.String()
		x.mu.Unlock()
		if i := strings.Index(shown[x.seen:], text); i >= 0 {
			x.seen += i + len(text)
			return
		}
		select {
		case _, open := <-x.more:
			if !open {
				x.t.Fatalf("the program ended before it showed %q:\n%s", text, shown)
			}
		case <-limit:
			x.t.Fatalf("%q does not come:\n%s", text, shown)
		}
	}
}

// say types a line at the prompt.
func (x *terminal) say(line string) {
	x.t.Helper()
	x.wait("\n  > ")
	fmt.Fprintln(x.tty, line)
}

// end waits for the end and returns the exit code and all that was shown.
func (x *terminal) end() (int, string) {
	x.t.Helper()
	for range x.more {
	}
	x.cmd.Wait()
	return x.cmd.ProcessState.ExitCode(), strings.ReplaceAll(x.text.String(), "\r\n", "\n")
}

func bash(command string) string {
	return fmt.Sprintf(`{"tool":"Bash","input":{"command":%q}}`, command)
}

// "On a terminal an ask is answered by a plain prompt (once / session / deny /
// deny with words; session adds the exact rule of each unapproved part)".
func TestPromptOnTerminal(t *testing.T) {
	install := bash("npm install left-pad")
	x := onTerminal(t, []string{install, install, install, bash("npm install other"), bash("git push"), install},
		"--allow", "Bash", "--ask", "Bash(npm install:*),Bash(git push:*)")
	x.say("o")
	x.wait("ALLOW  Bash  npm install left-pad")
	x.say("y") // no answer
	x.say("s")
	x.wait("ALLOW  Bash  npm install left-pad") // asked: person
	x.wait("ALLOW  Bash  npm install left-pad") // by the session's rule
	x.wait("session-allow")
	x.say("d")
	x.wait("DENY   Bash  npm install other")
	x.say("w not on a Friday")
	x.wait("DENY   Bash  git push")
	x.wait("| not on a Friday")
	x.wait("ALLOW  Bash  npm install left-pad")
	code, shown := x.end()
	if code != 0 || strings.Count(shown, "? Bash") != 4 {
		t.Errorf("exit code %d, %d questions:\n%s", code, strings.Count(shown, "? Bash"), shown)
	}
}

// A terminal that closes is a denial.
func TestTerminalCloses(t *testing.T) {
	x := onTerminal(t, []string{bash("git push")}, "--allow", "Bash", "--ask", "Bash(git push:*)", "--audit", t.TempDir()+"/a.jsonl")
	x.wait("\n  > ")
	x.tty.Write([]byte{4}) // end of input
	x.wait("DENY   Bash  git push")
	if code, shown := x.end(); code != 0 || strings.Contains(shown, "ran with") {
		t.Errorf("exit code %d:\n%s", code, shown)
	}
}

// AskUserQuestion is answered on a terminal by choices.
func TestQuestionOnTerminal(t *testing.T) {
	x := onTerminal(t, []string{`{"tool":"AskUserQuestion","input":{"questions":[{"question":"Which colour?","header":"c","options":[{"label":"Red","description":"warm"},{"label":"Blue","description":"cold"}],"multiSelect":false}]}}`},
		"--allow", "Read")
	x.wait("? Which colour?")
	x.wait("2. Blue - cold")
	x.say("2")
	x.wait(`"answers":{"Which colour?":"Blue"}`)
	if code, shown := x.end(); code != 0 {
		t.Errorf("exit code %d:\n%s", code, shown)
	}
}

// With --no-input nobody is asked, on a terminal too.
func TestNoInputOnTerminal(t *testing.T) {
	x := onTerminal(t, []string{bash("git push")}, "--allow", "Bash", "--ask", "Bash(git push:*)", "--no-input")
	x.wait("DENY   Bash  git push")
	if code, shown := x.end(); code != 0 || strings.Contains(shown, "? Bash") {
		t.Errorf("exit code %d:\n%s", code, shown)
	}
}

// An interrupt at a question denies it, and the program ends.
func TestInterruptAtPrompt(t *testing.T) {
	audit := t.TempDir() + "/a.jsonl"
	x := onTerminal(t, []string{bash("git push"), bash("git status")}, "--allow", "Bash", "--ask", "Bash(git push:*)", "--audit", audit)
	x.wait("\n  > ")
	x.tty.Write([]byte{3})
	x.wait("no longer asked")
	x.wait("the run was interrupted")
	code, shown := x.end()
	record, _ := os.ReadFile(audit)
	if code != 1 || strings.Contains(shown, "ran with") || strings.Contains(string(record), `"behavior":"allow"`) {
		t.Errorf("exit code %d:\n%s\n%s", code, shown, record)
	}
}

// On a terminal the demo asks the person.
func TestDemoOnTerminal(t *testing.T) {
	x := started(t, t.TempDir(), "demo")
	x.wait("command: rm -rf build")
	x.say("d keep it")
	x.wait("DENY   Bash  rm -rf build")
	x.wait("| keep it")
	x.say("d")
	x.say("s")
	x.wait("ALLOW  Bash  git push origin main")
	if code, shown := x.end(); code != 0 || !strings.Contains(shown, "12 tool uses: 5 allowed, 7 denied") {
		t.Errorf("exit code %d:\n%s", code, shown)
	}
}

// With JSON lines on standard output, the question goes to standard error.
func TestPromptBesideJSONL(t *testing.T) {
	x := onTerminal(t, []string{bash("git push")}, "--allow", "Bash", "--ask", "Bash(git push:*)", "--output", "jsonl")
	x.wait(`{"type":"approval_required"`)
	x.wait("? Bash")
	x.say("o")
	x.wait(`"behavior":"allow"`)
	if code, shown := x.end(); code != 0 || !strings.Contains(shown, `"by":"person"`) {
		t.Errorf("exit code %d:\n%s", code, shown)
	}
}
