package doctor

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// call is one tool use that the model asks for.
type call struct {
	tool  string // its name
	space string // the namespace of its name, in the dialect that has any
	input any
	free  bool // the input is a text, not an object
	// token is a text that stands in the input and nowhere else: where a request holds
	// it, the call has been made and the host went on after it.
	token string
}

// script is what the model of a trial says: the calls of the agent and of its subagent,
// one after the other, and then "ok". A conversation is that of the agent if it holds
// key, and that of the subagent if it holds subKey only.
type script struct {
	key, subKey string
	calls, sub  []call
	// settle is called before the agent's "ok": what goes on beside it needs a moment.
	settle func(*model)
}

// dialect is a protocol by which hosts ask a model.
type dialect interface {
	// asks reports whether a request to this path is for words of the model, and
	// whether they are wanted as a stream, where the path says so.
	asks(path string) (ok, stream bool)
	// reply says the call, or "ok" if it is nil, under an id.
	reply(w io.Writer, q question, c *call, id string)
	// aside is the answer to a request to any other path, nil for none.
	aside(path string) any
}

// question is what a dialect reads of a request.
type question struct {
	Model  string            `json:"model"`
	Stream bool              `json:"stream"`
	Tools  []json.RawMessage `json:"tools"`
}

// model is a scripted model on loopback. How far a conversation is, it reads from the
// request, so that a host may repeat one.
type model struct {
	url string
	dialect
	script script
	server *http.Server
	done   chan struct{}

	mu     sync.Mutex
	said   map[string]bool // the tokens of the calls that were made
	bodies []string        // of the requests
}

// startModel starts a model. The caller closes it.
func startModel(d dialect, s script) (*model, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &model{url: "http://" + l.Addr().String(), dialect: d, script: s, said: map[string]bool{}, done: make(chan struct{})}
	m.server = &http.Server{Handler: m, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(m.done)
		_ = m.server.Serve(l) // it ends when the model is closed
	}()
	return m, nil
}

func (m *model) close() error {
	err := m.server.Close()
	<-m.done
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// maxRequest is the largest request that is read.
const maxRequest = 16 << 20

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	ok, stream := m.asks(r.URL.Path)
	if !ok {
		m.answerAside(w, r.URL.Path)
		return
	}
	var q question
	if err := json.Unmarshal(body, &q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	q.Stream = q.Stream || stream
	kind := "application/json"
	if q.Stream {
		kind = "text/event-stream"
	}
	next := m.next(q, string(body))
	w.Header().Set("Content-Type", kind)
	m.reply(w, q, next, idOf(next))
}

// answerAside answers a request that is not for words of the model.
func (m *model) answerAside(w http.ResponseWriter, path string) {
	w.Header().Set("Content-Type", "application/json")
	answer := m.aside(path)
	if answer == nil {
		w.WriteHeader(http.StatusNotFound)
		answer = map[string]any{"error": map[string]any{"type": "not_found_error", "message": "not here"}}
	}
	_ = json.NewEncoder(w).Encode(answer) // a host that hung up
}

// next notes what a request tells, and returns the next call of its conversation.
func (m *model) next(q question, body string) *call {
	m.mu.Lock()
	m.bodies = append(m.bodies, body)
	m.mu.Unlock()
	if len(q.Tools) == 0 {
		return nil // a title of the conversation
	}
	calls := m.script.sub
	switch {
	case strings.Contains(body, m.script.key):
		calls = m.script.calls
	case !strings.Contains(body, m.script.subKey):
		return nil
	}
	for i := range calls {
		if !strings.Contains(body, calls[i].token) {
			m.mu.Lock()
			m.said[calls[i].token] = true
			m.mu.Unlock()
			return &calls[i]
		}
	}
	if m.script.settle != nil && strings.Contains(body, m.script.key) {
		m.script.settle(m)
	}
	return nil
}

// heard reports whether a request held the text.
func (m *model) heard(text string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, body := range m.bodies {
		if strings.Contains(body, text) {
			return true
		}
	}
	return false
}

// told reports whether a request held the text as what came back for a call: behind it,
// and before the next call, if there is one.
func (m *model) told(text string, c call, next string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, body := range m.bodies {
		if _, back, ok := strings.Cut(body, c.token); ok {
			if next != "" {
				back, _, _ = strings.Cut(back, next)
			}
			if strings.Contains(back, text) {
				return true
			}
		}
	}
	return false
}

// made reports whether the model made the call.
func (m *model) made(c call) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.said[c.token]
}

// idOf returns the id of a call.
func idOf(c *call) string {
	if c == nil {
		return "msg_ok"
	}
	return "call_" + c.token
}

// encode returns a value as JSON text.
func encode(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return "{}" // the inputs of canaries are texts
	}
	return string(data)
}
