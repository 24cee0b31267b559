//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/broker"
	"github.com/agent-wrapper/agent-wrapper/internal/test/protocol"
)

// The tests here hold to the schema what TestJSON cannot try, since something has to wait
// for it, or it does not end by itself.

// does runs a command line that must succeed, and holds its output to the schema.
func does(t *testing.T, schema *protocol.Schema, command, line string) string {
	t.Helper()
	out, code := printed(t, line)
	if code != codeDone {
		t.Fatalf("%s: exit code %d: %s", line, code, out)
	}
	holdsJSON(t, schema, defName(command), line, out)
	return out
}

// firstLine starts a command that ends with its context, and returns the first line that it
// prints.
func firstLine(t *testing.T, args ...string) string {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	read, write := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		a := &app{in: strings.NewReader(""), out: write, err: io.Discard}
		ended <- a.run(ctx, args)
		write.Close()
	}()
	lines := bufio.NewReader(read)
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Errorf("%q printed no line: %v", args, err)
	}
	end()
	io.Copy(io.Discard, lines)
	if code := <-ended; code != codeDone {
		t.Errorf("%q: exit code %d", args, code)
	}
	return line
}

// waits has a question wait for each id: the last is one of the agent itself.
func waits(t *testing.T, ids ...string) {
	t.Helper()
	state := filepath.Join(os.Getenv("XDG_STATE_HOME"), "agent-wrapper")
	if err := os.MkdirAll(state, 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := broker.OpenLocal(filepath.Join(state, approvalsDir), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() }) // before that, who asked is there
	for i, id := range ids {
		tool, input, choices := "Bash", `{"command":"git push"}`, `{"key":"o","name":"once","label":"once"},{"key":"s","name":"session","label":"for this session","rungs":[{"label":"git push","rules":["Bash(git push)"]}]},{"key":"d","name":"deny","label":"deny"},{"key":"w","name":"words","label":"deny with words"}`
		if i == len(ids)-1 {
			tool, input, choices = "AskUserQuestion", `{"questions":[{"question":"Which?","header":"h","options":[{"label":"a"},{"label":"b"}]}]}`, `{"key":"a","name":"answers","label":"answer"},{"key":"d","name":"deny","label":"deny"}`
		}
		digest := fmt.Sprintf("1:%d", i)
		question := fmt.Sprintf(`{"id":%q,"digest":%q,"tool":%q,"input":%s,"risk":"moderate","tier":2,"blocks":[],"whole":true,"choices":[%s]}`, id, digest, tool, input, choices)
		terms := approval.Terms{ID: id, Digest: digest, Asker: approval.Principal{Role: approval.Agent, Name: "agent"}}
		if _, err := l.Submit(t.Context(), approval.Entry{State: approval.State{Terms: terms}, Question: json.RawMessage(question)}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestJSONApprovals: what the commands for approvals print of a question and its answer.
func TestJSONApprovals(t *testing.T) {
	schema := jsonSchema(t)
	jsonPlace(t)
	waits(t, "aa1111", "bb2222", "cc3333", "dd4444")
	holdsJSON(t, schema, "approvals-watch", "approvals watch --json", firstLine(t, "approvals", "watch", "--json"))
	for _, deed := range []struct{ command, line, status string }{
		{"approvals list", "approvals --json", `"status":"pending"`},
		{"approvals show", "approvals show aa11 --json", `"status":"pending"`},
		{"approvals allow", "approvals allow aa11 --session --message ok --json", `"status":"approved"`},
		{"approvals allow", "approvals allow bb22 --json", `"status":"approved"`},
		{"approvals deny", "approvals deny cc33 'not on a Friday' --json", `"status":"denied"`},
		{"approvals answer", "approvals answer dd44 a --json", `"status":"superseded"`},
		{"approvals show", "approvals show cc33 --json", "not on a Friday"},
		{"approvals list", "approvals list --all --json", `"status":"denied"`},
	} {
		if out := does(t, schema, deed.command, deed.line); !strings.Contains(out, deed.status) {
			t.Errorf("%s: no %s: %s", deed.line, deed.status, out)
		}
	}
}

// TestJSONInstall: what install, status, doctor and uninstall print of a host with the hook.
func TestJSONInstall(t *testing.T) {
	schema := jsonSchema(t)
	jsonPlace(t)
	for _, dir := range []string{filepath.Join(os.Getenv("HOME"), ".gemini"), filepath.Join(os.Getenv("XDG_CONFIG_HOME"), "opencode")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, deed := range []struct{ command, line, says string }{
		{"install", "install opencode gemini --yes --json", `"removed":false`},
		{"install", "install opencode --yes --json", `"changes":[]`},
		{"status", "status --json", `"state":`},
		{"doctor", "doctor --json", `"hosts":[`},
		{"uninstall", "uninstall opencode gemini --yes --json", `"changes":[{`},
	} {
		if out := does(t, schema, deed.command, deed.line); !strings.Contains(out, deed.says) {
			t.Errorf("%s: no %s: %s", deed.line, deed.says, out)
		}
	}
}

// TestJSONServe: what a server says of itself once it listens.
func TestJSONServe(t *testing.T) {
	schema := jsonSchema(t)
	jsonPlace(t)
	line := firstLine(t, "serve", "--listen", "127.0.0.1:0", "--state", "state", "--isolated", "--json")
	holdsJSON(t, schema, "serve", "serve --json", line)
	does(t, schema, "serve token list", "serve token list --state state --json")
}
