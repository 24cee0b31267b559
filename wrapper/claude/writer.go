package claude

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/agent-wrapper/agent-wrapper/wrapper/claude/briefing"
)

// writer writes lines to the agent in order and never blocks its caller: the
// agent may not read before we have read its output.
type writer struct {
	to  io.WriteCloser
	log *protocolLog

	mu     sync.Mutex
	queue  [][]byte
	closed bool
	wake   chan struct{}
	done   chan struct{} // closed when nothing more is written
	failed chan struct{} // closed when a write has failed
}

func newWriter(to io.WriteCloser, log *protocolLog) *writer {
	w := &writer{to: to, log: log, wake: make(chan struct{}, 1), done: make(chan struct{}), failed: make(chan struct{})}
	go w.work()
	return w
}

// send queues one message.
func (w *writer) send(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b) // adds the line feed
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	w.add(unbroken(b.Bytes()), false)
	return nil
}

// unbroken escapes the characters that some readers take for the end of a line.
// In JSON they occur only in strings.
func unbroken(line []byte) []byte {
	for _, end := range []string{"\u2028", "\u2029", "\u0085"} {
		line = bytes.ReplaceAll(line, []byte(end), fmt.Appendf(nil, `\u%04x`, []rune(end)[0]))
	}
	return line
}

// close closes the agent's input once everything is written.
func (w *writer) close() { w.add(nil, true) }

func (w *writer) add(line []byte, last bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	w.closed = last
	if line != nil {
		w.queue = append(w.queue, line)
	}
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *writer) take() (lines [][]byte, last bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	lines, w.queue = w.queue, nil
	return lines, w.closed
}

func (w *writer) work() {
	defer close(w.done)
	defer w.to.Close()
	for range w.wake {
		lines, last := w.take()
		for _, line := range lines {
			w.log.line("> ", bytes.TrimSuffix(line, []byte{'\n'}))
			if _, err := w.to.Write(line); err != nil {
				close(w.failed)
				return
			}
		}
		if last {
			return
		}
	}
}

// The messages that we send.

type controlRequest struct {
	Type    string `json:"type"`
	ID      string `json:"request_id"`
	Request any    `json:"request"`
}

func controlling(id string, request any) controlRequest {
	return controlRequest{"control_request", id, request}
}

type subtype struct {
	Kind string `json:"subtype"`
}

type initialize struct {
	Kind  string            `json:"subtype"`
	Hooks map[string][]hook `json:"hooks"`
	// System is added to the system prompt, in place of what --append-system-prompt says.
	// An argument cannot be longer than 128 KiB, and every process can read it.
	System string                    `json:"appendSystemPrompt,omitempty"`
	Agents map[string]briefing.Agent `json:"agents,omitempty"`
}

type hook struct {
	Callbacks []string `json:"hookCallbackIds"`
	Timeout   int      `json:"timeout"` // in seconds
	OnFailure string   `json:"onFailure,omitempty"`
}

const (
	hookID    = "decide"
	hookEvent = "PreToolUse"
	// hookTimeout is 23 days, in seconds. 2.1.197 counts milliseconds in 32 bits,
	// in which more than 24 days overflow.
	hookTimeout = 2_000_000
)

// The hook that gives the instructions to a subagent: they are in the system prompt of the
// main agent, which it does not see.
const (
	tellID    = "tell"
	tellEvent = "SubagentStart"
)

func initialization(o *launch) initialize {
	hooks := map[string][]hook{
		hookEvent: {{Callbacks: []string{hookID}, Timeout: hookTimeout, OnFailure: "block"}},
	}
	if o.told.Instructions != "" {
		hooks[tellEvent] = []hook{{Callbacks: []string{tellID}, Timeout: hookTimeout}}
	}
	return initialize{"initialize", hooks, o.system(), o.told.Agents}
}

type userLine struct {
	Type string `json:"type"`
	// Composed: the text is taken literally; an "@file" in it is not expanded.
	Composed bool        `json:"client_composed"`
	Session  string      `json:"session_id"`
	Parent   *string     `json:"parent_tool_use_id"`
	Message  userMessage `json:"message"`
}

type userMessage struct {
	Role    string `json:"role"`
	Content any    `json:"content"` // a string or blocks
}

// textBlock and pictureBlock are the blocks of a message.
type textBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type pictureBlock struct {
	Type   string `json:"type"`
	Source struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      []byte `json:"data"` // base64 in JSON
	} `json:"source"`
}

func blockOf(f *briefing.File) any {
	if f.MediaType == "" {
		return textBlock{"text", fmt.Sprintf("The file @%s:\n\n%s", f.Name, f.Text)}
	}
	b := pictureBlock{Type: "image"}
	b.Source.Type, b.Source.MediaType, b.Source.Data = "base64", f.MediaType, f.Picture
	return b
}

// prompting returns the line with the prompt. CLIs that do not know
// client_composed expand commands and @files only in the last block, so for them
// neither the prompt nor a file is the last block.
func prompting(p briefing.Prompt, v version) userLine {
	line := userLine{Type: "user", Composed: true, Message: userMessage{"user", p.Text}}
	if len(p.Files) == 0 && !v.before(lists) {
		return line
	}
	content := []any{textBlock{"text", p.Text}}
	for i := range p.Files {
		content = append(content, blockOf(&p.Files[i]))
	}
	line.Message.Content = append(content, textBlock{"text", "The task is above, word for word."})
	return line
}

type controlResponse struct {
	Type     string `json:"type"`
	Response any    `json:"response"`
}

type success struct {
	Kind     string `json:"subtype"`
	ID       string `json:"request_id"`
	Response any    `json:"response"`
}

type failureResponse struct {
	Kind  string `json:"subtype"`
	ID    string `json:"request_id"`
	Error string `json:"error"`
}

func answering(id string, v any) controlResponse {
	return controlResponse{"control_response", success{"success", id, v}}
}

func refusing(id, why string) controlResponse {
	return controlResponse{"control_response", failureResponse{"error", id, why}}
}

type allowance struct {
	Behavior string          `json:"behavior"`
	Input    json.RawMessage `json:"updatedInput"`
}

type denial struct {
	Behavior  string `json:"behavior"`
	Message   string `json:"message"`
	Interrupt bool   `json:"interrupt,omitempty"`
}

type hookAnswer struct {
	Output hookOutput `json:"hookSpecificOutput"`
}

type hookOutput struct {
	Event    string `json:"hookEventName"`
	Decision string `json:"permissionDecision"` // ask or deny
	Reason   string `json:"permissionDecisionReason"`
}

type tellAnswer struct {
	Output tellOutput `json:"hookSpecificOutput"`
}

type tellOutput struct {
	Event   string `json:"hookEventName"`
	Context string `json:"additionalContext"`
}

func hookAsks() hookAnswer {
	return hookAnswer{hookOutput{hookEvent, "ask", "agent-wrapper decides"}}
}

func hookDenies(why string) hookAnswer {
	return hookAnswer{hookOutput{hookEvent, "deny", why}}
}
