//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// call is one tool use that the model asks for. Name is unique in a script and
// gives the tool-use id.
type call struct {
	Name  string
	Tool  string
	Input any // marshalled as it is, or func(*model) any, called when it is sent
	// Wait names calls whose results must be back before this one is sent, each
	// with the call that starts them: if that failed there is no wait.
	Wait map[string]string
	// Pause is how long the model thinks before it: time for the agent CLI to
	// take up what has changed on disk, of which it says nothing.
	Pause time.Duration
	// Beat is the time between the pieces of a text.
	Beat time.Duration
}

func (c call) id() string { return "toolu_" + c.Name }

// tells is a text of the model in place of a call.
func tells(text string) call { return call{Name: text} }

// turn is what the model says at once: several calls are parallel tool uses.
type turn []call

// script holds the turns of each conversation by its key. The first message
// that names a key as [[key]] begins it; without one the answer is "ok".
type script map[string][]turn

// toolResult is what came back to the model for one tool use.
type toolResult struct {
	Text  string
	Error bool
	At    time.Time
}

// model is a scripted endpoint of the Messages API on 127.0.0.1. How far a
// conversation is, it reads from the request, so a request may be repeated.
type model struct {
	URL string

	script script
	server *http.Server

	mu         sync.Mutex
	bodies     []string // of the requests
	sent       map[string]call
	results    map[string]toolResult
	tools      map[string]bool // names offered by the agent CLI
	prompts    []string        // text of every user message seen, once each
	seen       map[string]bool
	overloaded bool          // every request is refused
	onSearch   func()        // the agent CLI searches the web through the model
	changed    chan struct{} // closed and replaced at every request
}

func startModel(t testing.TB, s script) *model {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := &model{
		URL: "http://" + l.Addr().String(), script: s,
		sent: map[string]call{}, results: map[string]toolResult{}, tools: map[string]bool{},
		seen: map[string]bool{}, changed: make(chan struct{}),
	}
	m.server = &http.Server{Handler: m}
	go m.server.Serve(l)
	t.Cleanup(func() { m.server.Close() })
	return m
}

type request struct {
	Model    string `json:"model"`
	Stream   bool   `json:"stream"`
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Name string `json:"name"`
		Type string `json:"type"`
	} `json:"tools"`
}

type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
}

// blocks reads a content field, which is a string or a list of blocks.
func blocks(raw json.RawMessage) []block {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []block{{Type: "text", Text: text}}
	}
	var list []block
	json.Unmarshal(raw, &list)
	return list
}

