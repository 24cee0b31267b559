package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/signed"
)

// message is any message of a stream.
type message struct {
	Type     string `json:"type"`
	Cursor   int64  `json:"cursor"`
	Reason   string `json:"reason"`
	Approval *struct {
		ID     string `json:"id"`
		Status string `json:"status"`
	} `json:"approval"`
}

// peer is the client of a stream.
type peer struct {
	*websocket.Conn
	t testing.TB
}

// dial opens a stream with a credential; header are pairs.
func (h *harness) dial(path, secret string, header ...string) *peer {
	h.t.Helper()
	conn, resp, err := h.tryDial(path, secret, header...)
	if err != nil {
		h.t.Fatalf("%s: %v (%v)", path, err, resp)
	}
	h.t.Cleanup(func() { conn.CloseNow() })
	return &peer{conn, h.t}
}

func (h *harness) tryDial(path, secret string, header ...string) (*websocket.Conn, *http.Response, error) {
	o := &websocket.DialOptions{HTTPHeader: http.Header{}, HTTPClient: h.web(secret)}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			o.Host = header[i+1]
			continue
		}
		if header[i] == websocketList {
			o.Subprotocols = strings.Split(header[i+1], ", ")
			continue
		}
		o.HTTPHeader.Set(header[i], header[i+1])
	}
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	conn, resp, err := websocket.Dial(ctx, h.url+path, o)
	if conn != nil {
		conn.SetReadLimit(8 << 20)
	}
	return conn, resp, err
}

// patience is how long a test waits for what comes at once, on a busy machine.
const patience = 30 * time.Second

// next returns the next message.
func (p *peer) next() message {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	_, text, err := p.Read(ctx)
	if err != nil {
		p.t.Fatal(err)
	}
	var m message
	if err := json.Unmarshal(text, &m); err != nil {
		p.t.Fatalf("%s: %v", text, err)
	}
	return m
}

// is reads a message, in short.
func (p *peer) is(want string) message {
	p.t.Helper()
	m := p.next()
	got := m.Type
	if m.Approval != nil {
		got += " " + m.Approval.ID + " " + m.Approval.Status
	}
	if got != want {
		p.t.Fatalf("got %s, want %s", got, want)
	}
	return m
}

// gone waits for the end of a stream and returns its code.
func (p *peer) gone() websocket.StatusCode {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	for {
		_, _, err := p.Read(ctx)
		if err == nil {
			continue
		}
		if ctx.Err() != nil {
			p.t.Fatal("the stream is open still")
		}
		return websocket.CloseStatus(err)
	}
}

