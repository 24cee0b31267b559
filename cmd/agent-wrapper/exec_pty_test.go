//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/run/execution"
	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
)

// kubectlStub is the kubectl of these tests: it records each call, prints what it
// got, and behaves as its second argument says.
const kubectlStub = `#!/bin/bash
echo "$*" >> "$HOME/calls"
test -n "$KUBECONFIG" && echo "$KUBECONFIG" > "$HOME/copy"
case $2 in
code) exit 5 ;;
input) echo "ready"; read -r x; echo "got <$x>" ;;
all) cat ;;
wait) echo "ready"; sleep 60 & wait ;;
esac
`

// withStub creates a home, which is also the workspace, with the stub in its bin.
func withStub(t *testing.T) string {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"bin/kubectl": kubectlStub, "bin/halt": "#!/bin/sh\necho RAN >> \"$HOME/calls\"\n", "bin/wipefs": "#!/bin/sh\necho \"wipefs $*\" >> \"$HOME/calls\"\n", "config": "clusters: []\n", "other": "clusters: [] # other\n"} {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

// script runs lines of a shell on a new terminal, in which x is exec.
func script(t *testing.T, home string, lines ...string) *terminal {
	t.Helper()
	text := "cd ~ || exit\nx() { agent-wrapper exec \"$@\"; echo \"code $?\"; }\n" + strings.Join(lines, "\n")
	cmd := exec.Command("bash", "--norc", "-c", text)
	cmd.Env = []string{"PATH=" + home + "/bin:" + os.Getenv("PATH"), "LANG=C.UTF-8"}
	return startedBy(t, home, "xterm", cmd)
}

// calls returns the calls of the stub.
func (x *terminal) calls() string {
	x.t.Helper()
	data, err := os.ReadFile(filepath.Join(x.home, "calls"))
	if err != nil && !os.IsNotExist(err) {
		x.t.Fatal(err)
	}
	return strings.ReplaceAll(strings.TrimSpace(string(data)), "\n", "|")
}

// finished waits for the end and checks the exit codes, the calls of the stub and
// the number of questions.
func (x *terminal) finished(codes, calls string, asked int) string {
	x.t.Helper()
	_, shown := x.end()
	var got []string
	for line := range strings.Lines(sequence.ReplaceAllString(shown, "")) {
		if code, ok := strings.CutPrefix(strings.TrimSpace(line), "code "); ok {
			got = append(got, code)
		}
	}
	if strings.Join(got, " ") != codes || x.calls() != calls || strings.Count(shown, "┌ Bash") != asked {
		x.t.Errorf("codes %q, want %q; calls %q, want %q; asked %d times, want %d\n%s",
			strings.Join(got, " "), codes, x.calls(), calls, strings.Count(shown, "┌ Bash"), asked, shown)
	}
	return shown
}

// history returns the output of exec history for a home.
func (x *terminal) history() string {
	x.t.Helper()
	cmd := exec.Command("agent-wrapper", "exec", "history")
	cmd.Env = append(os.Environ(), "HOME="+x.home)
	out, err := cmd.Output()
	if err != nil {
		x.t.Fatal(err)
	}
	var rows []string
	for i, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		if f := strings.Fields(line); i > 0 {
			rows = append(rows, f[2]+" "+f[3]+" "+f[4])
		}
	}
	return strings.Join(rows, "|")
}