func plain(raw json.RawMessage) string {
	var b strings.Builder
	for _, x := range blocks(raw) {
		b.WriteString(x.Text)
	}
	return b.String()
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if !strings.HasSuffix(r.URL.Path, "/messages") {
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/count_tokens") {
			io.WriteString(w, `{"input_tokens":100}`)
			return
		}
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"type":"error","error":{"type":"not_found_error","message":"not here"}}`)
		return
	}
	var req request
	if err := json.Unmarshal(body, &req); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	m.mu.Lock()
	m.bodies = append(m.bodies, string(body))
	m.mu.Unlock()
	if m.overloaded {
		w.WriteHeader(529)
		io.WriteString(w, `{"type":"error","error":{"type":"overloaded_error","message":"too many"}}`)
		return
	}
	answer := m.next(&req)
	for _, c := range answer {
		think(r.Context(), c.Pause)
		for name, starter := range c.Wait {
			if res, ok := m.result(starter); ok && !res.Error {
				m.await(name, 20*time.Second)
			}
		}
	}
	reply(w, &req, answer)
}

// think passes time, unless the agent CLI hangs up.
func think(ctx context.Context, pause time.Duration) {
	if pause == 0 {
		return
	}
	select {
	case <-time.After(pause):
	case <-ctx.Done():
	}
}

// await waits until the result of a call is back.
func (m *model) await(name string, limit time.Duration) bool {
	timeout := time.After(limit)
	for {
		m.mu.Lock()
		_, back := m.results["toolu_"+name]
		changed := m.changed
		m.mu.Unlock()
		if back {
			return true
		}
		select {
		case <-changed:
		case <-timeout:
			return false
		}
	}
}

var keyMark = regexp.MustCompile(`\[\[([a-z0-9-]+)\]\]`)

// next notes what the request tells and gives the next turn.
func (m *model) next(req *request) turn {
	m.mu.Lock()
	defer m.mu.Unlock()
	key, step := "", 0
	for _, msg := range req.Messages {
		if msg.Role == "assistant" {
			step++
			continue
		}
		for _, b := range blocks(msg.Content) {
			switch b.Type {
			case "tool_result":
				if _, known := m.results[b.ToolUseID]; !known {
					m.results[b.ToolUseID] = toolResult{plain(b.Content), b.IsError, time.Now()}
				}
			case "text":
				if found := keyMark.FindStringSubmatch(b.Text); found != nil && key == "" {
					key, step = found[1], 0
				}
				if !m.seen[b.Text] {
					m.seen[b.Text] = true
					m.prompts = append(m.prompts, b.Text)
				}
			}
		}
	}
	for _, tool := range req.Tools {
		m.tools[tool.Name] = true
		if strings.HasPrefix(tool.Type, "web_search") && m.onSearch != nil {
			m.onSearch()
		}
	}
	close(m.changed)
	m.changed = make(chan struct{})
	turns := m.script[key]
	if step >= len(turns) {
		return nil
	}
	out := make(turn, len(turns[step]))
	for i, c := range turns[step] {
		if f, ok := c.Input.(func(*model) any); ok {
			c.Input = f(m)
		}
		m.sent[c.id()] = c
		out[i] = c
	}
	return out
}

// result gives what came back for a call by its name; the caller holds no lock.
func (m *model) result(name string) (toolResult, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.results["toolu_"+name]
	return r, ok
}

// waiting gives the calls that were sent and that nothing came back for.
func (m *model) waiting() (names []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, c := range m.sent {
		if _, back := m.results[id]; !back {
			names = append(names, c.Name)
		}
	}
	return names
}

// onQuiet calls then if no request comes for a while: a run may take long on a slow machine,
// and one that has a next request does not hang. stop ends the waiting, and reports whether
// then was not called.
func (m *model) onQuiet(after time.Duration, then func()) (stop func() bool) {
	done, over, quiet := make(chan struct{}), make(chan struct{}), false
	go func() {
		defer close(over)
		for {
			m.mu.Lock()
			changed := m.changed
			m.mu.Unlock()
			select {
			case <-changed:
			case <-done:
				return
			case <-time.After(after):
				quiet = true
				then()
				return
			}
		}
	}()
	return func() bool {
		close(done)
		<-over
		return !quiet
	}
}

// heard reports whether a request held the text.
func (m *model) heard(text string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(m.bodies, func(body string) bool { return strings.Contains(body, text) })
}

// heardBy returns the requests of the conversation that a key has begun.
func (m *model) heardBy(key string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all strings.Builder
	for _, body := range m.bodies {
		var req request
		if json.Unmarshal([]byte(body), &req) == nil && len(req.Messages) > 0 && strings.Contains(plain(req.Messages[0].Content), "[["+key+"]]") {
			all.WriteString(body)
		}
	}
	return all.String()
}

// reply streams one assistant message: the calls of the turn, or "ok".
func reply(w http.ResponseWriter, req *request, t turn) {
	stop := "end_turn"
	content := []map[string]any{{"type": "text", "text": "ok"}}
	if len(t) > 0 {
		stop, content = "tool_use", nil
		for _, c := range t {
			if c.Tool == "" {
				stop, content = "end_turn", append(content, map[string]any{"type": "text", "text": c.Name})
				continue
			}
			content = append(content, map[string]any{"type": "tool_use", "id": c.id(), "name": c.Tool, "input": c.Input})
		}
	}
	message := map[string]any{
		"id": fmt.Sprintf("msg_%d", time.Now().UnixNano()), "type": "message", "role": "assistant",
		"model": req.Model, "content": content, "stop_reason": stop, "stop_sequence": nil,
		"usage": map[string]any{"input_tokens": 10, "output_tokens": 5},
	}
	if !req.Stream {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(message)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(kind string, fields map[string]any) {
		fields["type"] = kind
		data, _ := json.Marshal(fields)
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, data)
	}
	message["content"], message["stop_reason"] = []any{}, nil
	send("message_start", map[string]any{"message": message})
	for i, b := range content {
		beat := func() {}
		if i < len(t) && t[i].Beat > 0 {
			beat = func() {
				http.NewResponseController(w).Flush()
				think(context.Background(), t[i].Beat)
			}
		}
		sendBlock(send, i, b, beat)
	}
	send("message_delta", map[string]any{"delta": map[string]any{"stop_reason": stop, "stop_sequence": nil}, "usage": map[string]any{"output_tokens": 5}})
	send("message_stop", map[string]any{})
}

func sendBlock(send func(string, map[string]any), i int, b map[string]any, beat func()) {
	if b["type"] == "text" {
		send("content_block_start", map[string]any{"index": i, "content_block": map[string]any{"type": "text", "text": ""}})
		for piece := range strings.SplitAfterSeq(b["text"].(string), " ") {
			send("content_block_delta", map[string]any{"index": i, "delta": map[string]any{"type": "text_delta", "text": piece}})
			beat()
		}
	} else {
		input, _ := json.Marshal(b["input"])
		send("content_block_start", map[string]any{"index": i, "content_block": map[string]any{"type": "tool_use", "id": b["id"], "name": b["name"], "input": map[string]any{}}})
		send("content_block_delta", map[string]any{"index": i, "delta": map[string]any{"type": "input_json_delta", "partial_json": string(input)}})
	}
	send("content_block_stop", map[string]any{"index": i})
}
