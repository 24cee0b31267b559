package server

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/serve/signed"
)

// TestSigned: a signature is for one request, at one server, for a while and once.
func TestSigned(t *testing.T) {
	h := listen(t, Options{})
	secret, id := h.token(RolePerson, "", "ann")
	host := strings.TrimPrefix(h.url, "http://")
	ask := func(method, path, body string, r signed.Request, s signed.Stamp) reply {
		return h.do(method, path, "", body, "Authorization", signed.Scheme+" "+keyOf(secret).Sign(r, s))
	}
	own := func() (signed.Request, signed.Stamp) {
		return signed.Request{Method: "GET", Host: host, URI: "/api/approvals?limit=1"},
			signed.Stamp{Instance: h.credentials.instance, Time: signed.At(time.Now()), Nonce: signed.NewNonce()}
	}
	for name, change := range map[string]func(*signed.Request, *signed.Stamp){
		"another method":         func(r *signed.Request, _ *signed.Stamp) { r.Method = "POST" },
		"another host":           func(r *signed.Request, _ *signed.Stamp) { r.Host = "127.0.0.1:1" },
		"another path":           func(r *signed.Request, _ *signed.Stamp) { r.URI = "/api/me" },
		"another query":          func(r *signed.Request, _ *signed.Stamp) { r.URI = "/api/approvals?limit=2" },
		"another instance":       func(_ *signed.Request, s *signed.Stamp) { s.Instance = "other" },
		"no instance":            func(_ *signed.Request, s *signed.Stamp) { s.Instance = "" },
		"too late":               func(_ *signed.Request, s *signed.Stamp) { s.Time -= (signedFor + time.Second).Milliseconds() },
		"too early":              func(_ *signed.Request, s *signed.Stamp) { s.Time += (signedFor + 10*time.Second).Milliseconds() },
		"another nonce's length": func(_ *signed.Request, s *signed.Stamp) { s.Nonce = "AAAA" },
	} {
		t.Run(name, func(t *testing.T) {
			h := h.in(t)
			r, s := own()
			change(&r, &s)
			h.want(ask("GET", "/api/approvals?limit=1", "", r, s), 401, "unauthorized")
		})
	}
	r, s := own()
	got := ask("GET", "/api/approvals?limit=1", "", r, s)
	h.want(got, 200, "")
	if got.header.Get(signed.ProofHeader) != s.Proof(keyOf(secret).Public(), host) {
		t.Error("the server does not prove that it has answered")
	}
	h.want(ask("GET", "/api/approvals?limit=1", "", r, s), 401, "unauthorized") // once more
	for body, digest := range map[string]string{"{}": "", `{"a":1}`: signed.DigestOf([]byte(`{"b":1}`)), "": signed.DigestOf([]byte("{}"))} {
		r, s := own()
		r.Method, r.URI, s.Digest = "POST", "/api/tokens/"+id+"/revoke", digest
		h.want(ask("POST", r.URI, body, r, s), 400, "other_body")
	}
	h.want(h.do("GET", "/api/me", secret, ""), 200, "") // it is not revoked
	r, s = own()
	text := signed.Scheme + " " + keyOf(secret).Sign(r, s)
	h.want(h.do("GET", "/api/approvals?limit=1", "", "", "Authorization", text, "Authorization", text), 401, "unauthorized")
	h.want(h.do("GET", "/api/approvals?limit=1", "", "", "Authorization", text[:len(text)-1]), 401, "unauthorized")
}

