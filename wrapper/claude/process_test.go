//go:build linux

package claude

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// part is the environment variable that selects what the test binary plays in the
// tests of processes.
const part = "AGENT_WRAPPER_TEST_PART"

func TestMain(m *testing.M) {
	if os.Getenv(part) == "" {
		os.Setenv("HOME", "/no/home") // nothing of the developer's settings counts
		os.Unsetenv("CLAUDE_CONFIG_DIR")
		os.Exit(m.Run())
	}
	time.AfterFunc(time.Minute, func() { os.Exit(9) }) // in case the test fails to end it
	switch os.Getenv(part) {
	case "agent":
		os.Exit(playAgent())
	case "wrapper":
		os.Exit(playWrapper())
	case "child":
		register("child")
		select {}
	}
}

// Environment variables: the socket at which the test counts living processes,
// and whether the agent has a child.
const (
	socket = "AGENT_WRAPPER_TEST_SOCKET"
	parent = "AGENT_WRAPPER_TEST_PARENT"
)

// register keeps a connection to the test open for as long as this process lives.
func register(name string) net.Conn {
	c, err := net.Dial("unix", os.Getenv(socket))
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(c, name)
	return c
}

// playAgent plays an agent CLI that may start a child in a session of its own, as
// the real one does for its shell. The prompt selects how it continues.
func playAgent() int {
	defer register("agent").Close()
	if os.Getenv(parent) != "" {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), part+"=child")
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := child.Start(); err != nil {
			panic(err)
		}
	}
	f := &fake{heard: bufio.NewScanner(os.Stdin)}
	r, w := io.Pipe()
	f.out = w
	go io.Copy(os.Stdout, r)
	prompt := f.ready()["message"].(object)["content"].(string)
	fmt.Fprintln(os.Stderr, "complaint about", prompt)
	switch prompt {
	case "crash":
		return 7
	case "hang":
		f.asks("u1", "Bash", bash("x"))
		defer register("deaf").Close()
		select {}
	case "breach":
		f.results("u1", true, "config")
		select {}
	case "shell":
		f.shells()
		return 0
	}
	conversation(f)
	return 0
}

// shells plays an agent CLI that has its shell run what was allowed, twice, and what was
// denied. It tells how each ended in its last message but the last result.
func (f *fake) shells() {
	dir, _ := os.Getwd()
	said := ""
	for i, command := range []string{"echo good", "echo good", "echo bad"} {
		id := fmt.Sprint("u", i)
		if i != 1 { // the second is the first one once more
			input := object{"command": command}
			f.wants(id, "Bash", input)
			f.hooks(id, "Bash", input, dir)
			if hookDecision(f.hear()) == "ask" {
				f.asks(id, "Bash", input)
				f.hear()
			}
		}
		shell := exec.Command(os.Getenv("CLAUDE_CODE_SHELL"), "-c", "'"+os.Getenv("CLAUDE_CODE_SHELL_PREFIX")+"' \"eval '"+command+"' && pwd -P >| /tmp/claude-0000-cwd\"")
		out, _ := shell.Output()
		said += fmt.Sprintf("%d %s;", shell.ProcessState.ExitCode(), strings.TrimSpace(string(out)))
		if i == 2 {
			f.say(object{"type": "assistant", "message": object{"role": "assistant", "content": []any{object{"type": "text", "text": said}}}})
		}
		if i != 1 {
			f.results(id, i == 0, map[bool]string{true: "", false: "reject"}[i == 0])
		}
	}
	for f.hear() != nil {
	}
}

