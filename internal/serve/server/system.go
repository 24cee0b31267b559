package server

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/serve/signed"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
)

// systemRoutes are the routes about the server and the credentials themselves.
func systemRoutes() []route {
	return []route{
		{method: "GET", path: "/healthz", about: "check that the server is running", stream: (*Server).healthy, answer: "ok"},
		{method: "GET", path: "/readyz", about: "check that the server can decide: its store is writable", stream: (*Server).ready, answer: "ok", errors: []int{503}},
		{method: "GET", path: "/metrics", access: people, about: "get metrics for Prometheus", stream: (*Server).showMetrics, answer: "Prometheus text format"},
		{method: "GET", path: "/openapi.json", about: "get this API description", stream: (*Server).showAPI, answer: "OpenAPI 3.1"},
		{method: "POST", path: signed.HelloPath, about: "have the server prove that it knows a credential, before anything is signed for it", action: to((*Server).hello), errors: []int{401, 429}},
		{method: "POST", path: "/api/pair", access: codes, about: "pair a browser: signed with a one-time code, it registers the public key of the browser", action: to((*Server).pair)},
		{method: "POST", path: "/api/pair/code", access: people, about: "create a one-time code that pairs another device of the same person, valid for ten minutes", action: to((*Server).pairCode), errors: []int{409}},
		{method: "GET", path: "/api/me", access: agents | people, about: "get the owner of this credential", action: to((*Server).me)},
		{method: "GET", path: "/api/tokens", access: people, about: "list credentials: your own, or all if you are an administrator", action: to((*Server).tokens)},
		{method: "POST", path: "/api/tokens", access: admins, about: "create a credential for an agent; its secret is returned only once", action: to((*Server).createToken), errors: []int{409}},
		{method: "POST", path: "/api/tokens/{id}/revoke", access: people, about: "revoke a credential at once and close what it has open", action: to((*Server).revokeToken), errors: []int{404}},
	}
}

// healthy answers /healthz.
func (s *Server) healthy(w http.ResponseWriter, _ *call) { text(w, http.StatusOK, "ok\n") }

// ready answers /readyz.
func (s *Server) ready(w http.ResponseWriter, c *call) {
	ctx, cancel := context.WithTimeout(c.Context(), checkTime)
	defer cancel()
	if err := s.options.Store.Check(ctx); err != nil {
		s.log.Error("the store cannot be used", "error", err.Error())
		text(w, http.StatusServiceUnavailable, "the store is unavailable\n")
		return
	}
	text(w, http.StatusOK, "ok\n")
}

func (s *Server) showMetrics(w http.ResponseWriter, c *call) { s.metrics.ServeHTTP(w, c.Request) }

func (s *Server) showAPI(w http.ResponseWriter, _ *call) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(s.openapi) // an error ends the connection
}

func text(w http.ResponseWriter, status int, words string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(words)) // see showAPI
}

// pairing is the body of POST /api/pair.
type pairing struct {
	Key []byte `json:"key"` // public, of Ed25519, in base64
}

// identity is whose credential it is.
type identity struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Role      string     `json:"role"`
	AgentRole string     `json:"agent_role,omitempty"`
	Expires   *time.Time `json:"expires,omitempty"`
}

func identityOf(t *store.Token) identity {
	return identity{ID: t.ID, Name: t.Name, Role: t.Role, AgentRole: t.AgentRole, Expires: when(t.Expires)}
}

