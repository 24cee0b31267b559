//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// chat is an editor's conversation with agent-wrapper.
type chat struct {
	t      testing.TB
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	errors bytes.Buffer
	events []map[string]any
}

// chat starts agent-wrapper as an editor does that answers on standard input.
func (x wrapped) chat(t testing.TB, b *box, m *model, w *web) *chat {
	t.Helper()
	c := &chat{t: t, cmd: x.command(t, b, m, w)}
	c.cmd.Stderr = &c.errors
	in, errIn := c.cmd.StdinPipe()
	out, errOut := c.cmd.StdoutPipe()
	if errIn != nil || errOut != nil {
		t.Fatal(errIn, errOut)
	}
	c.in, c.out = in, bufio.NewReaderSize(out, 1<<16)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop := time.AfterFunc(2*time.Minute, func() { syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL) })
	t.Cleanup(func() { stop.Stop() })
	return c
}

func (c *chat) send(v any) {
	line, _ := json.Marshal(v)
	c.in.Write(append(line, '\n'))
}

// until returns the next event of a type.
func (c *chat) until(kind string) map[string]any {
	c.t.Helper()
	for {
		line, err := c.out.ReadBytes('\n')
		var e map[string]any
		if err == nil {
			err = json.Unmarshal(line, &e)
		}
		if err != nil {
			c.t.Fatalf("no %s: %v; after %s; it said %s", kind, err, short(fmt.Sprint(c.events[max(0, len(c.events)-5):])), c.errors.String())
		}
		if c.events = append(c.events, e); e["type"] == kind {
			return e
		}
	}
}

// answer answers a question.
func (c *chat) answer(e map[string]any, choice string, more in) {
	line := in{"type": "approval_response", "approval_id": e["approval_id"], "digest": e["digest"], "choice": choice}
	for key, value := range more {
		line[key] = value
	}
	c.send(line)
}

// skipped is the turn that the agent CLI itself has after one that was interrupted.
var skipped = turn{}

// TestEditorStdio: an editor leads a conversation of several turns with the agent CLI:
// it allows, edits, interrupts, answers a question of the agent, and ends it.
func TestEditorStdio(t *testing.T) {
	touch := func(name string) call {
		return call{Name: name, Tool: "Bash", Input: in{"command": "touch " + name, "description": "x"}}
	}
	eachRelease(t, func(t *testing.T, r release) {
		b := newBox(t)
		m := startModel(t, script{"main": {
			{touch("first")}, {}, {touch("second")}, {}, {touch("third")}, skipped, {touch("fourth")}, {},
			{{Name: "asks", Tool: "AskUserQuestion", Input: question}}, {},
		}})
		w := startWeb(t, b)
		x := wrapped{release: r, Policy: []string{"--approvals", "stdio", "--ask", "Bash(touch:*)"}}
		c := x.chat(t, b, m, w)
		session := c.until("session")["session_id"]
		c.answer(c.until("approval_required"), "once", nil)
		c.until("done")
		c.send(in{"type": "user_message", "text": "go on"})
		if again := c.until("session")["session_id"]; again != session {
			t.Errorf("the session was %v and is %v", session, again)
		}
		c.answer(c.until("approval_required"), "edit", in{"input": in{"command": "touch other", "description": "x"}})
		c.answer(c.until("approval_required"), "once", nil)
		c.until("done")
		c.send(in{"type": "user_message", "text": "go on"})
		c.until("approval_required")
		c.send(in{"type": "interrupt"})
		c.until("approval_withdrawn")
		c.until("done")
		c.send(in{"type": "user_message", "text": "go on"})
		c.answer(c.until("approval_required"), "words", in{"message": "not that one"})
		c.until("done")
		c.send(in{"type": "user_message", "text": "go on"})
		e := c.until("insert_choices")
		answers := in{}
		for _, q := range e["questions"].([]any) {
			answers[q.(map[string]any)["question"].(string)] = "the first"
		}
		c.send(in{"type": "choices_response", "approval_id": e["approval_id"], "answers": answers})
		c.until("done")
		c.in.Close()
		io.Copy(io.Discard, c.out)
		c.cmd.Wait()
		if code := c.cmd.ProcessState.ExitCode(); code != 0 || c.errors.Len() > 0 {
			t.Errorf("exit code %d, it said %s", code, c.errors.String())
		}
		for name, want := range map[string]bool{"first": true, "second": false, "other": true, "third": false, "fourth": false} {
			if b.has("repo/"+name) != want {
				t.Errorf("%s ran: %v", name, !want)
			}
		}
		if res, back := m.result("fourth"); !back || !strings.Contains(res.Text, "not that one") {
			t.Errorf("the words did not arrive: %v", res)
		}
		if res, back := m.result("asks"); !back || !strings.Contains(res.Text, "the first") {
			t.Errorf("the answer did not arrive: %v", res)
		}
		for _, e := range c.events {
			if e["type"] == "error" {
				t.Errorf("%v", e)
			}
		}
	})
}

// TestEditorExit: an editor that answers with its next start has the very tool use run
// that it was asked about, and no other.
func TestEditorExit(t *testing.T) {
	touch := func(id, name string) call {
		return call{Name: id, Tool: "Bash", Input: in{"command": "touch " + name, "description": "x"}}
	}
	eachRelease(t, func(t *testing.T, r release) {
		b := newBox(t)
		m := startModel(t, script{"main": {{touch("first", "one")}, skipped, {touch("again", "one")}, {touch("other", "two")}, {}}})
		w := startWeb(t, b)
		flags := []string{"--approvals", "exit", "--allow", "mcp__vibing-nvim__*", "--ask", "Bash(touch:*)", "--mcp-enabled", "false"}
		x := wrapped{release: r, Policy: flags}
		res := x.run(t, b, m, w)
		session, asked := "", 0
		for _, e := range res.Events {
			switch e["type"] {
			case "session":
				session = fmt.Sprint(e["session_id"])
			case "approval_required":
				asked++
			}
		}
		if res.Code != 0 || asked != 1 || res.Errors != "" || b.has("repo/one") {
			t.Fatalf("exit code %d, asked %d times, ran %v: %s %s", res.Code, asked, b.has("repo/one"), res.Errors, res.Out)
		}
		x.Policy = append(flags, "--session", session, "--session-allow", "Bash:once")
		x.Prompt = "I approved the Bash tool (command: touch one). Please proceed with the same operation."
		res = x.run(t, b, m, w)
		if res.Code != 0 || res.Errors != "" || !b.has("repo/one") || b.has("repo/two") || strings.Count(res.Out, `"approval_required"`) != 1 {
			t.Errorf("exit code %d, ran %v and %v: %s %s", res.Code, b.has("repo/one"), b.has("repo/two"), res.Errors, res.Out)
		}
	})
}
