package server

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/serve/signed"
)

// TestHealth: the server says whether it runs, and whether it can decide.
func TestHealth(t *testing.T) {
	m := &flaky{Store: open(t)}
	h := listen(t, Options{Store: m})
	h.want(h.do("GET", "/healthz", "", ""), 200, "")
	h.want(h.do("GET", "/readyz", "", ""), 200, "")
	m.broken.Store(true)
	if r := h.do("GET", "/readyz", "", ""); r.status != 503 || strings.Contains(r.body, "disk") {
		t.Errorf("%d %s", r.status, r.body)
	}
	h.want(h.do("GET", "/healthz", "", ""), 200, "")
}

// TestMetrics: what is shown is the text format of Prometheus: a type before each
// figure, and buckets that add up.
func TestMetrics(t *testing.T) {
	h := listen(t, Options{})
	ann, _ := h.token(RolePerson, "", "ann")
	agent, _ := h.token(RoleAgent, "chat", "agent")
	h.want(h.do("GET", "/metrics", agent, ""), 403, "insufficient_permissions")
	h.do("GET", "/api/me", ann, "", "Host", "evil.example")
	h.want(h.do("GET", "/api/me", ann, ""), 200, "")
	r := h.do("GET", "/metrics", ann, "")
	h.want(r, 200, "")
	line := regexp.MustCompile(`^(# (HELP \S+ .*|TYPE \S+ (counter|gauge|histogram))|[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.e+-]+)$`)
	for text := range strings.Lines(strings.TrimSpace(r.body)) {
		if !line.MatchString(strings.TrimSuffix(text, "\n")) {
			t.Errorf("%q", text)
		}
	}
	for _, want := range []string{
		`agent_wrapper_requests_total{method="GET",route="/api/me",status="200"} 1`,
		`agent_wrapper_requests_total{method="GET",route="/metrics",status="403"} 1`,
		`agent_wrapper_refused_total{reason="other_host_or_origin"} 1`,
		`agent_wrapper_refused_total{reason="role"} 1`,
		`agent_wrapper_request_seconds_bucket{method="GET",route="/api/me",le="+Inf"} 1`,
		`agent_wrapper_request_seconds_count{method="GET",route="/api/me"} 1`,
	} {
		if !strings.Contains(r.body, want+"\n") {
			t.Errorf("%s is missing in\n%s", want, r.body)
		}
	}
}

// TestMint: names and roles are what they seem, and secrets differ.
func TestMint(t *testing.T) {
	now := time.Now()
	for _, tt := range []struct{ role, agentRole, name string }{
		{"root", "", "ann"}, {RoleAgent, "", "a"}, {RoleAgent, "god", "a"}, {RolePerson, "chat", "ann"}, {RolePerson, "", ""},
		{RolePerson, "", "ann "}, {RolePerson, "", "ann\u202e"}, {RolePerson, "", "аnn"}, {RolePerson, "", strings.Repeat("a", 65)}, {RolePerson, "", "-ann"},
	} {
		if _, _, err := Mint(tt.role, tt.agentRole, tt.name, now, time.Time{}); err == nil {
			t.Errorf("%+v is taken", tt)
		}
	}
	if _, _, err := Mint(RolePerson, "", "ann", now, now); err == nil {
		t.Error("a credential without any time is taken")
	}
	if _, _, err := MintCode(RoleAgent, "a", "now", now); err == nil {
		t.Error("a browser for an agent is taken")
	}
	_, one, _ := Mint(RolePerson, "", "ann", now, time.Time{})
	_, two, _ := Mint(RolePerson, "", "ann", now, time.Time{})
	if one == two || len(one) < 60 {
		t.Errorf("%s, %s", one, two)
	}
}

// TestLowered: a request may lower its agent's role, and not raise it.
func TestLowered(t *testing.T) {
	for _, tt := range []struct {
		own, wanted, role string
		ok                bool
	}{
		{"chat", "", "chat", true}, {"system", "chat", "chat", true}, {"chat", "chat", "chat", true},
		{"chat", "automation", "", false}, {"automation", "admin", "", false}, {"admin", "root", "", false}, {"chat", "CHAT", "", false},
	} {
		if role, ok := lowered(tt.own, tt.wanted); ok != tt.ok || ok && role != tt.role {
			t.Errorf("%s as %q: %s, %v", tt.own, tt.wanted, role, ok)
		}
	}
}