// when returns a time, nil for the zero one.
func when(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// hello proves to the owner of a credential that this is the server, and tells what a
// signature has to name.
func (s *Server) hello(c *call, in *signed.Hello) (signed.Greeting, error) {
	g, err := s.credentials.greet(c.Context(), c.Host, in)
	if err != nil && !s.failures.take("hello "+address(c.Request), time.Now()) {
		return g, tooMany
	}
	return g, err
}

// pair lets a browser in, by a request that was signed with a code.
func (s *Server) pair(c *call, in *pairing) (identity, error) {
	if len(in.Key) != len(signed.Public{}) {
		return identity{}, fail(http.StatusBadRequest, "bad_request", "key: send a public key of Ed25519, 32 bytes in base64")
	}
	t, err := s.credentials.pair(c.Context(), c.who, signed.Public(in.Key))
	if err != nil {
		return identity{}, err
	}
	s.log.Info("a browser was paired", "credential", t.ID, "name", t.Name)
	return identityOf(&t), nil
}

// me tells whose credential it is.
func (s *Server) me(c *call, _ *none) (identity, error) { return identityOf(c.who), nil }

// credential is a credential in a list. Its secret is kept nowhere.
type credential struct {
	identity
	Kind    string     `json:"kind"`    // browser, code (that lets one in), program, old (program; of an earlier version)
	Created time.Time  `json:"created"` // of a browser: when it was paired
	Revoked *time.Time `json:"revoked,omitempty"`
}

func newCredential(t *store.Token) credential {
	return credential{identityOf(t), kindOf(t.ID), t.Created.UTC(), when(t.Revoked)}
}

// credentialList is the answer of GET /api/tokens.
type credentialList struct {
	Tokens []credential `json:"tokens"`
}

// tokens lists credentials.
func (s *Server) tokens(c *call, _ *none) (credentialList, error) {
	all, err := s.options.Store.Tokens(c.Context())
	out := credentialList{[]credential{}}
	for i := range all {
		if mayManage(c, &all[i]) {
			out.Tokens = append(out.Tokens, newCredential(&all[i]))
		}
	}
	return out, err
}

// mayManage reports whether the owner of the credential may see and revoke another: any
// as an administrator, otherwise one's own.
func mayManage(c *call, t *store.Token) bool {
	return c.who.Role == RoleAdmin || t.Name == c.who.Name && t.Role != RoleAgent
}

// revokeToken ends a credential.
func (s *Server) revokeToken(c *call, _ *none) (credential, error) {
	id := c.PathValue("id")
	all, err := s.options.Store.Tokens(c.Context())
	if err != nil {
		return credential{}, err
	}
	for i := range all {
		if all[i].ID != id || !mayManage(c, &all[i]) {
			continue
		}
		if err := s.credentials.revoke(c.Context(), id); err != nil && !errors.Is(err, store.ErrUnknown) {
			return credential{}, err
		}
		s.log.Info("a credential was revoked", "credential", id, "by", c.who.ID)
		out := newCredential(&all[i])
		out.Revoked = when(time.Now())
		return out, nil
	}
	return credential{}, fail(http.StatusNotFound, "not_found", "no such credential exists, or it belongs to someone else")
}

// maxCodes is how many one-time codes of a person count at once.
const maxCodes = 5

// pairingCode is a one-time code.
type pairingCode struct {
	Code    string    `json:"code"`
	Name    string    `json:"name"`
	Role    string    `json:"role"`
	Expires time.Time `json:"expires"`
}

// pairCode creates a one-time code of the person whose credential it is.
func (s *Server) pairCode(c *call, _ *none) (pairingCode, error) {
	now := time.Now()
	all, err := s.options.Store.Tokens(c.Context())
	if err != nil {
		return pairingCode{}, err
	}
	open := 0
	for i := range all {
		if t := &all[i]; kindOf(t.ID) == kindCode && t.Name == c.who.Name && s.credentials.valid(t, now) {
			open++
		}
	}
	if open >= maxCodes {
		return pairingCode{}, fail(http.StatusConflict, "too_many_codes", "you already have %d valid codes: use or revoke one, or wait ten minutes", open)
	}
	t, text, err := MintCode(c.who.Role, c.who.Name, s.credentials.instance, now)
	if err == nil {
		err = s.options.Store.CreateToken(c.Context(), t)
	}
	if err != nil {
		return pairingCode{}, err
	}
	s.log.Info("a code for another device was created", "code", t.ID, "name", t.Name, "by", c.who.ID)
	return pairingCode{text, t.Name, t.Role, t.Expires.UTC()}, nil
}

// tokenWanted is the body of POST /api/tokens. It is for agents only: who could create
// people would be as many of them as a quorum needs.
type tokenWanted struct {
	Name      string `json:"name"`
	AgentRole string `json:"agent_role,omitempty"` // absent means chat
	Days      int    `json:"days,omitempty"`       // absent means until it is revoked
}

// createdToken is a credential with its secret.
type createdToken struct {
	credential
	Secret string `json:"secret"`
}

// maxTokenDays is the longest time in days for which a credential is created.
const maxTokenDays = 3650

// createToken creates the credential of an agent.
func (s *Server) createToken(c *call, in *tokenWanted) (createdToken, error) {
	if in.Days < 0 || in.Days > maxTokenDays {
		return createdToken{}, fail(http.StatusBadRequest, "bad_request", "the body: days: use 1 to %d", maxTokenDays)
	}
	now, end := time.Now(), time.Time{}
	if in.Days > 0 {
		end = now.AddDate(0, 0, in.Days)
	}
	t, secret, err := Mint(RoleAgent, cmp.Or(in.AgentRole, agentRoles[0]), in.Name, now, end)
	if err != nil {
		return createdToken{}, fail(http.StatusBadRequest, "bad_request", "the body: %v", err)
	}
	all, err := s.options.Store.Tokens(c.Context())
	if err != nil {
		return createdToken{}, err
	}
	for i := range all {
		if all[i].Name == t.Name && all[i].Role != RoleAgent {
			return createdToken{}, fail(http.StatusConflict, "conflict", "name: this name belongs to a person: choose another")
		}
	}
	if err := s.options.Store.CreateToken(c.Context(), t); err != nil {
		return createdToken{}, err
	}
	s.log.Info("a credential was created", "credential", t.ID, "name", t.Name, "role", t.Role, "by", c.who.ID)
	return createdToken{newCredential(&t), secret}, nil
}
