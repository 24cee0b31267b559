//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/sandbox/kernel"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
	"github.com/agent-wrapper/agent-wrapper/wrapper/claude"
)

// shellRow is a command, and what comes back of it.
type shellRow struct {
	Name, Command string
	Says          string // all of it, but for blanks at the ends; "" anything
	Not           string // what it must not say
	Fails         bool
	Exit          string // in what comes back
	More          in     // further fields of the input
}

func (x shellRow) call() call {
	input := in{"command": x.Command, "description": x.Name}
	for name, value := range x.More {
		input[name] = value
	}
	return call{Name: x.Name, Tool: "Bash", Input: input}
}

// shellRows are commands that come through the wrapper's shell as they would without it.
func shellRows(b *box) []shellRow {
	return []shellRow{
		{Name: "cd", Command: "cd sub && pwd", Says: b.Work + "/sub"},
		{Name: "where", Command: "pwd", Says: b.Work + "/sub"},
		{Name: "back", Command: "cd ..", Says: "(Bash completed with no output)"},
		{Name: "code", Command: "exit 7", Fails: true, Says: "Exit code 7"},
		{Name: "here", Command: "cat <<'EOF'\na 'b' \"c\" $d `e` \\f !g\nEOF", Says: "a 'b' \"c\" $d `e` \\f !g"},
		{Name: "quotes", Command: `echo 'it'"'"'s' "a\"b" \\ $'x\ny' '!'`, Says: "it's a\"b \\ x\ny !"},
		{Name: "unicode", Command: "echo a\u2028b\u00e9\U0001F600", Says: "a\u2028b\u00e9\U0001F600"},
		{Name: "nowhere", Command: "echo a >nul; echo b", Says: "b"},
		{Name: "pipe", Command: "cat a.txt | wc -l", Says: "1"},
		{Name: "input", Command: "cat < a.txt", Says: "alpha secret-of-a"},
		{Name: "syntax", Command: "echo 'open", Fails: true, Exit: "Exit code 2"},
		{Name: "missing", Command: "no-such-program", Fails: true, Exit: "Exit code 127"},
		{Name: "function", Command: "greet a", Says: "hello a"},
		{Name: "write", Command: "echo text > made.txt && cat made.txt", Says: "text"},
		{Name: "environment", Command: "printenv; cat /proc/self/environ | tr '\\0' '\\n'", Not: "dummy-key", Exit: "AGENT_WRAPPER_RUN=1"},
		{Name: "messaging", Command: "printenv", Not: "CLAUDE_CODE_MESSAGING", Exit: "TMPDIR="},
		{Name: "prefix", Command: "printenv | sort", Not: "CLAUDE_CODE_SHELL_PREFIX", Exit: "HOME="},
		{Name: "limit", Command: "sleep 3; echo after", Fails: true, Exit: "143", More: in{"timeout": 300}},
	}
}

// check compares what came back.
func (x shellRow) check(t *testing.T, m *model) {
	t.Helper()
	got, ok := m.result(x.Name)
	text := strings.TrimSpace(got.Text)
	switch {
	case !ok:
		t.Errorf("%s: nothing came back", x.Name)
	case got.Error != x.Fails, x.Says != "" && text != x.Says, !strings.Contains(text, x.Exit), x.Not != "" && strings.Contains(text, x.Not):
		t.Errorf("%s: error %v, %q", x.Name, got.Error, text)
	}
}

// again runs what has run once more, past the agent CLI: by the program that the CLI
// starts in front of each command, with the very text. Nobody has allowed that.
func again(command string) string {
	return `for p in "$TMPDIR"/../own/shell/agent-wrapper-shell; do ` +
		`"$p" "eval '` + command + `' < /dev/null && pwd -P >| $TMPDIR/claude-0000-cwd"; echo "code $?"; ` +
		`"$p" "` + command + `"; echo "code $?"; "$p"; echo "code $?"; done`
}

// TestShell: the commands of the agent run as they were allowed, each once, and without
// what the agent CLI authenticates with.
func TestShell(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) { testShell(t, r, nil) })
}

// TestShellInside is TestShell inside the sandbox, which limits what was allowed.
func TestShellInside(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		if err := kernel.Probe(t.Context()); err != nil {
			unable(t, err.Error())
		}
		testShell(t, r, insideRows)
	})
}