// The page is for anyone, as its files say nothing by themselves; for other hosts and
// pages there is none.
func TestPageIsServed(t *testing.T) {
	h := listen(t, Options{})
	r := h.do("GET", "/", "", "")
	policy := r.header.Get("Content-Security-Policy")
	if r.status != http.StatusOK || !strings.Contains(policy, "script-src 'self'") || r.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Fatalf("the page: %d, %v", r.status, r.header)
	}
	if policy := h.do("GET", "/api/me", "", "").header.Get("Content-Security-Policy"); strings.Contains(policy, "script-src") {
		t.Errorf("an answer of the API has the policy %q", policy)
	}
	h.want(h.do("GET", "/", "", "", "Host", "evil.example"), http.StatusForbidden, "other_host")
	h.want(h.do("GET", "/static/main.js", "", "", "Origin", "http://evil.example"), http.StatusForbidden, "other_origin")
}

// TestPairCode: a person lets in another device of the same person, which is listed as
// that and revoked as that. Codes are few.
func TestPairCode(t *testing.T) {
	p := meet(t, Options{})
	root, _ := p.token(RoleAdmin, "", "root")
	p.want(p.do("POST", "/api/pair/code", p.agent, ""), 403, "insufficient_permissions")
	p.want(p.do("POST", "/api/pair/code", p.ann, `{"name":"ben"}`), 400, "bad_request")
	for secret, want := range map[string]string{p.ann: "ann person", root: "root admin"} {
		got := p.post("/api/pair/code", secret, "", 200)
		code := got["code"].(string)
		body := pairBody(signed.Prefix + "x_" + code)
		me := p.post("/api/pair", code, body, 200)
		if text := me["name"].(string) + " " + me["role"].(string); text != want {
			t.Errorf("%s is let in, want %s", text, want)
		}
		p.want(p.do("POST", "/api/pair", code, body), 401, "unauthorized")
	}
	kinds := map[string]int{}
	for _, one := range p.get("/api/tokens", p.ann)["tokens"].([]any) {
		kinds[one.(map[string]any)["kind"].(string)]++
	}
	if kinds["browser"] != 1 || kinds["program"] != 1 || kinds["code"] != 1 {
		t.Errorf("%v", kinds)
	}
	for range maxCodes {
		p.post("/api/pair/code", p.ann, "", 200)
	}
	p.want(p.do("POST", "/api/pair/code", p.ann, ""), 409, "too_many_codes")
	p.post("/api/pair/code", p.ben, "", 200)
}

// TestCreateToken: an administrator creates agents, and nobody who answers.
func TestCreateToken(t *testing.T) {
	p := meet(t, Options{})
	root, _ := p.token(RoleAdmin, "", "root")
	p.want(p.do("POST", "/api/tokens", p.ann, `{"name":"ci"}`), 403, "insufficient_permissions")
	p.want(p.do("POST", "/api/tokens", p.agent, `{"name":"ci"}`), 403, "insufficient_permissions")
	for _, body := range []string{`{"name":""}`, `{"name":"a b"}`, `{"name":"ci","role":"person"}`, `{"name":"ci","agent_role":"god"}`, `{"name":"ci","days":-1}`} {
		p.want(p.do("POST", "/api/tokens", root, body), 400, "bad_request")
	}
	p.want(p.do("POST", "/api/tokens", root, `{"name":"ann"}`), 409, "conflict")
	got := p.post("/api/tokens", root, `{"name":"ci","agent_role":"automation","days":3}`, 200)
	same(t, got, "role", "agent", "agent_role", "automation", "name", "ci", "kind", "program")
	secret := got["secret"].(string)
	same(t, p.get("/api/me", secret), "name", "ci", "role", "agent")
	if r := p.do("GET", "/api/tokens", root, ""); strings.Contains(r.body, secret) || strings.Contains(p.logs.text(), secret) {
		t.Error("the secret is told again")
	}
}
