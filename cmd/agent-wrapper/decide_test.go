//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
)

// sdk is a client of decide.
type sdk struct {
	*testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	said  *bytes.Buffer // standard error
	home  string
	audit string
}

// startSDK starts decide in a home of its own.
func startSDK(t *testing.T, home string, flags ...string) *sdk {
	t.Helper()
	a := &sdk{T: t, home: home, audit: home + "/audit.jsonl", said: &bytes.Buffer{}}
	args := append([]string{"decide", "--stdio", "--approvals", "stdio", "--cwd", home, "--audit", a.audit, "--ask", "Bash(npm install:*)"}, flags...)
	a.cmd = exec.Command("agent-wrapper", args...)
	a.cmd.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+home+"/state", "XDG_CONFIG_HOME=")
	a.cmd.Stderr = a.said
	in, err := a.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := a.cmd.StdoutPipe()
	if err == nil {
		err = a.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	a.in, a.out = in, bufio.NewReader(out)
	t.Cleanup(func() { a.cmd.Process.Kill() })
	return a
}

// use asks about a command line. Whether it arrives does not matter.
func (a *sdk) use(id int, command string) {
	fmt.Fprintf(a.in, `{"jsonrpc":"2.0","id":%d,"method":"canUseTool","params":{"tool":"Bash","input":{"command":%q},"toolUseID":"u%d"}}`+"\n", id, command, id)
}

// next returns the next line with an id: its method, and the behavior.
func (a *sdk) next() (method, behavior, text string) {
	a.Helper()
	for {
		text, err := a.out.ReadString('\n')
		if err != nil {
			a.Fatalf("decide is gone: %v: %s", err, a.said)
		}
		var l struct {
			ID     json.RawMessage
			Method string
			Result struct{ Behavior string }
		}
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			a.Fatal(err)
		}
		if l.ID != nil {
			return l.Method, l.Result.Behavior, text
		}
	}
}

// rounds is how often a fault is tried.
func rounds() int {
	if os.Getenv("AW_LONG") != "" {
		return 200
	}
	return 10
}

// TestDecideClientKilled: a client that dies at any moment, before or while its requests
// are read, has everything denied that waits; the record is whole, says nothing was
// allowed that was asked, and the next start works.
func TestDecideClientKilled(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	home := t.TempDir()
	for round := range rounds() {
		a := startSDK(t, home)
		for i := range rand.IntN(30) {
			a.use(i, []string{"ls", "npm install a"}[i%2])
		}
		for range rand.IntN(10) {
			if rand.IntN(2) == 0 && a.out.Buffered() > 0 {
				a.next()
			}
		}
		fmt.Fprint(a.in, `{"jsonrpc":"2.0","id":99,"meth`[:rand.IntN(30)]) // in the middle of a line
		a.in.Close()
		if out, ok := a.cmd.Stdout.(io.Closer); ok && round%2 == 0 {
			out.Close()
		}
		go io.Copy(io.Discard, a.out)
		a.cmd.Wait()
		if code := a.cmd.ProcessState.ExitCode(); code != 0 && code != 1 {
			t.Errorf("exit code %d: %s", code, a.said)
		}
		verified(t, a.cmd, a.audit)
	}
	data, err := os.ReadFile(home + "/audit.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if strings.Contains(line, "npm install") && strings.Contains(line, `"behavior":"allow"`) {
			t.Errorf("allowed: %s", line)
		}
	}
}

// TestDecideKilled: a decide that is killed at any moment leaves a record that the next
// one goes on with.
func TestDecideKilled(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	home := t.TempDir()
	for range rounds() {
		a := startSDK(t, home, "--audit-sync", "none")
		n := 1 + rand.IntN(20)
		for i := range n {
			a.use(i, "ls")
		}
		for range rand.IntN(n) {
			a.next()
		}
		a.cmd.Process.Kill()
		a.cmd.Wait()
	}
	a := startSDK(t, home)
	a.use(1, "ls")
	if _, behavior, text := a.next(); behavior != "allow" {
		t.Error(text)
	}
	a.in.Close()
	a.cmd.Wait()
	verified(t, a.cmd, a.audit)
}

