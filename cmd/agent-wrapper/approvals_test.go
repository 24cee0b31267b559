//go:build linux

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/broker"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/display"
	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
)

// elsewhere runs agent-wrapper approvals in another process.
func elsewhere(t *testing.T, home string, args ...string) (out string, code int) {
	t.Helper()
	cmd := exec.Command("agent-wrapper", append([]string{"approvals"}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "COLUMNS=80", "NO_COLOR=1")
	text, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// theOnly returns the question that waits.
func theOnly(t *testing.T, home string) approval.Entry {
	t.Helper()
	out, code := elsewhere(t, home, "list", "--json")
	var all approvalsJSON
	if err := json.Unmarshal([]byte(out), &all); err != nil || code != 0 || len(all.Approvals) != 1 {
		t.Fatalf("%v, exit code %d: %s", err, code, out)
	}
	return all.Approvals[0]
}

// succeeds checks what approvals says.
func succeeds(t *testing.T, home, want string, args ...string) {
	t.Helper()
	if out, code := elsewhere(t, home, args...); code != 0 || !strings.Contains(out, want) {
		t.Errorf("%q: exit code %d: %s\nwant %q", args, code, out, want)
	}
}

// TestApprovalsElsewhere: what one terminal asks, another answers; the first counts.
func TestApprovalsElsewhere(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	home := t.TempDir()
	uses := []string{bash("npm install left-pad"), bash("git push"), bash("git push -f"), bash("npm install express")}
	x := inHome(t, home, uses, "--approvals", "local", "--allow", "Bash", "--ask", "Bash(npm install:*),Bash(git push:*)")
	x.wait("npm install left-pad")
	x.wait("d  deny")
	first := theOnly(t, home)
	for _, line := range []string{"npm install left-pad", "allow " + first.ID + " --rung 2", "deny " + first.ID + " [MESSAGE]"} {
		succeeds(t, home, line, "show", first.ID[:3])
	}
	if out, code := elsewhere(t, home, "allow", first.ID, "--rung", "9"); code != codeUsage || !strings.Contains(out, "--rung 9: there are 2") {
		t.Errorf("exit code %d: %s", code, out)
	}
	succeeds(t, home, first.ID, "list")
	succeeds(t, home, "allowed "+first.ID+": Bash: npm install left-pad\n  with the rule Bash(npm install:*)", "allow", first.ID[:3], "--rung", "2")
	x.wait("(no longer asked about Bash: approved by ")
	x.wait("ALLOW  Bash  npm install left-pad")
	x.wait("d  deny")
	second := theOnly(t, home)
	if out, code := elsewhere(t, home, "deny", first.ID); code != codeDenied || !strings.Contains(out, "came too late: "+first.ID+" is already consumed by ") {
		t.Errorf("exit code %d: %s", code, out)
	}
	succeeds(t, home, "denied "+second.ID+": Bash: git push", "deny", second.ID, "not on a Friday")
	x.wait("not on a Friday")
	x.press("o") // at the terminal, of the third
	x.wait("ALLOW  Bash  git push -f")
	x.wait("ALLOW  Bash  npm install express") // by the rule for the session
	x.end()
	succeeds(t, home, "No questions are waiting.", "list")
	succeeds(t, home, "consumed by ", "list", "--all")
	if out, code := elsewhere(t, home, "allow", "nothing"); code != codeUsage || !strings.Contains(out, `no question has an id that begins with "nothing"`) {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// TestApprovalsWithoutTerminal: a run without a terminal asks elsewhere, and one that is
// killed asks no more.
func TestApprovalsWithoutTerminal(t *testing.T) {
	t.Parallel()
	cmd, complaints, audit := headless(t, []string{bash("git push"), bash("git push")}, "--ask", "Bash(git push:*)", "--approvals", "local", "--output", "jsonl")
	home := filepath.Dir(audit)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	events := json.NewDecoder(out)
	await := func() approval.Entry {
		t.Helper()
		l, err := broker.OpenLocal(filepath.Join(home, ".local/state/agent-wrapper/approvals"), nil)
		if err != nil {
			t.Fatal(err)
		}
		for after := int64(0); ; {
			all, err := l.List(t.Context(), approval.Filter{Status: []approval.Status{approval.Pending}})
			if err != nil {
				t.Fatal(err)
			}
			if len(all) > 0 {
				return all[0]
			}
			if after, err = l.Wait(t.Context(), after); err != nil {
				t.Fatal(err)
			}
		}
	}
	succeeds(t, home, "allowed ", "allow", await().ID)
	for result := ""; !strings.Contains(result, `"tool_result"`); {
		var e json.RawMessage
		if err := events.Decode(&e); err != nil {
			t.Fatalf("%v: %s", err, complaints)
		}
		result = string(e)
	}
	id := await().ID
	cmd.Process.Kill()
	cmd.Wait()
	if out, code := elsewhere(t, home, "allow", id); code != codeDenied || !strings.Contains(out, "is already abandoned") {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// TestAgentsDoNotAnswer: what an agent has started is refused, also when its parents are
// gone.
func TestAgentsDoNotAnswer(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	state := filepath.Join(home, ".local/state/agent-wrapper")
	if err := os.MkdirAll(state, 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := broker.OpenLocal(filepath.Join(state, "approvals"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	terms := approval.Terms{ID: "k3f9ab", Digest: "1:0", Asker: approval.Principal{Role: approval.Agent, Name: "agent"}}
	question := json.RawMessage(`{"id":"k3f9ab","digest":"1:0","tool":"Bash","input":{"command":"ls"},"risk":"safe","tier":1,"blocks":[],"whole":true,"choices":[{"key":"o","name":"once","label":"once"},{"key":"d","name":"deny","label":"deny"}]}`)
	if _, err := l.Submit(t.Context(), approval.Entry{State: approval.State{Terms: terms}, Question: question}); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"allow", "k3f9"}, {"deny", "k3f9"}, {"answer", "k3f9", "x"}} {
		if out, code := elsewhere(t, home, args...); code != codeDenied || !strings.Contains(out, "was started below process ") {
			t.Errorf("%q: exit code %d: %s", args, code, out)
		}
		cmd := exec.Command("setsid", append([]string{"--fork", "--wait", "agent-wrapper", "approvals"}, args...)...)
		cmd.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "AGENT_WRAPPER_RUN=1")
		if out, _ := cmd.CombinedOutput(); !strings.Contains(string(out), "was started by an agent (AGENT_WRAPPER_RUN is set)") {
			t.Errorf("%q: %s", args, out)
		}
	}
	succeeds(t, home, "k3f9ab", "list")
	if e := theOnly(t, home); e.Status != approval.Pending {
		t.Errorf("%+v", e)
	}
}

// TestHostileQuestion: what a question from elsewhere says is shown, and not obeyed.
func TestHostileQuestion(t *testing.T) {
	e := approval.Entry{State: approval.State{Terms: approval.Terms{ID: "k3f9ab"}, Status: approval.Pending}, Question: json.RawMessage(
		`{"id":"k3f9ab","tool":"B\u001b[2Jash","risk":"sa\u202efe","reason":"r\u001b]0;x\u0007","blocks":[{"title":"t\u001b[1m","lines":[{"segments":[{"text":"ls\u001b[8m\n"}]}]}],` +
			`"choices":[{"key":"s","name":"session","label":"l\u001b","rungs":[{"label":"any\u001b[0m","rules":["R\u001b"]}]}],"input":{"command":"ls \u001b[2J"}}`)}
	q := readInquiry(e)
	for _, shown := range []string{"plain", "<U+202E>", "<U+003C>U+202E>", "a < b"} {
		if got := harmlessValue(shown); got != shown {
			t.Errorf("%q is shown as %q", shown, got)
		}
	}
	text := q.line(e.Asked) + q.question.Text(display.TextOptions{Width: 80, Parts: true}) + q.ways("agent-wrapper approvals", 80)
	if strings.ContainsAny(text, "\x1b\x07\u202e") || !strings.Contains(text, "[2J") {
		t.Errorf("%q", text)
	}
}

// Nothing of a label is cut, and what follows on the next line is no line of its own.
func TestWrapped(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"", "\n"},
		{"  way words", "  way words\n"},
		{"  way some words that go on and on", "  way some words that go\n     : on and on\n"},
		{"  way " + strings.Repeat("x", 40), "  way " + strings.Repeat("x", 21) + "\n     : " + strings.Repeat("x", 19) + "\n"},
	} {
		if got := wrapped(tt.line, "     : ", 27); strings.ReplaceAll(got, " \n", "\n") != tt.want {
			t.Errorf("%q is wrapped as %q, want %q", tt.line, got, tt.want)
		}
	}
}

// A question says that its asker is gone, if nothing was heard of it for long.
func TestGone(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		lease, silent time.Duration
		status        approval.Status
		want          bool
	}{
		"there": {time.Minute, 10 * time.Second, approval.Pending, false}, "gone": {time.Minute, 30 * time.Second, approval.Pending, true},
		"no lease": {0, time.Hour, approval.Pending, false}, "settled": {time.Minute, time.Hour, approval.Denied, false},
	} {
		q := &inquiry{}
		q.Lease, q.Status, q.Heard = tt.lease, tt.status, now.Add(-tt.silent)
		if got := strings.Contains(q.line(now), "asker gone for 30s"); got != tt.want {
			t.Errorf("%s: %s", name, q.line(now))
		}
	}
}
