package server

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/serve/signed"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
)

// TestOtherHosts: a page elsewhere reaches this server neither by a name that it has
// resolve here (DNS rebinding), nor by its own requests.
func TestOtherHosts(t *testing.T) {
	h := listen(t, Options{Hosts: []string{"approvals.example"}})
	secret, _ := h.token(RolePerson, "", "ann")
	port := h.url[strings.LastIndex(h.url, ":"):]
	for _, tt := range []struct {
		name    string
		headers []string
		status  int
		code    string
	}{
		{"own", nil, 200, ""},
		{"localhost", []string{"Host", "LOCALHOST" + port}, 200, ""},
		{"added", []string{"Host", "approvals.example"}, 200, ""},
		{"rebinding", []string{"Host", "evil.example" + port}, 403, "other_host"},
		{"rebinding without a port", []string{"Host", "127.0.0.1"}, 403, "other_host"},
		{"another port", []string{"Host", "127.0.0.1:1"}, 403, "other_host"},
		{"own page", []string{"Origin", h.url}, 200, ""},
		{"another page", []string{"Origin", "https://evil.example"}, 403, "other_origin"},
		{"another port's page", []string{"Origin", "http://127.0.0.1:1"}, 403, "other_origin"},
		{"a page without an origin", []string{"Origin", "null"}, 403, "other_origin"},
		{"two origins", []string{"Origin", h.url, "Origin", "https://evil.example"}, 403, "other_origin"},
		{"cross-site", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}, 403, "other_origin"},
		{"another port, same site", []string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "cors"}, 403, "other_origin"},
		{"own fetch", []string{"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "cors"}, 200, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := h.in(t)
			h.want(h.do("GET", "/api/me", secret, "", tt.headers...), tt.status, tt.code)
		})
	}
}