// insideRows are commands that the sandbox stops. What they name outside would run outside, since
// the person says yes.
func insideRows(b *box) []shellRow {
	b.write("repo/.gitignore", ".env\nsecrets\n")
	b.write("repo/.env", "KEY=secret-of-env\n")
	b.write("repo/secrets/x", "secret-of-x\n")
	b.write("home/.ssh/id_rsa", "secret-of-ssh\n")
	b.write("home/notes", "notes\n")
	return []shellRow{
		{Name: "write-out", Command: "echo x > " + b.Out + "/x", Fails: true, Exit: "Read-only file system"},
		{Name: "write-home", Command: `eval "$(echo 'echo x >> ~/.bashrc')"`, Fails: true, Exit: "Read-only file system"},
		{Name: "read-home", Command: "cat ~/notes", Says: "notes"},
		{Name: "read-denied", Command: "cat $(echo secrets)/x", Fails: true, Exit: "Permission denied"},
		{Name: "read-env", Command: "cat .e*", Fails: true, Exit: "Permission denied"},
		{Name: "read-ssh", Command: "cat ~/.ssh/*", Fails: true, Exit: "No such file"},
		{Name: "hooks", Command: `eval "$(echo 'echo x > .git/hooks/pre-commit')"`, Fails: true, Exit: "Read-only file system"},
		{Name: "network", Command: "exec 3<>/dev/tcp/127.0.0.1/" + listening(b.t), Fails: true, Exit: "Connection refused"},
		{Name: "temporary", Command: "echo t > /tmp/t && mktemp -p /tmp >/dev/null && echo kept > $TMPDIR/kept && cat /tmp/t", Says: "t"},
		{Name: "temporary-gone", Command: "cat $TMPDIR/kept; ls /tmp/t 2>/dev/null", Fails: true, Exit: "kept"},
		{Name: "processes", Command: "ps -e -o comm= 2>/dev/null | grep -c claude; ls /proc | grep -c '^[0-9]'", Not: "cannot"},
		{Name: "us", Command: "ls $TMPDIR/../own $TMPDIR/.agent/cc-socks/ 2>&1; echo end", Not: ".sock", Exit: "end"},
		{Name: "commit", Command: "git add made.txt && git -c user.name=a -c user.email=a@example.com commit -q -m x && git log --oneline | wc -l", Says: "2"},
		{Name: "pid", Command: "echo $PPID", Says: "1"},
		{Name: "serve", Command: "python3 -m http.server --bind 127.0.0.1 8123", More: in{"run_in_background": true}},
		{Name: "tasks", Command: `python3 -c 'import os; print(os.listdir(os.environ["TMPDIR"] + "/.agent"))'`, Says: "[]"},
		{Name: "served", Command: `until exec 3<>/dev/tcp/127.0.0.1/8123; do sleep 0.05; done 2>/dev/null; printf 'GET /a.txt HTTP/1.0\r\n\r\n' >&3; cat <&3`, Exit: "secret-of-a"},
		{Name: "output", Command: "grep -rhs GET $TMPDIR/.agent/claude-*; true", Exit: "/a.txt"},
	}
}

// sandboxed drives an agent whose commands run inside the sandbox; the arguments are the agent
// CLI, the workspace, the file with the MCP servers and the record, and "advice" if the
// agent is advised.
func sandboxed(args []string) error {
	rules := `mode = "bypassPermissions"
allow = ["Bash", "Agent", "mcp__marks__*", "WebFetch(allowed.example)"]
deny = ["Read(secrets/**)", "WebFetch(refused.example)"]`
	spec, err := policy.Parse([]byte(rules), "e2e")
	if err != nil {
		return err
	}
	r, err := engine.Load(engine.Options{Dir: args[1], Isolated: true, Settings: spec, Record: args[3], NoAdvice: len(args) < 5, Approver: agreeable{}})
	if err != nil {
		return err
	}
	if err := r.Within(); err != nil {
		return err
	}
	e, err := r.Open()
	if err != nil {
		return err
	}
	agent := claude.Agent{Command: args[:1], MCPConfig: args[2:3]}
	out, err := e.Drive(context.Background(), agent, wrapper.Task{Prompt: plainPrompt, Events: func(event wrapper.Event) {
		json.NewEncoder(os.Stdout).Encode(event)
	}})
	if err == nil && out.Failed != "" {
		err = errors.New(out.Failed)
	}
	if err := errors.Join(err, e.Close()); err != nil {
		return err
	}
	os.Exit(0)
	return nil
}