// TestReplays: what was signed counts once as long as it counts at all, and a credential
// that fills the memory is refused.
func TestReplays(t *testing.T) {
	now := time.Now()
	for _, later := range []time.Duration{0, time.Second, signedFor, 2*signedFor - time.Second, 2 * signedFor} {
		for _, began := range []time.Duration{0, time.Second, signedFor, 2*signedFor - time.Second} {
			var r replays
			if err := errors.Join(r.add("a", "first", now), r.add("a", "n", now.Add(began)), r.add("b", "n", now.Add(began))); err != nil {
				t.Fatal(err)
			}
			if err := r.add("a", "other", now.Add(began+later/2)); err != nil {
				t.Fatal(err)
			}
			if err := r.add("a", "n", now.Add(began+later)); err != errReplayed {
				t.Errorf("sent after %v, and %v later: %v", began, later, err)
			}
		}
	}
	var r replays
	for range maxNonces {
		if err := r.add("a", signed.NewNonce(), now); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.add("a", signed.NewNonce(), now); err != tooMany {
		t.Error(err)
	}
	if err := r.add("b", signed.NewNonce(), now); err != nil {
		t.Error(err)
	}
	if err := r.add("a", signed.NewNonce(), now.Add(4*signedFor)); err != nil || len(r.ages[1]["a"]) != maxNonces {
		t.Error(err, len(r.ages[1]["a"]))
	}
}

// TestEndsWithTheServer: what lets a browser in ends with the server, and programs go on.
// A signature for the one does not count at the next.
func TestEndsWithTheServer(t *testing.T) {
	kept := open(t)
	first := listen(t, Options{Store: kept})
	ann, _ := first.token(RolePerson, "", "ann")
	browser, code := first.paired("ann"), first.pairCode("ann")
	first.want(first.do("GET", "/api/me", browser, ""), 200, "")

	beside := listen(t, Options{Store: kept})
	beside.want(beside.do("GET", "/api/me", browser, ""), 401, "server_restarted")
	first.want(first.do("GET", "/api/me", browser, ""), 200, "")

	next := listen(t, Options{Store: kept, Before: first.credentials.instance})
	next.want(next.do("GET", "/api/me", ann, ""), 200, "")
	r := next.do("GET", "/api/me", browser, "")
	next.want(r, 401, "server_restarted")
	if !strings.Contains(r.body, "started again") {
		t.Errorf("it does not say what to do: %s", r.body)
	}
	next.want(next.do("POST", "/api/pair", code, pairBody(browser)), 401, "unauthorized")
	if list := next.do("GET", "/api/tokens", ann, "").body; strings.Count(list, `"revoked"`) != 3 { // one code was used
		t.Errorf("what has ended is listed as if it counted: %s", list)
	}
	old := signed.Stamp{Instance: first.credentials.instance, Time: signed.At(time.Now()), Nonce: signed.NewNonce()}
	text := keyOf(ann).Sign(signed.Request{Method: "GET", Host: strings.TrimPrefix(next.url, "http://"), URI: "/api/me"}, old)
	next.want(next.do("GET", "/api/me", "", "", "Authorization", signed.Scheme+" "+text), 401, "unauthorized")
}

// TestEarlierVersions: what counted before requests were signed counts no more, and the
// error says what to do.
func TestEarlierVersions(t *testing.T) {
	kept := open(t)
	now := time.Now()
	for _, id := range []string{old + random(10), browser + random(10), code + random(10)} {
		tok, _ := newToken(id, RolePerson, "", "ann", now, now.Add(time.Hour))
		tok.Hash = signed.NewKey(id, signed.Prefix+id+"_x").Public()
		if err := kept.CreateToken(t.Context(), tok); err != nil {
			t.Fatal(err)
		}
	}
	h := listen(t, Options{Store: kept})
	all, err := kept.Tokens(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, tok := range all {
		if tok.Revoked.IsZero() {
			t.Errorf("%s is not revoked", tok.ID)
		}
		r := h.do("GET", "/api/me", signed.Prefix+tok.ID+"_x", "")
		why := "unauthorized"
		if kindOf(tok.ID) == kindBrowser {
			why = "server_restarted"
		}
		h.want(r, http.StatusUnauthorized, why)
		if kindOf(tok.ID) == kindOld && !strings.Contains(r.body, "earlier version") {
			t.Errorf("it does not say why: %s", r.body)
		}
	}
	// One that is created by an earlier version while this one runs.
	late, _ := newToken(old+random(10), RolePerson, "", "ben", now, time.Time{})
	late.Hash = signed.NewKey(late.ID, signed.Prefix+late.ID+"_x").Public()
	if err := kept.CreateToken(t.Context(), late); err != nil {
		t.Fatal(err)
	}
	h.want(h.do("GET", "/api/me", signed.Prefix+late.ID+"_x", ""), http.StatusUnauthorized, "unauthorized")
}

// TestBearer: a secret itself is taken over TLS only.
func TestBearer(t *testing.T) {
	for _, tls := range []bool{false, true} {
		h := listen(t, Options{TLS: tls})
		secret, _ := h.token(RolePerson, "", "ann")
		status, code := 401, "unauthorized"
		if tls {
			status, code = 200, ""
		}
		h.want(h.do("GET", "/api/me", "", "", "Authorization", "Bearer "+secret), status, code)
		h.want(h.do("GET", "/api/me", "", "", "Authorization", "Bearer "+secret+"x"), 401, "unauthorized")
		h.want(h.do("GET", "/api/me", secret, ""), 200, "")
	}
}

// TestHello: the server proves that it knows a credential, by what it alone knows.
func TestHello(t *testing.T) {
	h := listen(t, Options{})
	secret, id := h.token(RolePerson, "", "ann")
	r := h.do("POST", signed.HelloPath, "", `{"id":"`+id+`","nonce":"`+signed.NewNonce()+`"}`)
	h.want(r, 200, "")
	h.want(h.do("POST", signed.HelloPath, "", `{"id":"`+id+`","nonce":"x"}`), 400, "bad_request")
	h.want(h.do("POST", signed.HelloPath, "", `{"id":"p`+random(10)+`","nonce":"`+signed.NewNonce()+`"}`), 401, "unauthorized")
	for _, hidden := range []string{secret, string(keyOf(secret).ID + "_")} {
		if strings.Contains(r.body, hidden) {
			t.Errorf("%s", r.body)
		}
	}
}
