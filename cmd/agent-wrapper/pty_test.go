//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"github.com/agent-wrapper/agent-wrapper/internal/ask"
	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// terminal is the program on a pseudo-terminal.
type terminal struct {
	t    *testing.T
	pty  *os.File
	ctl  *os.File // the same, for its settings
	name string   // of the terminal: /dev/pts/4
	cmd  *exec.Cmd
	home string
	was  unix.Termios // its settings before the program

	mu   sync.Mutex
	more chan struct{} // something was written
	text bytes.Buffer
	seen int // how much of the text was waited for
}

// onTerminal runs the pretend agent with these tool uses.
func onTerminal(t *testing.T, uses []string, flags ...string) *terminal {
	t.Helper()
	return inHome(t, t.TempDir(), uses, flags...)
}

// inHome is onTerminal with a home directory, which is also the workspace.
func inHome(t *testing.T, home string, uses []string, flags ...string) *terminal {
	t.Helper()
	args := append([]string{"run", "--prompt", strings.Join(uses, "\n"), "--agent-command", "pretend-agent", "--cwd", home}, flags...)
	return started(t, home, args...)
}

// started runs the program on a new terminal.
func started(t *testing.T, home string, args ...string) *terminal {
	t.Helper()
	return startedBy(t, home, "xterm", exec.Command("agent-wrapper", args...))
}