// agreeable is a person who says yes, so that only the sandbox stops something.
type agreeable struct{}

func (agreeable) Approve(context.Context, permission.Request) (permission.Answer, error) {
	return permission.Answer{Behavior: permission.Allow, Scope: permission.ScopeOnce}, nil
}

// TestShellInsideKilled: with the process that drives, whatever ends it, all that runs
// inside the sandbox ends, also what has put itself aside.
func TestShellInsideKilled(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		if err := kernel.Probe(t.Context()); err != nil {
			unable(t, err.Error())
		}
		b := newBoxIn(t, elsewhere(t))
		aside := shellRow{Name: "aside", Command: "setsid -f tail -f a.txt; touch begun; tail -f a.txt"}
		cmd := sandboxedCommand(t, r, b, startModel(t, script{"main": {turn{aside.call()}}}))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if !until(90*time.Second, func() bool { return b.has("repo/begun") }) {
			t.Error("the command never began")
		}
		cmd.Process.Kill()
		cmd.Wait()
		settled(t)
	})
}

// sandboxedCommand is sandboxed as a program.
func sandboxedCommand(t *testing.T, r release, b *box, m *model, more ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, append([]string{r.Path, b.Work, b.mcpConfig(), b.Dir + "/audit.jsonl"}, more...)...)
	cmd.Dir, cmd.Env = b.Dir, b.env(roleVar+"=sandboxed", "ANTHROPIC_BASE_URL="+m.URL)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return cmd
}

