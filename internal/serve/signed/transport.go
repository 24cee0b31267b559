package signed

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// Transport signs requests with a key and checks that the server answers. A request is
// sent only after the server has proved itself. An answer without a proof is an error if
// it says that the request was obeyed; of others, the header ProofHeader is removed.
type Transport struct {
	Key  *Key
	Base http.RoundTripper

	mu    sync.Mutex
	known *greeted
}

// greeted is a server that has proved itself.
type greeted struct {
	base, instance string
	ahead          time.Duration // of its clock
}

// UnprovedError is the error if something answers that is not the server.
type UnprovedError struct{ Host string }

func (e *UnprovedError) Error() string {
	return fmt.Sprintf("%s was answered by something that does not know this token: another program may have taken the server's port, so nothing was sent to it but the token's id. Check that agent-wrapper serve is running there", e.Host)
}

// RoundTrip sends a request. A server that was started again is asked to prove itself
// again: the request was not obeyed by it.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := take(r)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	at := t.known
	t.mu.Unlock()
	for again := false; ; again = true {
		if at == nil || at.base != baseOf(r) {
			var refused *http.Response
			if at, refused, err = t.hello(r); at == nil {
				return refused, err
			}
		}
		resp, err := t.send(r, body, at)
		if err != nil || again || resp.StatusCode != http.StatusUnauthorized || resp.Header.Get(ProofHeader) != "" {
			return resp, err
		}
		_ = resp.Body.Close() // what it said does not matter
		at = nil
	}
}

// CloseIdleConnections is for http.Client.
func (t *Transport) CloseIdleConnections() {
	if base, ok := t.Base.(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

func baseOf(r *http.Request) string { return r.URL.Scheme + "://" + hostOf(r) }

// hostOf returns the host that a request names.
func hostOf(r *http.Request) string {
	if r.Host != "" {
		return r.Host
	}
	return r.URL.Host
}

// take returns the body of a request.
func take(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(r.Body)
	_ = r.Body.Close() // it was read
	return body, err
}

// maxGreeting is the size of the longest greeting in bytes.
const maxGreeting = 4 << 10

// hello has the server prove itself. It returns its answer if that is a refusal.
func (t *Transport) hello(r *http.Request) (*greeted, *http.Response, error) {
	nonce := NewNonce()
	text, err := json.Marshal(Hello{t.Key.ID, nonce})
	if err != nil {
		return nil, nil, err
	}
	q, err := http.NewRequestWithContext(r.Context(), http.MethodPost, baseOf(r)+HelloPath, bytes.NewReader(text))
	if err != nil {
		return nil, nil, err
	}
	q.URL.Host, q.Host = r.URL.Host, hostOf(r)
	q.Header.Set("Content-Type", "application/json")
	resp, err := t.Base.RoundTrip(q)
	if err != nil {
		return nil, nil, err
	}
	resp.Header.Del(ProofHeader)
	if resp.StatusCode/100 > 2 {
		return nil, resp, nil
	}
	defer resp.Body.Close()
	text, err = io.ReadAll(io.LimitReader(resp.Body, maxGreeting))
	if err != nil {
		return nil, nil, err
	}
	var g Greeting
	if json.Unmarshal(text, &g) != nil || !same(g.Proof, g.Greet(t.Key.Public(), hostOf(r), nonce)) {
		return nil, nil, &UnprovedError{hostOf(r)}
	}
	at := &greeted{baseOf(r), g.Instance, time.Until(time.UnixMilli(g.Time))}
	t.mu.Lock()
	t.known = at
	t.mu.Unlock()
	return at, nil, nil
}

// send sends a request to a server, signed, and checks whether it was the server that
// answered.
func (t *Transport) send(r *http.Request, body []byte, at *greeted) (*http.Response, error) {
	q := r.Clone(r.Context())
	q.Body = nil
	if body != nil {
		q.Body = io.NopCloser(bytes.NewReader(body))
	}
	s := Stamp{ID: t.Key.ID, Instance: at.instance, Time: At(time.Now().Add(at.ahead)), Nonce: NewNonce(), Digest: DigestOf(body)}
	q.Header.Set("Authorization", Scheme+" "+t.Key.Sign(Request{q.Method, hostOf(r), q.URL.RequestURI()}, s))
	resp, err := t.Base.RoundTrip(q)
	if err != nil || same(resp.Header.Get(ProofHeader), s.Proof(t.Key.Public(), hostOf(r))) {
		return resp, err
	}
	if resp.StatusCode/100 <= 2 {
		_ = resp.Body.Close() // it is not read
		return nil, &UnprovedError{hostOf(r)}
	}
	resp.Header.Del(ProofHeader)
	return resp, nil
}