// ask puts a question in the name of an agent.
func (h *harness) ask(id, agent string) {
	h.t.Helper()
	_, err := h.options.Store.Submit(h.t.Context(), approval.Entry{
		State:    approval.State{Terms: approval.Terms{ID: id, Digest: "d-" + id, Asker: approval.Principal{Role: approval.Agent, Name: agent}}},
		Question: json.RawMessage(`{}`), Project: "/p",
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *harness) deny(id, person string) {
	h.t.Helper()
	by := approval.Principal{Role: approval.Person, Name: person}
	if _, err := h.options.Store.Answer(h.t.Context(), approval.Event{Kind: approval.Deny, ID: id, Digest: "d-" + id, By: by}, json.RawMessage(`{}`)); err != nil {
		h.t.Fatal(err)
	}
}

// Who connects sees what waits, and then every change, each once.
func TestEvents(t *testing.T) {
	h := listen(t, Options{})
	secret, _ := h.token(RolePerson, "", "ann")
	h.ask("1", "ci")
	h.ask("2", "ci")
	h.deny("1", "ben")
	p := h.dial("/api/events", secret)
	p.is("snapshot")
	p.is("approval 2 pending")
	cursor := p.is("current").Cursor
	h.ask("3", "ci")
	p.is("approval 3 pending")
	h.deny("3", "ben")
	last := p.is("approval 3 denied")
	if last.Cursor <= cursor {
		t.Errorf("the cursor is %d after %d", last.Cursor, cursor)
	}
	again := h.dial(fmt.Sprintf("/api/events?after=%d", cursor), secret)
	again.is("snapshot")
	again.is("approval 3 denied")
	if m := again.is("current"); m.Cursor != last.Cursor {
		t.Errorf("the cursor is %d, not %d", m.Cursor, last.Cursor)
	}
	other := h.dial("/api/events?after=99999", secret) // of another store
	other.is("snapshot")
	other.is("approval 2 pending")
	other.is("current")
}

// An agent sees what is its own.
func TestEventsOfAgents(t *testing.T) {
	h := listen(t, Options{})
	secret, _ := h.token(RoleAgent, "chat", "ci")
	h.ask("1", "ci")
	h.ask("2", "other")
	p := h.dial("/api/events", secret)
	p.is("snapshot")
	p.is("approval 1 pending")
	p.is("current")
	h.deny("2", "ben")
	h.deny("1", "ben")
	p.is("approval 1 denied")
}

// A slow viewer is told that it has lost something, and how it is now.
func TestSlowViewer(t *testing.T) {
	h := listen(t, Options{})
	f := &h.feed
	v := &viewer{at: f.end()}
	for range maxEvents + 10 {
		f.publish(event{text: []byte("{}")})
	}
	if _, _, lost := f.at(v.at); !lost {
		t.Error("nothing is lost")
	}
	if e, wait, lost := f.at(f.end()); wait == nil || lost {
		t.Errorf("%v %v", e, lost)
	}
	for range 20 {
		f.publish(event{text: make([]byte, 1<<20)})
	}
	if f.bytes > maxEventBytes || len(f.kept) > maxEvents {
		t.Errorf("%d bytes in %d events are kept", f.bytes, len(f.kept))
	}
	f.publish(event{text: make([]byte, 2*maxEventBytes)})
	if len(f.kept) != 1 {
		t.Errorf("%d events are kept", len(f.kept))
	}
}

// A viewer whose events are gone gets a snapshot instead.
func TestLostEvents(t *testing.T) {
	h := listen(t, Options{})
	secret, _ := h.token(RolePerson, "", "ann")
	p := h.dial("/api/events", secret)
	p.is("snapshot")
	p.is("current")
	h.ask("1", "ci")
	p.is("approval 1 pending")
	h.feed.mu.Lock()
	h.feed.first += maxEvents // as if there had been as many
	h.feed.kept = nil
	h.feed.mu.Unlock()
	h.deny("1", "ben")
	h.ask("2", "ci")
	p.is("lost")
	for p.next().Type != "current" { // with the events before it, or after it
	}
}

// A revoked credential's stream ends at once, and says why.
func TestRevokedStream(t *testing.T) {
	h := listen(t, Options{})
	secret, id := h.token(RolePerson, "", "ann")
	p := h.dial("/api/events", secret)
	p.is("snapshot")
	p.is("current")
	if err := h.credentials.revoke(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if m := p.next(); m.Type != "closed" || m.Reason != errRevoked.Error() {
		t.Errorf("%+v", m)
	}
	if code := p.gone(); code != websocket.StatusPolicyViolation {
		t.Error(code)
	}
	if _, resp, err := h.tryDial("/api/events", secret); err == nil || resp.StatusCode != http.StatusUnauthorized {
		t.Error(resp, err)
	}
}

// Nothing is read from a viewer of events, and nothing long from anybody.
func TestUnwantedMessages(t *testing.T) {
	h := listen(t, Options{})
	secret, _ := h.token(RolePerson, "", "ann")
	p := h.dial("/api/events", secret)
	if err := p.Write(t.Context(), websocket.MessageText, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if code := p.gone(); code != websocket.StatusPolicyViolation {
		t.Error(code)
	}
}

// Of one credential so many streams are open and no more; who leaves makes room.
// count returns the number of open WebSockets.
func (s *sockets) count() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.open {
		n += one
	}
	return n
}

func TestManyStreams(t *testing.T) {
	var s sockets
	var leave []func()
	for range maxSockets {
		out, ok := s.enter("a")
		if !ok {
			t.Fatal("no room")
		}
		leave = append(leave, out)
	}
	if _, ok := s.enter("a"); ok {
		t.Fatal("one too many")
	}
	other, ok := s.enter("b")
	if !ok || s.count() != maxSockets+1 {
		t.Error("another's credential has no room")
	}
	other()
	for _, out := range leave {
		out()
	}
	if again, ok := s.enter("a"); !ok {
		t.Error("no room was made")
	} else {
		again()
	}
	s.close()
	if _, ok := s.enter("a"); ok {
		t.Error("the server ends")
	}
}

// Pages of other origins, other hosts, requests without a credential and tokens in a URL
// open no stream.
func TestHijackedStreams(t *testing.T) {
	h := listen(t, Options{})
	secret, _ := h.token(RolePerson, "", "ann")
	host := strings.TrimPrefix(h.url, "http://")
	_, port, _ := strings.Cut(host, ":")
	for name, tt := range map[string]struct {
		path, secret string
		header       []string
		status       int
	}{
		"another origin":           {"/api/events", secret, []string{"Origin", "https://evil.example"}, http.StatusForbidden},
		"another port":             {"/api/events", secret, []string{"Origin", "http://127.0.0.1:1"}, http.StatusForbidden},
		"no origin at all":         {"/api/events", secret, []string{"Origin", "null"}, http.StatusForbidden},
		"a name that is rebound":   {"/api/events", secret, []string{"Host", "evil.example:" + port}, http.StatusForbidden},
		"rebound, with the origin": {"/api/events", secret, []string{"Host", "evil.example:" + port, "Origin", "http://evil.example:" + port}, http.StatusForbidden},
		"from another site":        {"/api/events", secret, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "websocket"}, http.StatusForbidden},
		"no credential":            {"/api/events", "", nil, http.StatusUnauthorized},
		"another's token":          {"/api/events", secret + "x", nil, http.StatusUnauthorized},
		"a token in the URL":       {"/api/events?token=" + secret, "", nil, http.StatusBadRequest},
		"a token in the protocol":  {"/api/events", "", []string{websocketList, protocol + ", " + secret}, http.StatusUnauthorized},
	} {
		conn, resp, err := h.tryDial(tt.path, tt.secret, tt.header...)
		if err == nil {
			conn.CloseNow()
			t.Errorf("%s: it is open", name)
		} else if resp == nil || resp.StatusCode != tt.status {
			t.Errorf("%s: %v, %v", name, resp, err)
		}
	}
	if strings.Contains(h.logs.text(), secret) {
		t.Error("a token is in the log")
	}
	own := h.dial("/api/events", secret, "Origin", h.url)
	own.is("snapshot")
}

// A page, which cannot set a header for it, signs a stream in a subprotocol. The server
// proves itself in the first message, since a page sees no headers either.
func TestBrowserStream(t *testing.T) {
	h := listen(t, Options{})
	secret := h.paired("ann")
	stamp := func(secret, path string) string {
		_, text, _ := strings.Cut(h.authorization("GET", path, secret), " ")
		return signed.Protocol + text
	}
	once := stamp(secret, "/api/events")
	p := h.dial("/api/events", "", "Origin", h.url, websocketList, protocol+", "+once)
	if p.Subprotocol() != protocol {
		t.Errorf("the protocol is %q", p.Subprotocol())
	}
	_, text, err := p.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	made, _ := signed.Parse(strings.TrimPrefix(once, signed.Protocol))
	want := made.Proof(keyOf(secret).Public(), strings.TrimPrefix(h.url, "http://"))
	if string(text) != `{"type":"proof","proof":"`+want+`"}` {
		t.Errorf("the first message is %s", text)
	}
	p.is("snapshot")
	for name, list := range map[string]string{
		"once more":        once,
		"no stamp":         protocol,
		"another secret's": stamp(secret+"x", "/api/events"),
		"another path's":   stamp(secret, "/api/events?after=1"),
		"two":              stamp(secret, "/api/events") + ", " + stamp(secret, "/api/events"),
	} {
		if conn, resp, err := h.tryDial("/api/events", "", "Origin", h.url, websocketList, list); err == nil {
			conn.CloseNow()
			t.Errorf("%s: it is open", name)
		} else if resp == nil || resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: %v, %v", name, resp, err)
		}
	}
}

// A server that ends takes its streams with it.
func TestStreamsEnd(t *testing.T) {
	h := listen(t, Options{})
	secret, _ := h.token(RolePerson, "", "ann")
	p := h.dial("/api/events", secret)
	p.is("snapshot")
	p.is("current")
	h.end()
	if m := p.next(); m.Type != "closed" {
		t.Errorf("%+v", m)
	}
	if code := p.gone(); code != websocket.StatusGoingAway {
		t.Error(code)
	}
	if err := h.Close(); err != nil || h.sockets.count() != 0 {
		t.Error(err, h.sockets.count())
	}
	if _, _, err := h.tryDial("/api/events", secret); errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}