// runSandboxed runs it.
func runSandboxed(t *testing.T, r release, b *box, m *model, more ...string) {
	t.Helper()
	cmd := sandboxedCommand(t, r, b, m, more...)
	stop := m.onQuiet(3*time.Minute, func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	out, err := cmd.CombinedOutput()
	stop()
	if err != nil {
		t.Errorf("the run: %v: %s", err, lastOf(string(out)))
	}
	reap()
}

func testShell(t *testing.T, r release, more func(b *box) []shellRow) {
	b := newBox(t)
	if more != nil {
		b = newBoxIn(t, elsewhere(t))
	}
	b.write("home/.bashrc", "greet() { echo hello $1; }\n")
	rows := shellRows(b)
	if more != nil {
		rows = append(rows, more(b)...)
	}
	s := script{}
	for _, x := range rows {
		s["main"] = append(s["main"], turn{x.call()})
	}
	s["main"] = append(s["main"],
		turn{shellRow{Name: "once", Command: "touch once"}.call()},
		turn{shellRow{Name: "gone", Command: "rm once"}.call()},
		turn{shellRow{Name: "again", Command: again("touch once")}.call()},
		turn{{Name: "poke", Tool: "mcp__marks__poke", Input: in{"mark": "poked"}}},
		turn{{Name: "agent", Tool: "Agent", Input: in{"description": "d", "prompt": "go [[sub]]", "subagent_type": "general-purpose", "run_in_background": false}}},
		turn{shellRow{Name: "background-sleep", Command: "touch begun; tail -f sub/b.txt", More: in{"run_in_background": true}}.call()},
		turn{shellRow{Name: "begun", Command: "until test -e begun; do sleep 0.01; done"}.call()},
		turn{{Name: "task-stop", Tool: "TaskStop", Input: backgroundID}},
		turn{shellRow{Name: "after", Command: "until ! pgrep -f 'tail -f sub/b.tx[t]' >/dev/null; do sleep 0.01; done; echo ended"}.call()},
	)
	if more != nil && !long() { // else the agent CLI waits for the server at its end, and ends it
		s["main"] = append(s["main"], turn{{Name: "serve-stop", Tool: "TaskStop", Input: func(m *model) any { return taskOf(m, "serve") }}})
	}
	s["sub"] = []turn{{shellRow{Name: "sub-cd", Command: "cd sub; pwd"}.call()}, {shellRow{Name: "sub-where", Command: "pwd"}.call()}}
	m := startModel(t, s)
	begun := time.Now()
	if more != nil {
		runSandboxed(t, r, b, m)
	} else {
		wrapped{release: r, Policy: append([]string{"--dangerously-skip-permissions", "--mode", "bypassPermissions"}, openPolicy...)}.run(t, b, m, startWeb(t, b))
	}
	last, _ := m.result("after")
	settled(t)
	t.Logf("until the last result %v, until the end %v", last.At.Sub(begun), time.Since(begun))
	for _, x := range rows {
		x.check(t, m)
	}
	shellRow{Name: "after", Says: "ended"}.check(t, m)
	shellRow{Name: "sub-cd", Says: b.Work + "/sub"}.check(t, m)
	shellRow{Name: "sub-where", Says: b.Work}.check(t, m)
	if got, _ := m.result("poke"); got.Text != "marked" || !b.has("marks/poked") {
		t.Errorf("the MCP server: %q", got.Text)
	}
	if got, _ := m.result("again"); strings.Count(got.Text, "code 126") != 3 && more == nil || b.has("repo/once") {
		t.Errorf("a command ran again: %s", got.Text)
	}
	if record := b.readFile("audit.jsonl"); more == nil && strings.Count(record, "a command of the agent did not run: nobody has allowed this command") != 1 {
		t.Errorf("the record does not say that it was refused:\n%s", record)
	}
	if left, _ := filepath.Glob(b.Dir + "/tmp/agent-wrapper-*"); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// TestShellTime measures many commands in a row, of this agent-wrapper, without and with a
// sandbox, and, in turn with it, of another one (AW_E2E_BEFORE), which may be one without the
// shell's prefix. AW_E2E_COMMANDS is how many, once.
func TestShellTime(t *testing.T) {
	count, turns := 5, 1
	if long() {
		count, turns = 200, 3
	}
	if n, err := strconv.Atoi(os.Getenv("AW_E2E_COMMANDS")); err == nil {
		count, turns = n, 1
	}
	r := allReleases()[0]
	need(t, r)
	for range turns {
		for _, way := range []struct {
			path  string
			flags []string
		}{{os.Getenv("AW_E2E_BEFORE"), nil}, {binary(t), nil}, {binary(t), []string{"--sandbox"}}} {
			if way.path == "" {
				continue
			}
			b := newBoxIn(t, elsewhere(t))
			s := script{}
			for i := range count {
				s["main"] = append(s["main"], turn{shellRow{Name: fmt.Sprintf("n%d", i), Command: fmt.Sprintf("echo %d", i)}.call()})
			}
			m := startModel(t, s)
			cmd := wrapped{release: r, Policy: slices.Concat(openPolicy, way.flags)}.command(t, b, m, startWeb(t, b))
			cmd.Path = way.path
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, lastOf(string(out)))
			}
			var took []time.Duration // from one result to the next
			var at time.Time
			for i := range count {
				res, ok := m.result(fmt.Sprintf("n%d", i))
				if !ok {
					t.Fatal("not all ran")
				}
				if i > 0 {
					took = append(took, res.At.Sub(at))
				}
				at = res.At
			}
			first, _ := m.result("n0")
			slices.Sort(took)
			used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
			t.Logf("%s %s: %d commands in %v, the median of one %v; CPU of the whole run %v", way.path, way.flags, count, at.Sub(first.At).Round(time.Millisecond), took[len(took)/2], used)
			reap()
		}
	}
}

// elsewhere makes a directory that is not among the temporary ones, which are empty
// inside the sandbox.
func elsewhere(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		unable(t, err.Error())
	}
	for _, base := range []string{cache, "/home"} { // the second one if the home is temporary, and this is root
		if temporary(base) || os.MkdirAll(base, 0o700) != nil {
			continue
		}
		if dir, err := os.MkdirTemp(base, "agent-wrapper-e2e-"); err == nil {
			t.Cleanup(func() { os.RemoveAll(dir) })
			return dir
		}
	}
	unable(t, "there is no directory for the home of an agent outside "+strings.Join(temporaryDirs(), ", "))
	return ""
}

// temporaryDirs are the directories that are empty inside the sandbox.
func temporaryDirs() []string { return []string{os.TempDir(), "/tmp", "/var/tmp"} }

func temporary(dir string) bool {
	return slices.ContainsFunc(temporaryDirs(), func(temp string) bool {
		below, err := filepath.Rel(temp, dir)
		return err == nil && filepath.IsLocal(below)
	})
}

// listening gives a port of this machine on which somebody listens.
func listening(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}