// TestDecideTerminated: SIGTERM denies what waits, closes the record and ends in order,
// also beside a client that does not read.
func TestDecideTerminated(t *testing.T) {
	t.Parallel()
	a := startSDK(t, t.TempDir())
	a.use(1, "npm install a")
	if method, _, text := a.next(); method != "approve" {
		t.Fatal(text)
	}
	a.cmd.Process.Signal(syscall.SIGTERM)
	if _, behavior, text := a.next(); behavior != "deny" {
		t.Error(text)
	}
	a.cmd.Wait()
	if code := a.cmd.ProcessState.ExitCode(); code != 0 || a.said.Len() > 0 {
		t.Errorf("exit code %d, %s", code, a.said)
	}
	verified(t, a.cmd, a.audit)
}

// TestDecideDiskFull: where the record cannot be written, nothing is allowed.
func TestDecideDiskFull(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	limited := exec.Command("bash", "-c", `ulimit -f 8; exec agent-wrapper decide --stdio --cwd "$HOME" --audit "$HOME/audit.jsonl" --audit-sync none`)
	limited.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+home+"/state", "XDG_CONFIG_HOME=")
	var in strings.Builder
	const n = 200
	for i := range n {
		fmt.Fprintf(&in, `{"jsonrpc":"2.0","id":%d,"method":"canUseTool","params":{"tool":"Bash","input":{"command":"ls a%d"},"toolUseID":"u%d"}}`+"\n", i, i, i)
	}
	limited.Stdin = strings.NewReader(in.String())
	out, err := limited.Output()
	if err != nil {
		t.Logf("it ended with %v", err) // closing the record may fail
	}
	allowed := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		var l struct {
			ID     json.RawMessage
			Result struct{ Behavior string }
		}
		if json.Unmarshal([]byte(line), &l) == nil && l.Result.Behavior == "allow" {
			allowed["u"+string(l.ID)] = true
		}
	}
	if len(allowed) == 0 || len(allowed) == n {
		t.Fatalf("%d of %d allowed: the disk was not full in between", len(allowed), n)
	}
	recorded := map[string]bool{}
	data, err := os.ReadFile(home + "/audit.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var e struct{ Kind, Use, Behavior string }
		if json.Unmarshal([]byte(line), &e) == nil && e.Kind == "decision" && e.Behavior == "allow" {
			recorded[e.Use] = true
		}
	}
	for id := range allowed {
		if !recorded[id] {
			t.Errorf("%s was allowed, and is not in the record", id)
		}
	}
	next := startSDK(t, home)
	next.use(1, "ls")
	if _, behavior, text := next.next(); behavior != "allow" {
		t.Error(text)
	}
}

// TestDecidePolicyBroken: a policy that is broken in mid-session changes nothing of a
// session that is open, opens no other, and lets the next start work when it is mended.
func TestDecidePolicyBroken(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	file := filepath.Join(home, "agent-wrapper.toml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`deny = ["Bash(make:*)"]`)
	a := startSDK(t, home, "--policy", file)
	a.use(0, "ls")
	if _, behavior, text := a.next(); behavior != "allow" {
		t.Error(text)
	}
	write(`deny = [`)
	a.use(1, "make")
	if _, behavior, text := a.next(); behavior != "deny" {
		t.Error(text)
	}
	fmt.Fprintln(a.in, `{"jsonrpc":"2.0","id":2,"method":"canUseTool","params":{"tool":"Bash","input":{"command":"ls"},"session":"new"}}`)
	if _, behavior, text := a.next(); behavior != "" || !strings.Contains(text, `"code":-32603`) || !strings.Contains(text, "agent-wrapper.toml:1") {
		t.Error(text)
	}
	a.use(3, "ls")
	if _, behavior, text := a.next(); behavior != "allow" {
		t.Error(text)
	}
	a.in.Close()
	a.cmd.Wait()
	verified(t, a.cmd, a.audit)
	write(`deny = ["Bash(make:*)"]`)
	b := startSDK(t, home, "--policy", file)
	b.use(1, "ls")
	if _, behavior, text := b.next(); behavior != "allow" {
		t.Error(text)
	}
}
