package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/signed"
	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// TestServe: one line says that the server is ready; it decides, and ends on a signal
// with its record closed. A second one on the same state is refused.
func TestServe(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	dir, state := t.TempDir(), filepath.Join(t.TempDir(), "state")
	secret := strings.TrimSpace(ranAs(t, 0, "serve", "token", "create", "--role", "agent", "--name", "bot", "--state", state))
	ctx, end := context.WithCancel(t.Context())
	defer end()
	read, write := io.Pipe()
	var log bytes.Buffer
	ended := make(chan int)
	go func() {
		a := &app{out: write, err: &log}
		ended <- a.run(ctx, []string{"serve", "--listen", "127.0.0.1:0", "--state", state, "--cwd", dir, "--isolated", "--json"})
	}()
	line, err := bufio.NewReader(read).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var at serving
	if err := json.Unmarshal(line, &at); err != nil || at.PID != os.Getpid() {
		t.Fatalf("%s: %v", line, err)
	}
	second := ranAs(t, codeUsage, "serve", "--listen", "127.0.0.1:0", "--state", state, "--cwd", dir, "--isolated")
	if !strings.Contains(second, "another server uses the state directory") {
		t.Errorf("%s", second)
	}
	if got := askedServer(t, at.Listening, secret, "ls"); !strings.Contains(got, `"behavior":"allow"`) {
		t.Errorf("%s", got)
	}
	for _, line := range []string{
		"cp x " + filepath.Join(state, storeFile), "cat " + filepath.Join(state, storeFile), "strings " + filepath.Join(state, storeFile+"-wal"),
		"cat " + filepath.Join(state, serveDir, "terminals", "*.said"), "grep -r password " + state, "touch " + filepath.Join(state, serveDir, "terminals", "x.env"),
		"cat /proc/" + strconv.Itoa(os.Getpid()) + "/environ", "cat /proc/$PPID/environ",
		"cat " + at.Record, "tail -n 1 " + filepath.Join(state, "*.jsonl"), "cat ~/.local/state/agent-wrapper/audit.jsonl",
		"cat " + filepath.Join(userDirs().State, approvalsDir, "entries", "x.json"),
	} {
		if got := askedServer(t, at.Listening, secret, line); !strings.Contains(got, `"behavior":"ask"`) {
			t.Errorf("%s: %s", line, got)
		}
	}
	// What runs in a terminal is known as started by an agent.
	var begun, command struct {
		Session string `json:"session_id"`
		Command string `json:"command_id"`
		Status  string `json:"status"`
		Exit    *int   `json:"exit_code"`
	}
	decode(t, told(t, "POST", at.Listening+"/api/agent-terminal/sessions", secret, `{"conversation_id":"talk"}`), &begun)
	decode(t, told(t, "POST", at.Listening+"/api/agent-terminal/sessions/"+begun.Session+"/execute", secret, `{"command":"test \"$AGENT_WRAPPER_RUN\" = 1","description":"why not"}`), &command)
	for patience := time.Now().Add(time.Minute); command.Exit == nil && time.Now().Before(patience); {
		decode(t, told(t, "GET", at.Listening+"/api/agent-terminal/commands/"+command.Command, secret, ""), &command)
	}
	if command.Exit == nil || *command.Exit != 0 {
		t.Errorf("%+v", command)
	}
	end()
	if code := <-ended; code != codeDone {
		t.Errorf("it ended with %d: %s", code, log.String())
	}
	if strings.Contains(log.String(), secret) || strings.Contains(string(line), secret) {
		t.Error("the token was logged")
	}
	if out := ranAs(t, 0, "audit", "verify", at.Record); !strings.Contains(out, "entries") {
		t.Errorf("%s", out)
	}
	ranAs(t, codeUsage, "serve", "--listen", "0.0.0.0:0", "--state", state)
	ranAs(t, codeUsage, "serve", "--listen", "127.0.0.1:0", "--state", state, "--tls-cert", "x")
}

// ranAs runs a command line, which has to end with a code, and returns what it wrote.
func ranAs(t *testing.T, code int, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	a := &app{in: strings.NewReader(""), out: &out, err: &errs}
	if got := a.run(t.Context(), args); got != code {
		t.Fatalf("%v: code %d, want %d: %s%s", args, got, code, out.String(), errs.String())
	}
	if code != 0 {
		return errs.String()
	}
	return out.String()
}

// askedServer returns the answer about a command line.
func askedServer(t *testing.T, url, secret, line string) string {
	t.Helper()
	input, err := json.Marshal(map[string]any{"tool": "Bash", "input": map[string]string{"command": line}})
	if err != nil {
		t.Fatal(err)
	}
	return told(t, "POST", url+"/api/decisions", secret, string(input))
}

// decode reads an answer.
func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// signer returns a client of the owner of a secret, or with a code of a browser of it.
func signer(secret string, base http.RoundTripper) *http.Client {
	key := signed.TokenKey(secret)
	if key == nil {
		key = signed.CodeKey(secret)
	}
	return &http.Client{Transport: &signed.Transport{Key: key, Base: base}}
}

// told returns the answer to a request.
func told(t *testing.T, method, url, secret, body string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := signer(secret, http.DefaultTransport).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestClaim: a lock that a killed server's child still has for a moment does not keep the
// next server from its start.
func TestClaim(t *testing.T) {
	tries := 0
	unlock, err := claim(t.TempDir(), func(string) (func(), bool, error) {
		tries++
		return func() {}, tries > 2, nil
	})
	if err != nil || tries != 3 {
		t.Fatalf("%v after %d tries", err, tries)
	}
	unlock()
}

// Agents do not read recordings of terminals without a question, in any mode.
func TestServeHidesRecordings(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("HOME", t.TempDir())
	f := &serveFlags{storeFlags: storeFlags{state: t.TempDir()}}
	f.mode, f.isolated, f.audit.sync = "bypassPermissions", true, "none"
	file := filepath.Join(f.recordings(f.state), "session-1.1500000000000.cast")
	o, err := f.engineOptions(f.state)
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.Open(*o)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for line, want := range map[string]permission.Behavior{"cat " + file: permission.Ask, "cp -r " + filepath.Dir(file) + " x": permission.Ask, "cat x": permission.Allow} {
		input, _ := json.Marshal(map[string]string{"command": line})
		if d := e.Explain(permission.ToolUse{Tool: "Bash", Input: input, Dir: e.Place.Workspace}, nil); d.Behavior != want {
			t.Errorf("%s: %s", line, d.Behavior)
		}
	}
	f.unrecorded = true
	if got := f.recordings(f.state); got != "" {
		t.Error(got)
	}
}