// TestCredentials: what is no credential that counts gets nothing.
func TestCredentials(t *testing.T) {
	h := listen(t, Options{})
	good, id := h.token(RolePerson, "", "ann")
	code := h.pairCode("ann")
	expired, secret, err := Mint(RolePerson, "", "ann", time.Now().Add(-time.Hour), time.Now().Add(-time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if err := h.options.Store.CreateToken(t.Context(), expired); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]string{
		"none": "", "garbage": "x", "its ID alone": "awt_" + id + "_", "another's secret": good[:len(good)-1] + "x",
		"expired": secret, "a code's text": strings.ReplaceAll(code, "-", ""), "longer": good + "a", "a browser's": strings.Replace(good, "awt_p", "awt_b", 1),
		"of an earlier version": strings.Replace(good, "awt_p", "awt_t", 1),
	} {
		t.Run(name, func(t *testing.T) {
			h := h.in(t)
			h.want(h.do("GET", "/api/me", tt, ""), 401, "unauthorized")
		})
	}
	h.want(h.do("GET", "/api/me", "", "", "Authorization", "Basic "+good), 401, "unauthorized")
	h.want(h.do("GET", "/api/me", "", "", "Authorization", "Bearer "+good), 401, "unauthorized") // without TLS
	h.want(h.do("GET", "/api/me", code, ""), 403, "insufficient_permissions")
	h.want(h.do("GET", "/api/me?token="+good, "", ""), 400, "bad_request")
	h.want(h.do("GET", "/api/me", good, ""), 200, "")
}

// TestRevoked: a credential that is revoked, here or by another process, ends with what
// it has open.
func TestRevoked(t *testing.T) {
	m := open(t)
	h := listen(t, Options{Store: m})
	ann, _ := h.token(RolePerson, "", "ann")
	bob, id := h.token(RolePerson, "", "bob")
	h.want(h.do("GET", "/api/me", bob, ""), 200, "")
	h.want(h.do("POST", "/api/tokens/"+id+"/revoke", ann, ""), 404, "not_found") // another's
	h.want(h.do("POST", "/api/tokens/"+id+"/revoke", bob, ""), 200, "")
	h.want(h.do("GET", "/api/me", bob, ""), 401, "unauthorized")

	root, _ := h.token(RoleAdmin, "", "root")
	_, other := h.token(RoleAgent, "chat", "agent")
	h.want(h.do("POST", "/api/tokens/"+other+"/revoke", root, ""), 200, "")

	cay, id := h.token(RolePerson, "", "cay")
	h.want(h.do("GET", "/api/me", cay, ""), 200, "")
	ctx, release := h.credentials.hold(t.Context(), id)
	defer release()
	if err := m.RevokeToken(t.Context(), id, time.Now()); err != nil { // another process
		t.Fatal(err)
	}
	<-ctx.Done() // the server looks every second
	if ended(ctx) == nil {
		t.Error("the request does not know that its credential was revoked")
	}
	h.want(h.do("GET", "/api/me", cay, ""), 401, "unauthorized")
}

// TestUnchecked: while the store says nothing of credentials, nobody is let in by what
// it said long ago.
func TestUnchecked(t *testing.T) {
	c := newCredentials(open(t), "now")
	tok, secret, err := Mint(RolePerson, "", "ann", time.Now(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.find(tok.ID); err != errUnchecked {
		t.Error(err)
	}
	old := look{map[string]*store.Token{tok.ID: &tok}, time.Now().Add(-maxAge - time.Second)}
	c.known.Store(&old)
	if _, err := c.bearer(t.Context(), secret); err != errUnchecked {
		t.Error(err)
	}
}

// TestPairing: a code lets one browser in, by the key that the browser made, and does
// nothing else.
func TestPairing(t *testing.T) {
	h := listen(t, Options{})
	code := h.pairCode("ann")
	secret := signed.Prefix + browser + signed.CodeKey(code).ID[1:] + "-" + h.credentials.instance + "_" + random(32)
	h.want(h.do("POST", "/api/pair", "aaaa-bbbb-cccc-dddd", pairBody(secret)), 401, "unauthorized")
	h.want(h.do("POST", "/api/pair", "", pairBody(secret)), 401, "unauthorized")
	h.want(h.do("POST", "/api/pair", code, `{"key":"AAAA"}`), 400, "bad_request")
	h.want(h.do("GET", "/api/approvals", code, ""), 403, "insufficient_permissions")
	ann, _ := h.token(RolePerson, "", "ann")
	h.want(h.do("POST", "/api/pair", ann, pairBody(secret)), 403, "insufficient_permissions")
	h.want(h.do("GET", "/api/me", secret, ""), 401, "unauthorized") // not yet
	var me identity
	if r := h.do("POST", "/api/pair", strings.ToUpper(code), pairBody(secret)); json.Unmarshal([]byte(r.body), &me) != nil || me.Name != "ann" || me.ID != signed.TokenKey(secret).ID {
		t.Fatalf("%+v", r)
	}
	h.want(h.do("POST", "/api/pair", code, pairBody(secret)), 401, "unauthorized") // used
	h.want(h.do("GET", "/api/me", secret, ""), 200, "")
	h.want(h.do("GET", "/api/me", secret+"x", ""), 401, "unauthorized")
	h.want(h.do("GET", "/api/me", "", "", "Authorization", "Bearer "+secret), 401, "unauthorized")
}

// TestPairingOnce: of several browsers with one code, one is let in.
func TestPairingOnce(t *testing.T) {
	h := listen(t, Options{})
	by, err := h.credentials.claimed(t.Context(), signed.CodeKey(h.pairCode("ann")).ID)
	if err != nil {
		t.Fatal(err)
	}
	paired := make(chan bool)
	for i := range 8 {
		go func() {
			_, err := h.credentials.pair(t.Context(), by, signed.Public{byte(i)})
			paired <- err == nil
		}()
	}
	in := 0
	for range 8 {
		if <-paired {
			in++
		}
	}
	if in != 1 {
		t.Errorf("%d browsers were let in", in)
	}
}

// TestBodies: what is too long, no JSON, ambiguous or unknown changes nothing.
func TestBodies(t *testing.T) {
	h := listen(t, Options{})
	long := `{"id":"` + strings.Repeat("a", maxBody) + `"}`
	h.want(h.do("POST", signed.HelloPath, "", long), 413, "body_too_large")
	h.want(h.do("POST", signed.HelloPath, "", `{"id":"a","id":"b"}`), 400, "bad_request")
	h.want(h.do("POST", signed.HelloPath, "", `{"Id":"a"}`), 400, "bad_request")
	h.want(h.do("POST", signed.HelloPath, "", `{"id":"a"} {}`), 400, "bad_request")
	h.want(h.do("POST", signed.HelloPath, "", `id=a`, "Content-Type", "text/plain"), 415, "not_json")
	r, err := http.NewRequestWithContext(t.Context(), "POST", h.url+signed.HelloPath, strings.NewReader(`{"id":"a"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := http.DefaultClient.Do(r)
	if err != nil || resp.StatusCode != 415 {
		t.Errorf("a form: %v, %v", resp, err)
	}
	resp.Body.Close()
}

// TestPaths: no path leads elsewhere, and what is nowhere is an error like any other.
func TestPaths(t *testing.T) {
	h := listen(t, Options{})
	secret, _ := h.token(RolePerson, "", "ann")
	for _, path := range []string{"/nothing", "/static/", "/static/..%2f..%2fetc/passwd", "/static/%2e%2e/%2e%2e/etc/passwd", "/../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/api/..%2f..%2fetc/passwd", "//etc/passwd", "/api/tokens/..%2F../revoke"} {
		r := h.do("GET", path, secret, "")
		if r.status != 404 && r.status != 405 || strings.Contains(r.body, "root:") {
			t.Errorf("%s: %d %s", path, r.status, r.body)
		}
	}
	r := h.do("DELETE", "/api/me", secret, "")
	h.want(r, 405, "method_not_allowed")
	if r.header.Get("Allow") != "GET" {
		t.Errorf("Allow: %s", r.header.Get("Allow"))
	}
}

// TestIdleConnections: thousands of connections on which nobody says who he is keep nobody
// out, and end no request that is under way. Nor do those of a credential that rest.
func TestIdleConnections(t *testing.T) {
	slow.Test(t)
	const many = 4200
	p := listenWith(t, Options{}, sendTimes{header: time.Hour, body: time.Hour})
	ann, _ := p.token(RolePerson, "", "ann")
	client := &http.Client{Transport: &signed.Transport{Key: keyOf(ann), Base: &http.Transport{}}, Timeout: time.Minute} // has one connection
	defer client.CloseIdleConnections()
	ask := func(path string) (status int, reused bool) {
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { reused = i.Reused }})
		r, err := http.NewRequestWithContext(ctx, "GET", p.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		io.Copy(io.Discard, res.Body)
		return res.StatusCode, reused
	}
	if status, _ := ask("/api/approvals"); status != 200 {
		t.Fatal(status)
	}
	for _, first := range []string{"", "G", "GET /api/approvals HTTP/1.1\r\nHost: " + strings.TrimPrefix(p.url, "http://") + "\r\n\r\n"} {
		var open []net.Conn
		for range many {
			c, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			io.WriteString(c, first)
			open = append(open, c)
		}
		if status, reused := ask("/api/approvals"); status != 200 || !reused {
			t.Errorf("after %q, with a connection that was there: %d, reused %v", first, status, reused)
		}
		client.CloseIdleConnections()
		if status, reused := ask("/api/approvals"); status != 200 || reused {
			t.Errorf("after %q, with a new connection: %d", first, status)
		}
		for _, c := range open {
			c.Close()
		}
	}
}

// TestSlowClients: a client that takes its time keeps no connection.
func TestSlowClients(t *testing.T) {
	h := listenWith(t, Options{}, sendTimes{header: 200 * time.Millisecond, body: 300 * time.Millisecond})
	secret, _ := h.token(RolePerson, "", "ann")
	address := strings.TrimPrefix(h.url, "http://")
	for name, begin := range map[string]string{
		"header": "GET /healthz HTTP/1.1\r\nHost: " + address + "\r\nX-A: ",
		"body": "POST /api/approvals/x/withdraw HTTP/1.1\r\nHost: " + address + "\r\nAuthorization: " + h.authorization("POST", "/api/approvals/x/withdraw", secret) +
			"\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{",
		"body of a stranger": "POST /api/decisions HTTP/1.1\r\nHost: " + address + "\r\nContent-Length: 1000\r\n\r\n{",
		"body for nobody":    "POST /nothing HTTP/1.1\r\nHost: " + address + "\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := fmt.Fprint(conn, begin); err != nil {
				t.Fatal(err)
			}
			_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
			if _, err := bufio.NewReader(conn).ReadString(0); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the connection is still open: %v", err)
			}
		})
	}
}

// TestHeaders: every answer forbids what a page could do with it.
func TestHeaders(t *testing.T) {
	h := listen(t, Options{})
	for _, path := range []string{"/healthz", "/nothing", "/api/me"} {
		r := h.do("GET", path, "", "")
		for _, name := range []string{"Content-Security-Policy", "X-Content-Type-Options", "X-Frame-Options", "Cache-Control", "Referrer-Policy"} {
			if r.header.Get(name) == "" {
				t.Errorf("%s: %s is missing", path, name)
			}
		}
		if r.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: open to other origins", path)
		}
	}
}

// TestPanic: the client of a handler that panics is told nothing of it, and others go on.
func TestPanic(t *testing.T) {
	h := listen(t, Options{})
	h.mux.HandleFunc("GET /panic", func(http.ResponseWriter, *http.Request) { panic("a secret of the server") })
	r := h.do("GET", "/panic", "", "")
	h.want(r, 500, "internal_error")
	if strings.Contains(r.body, "secret") || strings.Contains(r.body, "goroutine") {
		t.Errorf("%s", r.body)
	}
	if !strings.Contains(h.logs.text(), "a secret of the server") {
		t.Error("the log does not say why")
	}
	h.want(h.do("GET", "/healthz", "", ""), 200, "")
}

// TestRates: nobody has more than their share.
func TestRates(t *testing.T) {
	h := listen(t, Options{Rate: 5})
	ann, _ := h.token(RolePerson, "", "ann")
	bob, _ := h.token(RolePerson, "", "bob")
	last := 0
	for range 40 {
		last = h.do("GET", "/api/me", ann, "").status
	}
	if last != 429 {
		t.Errorf("40 requests at once: %d", last)
	}
	h.want(h.do("GET", "/api/me", bob, ""), 200, "")
	for range 3 * failureRate {
		last = h.do("GET", "/api/me", "awt_x_y", "").status
	}
	if last != 429 {
		t.Errorf("a guesser: %d", last)
	}
	h.want(h.do("GET", "/api/me", bob, ""), 200, "")
}

// TestNoSecretsInLogs: what was sent to prove who one is stands in no log.
func TestNoSecretsInLogs(t *testing.T) {
	h := listen(t, Options{})
	secret, _ := h.token(RoleAgent, "chat", "agent")
	code := h.pairCode("ann")
	h.do("GET", "/api/tokens", secret, "") // not its to see: logged
	h.do("GET", "/api/me?token="+secret, "", "")
	h.do("GET", "/api/"+secret, "", "")
	h.do("POST", "/api/pair", "", `{"code":"`+code+`"}`)
	h.do("POST", "/api/pair", code, `{"key":"AAAA"}`)
	browser := h.paired("ben")
	h.do("GET", "/api/me", "", "", "Authorization", "Bearer "+browser)
	if !strings.Contains(h.logs.text(), "SECURITY") {
		t.Error("nothing was logged")
	}
	for _, hidden := range []string{secret, secret[20:], code, strings.ReplaceAll(code, "-", ""), browser, browser[30:]} {
		if strings.Contains(h.logs.text(), hidden) {
			t.Errorf("%s stands in the log:\n%s", hidden, h.logs.text())
		}
	}
}
