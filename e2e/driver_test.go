//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
)

// driver is a client of the agent CLI of the test's own, small and without any
// of the wrapper's care. It probes the protocol and is the negative control.
type driver struct {
	Release release
	Args    []string
	Env     []string
	Hook    bool // register the PreToolUse hook, answering ask
	Defer   bool // the hook puts each tool use off to the next session
	Typed   bool // send the prompt as if it were typed at the agent CLI
	Answer  func(ask) (allow bool, message string)
	// Slow waits before a denial, as a person would, if it is given: that somebody else
	// may answer meanwhile is what a test with it is about.
	Slow func(ask)
}

// lasts waits as long.
func lasts(d time.Duration) func(ask) { return func(ask) { time.Sleep(d) } }

// ask is one can_use_tool or hook_callback.
type ask struct {
	Kind  string // "can_use_tool", "hook"
	Tool  string
	ID    string
	Agent string
	Dir   string // of a hook
	Input json.RawMessage
	At    time.Time
}

// isolated are the flags that the wrapper must give; see wrapper/claude.
var isolated = []string{
	"--setting-sources=", "--strict-mcp-config", "--disable-slash-commands",
	"--settings", `{"permissions":{"ask":["*"]},"disableAllHooks":true,"disableSkillShellExecution":true,"crossSessionInbound":"refuse"}`,
}

// shut are the variables that the wrapper must set so that nobody but us gives
// the agent CLI a task.
var shut = []string{"CLAUDE_CODE_DISABLE_CRON=1", "CLAUDE_CODE_DISABLE_CLAUDE_MDS=1", "CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS=1"}

var base = []string{
	"--output-format", "stream-json", "--verbose", "--input-format", "stream-json",
	"--permission-prompt-tool", "stdio", "--permission-mode", "default",
}

// drive sends one prompt and answers until the result line; it gives all asks
// and all lines.
func (d driver) drive(t testing.TB, b *box, m *model, prompt string) (asks []ask, lines []map[string]any) {
	t.Helper()
	cmd := exec.Command(d.Release.Path, append(append([]string{}, base...), d.Args...)...)
	cmd.Dir = b.Work
	cmd.Env = b.env(append([]string{"ANTHROPIC_BASE_URL=" + m.URL}, d.Env...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	stdin, errIn := cmd.StdinPipe()
	stdout, errOut := cmd.StdoutPipe()
	if err := errors.Join(errIn, errOut, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	kill := func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	stop := m.onQuiet(2*time.Minute, kill)
	asks, lines = d.talk(stdin, stdout, prompt)
	stop()
	kill()
	cmd.Wait()
	if !slices.ContainsFunc(lines, func(line map[string]any) bool { return line["type"] == "result" }) {
		t.Logf("the agent CLI gave no result; it said: %s", short(complaints.String()))
	}
	return asks, lines
}

// talk is the conversation with a started agent CLI.
func (d driver) talk(stdin io.WriteCloser, stdout io.Reader, prompt string) (asks []ask, lines []map[string]any) {
	out := &lineWriter{w: stdin}
	hooks := in{}
	if d.Hook {
		hooks["PreToolUse"] = []any{in{"hookCallbackIds": []string{"h0"}, "timeout": hookTimeout, "onFailure": "block"}}
	}
	out.send(in{"type": "control_request", "request_id": "init", "request": in{"subtype": "initialize", "hooks": hooks}})
	out.send(d.userLine(prompt))
	eachLine(stdout, func(raw []byte) {
		var line map[string]any
		if json.Unmarshal(raw, &line) != nil {
			return
		}
		lines = append(lines, line)
		switch line["type"] {
		case "control_request":
			asks = append(asks, d.answer(out, raw))
		case "result":
			stdin.Close()
		}
	})
	return asks, lines
}

// userLine keeps the agent CLI from reading @file and /command in the prompt:
// client_composed says so to 2.1.330; 2.1.197 does not know it, but looks for
// both in the last text block only.
func (d driver) userLine(prompt string) map[string]any {
	if d.Typed {
		return in{"type": "user", "session_id": "", "parent_tool_use_id": nil, "message": in{"role": "user", "content": prompt}}
	}
	content := []any{in{"type": "text", "text": prompt}, in{"type": "text", "text": "That is all."}}
	return in{"type": "user", "client_composed": true, "session_id": "", "parent_tool_use_id": nil, "message": in{"role": "user", "content": content}}
}

func (d driver) answer(out *lineWriter, raw []byte) ask {
	var r struct {
		ID      string `json:"request_id"`
		Request struct {
			Subtype  string          `json:"subtype"`
			ToolName string          `json:"tool_name"`
			Input    json.RawMessage `json:"input"`
			ToolUse  string          `json:"tool_use_id"`
			Agent    string          `json:"agent_id"`
		} `json:"request"`
	}
	json.Unmarshal(raw, &r)
	a := ask{Kind: r.Request.Subtype, Tool: r.Request.ToolName, ID: r.Request.ToolUse, Agent: r.Request.Agent, Input: r.Request.Input, At: time.Now()}
	var response map[string]any
	switch r.Request.Subtype {
	case "hook_callback":
		var in struct {
			Cwd   string          `json:"cwd"`
			Tool  string          `json:"tool_name"`
			Input json.RawMessage `json:"tool_input"`
			Agent string          `json:"agent_id"`
		}
		json.Unmarshal(r.Request.Input, &in)
		decision := "ask"
		if d.Defer {
			decision = "defer"
		}
		a.Kind, a.Tool, a.Input, a.Dir, a.Agent = "hook", in.Tool, in.Input, in.Cwd, in.Agent
		response = map[string]any{"hookSpecificOutput": map[string]any{"hookEventName": "PreToolUse", "permissionDecision": decision}}
	case "can_use_tool":
		if allow, message := d.Answer(a); allow {
			response = map[string]any{"behavior": "allow", "updatedInput": withAnswers(r.Request.Input)}
		} else {
			if d.Slow != nil {
				d.Slow(a)
			}
			response = map[string]any{"behavior": "deny", "message": message}
		}
	}
	out.send(map[string]any{"type": "control_response", "response": map[string]any{"subtype": "success", "request_id": r.ID, "response": response}})
	return a
}

type lineWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (w *lineWriter) send(v any) {
	data, _ := json.Marshal(v)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.w.Write(append(data, '\n'))
}

// hookTimeout is in seconds. From 2,147,484 on it overflows a timer of agent
// CLI 2.1.197, which then cancels the hook at once and denies the tool use.
const hookTimeout = 2_147_483