// Once runs and deny does not; tier 1 is not asked about; the exit code is the
// command's.
func TestExecAsks(t *testing.T) {
	t.Parallel()
	x := script(t, withStub(t), "x -- kubectl get pods", "x -- kubectl apply code", "x -- kubectl apply x")
	x.press("o")
	x.wait("code 5")
	x.press("d")
	x.finished("0 5 3", "get pods|apply code", 2)
	if got, want := x.history(), "denied 2 -|approved 2 5|auto 1 0"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// An edited command is decided again and runs in place of the original; history
// shows it.
func TestExecEdited(t *testing.T) {
	t.Parallel()
	home := withStub(t)
	if err := os.WriteFile(filepath.Join(home, "edit"), []byte("kubectl apply 'y  z'; kubectl get code"), 0o600); err != nil {
		t.Fatal(err)
	}
	x := script(t, home, "export EDITOR=\"pretend-editor $HOME/edit\"", "x --kubeconfig config -- kubectl apply x", "agent-wrapper exec history --json")
	x.press("e")
	x.wait("kubectl apply 'y  z'; kubectl get code")
	x.press("o")
	x.wait(`"command":"kubectl apply 'y  z'; kubectl get code"`)
	x.finished("5", "apply y  z|get code", 2)
	if copied, err := os.ReadFile(filepath.Join(home, "copy")); err != nil || !strings.Contains(string(copied), "/exec-runs/") {
		t.Errorf("%s, %v", copied, err)
	}
}

// The question shows the kubeconfig that is used.
func TestExecShowsKubeconfig(t *testing.T) {
	t.Parallel()
	x := script(t, withStub(t), "x --kubeconfig config -- kubectl apply x")
	x.wait(x.home + "/config")
	x.press("o")
	x.finished("0", "apply x", 1)
	copied, err := os.ReadFile(filepath.Join(x.home, "copy"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(strings.TrimSpace(string(copied))); !os.IsNotExist(err) {
		t.Errorf("the copy %s: %v", copied, err)
	}
}

// An answer for the session applies to further runs there, but not to another
// command, workspace, kubeconfig or terminal, and not after it was revoked.
func TestExecSession(t *testing.T) {
	t.Parallel()
	home := withStub(t)
	x := script(t, home,
		"x -- kubectl apply x", "x -- kubectl apply x", "x --no-input -- kubectl delete x", "x --no-input --kubeconfig config -- kubectl apply x",
		"mkdir sub; x --no-input --cwd sub -- kubectl apply x", "x --no-input --temp-dir -- kubectl apply x", "x --no-input --session other -- kubectl apply x",
		"agent-wrapper exec session list", "agent-wrapper exec session clear", "x --no-input -- kubectl apply x")
	x.press("s")
	x.wait("allow Bash(kubectl apply x) is kept for this session, until ")
	x.wait("rules taken back: 1")
	shown := x.finished("0 0 3 3 3 3 3 3", "apply x|apply x", 1)
	if !strings.Contains(shown, "allow  Bash(kubectl apply x)  "+home) {
		t.Errorf("the list:\n%s", shown)
	}
	if got, want := x.history(), "denied 2 -|denied 2 -|denied 2 -|denied 2 -|denied 2 -|denied 2 -|approved 2 0|approved 2 0"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	x = script(t, home, "x -- kubectl apply x")
	x.press("s")
	x.finished("0", "apply x|apply x|apply x", 1)
	x = script(t, home, "x --no-input -- kubectl apply x") // another terminal
	x.finished("3", "apply x|apply x|apply x", 0)
}

// A deny for the session applies too, and a rule expires.
func TestExecSessionEnds(t *testing.T) {
	t.Parallel()
	x := script(t, withStub(t), "x --session-ttl 1ns -- kubectl apply x", "x --no-input -- kubectl apply x", "x -- kubectl delete x", "x -- kubectl delete x")
	x.press("s")
	x.wait("code 3")
	x.press("n")
	x.answerLadder()
	x.wait("deny Bash(kubectl delete x) is kept for this session")
	x.finished("0 3 3 3", "apply x", 3) // one of them is drawn twice
}

// A question that is not answered in time is denied.
func TestExecNotAnswered(t *testing.T) {
	t.Parallel()
	x := script(t, withStub(t), "x --ask-timeout 600ms -- kubectl apply x")
	x.wait("(not answered within 600ms)")
	x.finished("3", "", 1)
}

// keptFor writes rules that a session named kept allows, in the form in which
// answers are kept.
func keptFor(t *testing.T, home string, rules ...string) {
	t.Helper()
	var all []execution.Rule
	for _, rule := range rules {
		all = append(all, execution.Rule{
			Scope: execution.Scope{Session: "kept", Dir: home}, List: "allow", Text: rule, At: time.Now(), Until: time.Now().Add(time.Hour),
		})
	}
	if err := execution.SessionsAt(filepath.Join(home, ".local/state/agent-wrapper", sessionsDir)).Keep(time.Now(), all...); err != nil {
		t.Fatal(err)
	}
}

// Tier 3 is refused without a question, whatever is allowed for a session by
// whatever means.
func TestExecRefuses(t *testing.T) {
	t.Parallel()
	home := withStub(t)
	keptFor(t, home, "Bash(halt)", "Bash(wipefs:*)", "Bash(wipefs -a x)", "Bash(kubectl:*)")
	if err := os.WriteFile(filepath.Join(home, "p.toml"), []byte("approved = ['Bash(halt)', 'Bash(wipefs:*)']\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	x := script(t, home,
		"x --session-allow Bash -- 'kubectl get pods; halt'", "x --session-allow 'Bash(halt)' -- halt", "x --session-allow 'Bash(wipefs:*),Bash(wipefs -a x)' -- wipefs -a x",
		"x --policy p.toml -- halt", "x --policy p.toml -- wipefs -a x", "x --session kept -- halt", "x --session kept -- wipefs -a x",
		"x --session kept -- 'wipefs x; kubectl delete x; wipefs -a x'", "x --session kept --allow Bash -- halt", "x --session kept -- wipefs x")
	x.wait("it runs only if a rule of the policy names it (Bash(halt) is a rule of the session)")
	x.finished("3 3 3 3 3 3 3 3 3 0", "wipefs x", 0)
}

// Only a rule of the policy that names it lets tier 3 run or be asked about. It
// can then be approved once, and no rule can be kept.
func TestExecTier3(t *testing.T) {
	t.Parallel()
	home := withStub(t)
	keptFor(t, home, "Bash(halt)", "Bash(wipefs:*)")
	x := script(t, home, "x --allow 'Bash(halt)' -- halt", "x --session kept --ask 'Bash(wipefs:*)' -- wipefs -a x", "x --session kept --ask 'Bash(wipefs:*)' -- wipefs -a x")
	x.press("o")
	x.wait("code 0")
	x.press("d")
	shown := x.finished("0 0 3", "RAN|wipefs -a x", 2)
	if strings.Contains(shown, "s  this session") {
		t.Errorf("an answer for the session is offered:\n%s", shown)
	}
}

// A rule that is kept for tier 2 does not apply to tier 3 commands of the same
// program.
func TestExecKeepsNoTier3(t *testing.T) {
	t.Parallel()
	x := script(t, withStub(t), "x -- wipefs x", "x -- wipefs x", "x --no-input -- wipefs y", "x -- wipefs -a x")
	x.press("s")
	x.wait("allow Bash(wipefs x) is kept for this session, until ")
	shown := x.finished("0 0 3 3", "wipefs x|wipefs x", 1)
	if strings.Contains(shown, "any `wipefs` command") {
		t.Errorf("a rule for the program is offered:\n%s", shown)
	}
}

// The command has the terminal: it reads input and can be interrupted.
func TestExecHasTerminal(t *testing.T) {
	t.Parallel()
	x := script(t, withStub(t), "x --allow Bash -- kubectl x input", "x --allow Bash -- kubectl x wait", "x --allow Bash -- kubectl x input")
	x.wait("ready\n")
	x.types("hello\r")
	x.wait("got <hello>")
	x.wait("ready\n")
	x.types("\x03")
	x.wait("code 130")
	x.wait("ready\n")
	x.types("again\r")
	x.finished("0 130 0", "x input|x wait|x input", 0)
}

// ^Z stops the command and exec, and fg continues both.
func TestExecStopped(t *testing.T) {
	t.Parallel()
	x := script(t, withStub(t), "set -m", "agent-wrapper exec --allow Bash -- kubectl x input; echo \"first $?\"",
		"read -r line; echo \"meanwhile <$line>\"", "fg; echo \"code $?\"")
	x.wait("ready\n")
	x.types("\x1a")
	x.wait("first 148")
	x.types("me\r")
	x.wait("meanwhile <me>")
	x.wait("agent-wrapper exec") // printed by fg
	x.types("you\r")
	x.wait("got <you>")
	x.finished("0", "x input", 0)
}

// In an orphaned process group ^Z has no effect.
func TestExecNotStopped(t *testing.T) {
	t.Parallel()
	x := script(t, withStub(t), "x --allow Bash -- kubectl x input")
	x.wait("ready\n")
	x.types("\x1a")
	x.wait("^Z")
	x.types("you\r")
	x.wait("got <you>")
	x.finished("0", "x input", 0)
}

// If standard input is something else, the question still appears on the
// terminal.
func TestExecAsksBesideInput(t *testing.T) {
	t.Parallel()
	x := script(t, withStub(t), "echo manifest | x -- kubectl apply all")
	x.press("o")
	x.wait("manifest\n")
	x.finished("0", "apply all", 1)
}

// At the time limit everything that the command started ends, and the terminal is
// usable.
func TestExecLimit(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	x := script(t, withStub(t), "x --allow Bash --timeout 1s -- 'exec kubectl x wait'", "read -r line; echo \"still <$line>\"")
	x.wait("ended after 1s: the time limit")
	x.types("here\r")
	x.wait("still <here>")
	x.finished("143", "x wait", 0)
	if n := processesOf(t, x.home); len(n) > 0 {
		t.Errorf("still there: %v", n)
	}
}

// A signal to exec ends the command, and the private files are removed.
func TestExecSignalled(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	x := script(t, withStub(t), "agent-wrapper exec --kubeconfig config --temp-dir --allow Bash -- 'pwd > ~/temp; exec kubectl x wait' & wait $!; echo \"code $?\"")
	x.wait("ready\n")
	for _, pid := range processesOf(t, x.home) {
		if line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); strings.HasPrefix(string(line), "agent-wrapper\x00exec") {
			syscall.Kill(pid, syscall.SIGTERM)
		}
	}
	x.finished("143", "x wait", 0)
	for _, name := range []string{"copy", "temp"} {
		path, err := os.ReadFile(filepath.Join(x.home, name))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(strings.TrimSpace(string(path))); !os.IsNotExist(err) {
			t.Errorf("%s %s: %v", name, path, err)
		}
	}
}

// processesOf returns the live processes with this home, except our shells.
func processesOf(t *testing.T, home string) (found []int) {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range dirs {
		env, err := os.ReadFile(file)
		if err != nil || !strings.Contains("\x00"+string(env), "\x00HOME="+home+"\x00") {
			continue
		}
		var pid int
		fmt.Sscanf(file, "/proc/%d/", &pid)
		found = append(found, pid)
	}
	return found
}