// playWrapper plays a wrapper whose person never answers.
func playWrapper() int {
	os.Setenv(part, "agent")
	nobody := decider(func(ctx context.Context, use permission.ToolUse) (permission.Result, error) {
		<-ctx.Done()
		return permission.Result{}, ctx.Err()
	})
	_, err := drive(context.Background(), launch{Agent: Agent{Command: []string{os.Args[0]}}, Task: wrapper.Task{Prompt: "hang", Dir: "/", Decider: nobody}})
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// lives accepts a connection from each living process; the connection closes when
// the process ends.
type lives struct {
	t testing.TB
	l net.Listener
}

func listen(t testing.TB) *lives {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	t.Setenv(socket, path)
	return &lives{t, l}
}

// next returns n living processes by name.
func (l *lives) next(n int) map[string]net.Conn {
	found := map[string]net.Conn{}
	for range n {
		c, err := l.l.Accept()
		if err != nil {
			l.t.Fatal(err)
		}
		name, err := bufio.NewReader(c).ReadString('\n')
		if err != nil {
			l.t.Fatal(err)
		}
		found[strings.TrimSpace(name)] = c
	}
	return found
}

// dies waits for the end of a process.
func (l *lives) dies(name string, c net.Conn) {
	c.SetReadDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.ReadAll(c); err != nil {
		l.t.Errorf("the %s lives on: %v", name, err)
	}
}

// processOptions returns options with the test binary as the agent CLI.
func processOptions(t testing.TB, prompt string, d wrapper.Decider, events *recorder) launch {
	t.Setenv(part, "agent")
	return launch{Agent: Agent{Command: []string{os.Args[0]}}, Task: wrapper.Task{Prompt: prompt, Dir: t.TempDir(), Decider: d, Events: events.take}}
}

func TestProcess(t *testing.T) {
	l := listen(t)
	events := &recorder{}
	out, err := drive(t.Context(), processOptions(t, "go", byWord, events))
	if err != nil || out.Allowed != 1 || out.Denied != 1 || out.Text != "done" {
		t.Errorf("got %+v, %v", out, err)
	}
	l.dies("agent", l.next(1)["agent"])
}

// TestProcessShell: the shell of the agent runs what was allowed, and that once; the rest
// is in the record and among the events. What was denied and was to run ends the agent.
func TestProcessShell(t *testing.T) {
	if findBash(nil) == "" {
		t.Skip("there is no bash")
	}
	l := listen(t)
	events := &recorder{}
	var notes []string
	o := processOptions(t, "shell", decider(func(_ context.Context, use permission.ToolUse) (permission.Result, error) {
		if strings.Contains(string(use.Input), "good") {
			return allow(use)
		}
		return deny("no")
	}), events)
	o.Note = func(_, words string) error { notes = append(notes, words); return nil }
	out, err := drive(t.Context(), o)
	if breach := new(wrapper.Breach); !errors.As(err, &breach) || breach.ToolUseID != "u2" || out.Allowed != 1 || out.Denied != 1 {
		t.Errorf("got %+v, %v", out, err)
	}
	if len(notes) != 2 || !strings.Contains(notes[0], "nobody has allowed this command") || !strings.Contains(notes[1], "echo bad") {
		t.Errorf("the record has %q", notes)
	}
	if !slices.ContainsFunc(events.events, func(e wrapper.Event) bool { return e.Text == "0 good;126 ;126 ;" }) {
		t.Error("the commands ended otherwise")
	}
	told := 0
	for _, e := range events.of(wrapper.ErrorEvent) {
		if strings.Contains(e.Message, "did not run") {
			told++
		}
	}
	if told != 2 {
		t.Errorf("%d of them were told", told)
	}
	l.dies("agent", l.next(1)["agent"])
}

// TestProcessCrash: the error of an agent that breaks off has the end of its
// standard error.
func TestProcessCrash(t *testing.T) {
	listen(t)
	_, err := drive(t.Context(), processOptions(t, "crash", byWord, &recorder{}))
	if !errors.Is(err, errBrokeOff) || !strings.Contains(err.Error(), "complaint about crash") {
		t.Errorf("got %v", err)
	}
}

// TestProcessBreach: after a breach the agent is dead, and so is its child in a
// session of its own.
func TestProcessBreach(t *testing.T) {
	l := listen(t)
	t.Setenv(parent, "1")
	done := make(chan error)
	o := processOptions(t, "breach", byWord, &recorder{})
	held := make(chan struct{})
	start, err := starter(o.Command, o.Dir, os.Environ(), func([]byte) {})
	if err != nil {
		t.Fatal(err)
	}
	o.Start = func(args []string) (wrapper.Process, error) {
		p, err := start(args)
		return &delayed{p, held}, err
	}
	go func() {
		_, err := drive(t.Context(), o)
		done <- err
	}()
	living := l.next(2) // both are running before the agent's output is read
	close(held)
	var breach *wrapper.Breach
	if err := <-done; !errors.As(err, &breach) {
		t.Errorf("got %v", err)
	}
	for name, c := range living {
		l.dies(name, c)
	}
}

// delayed is a process whose output is not read until held is closed.
type delayed struct {
	wrapper.Process
	held chan struct{}
}

func (d *delayed) Read(p []byte) (int, error) {
	<-d.held
	return d.Process.Read(p)
}

// TestKilledWrapper: a wrapper that is killed with SIGKILL takes the agent with
// it, although the agent never reads its input again.
func TestKilledWrapper(t *testing.T) {
	l := listen(t)
	dir := t.TempDir()
	wrapper := exec.Command(os.Args[0])
	wrapper.Env = append(os.Environ(), part+"=wrapper")
	wrapper.Dir = dir
	wrapper.Stderr = os.Stderr
	if err := wrapper.Start(); err != nil {
		t.Fatal(err)
	}
	living := l.next(2)
	wrapper.Process.Kill()
	wrapper.Wait()
	l.dies("agent", living["deaf"])
}