func startedBy(t *testing.T, home, kind string, cmd *exec.Cmd) *terminal {
	t.Helper()
	slow.Test(t)
	cmd.Env = append(os.Environ(), append([]string{"HOME=" + home, "TERM=" + kind, "NO_COLOR=1", "LC_ALL=C.UTF-8", "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "VISUAL="}, cmd.Env...)...)
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(master, &pty.Winsize{Rows: 500, Cols: 200}); err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	x := &terminal{t: t, ctl: master, name: slave.Name(), cmd: cmd, home: home, more: make(chan struct{}, 1)}
	x.was = x.modes()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	fd, err := unix.Dup(int(master.Fd()))
	if err == nil {
		err = unix.SetNonblock(fd, true) // so that closing it ends a read
	}
	if err != nil {
		t.Fatal(err)
	}
	x.pty = os.NewFile(uintptr(fd), master.Name())
	go x.collect()
	t.Cleanup(func() {
		cmd.Process.Kill()
		x.hangUp()
	})
	return x
}

// hangUp closes the terminal.
func (x *terminal) hangUp() {
	x.ctl.Close()
	x.pty.Close()
}

func (x *terminal) collect() {
	buf := make([]byte, 4096)
	for {
		n, err := x.pty.Read(buf)
		x.mu.Lock()
		x.text.Write(buf[:n])
		x.mu.Unlock()
		select {
		case x.more <- struct{}{}:
		default:
		}
		if err != nil { // on Linux the end is EIO
			close(x.more)
			return
		}
	}
}

// screen returns everything that was written so far.
func (x *terminal) screen() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return strings.ReplaceAll(x.text.String(), "\r\n", "\n")
}

// wait waits until the terminal shows text, after what was waited for before.
func (x *terminal) wait(text string) {
	x.t.Helper()
	limit := time.After(30 * time.Second)
	for {
		shown := x.screen()
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

// types types bytes that arrive at once.
func (x *terminal) types(text string) {
	x.t.Helper()
	if _, err := x.pty.WriteString(text); err != nil {
		x.t.Error(err)
	}
}

// press types a key once a key counts. The program shows that, also when a key
// counts again after one that did not.
func (x *terminal) press(key string) {
	x.t.Helper()
	x.wait(ask.Prompt)
	x.types(key)
}

// end waits for the end and returns the exit code and everything that was shown.
func (x *terminal) end() (int, string) {
	x.t.Helper()
	for range x.more {
	}
	x.cmd.Wait()
	return x.cmd.ProcessState.ExitCode(), x.screen()
}

// sequence matches escape sequences.
var sequence = regexp.MustCompile("\x1b\\[[?0-9]*[a-zA-Z]")

// A key that is typed while no question is open may be echoed before it.
var decisionRow = regexp.MustCompile(`(?m)^[a-z]?(ALLOW|DENY ) {2}([A-Za-z]+) {2}(.*)\n`)

// decided waits for the end and checks the decisions that reached the agent:
// those of the evaluator, and what the agent then ran.
func (x *terminal) decided(want ...string) string {
	x.t.Helper()
	code, shown := x.end()
	shown = sequence.ReplaceAllString(shown, "")
	var got []string
	ran := 0
	for _, m := range decisionRow.FindAllStringSubmatch(shown, -1) {
		got = append(got, strings.TrimSpace(m[1])+" "+m[3])
		if m[1] == "ALLOW" {
			ran++
		}
	}
	if d := cmp.Diff(want, got); d != "" || code != 0 {
		x.t.Errorf("exit code %d, decisions (-want +got):\n%s\n%s", code, d, shown)
	}
	if n := strings.Count(shown, "ran with"); n != ran {
		x.t.Errorf("%d tool uses were allowed and %d ran:\n%s", ran, n, shown)
	}
	return shown
}

// modes returns the settings of the terminal.
func (x *terminal) modes() unix.Termios {
	x.t.Helper()
	tty, err := os.OpenFile(x.name, os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		x.t.Fatal(err)
	}
	defer tty.Close()
	modes, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
	if err != nil {
		x.t.Fatal(err)
	}
	return *modes
}

func bash(command string) string { return tool("Bash", map[string]any{"command": command}) }

func tool(name string, input map[string]any, more ...string) string {
	data, _ := json.Marshal(input)
	return fmt.Sprintf(`{"tool":%q,"input":%s%s}`, name, data, strings.Join(more, ""))
}

// gate creates a named pipe that the pretend agent waits at.
func gate(t *testing.T) (path string, open func()) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "gate")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, func() {
		t.Helper()
		if err := os.WriteFile(path, nil, 0); err != nil {
			t.Error(err)
		}
	}
}

// pushes are rules under which only pushes are asked about.
var pushes = []string{"--allow", "Bash", "--ask", "Bash(git push:*)"}

// Once, session, deny and words, with their effects.
func TestPromptOnTerminal(t *testing.T) {
	t.Parallel()
	install := bash("npm install left-pad")
	x := onTerminal(t, []string{install, install, install, bash("npm install other"), bash("git push"), install},
		"--allow", "Bash", "--ask", "Bash(npm install:*),Bash(git push:*)")
	x.press("o")
	x.wait("ALLOW  Bash  npm install left-pad")
	x.press("y") // not an answer
	x.press("s")
	x.wait("this session\n")
	x.wait("ALLOW  Bash  npm install left-pad") // a person's answer
	x.wait("ALLOW  Bash  npm install left-pad") // the session's rule
	x.wait("allowed for this session")
	x.press("d")
	x.wait("DENY   Bash  npm install other")
	x.press("w")
	x.wait("tell the agent: ")
	x.types("not on a Friday")
	x.wait("not on a Friday")
	x.types("\r")
	x.wait("| not on a Friday")
	shown := x.decided("ALLOW npm install left-pad", "ALLOW npm install left-pad", "ALLOW npm install left-pad", "DENY npm install other", "DENY git push", "ALLOW npm install left-pad")
	if n := strings.Count(shown, "┌ Bash"); n != 4 {
		t.Errorf("%d questions:\n%s", n, shown)
	}
}

// What runs for long is shown with its time, until a question opens or its result comes,
// and at the end the run in two lines.
func TestLiveOnTerminal(t *testing.T) {
	t.Parallel()
	slow, opens := gate(t)
	held, opens2 := gate(t)
	test := bash("go test ./...")
	x := onTerminal(t, []string{
		test[:len(test)-1] + fmt.Sprintf(`,"slow":%q}`, slow),
		test[:len(test)-1] + fmt.Sprintf(`,"slow":%q,"beside":[%s]}`, held, bash("git push")),
	}, pushes...)
	x.wait("ALLOW  Bash  go test ./...\n       allowed by rule Bash  --allow\n")
	x.wait("running 2s  go test ./...")
	x.wait("\r\x1b[Krunning 3s  go test ./...")
	opens()
	x.wait("\r\x1b[K       | Bash ran with")
	x.press("o")
	x.wait("ALLOW  Bash  git push")
	x.wait("  +1 more")
	opens2()
	x.wait("| Bash ran with")
	shown := x.decided("ALLOW go test ./...", "ALLOW go test ./...", "ALLOW git push")
	if !regexp.MustCompile(`\n\n3 tool uses: 3 allowed; 1 asked: 1 approved\n4 turns, \$0\.03, [0-9]+s\n$`).MatchString(shown) {
		t.Errorf("the end of the run:\n%s", shown)
	}
	if question := regexp.MustCompile(`(?s)┌ Bash.*?ALLOW`).FindString(shown); strings.Contains(question, "running") {
		t.Errorf("within the question:\n%s", question)
	}
}

// A question that waits rings the bell and tells a program, once, and stays as it was: the
// policy is the user's. One in the repository that nobody has trusted does nothing.
func TestNotifyOnTerminal(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	got := filepath.Join(home, "got")
	if err := syscall.Mkfifo(got, 0o600); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string, mode os.FileMode) {
		t.Helper()
		name = filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write("tell", "#!/bin/sh\ncat > got\n", 0o700)
	write(".config/agent-wrapper/agent-wrapper.toml", "[notify]\nafter = \"1s\"\nbell = true\ncommand = [\"./tell\"]\n", 0o600)
	write("agent-wrapper.toml", "[notify]\nafter = \"24h\"\ncommand = [\"touch\", \"theirs\"]\n", 0o600)
	x := inHome(t, home, []string{bash("git push"), bash("ls")}, pushes...)
	x.wait("notify is ignored: the file is not trusted")
	x.wait(ask.Prompt)
	x.wait("\a")
	told, err := os.ReadFile(got)
	if err != nil || !strings.Contains(string(told), `"tool":"Bash","summary":"git push","session":"pretend-1","dir":"`+home+`","waited_s":1,"waiting":1}`) {
		t.Errorf("the program was told %s, %v", told, err)
	}
	x.types("o")
	shown := x.decided("ALLOW git push", "ALLOW ls")
	if n := strings.Count(shown, "\a"); n != 1 {
		t.Errorf("%d bells:\n%s", n, shown)
	}
	if _, err := os.Stat(filepath.Join(home, "theirs")); err == nil {
		t.Error("the repository's program has run")
	}
}

// What is replaced later is written to a terminal only, and not to one without control
// sequences.
func TestLiveNotEverywhere(t *testing.T) {
	_, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer slave.Close()
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, c := range []struct {
		term, output string
		out          *os.File
		live         bool
	}{
		{"xterm", "", slave, true}, {"dumb", "", slave, false}, {"xterm", "jsonl", slave, false}, {"xterm", "json", slave, false},
		{"xterm", "text", file, false}, {"xterm", "", file, false},
	} {
		t.Setenv("TERM", c.term)
		s, err := newEvents(ask.NewScreen(c.out, nil), c.output)
		if err != nil || (s.live != nil) != c.live {
			t.Errorf("%+v: %v, %v", c, s.live, err)
		}
	}
}

// A deny for the session applies to the rest of the session.
func TestDenyForSessionOnTerminal(t *testing.T) {
	t.Parallel()
	x := onTerminal(t, []string{bash("git push"), bash("git push"), bash("git push -f")}, pushes...)
	x.press("n")
	x.answerLadder()
	const rung = "│ 1  Bash(git push)    `git push`, however it is written\n"
	if shown := x.screen(); strings.Count(shown, rung) != 1 || strings.Index(shown, rung) < strings.Index(shown, "└ > ") {
		t.Errorf("what a denial for the session keeps is shown when it is chosen:\n%s", shown)
	}
	x.wait("denied by rule Bash(git push)  session\n")
	x.press("d")
	x.decided("DENY git push", "DENY git push", "DENY git push -f")
}

// "Always" writes the rule where it says, and the next run asks no question.
func TestAlwaysOnTerminal(t *testing.T) {
	t.Parallel()
	push := []string{bash("git push origin main"), bash("git push origin main")}
	const approved = "approved = [ \"Bash(git push origin main)\""
	tests := []struct {
		name   string
		local  string // the local policy before; "" for none
		trust  bool
		kept   string // the file, in the home directory
		before string // before the list of rules
	}{
		{name: "no local policy", kept: "agent-wrapper.local.toml"},
		{name: "a trusted one", local: "# mine\nask = [\"Bash(rm:*)\"] # careful\n", trust: true, kept: "agent-wrapper.local.toml", before: "# mine\nask = [\"Bash(rm:*)\"] # careful\n"},
		{name: "one that is not trusted", local: "ask = [\"Bash(rm:*)\"]\n", kept: ".config/agent-wrapper/agent-wrapper.toml"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			home, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			local := filepath.Join(home, "agent-wrapper.local.toml")
			if tt.local != "" {
				if err := os.WriteFile(local, []byte(tt.local), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if tt.trust {
				x := started(t, home, "trust", "--yes", local)
				if code, shown := x.end(); code != 0 {
					t.Fatalf("exit code %d\n%s", code, shown)
				}
			}
			x := inHome(t, home, push, pushes...)
			x.press("a")
			x.wait("│ always, in " + tt.kept + ": which one?   Esc  back\n")
			x.press("1")
			x.wait("kept Bash(git push origin main) in " + filepath.Join(home, tt.kept) + ":")
			x.decided("ALLOW git push origin main", "ALLOW git push origin main")
			text, err := os.ReadFile(filepath.Join(home, tt.kept))
			if err != nil || !strings.HasPrefix(string(text), tt.before) || !strings.Contains(strings.Join(strings.Fields(string(text)), " "), approved) {
				t.Errorf("%v, the policy:\n%s", err, text)
			}
			x = inHome(t, home, push, pushes...)
			if shown := x.decided("ALLOW git push origin main", "ALLOW git push origin main"); strings.Contains(shown, "┌ Bash") || strings.Contains(shown, "local.toml is not trusted") != (tt.kept != "agent-wrapper.local.toml") {
				t.Errorf("the next run:\n%s", shown)
			}
		})
	}
}

// From a folder of a project "always" writes beside the nearest policy that is
// trusted, and says where; the next run of another folder obeys it.
func TestAlwaysUpwardOnTerminal(t *testing.T) {
	t.Parallel()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	project := filepath.Join(home, "p/npm")
	for _, dir := range []string{"p/.git", "p/npm/src", "p/npm/test"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	const rules = "allow = [\"Bash\", \"Read\"]\nask = [\"Bash(git push:*)\"]\ndeny = [\"Read(.env)\"]\n"
	for _, file := range []string{filepath.Join(home, "p", policy.FileName), filepath.Join(project, policy.FileName)} {
		if err := os.WriteFile(file, []byte(rules), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	x := started(t, home, "trust", "--yes", filepath.Join(project, policy.FileName))
	if code, shown := x.end(); code != 0 {
		t.Fatalf("exit code %d\n%s", code, shown)
	}
	push := []string{bash("git push origin main")}
	x = inHome(t, home, push, "--cwd", filepath.Join(project, "src"))
	x.press("a")
	x.wait("which one?   Esc  back\n")
	x.press("1")
	x.wait("kept Bash(git push origin main) in " + filepath.Join(project, policy.LocalName) + ":")
	x.decided("ALLOW git push origin main")
	for _, name := range []string{"p/" + policy.LocalName, "p/npm/src/" + policy.LocalName, ".config/agent-wrapper/" + policy.FileName} {
		if _, err := os.Lstat(filepath.Join(home, name)); err == nil {
			t.Errorf("%s was written", name)
		}
	}
	// The policy of p, which nobody trusts, still asks.
	x = started(t, home, "trust", "--yes", filepath.Join(home, "p", policy.FileName))
	if code, shown := x.end(); code != 0 {
		t.Fatalf("exit code %d\n%s", code, shown)
	}
	x = inHome(t, home, push, "--cwd", filepath.Join(project, "test"))
	if shown := x.decided("ALLOW git push origin main"); strings.Contains(shown, "┌ Bash") {
		t.Errorf("the next run:\n%s", shown)
	}
}

// If the rule cannot be written, the tool use is allowed once.
func TestAlwaysCannotBeWritten(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "agent-wrapper.local.toml"), []byte("ask = [\"Bash(rm:*)\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	x := inHome(t, home, []string{bash("git push"), bash("git push")}, pushes...)
	x.wait("a  always, in ")
	if err := os.WriteFile(filepath.Join(home, ".config"), nil, 0o600); err != nil { // in place of the directory
		t.Fatal(err)
	}
	x.press("a")
	x.wait("which one?   Esc  back\n")
	x.press("1")
	x.wait("is not kept, and this is approved once: ")
	x.press("d")
	x.decided("ALLOW git push", "DENY git push")
}

// If no policy is read, none is written.
func TestAlwaysIsolated(t *testing.T) {
	t.Parallel()
	x := onTerminal(t, []string{bash("git push")}, append(pushes, "--isolated")...)
	x.wait("t  for a while")
	x.press("a")
	x.press("d")
	x.decided("DENY git push")
}

// "Why" shows the trace of the decision, as explain prints it.
func TestWhyOnTerminal(t *testing.T) {
	t.Parallel()
	x := onTerminal(t, []string{bash("git push")}, pushes...)
	x.press("?")
	x.wait("1. ASK    run git push  [moderate]")
	x.wait("> ask-list       ask")
	x.press("d")
	x.decided("DENY git push")
}

// View shows all of a long input; only then can it be kept.
func TestViewOnTerminal(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("echo a\n", 300) + "git push"
	x := onTerminal(t, []string{bash(long), bash("git push")}, pushes...)
	x.wait("bytes in 131 lines (v shows all)")
	x.wait("after v: session, while, always (not everything is shown)")
	x.press("s")
	x.wait("keys: o once, d deny, ? why, v all")
	x.press("v")
	x.wait("s  this session  Bash(git push)")
	x.press("s")
	x.wait("this session\n")
	x.wait("allowed for this session")
	code, shown := x.end()
	if code != 0 || strings.Count(shown, "ran with") != 2 {
		t.Errorf("exit code %d\n%s", code, shown)
	}
}

// A terminal that closes is a denial.
func TestTerminalCloses(t *testing.T) {
	t.Parallel()
	audit := t.TempDir() + "/a.jsonl"
	x := onTerminal(t, []string{bash("git push")}, append(pushes, "--audit", audit)...)
	x.wait(ask.Prompt)
	x.hangUp()
	x.cmd.Wait()
	record, _ := os.ReadFile(audit)
	if !strings.Contains(string(record), `"behavior":"deny"`) || strings.Contains(string(record), `"behavior":"allow"`) {
		t.Errorf("%s", record)
	}
}

// AskUserQuestion is answered on a terminal by choices.
func TestQuestionOnTerminal(t *testing.T) {
	t.Parallel()
	x := onTerminal(t, []string{`{"tool":"AskUserQuestion","input":{"questions":[{"question":"Which colour?","header":"c","options":[{"label":"Red","description":"warm"},{"label":"Blue","description":"cold"}],"multiSelect":false}]}}`},
		"--allow", "Read")
	x.wait("┌ The agent asks\n│ │ Which colour?")
	x.types("1\r") // too early
	x.wait("│ 2  Blue  cold")
	x.press("2")
	x.wait("> 2")
	x.types("\r")
	x.wait("colour?\":\"Blue\"}")
	if code, shown := x.end(); code != 0 {
		t.Errorf("exit code %d:\n%s", code, shown)
	}
}

// With --no-input nobody is asked, on a terminal either.
func TestNoInputOnTerminal(t *testing.T) {
	t.Parallel()
	x := onTerminal(t, []string{bash("git push")}, append(pushes, "--no-input")...)
	if shown := x.decided("DENY git push"); strings.Contains(shown, "┌ Bash") {
		t.Errorf("somebody was asked:\n%s", shown)
	}
}

// An interrupt during a question denies it, and the program ends and restores the
// terminal.
func TestInterruptAtPrompt(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"", "w"} {
		audit := t.TempDir() + "/a.jsonl"
		x := onTerminal(t, []string{bash("git push"), bash("git status")}, append(pushes, "--audit", audit)...)
		was := x.was
		x.press(where)
		if where != "" {
			x.wait("tell the agent: ")
		}
		if x.modes() == was {
			t.Error("the terminal is not raw")
		}
		x.types("\x03")
		x.wait("no longer asked")
		x.wait("the run was interrupted")
		if now := x.modes(); now != was {
			t.Errorf("the terminal is %+v, and was %+v", now, was)
		}
		code, shown := x.end()
		record, _ := os.ReadFile(audit)
		if code != 130 || strings.Contains(shown, "ran with") || strings.Contains(string(record), `"behavior":"allow"`) {
			t.Errorf("exit code %d:\n%s\n%s", code, shown, record)
		}
		if !strings.Contains(shown, "\x1b[?2004h") || !strings.HasSuffix(strings.Split(shown, "no longer asked")[1], "\n") || strings.Count(shown, "\x1b[?2004l") != strings.Count(shown, "\x1b[?2004h") {
			t.Errorf("the marks around pasted text stay on:\n%q", shown)
		}
	}
}

// A signal that ends the program restores the terminal first.
func TestSignalAtPrompt(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT} {
		x := onTerminal(t, []string{bash("git push")}, pushes...)
		was := x.was
		x.wait(ask.Prompt)
		x.cmd.Process.Signal(sig)
		x.wait("\x1b[?2004l")
		code, shown := x.end()
		if now := x.modes(); now != was || code != 128+int(sig) || strings.Contains(shown, "ran with") || !strings.Contains(shown, "the run was interrupted") {
			t.Errorf("%v: exit code %d, the terminal is %+v, and was %+v", sig, code, now, was)
		}
	}
}

// On a terminal the demo asks the person.
func TestDemoOnTerminal(t *testing.T) {
	t.Parallel()
	x := started(t, t.TempDir(), "demo")
	x.wait("│ │ rm -rf build")
	x.press("w")
	x.wait("tell the agent: ")
	x.types("keep it")
	x.wait("keep it")
	x.types("\r")
	x.wait("DENY   Bash  rm -rf build")
	x.wait("| keep it")
	x.press("d")
	x.press("s")
	x.wait("this session\n")
	x.wait("ALLOW  Bash  git push origin main")
	if code, shown := x.end(); code != 0 || !strings.Contains(shown, "12 tool uses: 5 allowed, 7 denied") {
		t.Errorf("exit code %d:\n%s", code, shown)
	}
}

// With JSON lines on standard output, the question goes to standard error.
func TestPromptBesideJSONL(t *testing.T) {
	t.Parallel()
	x := onTerminal(t, []string{bash("git push")}, append(pushes, "--output", "jsonl")...)
	x.wait(`{"type":"approval_required"`)
	x.wait("┌ Bash")
	x.press("o")
	x.wait(`"behavior":"allow"`)
	if code, shown := x.end(); code != 0 || !strings.Contains(shown, `"by":"person"`) {
		t.Errorf("exit code %d:\n%s", code, shown)
	}
}

// The following tests are about bugs of real approval prompts; the numbers are
// those of the table in docs/project/question-tests.md.

// Bug 1: a click that focused the window answered the question.
func TestBug01FocusAndMouse(t *testing.T) {
	t.Parallel()
	x := onTerminal(t, []string{bash("git push")}, pushes...)
	x.press("\x1b[I")
	for _, event := range []string{"\x1b[O", "\x1b[I", "\x1b[Mooo", "\x1b[M o!", "\x1b[<0;10;5M", "\x1b[<0;10;5m", "\x1b[200~o\x1b[201~", "okay", "o\r", "\x1bo", "\x1bOo"} {
		x.press(event)
	}
	x.press("d")
	x.decided("DENY git push")
}

// Bug 2: a key that was meant for something else answered. What was typed before
// the question appeared, or just after it, does not count.
func TestBug02TypedAhead(t *testing.T) {
	t.Parallel()
	const grace = 350 * time.Millisecond // package ask
	for range 50 {
		if longest := typedAhead(t, grace); longest < grace {
			return
		}
	}
	t.Error("on a machine this busy no key comes before it counts")
}

// typedAhead types keys before they count. It returns the longest time that a key may have
// come after its question: from the time of grace on it counts, and the rest is left out.
func typedAhead(t *testing.T, grace time.Duration) (longest time.Duration) {
	t.Helper()
	path, open := gate(t)
	x := onTerminal(t, []string{"I begin.", tool("Bash", map[string]any{"command": "git push"}, `,"gate":"`+path+`"`), bash("git push 2")}, pushes...)
	x.wait("I begin.")
	x.types("o\no") // no question is open yet
	begun := time.Now()
	open()
	for _, first := range []bool{true, false} {
		x.wait("┌ Bash")
		x.types("o")
		if longest = max(longest, time.Since(begun)); longest >= grace {
			return longest
		}
		if begun = time.Now(); first { // the key begins the time of grace anew
			x.wait("o  once")
			x.types("o")
			if longest = max(longest, time.Since(begun)); longest >= grace {
				return longest
			}
		}
		x.wait(ask.Prompt)
		begun = time.Now()
		x.types("d")
		if first {
			x.wait("DENY   Bash  git push\n")
			x.types("o") // before the next
		}
	}
	x.decided("DENY git push", "DENY git push 2")
	return longest
}

// Bug 3: Shift+Tab in the text field allowed everything.
func TestBug03KeysInField(t *testing.T) {
	t.Parallel()
	x := onTerminal(t, []string{bash("git push"), bash("git push")}, pushes...)
	x.press("w")
	x.wait("tell the agent: ")
	for _, key := range []string{"o", "s", "a", "\x1b[Z", "\t", "\x1b[200~yes\ryes\x1b[201~", "\x1b[I", "!"} {
		x.types(key)
	}
	x.wait("osayes yes!")
	x.types("\r")
	x.wait("| osayes yes!")
	x.press("d")
	x.decided("DENY git push", "DENY git push")
}

// Bug 4: an arrow and Enter took the choice that had been there before. There is
// no selection to move, and Enter is not an answer.
func TestBug04ArrowsAndEnter(t *testing.T) {
	t.Parallel()
	x := onTerminal(t, []string{bash("git push")}, pushes...)
	x.press("\x1b[B")
	for _, key := range []string{"\r", "\x1b[A\r", "\n", " ", "\x1b[B\x1b[B\r"} {
		x.press(key)
	}
	x.press("d")
	x.decided("DENY git push")
}

// Bug 5: a question that was withdrawn passed its answer on to the next one. Bug
// 14: a key was used twice.
func TestBug05Withdrawn(t *testing.T) {
	t.Parallel()
	path, open := gate(t)
	x := onTerminal(t, []string{
		tool("Bash", map[string]any{"command": "git push 1"}, `,"cancel":true,"gate":"`+path+`"`),
		bash("git push 2"), bash("git push 3"),
	}, pushes...)
	x.wait("git push 1")
	x.wait(ask.Prompt)
	open()
	x.wait("no longer asked about Bash: ")
	x.types("o") // meant for the first
	x.wait("┌ Bash")
	x.wait("git push 2")
	x.types("o")
	x.press("o")
	x.wait("ALLOW  Bash  git push 2")
	x.press("d") // the same key would have allowed it
	x.decided("DENY git push 1", "ALLOW git push 2", "DENY git push 3")
}

// Bug 6: what was shown and what was granted differed.
func TestBug06GrantIsWhatIsShown(t *testing.T) {
	t.Parallel()
	x := onTerminal(t, []string{bash("git push origin a"), bash("git push origin a"), bash("git push origin ab"), bash("git push origin a b"), bash("git push -f origin a")}, pushes...)
	x.wait("s  this session  Bash(git push origin a) ")
	x.press("s")
	x.wait("this session\n")
	x.press("d")
	x.press("d")
	x.press("d")
	x.decided("ALLOW git push origin a", "ALLOW git push origin a", "DENY git push origin ab", "DENY git push origin a b", "DENY git push -f origin a")
}

// answerLadder takes the first rung of what may be denied for the session.
func (x *terminal) answerLadder() {
	x.t.Helper()
	x.wait("never this session: which one?   Esc  back\n")
	x.press("1")
}

// Bugs 7 and 8: tabs and invisible characters hid a part of the command.
func TestBug07HiddenText(t *testing.T) {
	t.Parallel()
	hidden := "git push\x1b[2K\r\u202E\u200B" + strings.Repeat(" ", 300) + "; git push\t\t--force “; git push”"
	x := onTerminal(t, []string{bash(hidden), tool("Task", map[string]any{"prompt": "a\x1b[1Ab", "subagent_type": "x\u202Ey"})},
		"--allow", "Bash", "--ask", "Bash(git push:*),Task")
	x.wait("│ │ git push<U+001B>[2K<U+000D><U+202E><U+200B><U+0020 x300>; git push⇥   ⇥   --force <U+201C>; git push<U+201D>\n")
	x.press("d")
	x.wait("subagent_type: x<U+202E>y\n")
	x.press("d")
	code, shown := x.end()
	for _, bad := range []string{"\x1b[2K", "\x1b[1A", "\u202E", "\u200B"} {
		if strings.Contains(shown, bad) {
			t.Errorf("the terminal was sent %q", bad)
		}
	}
	if code != 0 || strings.Count(shown, "DENY ") != 2 || strings.Contains(shown, "ran with") {
		t.Errorf("exit code %d\n%s", code, shown)
	}
}

// Bug 9: masking secrets hid the command. The question masks nothing, so that the
// person sees what will run.
func TestBug09NothingIsMasked(t *testing.T) {
	t.Parallel()
	command := "git push https://user:ghp_0123456789abcdefghijABCDEFGHIJ012345@host.example/x && echo AWS_SECRET_ACCESS_KEY=x > out"
	x := onTerminal(t, []string{bash(command)}, pushes...)
	x.wait("│ │ " + command + "\n")
	x.press("d")
	if code, shown := x.end(); code != 0 || strings.Contains(shown, "ran with") {
		t.Errorf("exit code %d\n%s", code, shown)
	}
}

// Bug 10: somebody who looked later saw no question. When the program continues
// after a stop, and when the window changes, the question is shown again.
func TestBug10ShownAgain(t *testing.T) {
	t.Parallel()
	x := onTerminal(t, []string{bash("git push origin main")}, pushes...)
	x.wait(ask.Prompt)
	if err := pty.Setsize(x.ctl, &pty.Winsize{Rows: 500, Cols: 40}); err != nil {
		t.Fatal(err)
	}
	x.wait("┌ Bash")
	x.types("o") // it has only just changed
	x.wait(ask.Prompt)
	x.cmd.Process.Signal(syscall.SIGCONT)
	x.wait("│ │ git push origin main")
	x.press("d")
	x.decided("DENY git push origin main")
}

// ^Z stops the program and restores the terminal; when it continues, the question
// is shown again, and keys that were typed meanwhile are dropped.
func TestSuspend(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	args := append([]string{"agent-wrapper", "run", "--prompt", bash("git push origin main"), "--agent-command", "pretend-agent", "--cwd", home}, pushes...)
	x := startedBy(t, home, "xterm", exec.Command("pretend-shell", args...))
	was := x.was
	x.press("\x1a")
	x.wait("[stopped]")
	if now := x.modes(); now != was {
		t.Errorf("the terminal is %+v, and was %+v", now, was)
	}
	x.types("o\r")
	x.wait("[goes on]")
	x.wait("│ │ git push origin main")
	x.press("d")
	x.wait("[ended 0]")
	if now := x.modes(); now != was {
		t.Errorf("the terminal is %+v, and was %+v", now, was)
	}
	x.decided("DENY git push origin main")
}

// Bug 12: questions of a dead agent came back.
func TestBug12AgentDies(t *testing.T) {
	t.Parallel()
	path, open := gate(t)
	audit := t.TempDir() + "/a.jsonl"
	x := onTerminal(t, []string{tool("Bash", map[string]any{"command": "git push"}, `,"die":true,"gate":"`+path+`"`)}, append(pushes, "--audit", audit)...)
	was := x.was
	x.wait(ask.Prompt)
	open()
	x.wait("no longer asked about Bash: ")
	x.types("o")
	code, shown := x.end()
	record, _ := os.ReadFile(audit)
	if code == 0 || strings.Contains(string(record), `"behavior":"allow"`) || !strings.Contains(string(record), `"behavior":"deny"`) || x.modes() != was {
		t.Errorf("exit code %d\n%s\n%s", code, shown, record)
	}
}

// Bug 13: a question stayed open although what it was decided by had changed:
// here by a deny for the session while another question waited.
func TestBug13DecidedAnew(t *testing.T) {
	t.Parallel()
	x := onTerminal(t, []string{tool("Bash", map[string]any{"command": "git push"}, `,"beside":[`+bash("git push")+`]`)}, pushes...)
	x.press("n")
	x.answerLadder()
	x.wait("┌ Bash")
	x.press("o")
	x.decided("DENY git push", "DENY git push")
}

// Questions are asked one at a time.
func TestOneAtATime(t *testing.T) {
	t.Parallel()
	x := onTerminal(t, []string{tool("Bash", map[string]any{"command": "git push 1"}, `,"beside":[`+bash("git push 2")+`,`+bash("git push 3")+`]`)}, pushes...)
	for i := range 3 {
		x.wait("┌ Bash")
		x.wait(ask.Prompt)
		if n := strings.Count(x.screen(), "┌ Bash"); n != i+1 {
			t.Errorf("%d questions, and %d are answered", n, i)
		}
		x.types("d")
	}
	if code, shown := x.end(); code != 0 || strings.Count(shown, "DENY ") != 3 {
		t.Errorf("exit code %d\n%s", code, shown)
	}
}

// Several questions of one kind are shown, and one key answers them; what is asked
// about for another reason is asked by itself.
func TestTogetherOnTerminal(t *testing.T) {
	t.Parallel()
	x := onTerminal(t, []string{tool("Bash", map[string]any{"command": "git push 1"}, `,"beside":[`+bash("git push 2")+`,`+bash("npm install x")+`,`+bash("git push 3")+`]`)},
		"--allow", "Bash", "--ask", "Bash(git push:*),Bash(npm install:*)")
	x.wait("┌ Bash")
	x.wait("3 other questions wait")
	npmFirst := strings.Contains(x.screen(), "│ │ npm install x")
	if npmFirst {
		x.press("d")
		x.wait("2 other questions wait, of this kind:  m  shows all")
	} else {
		x.wait(", 2 of this kind:  m  shows these, for one answer")
	}
	x.press("m")
	x.wait("--- 3 of 3")
	x.wait("one answer to these 3:  o  once   d  deny   Esc  back")
	x.press("o")
	if !npmFirst {
		x.wait("│ │ npm install x")
		x.press("d")
	}
	code, shown := x.end()
	if code != 0 || strings.Count(shown, "ALLOW  Bash  git push") != 3 || strings.Count(shown, "ran with") != 3 || !strings.Contains(shown, "DENY   Bash  npm install x") {
		t.Errorf("exit code %d\n%s", code, shown)
	}
}

// Bug 15: other output was written into the question.
func TestBug15NothingBetween(t *testing.T) {
	t.Parallel()
	path, open := gate(t)
	x := onTerminal(t, []string{tool("Bash", map[string]any{"command": "git push"}, `,"say":"┌ Bash\n│ │ git status\n│\n│ o  once\n└ > ","gate":"`+path+`"`)}, pushes...)
	x.wait(ask.Prompt)
	open()
	x.types("x")
	x.wait(ask.Prompt)
	if strings.Contains(x.screen(), "git status") {
		t.Errorf("something is written into the question:\n%s", x.screen())
	}
	x.types("d")
	x.wait("git status") // now it may
	x.decided("DENY git push")
}

// Bug 16: the denial of a background agent was dropped; every answer arrives. Bug
// 20: the rules did not apply to a subagent.
func TestBug16Subagent(t *testing.T) {
	t.Parallel()
	x := onTerminal(t, []string{
		tool("Bash", map[string]any{"command": "git push"}, `,"agent":"helper"`),
		tool("Bash", map[string]any{"command": "rm x"}, `,"agent":"helper"`),
	}, append(pushes, "--deny", "Bash(rm:*)")...)
	x.wait("┌ Bash (subagent helper)")
	x.press("w")
	x.wait("tell the agent: ")
	x.types("not you")
	x.wait("not you")
	x.types("\r")
	x.wait("DENY   Bash  git push (subagent helper)")
	x.wait("| not you") // it reached the agent
	x.wait("DENY   Bash  rm x (subagent helper)")
	x.decided("DENY git push (subagent helper)", "DENY rm x (subagent helper)")
}

// Bug 17: an approval was lost on its way to the record.
func TestBug17Recorded(t *testing.T) {
	t.Parallel()
	audit := t.TempDir() + "/a.jsonl"
	x := onTerminal(t, []string{bash("git push 1"), bash("git push 2")}, append(pushes, "--audit", audit)...)
	x.press("o")
	x.press("d")
	x.decided("ALLOW git push 1", "DENY git push 2")
	record, _ := os.ReadFile(audit)
	if strings.Count(string(record), `"by":"person"`) != 2 || strings.Count(string(record), `"behavior":"allow"`) != 1 {
		t.Errorf("the record:\n%s", record)
	}
}

// Bug 18: an ask weakened a deny.
func TestBug18DenyBeatsAsk(t *testing.T) {
	t.Parallel()
	x := onTerminal(t, []string{bash("git push")}, append(pushes, "--deny", "Bash(git push:*)", "--session-allow", "Bash(git push:*)")...)
	if shown := x.decided("DENY git push"); strings.Contains(shown, "┌ Bash") {
		t.Errorf("somebody was asked:\n%s", shown)
	}
}

// Bug 19: one invalid entry silently disabled all rules.
func TestBug19BadPolicy(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "p.toml")
	if err := os.WriteFile(file, []byte("deny = [\"Bash(rm:*)\"]\nask = [\"Bash(\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	x := onTerminal(t, []string{bash("git push")}, append(pushes, "--policy", file)...)
	if code, shown := x.end(); code != codeUsage || strings.Contains(shown, "ran with") || !strings.Contains(shown, "p.toml:2:") {
		t.Errorf("exit code %d\n%s", code, shown)
	}
}

// Bug 22: an agent answered in a person's name. It has no terminal to type on,
// and its text answers nothing.
func TestBug22AgentCannotAnswer(t *testing.T) {
	t.Parallel()
	x := onTerminal(t, []string{tool("Bash", map[string]any{"command": "git push"}, `,"type":"o","say":"o"`)}, pushes...)
	x.press("d")
	if shown := x.decided("DENY git push"); !strings.Contains(shown, "no terminal: ") {
		t.Errorf("the agent has a terminal:\n%s", shown)
	}
}

// What the person writes in the editor is decided again: here it is denied, asked
// about again, and left unchanged.
func TestEditOnTerminal(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	script := filepath.Join(home, "edits")
	edits := func(text string) {
		if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	push := bash("git push")
	args := append([]string{"run", "--prompt", strings.Join([]string{push, push, push, push}, "\n"), "--agent-command", "pretend-agent", "--cwd", home, "--deny", "Bash(rm:*)"}, pushes...)
	cmd := exec.Command("agent-wrapper", args...)
	cmd.Env = []string{"EDITOR=pretend-editor " + script}
	x := startedBy(t, home, "xterm", cmd)
	was := x.was
	edits("rm -rf build\n")
	x.press("e")
	x.wait("editing git push")
	x.wait("DENY   Bash  git push") // as the agent requested it; the rule is that of rm
	x.wait("Bash(rm:*)")
	edits("git push --dry-run\n")
	x.press("e")
	x.wait("│ │ git push --dry-run\n")
	x.press("o")
	x.wait(`ran with {"command":"git push --dry-run"}`)
	edits("git status\n")
	x.press("e")
	x.wait(`ran with {"command":"git status"}`)
	edits("git push\n")
	x.press("e")
	x.wait("nothing was changed")
	edits("fail")
	x.press("e")
	x.wait("nothing was edited: pretend-editor: exit status 3")
	x.press("d")
	code, shown := x.end()
	if now := x.modes(); now != was || code != 0 || strings.Count(shown, "ran with") != 2 || !strings.Contains(shown, "mode 600 in 700") {
		t.Errorf("exit code %d\n%s", code, shown)
	}
}
