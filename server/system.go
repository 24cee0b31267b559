package server

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/agent-wrapper/agent-wrapper/store"
)

// systemRoutes are the routes about the server and the credentials themselves.
func systemRoutes() []route {
	return []route{
		{method: "GET", path: "/healthz", about: "that the server runs", stream: (*Server).healthy, answer: "ok"},
		{method: "GET", path: "/readyz", about: "that it can decide: the store takes writes", stream: (*Server).ready, answer: "ok", errors: []int{503}},
		{method: "GET", path: "/metrics", access: people, about: "figures for Prometheus", stream: (*Server).showMetrics, answer: "the text format of Prometheus"},
		{method: "GET", path: "/openapi.json", about: "this description", stream: (*Server).showAPI, answer: "OpenAPI 3.1"},
		{method: "POST", path: "/api/pair", about: "let a browser in by a one-time code: sets the cookie, and returns the half that every request carries as " + pageHeader,
			stream: (*Server).pair, answer: "who the browser is now", errors: []int{400, 401, 413, 415, 429}},
		{method: "GET", path: "/api/me", access: agents | people, about: "whose credential this is", action: to((*Server).me)},
		{method: "GET", path: "/api/tokens", access: people, about: "credentials: one's own, or all for an administrator", action: to((*Server).tokens)},
		{method: "POST", path: "/api/tokens/{id}/revoke", access: people, about: "end a credential at once, with what it has open", action: to((*Server).revokeToken), errors: []int{404}},
	}
}

// healthy answers /healthz.
func (s *Server) healthy(w http.ResponseWriter, _ *call) { text(w, http.StatusOK, "ok\n") }

// ready answers /readyz.
func (s *Server) ready(w http.ResponseWriter, c *call) {
	ctx, cancel := context.WithTimeout(c.Context(), headerTime)
	defer cancel()
	if err := s.options.Store.Check(ctx); err != nil {
		s.log.Error("the store cannot be used", "error", err.Error())
		text(w, http.StatusServiceUnavailable, "the store cannot be used\n")
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
	Code string `json:"code"`
}

// identity is whose credential it is.
type identity struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Role      string     `json:"role"`
	AgentRole string     `json:"agent_role,omitempty"`
	Expires   *time.Time `json:"expires,omitempty"`
	// CSRF is the half of the page, of a browser that has just been paired.
	CSRF string `json:"csrf,omitempty"`
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

// pair lets a browser in.
func (s *Server) pair(w http.ResponseWriter, c *call) {
	if !s.failures.take("pair "+address(c.Request), time.Now()) {
		s.refuse(w, c.Request, tooMany)
		return
	}
	var p pairing
	data, err := body(w, c.Request)
	if err == nil {
		err = decode(data, &p)
	}
	if err != nil {
		s.refuse(w, c.Request, err)
		return
	}
	t, cookie, page, err := s.credentials.pair(c.Context(), p.Code)
	if err != nil {
		s.metrics.refused("pairing")
		s.log.Warn("SECURITY: a browser was not paired", "address", address(c.Request))
		s.refuse(w, c.Request, err)
		return
	}
	s.log.Info("a browser was paired", "credential", t.ID, "name", t.Name)
	http.SetCookie(w, &http.Cookie{
		Name: s.cookieName(), Value: cookie, Path: "/", Expires: t.Expires,
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: s.options.TLS,
	})
	me := identityOf(&t)
	me.CSRF = page
	write(w, http.StatusOK, me)
}

// me tells whose credential it is.
func (s *Server) me(c *call, _ *none) (identity, error) { return identityOf(c.who), nil }

// credential is a credential in a list. Its secret is kept nowhere.
type credential struct {
	identity
	Created time.Time  `json:"created"`
	Revoked *time.Time `json:"revoked,omitempty"`
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
			out.Tokens = append(out.Tokens, credential{identityOf(&all[i]), all[i].Created.UTC(), when(all[i].Revoked)})
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
		return credential{identityOf(&all[i]), all[i].Created.UTC(), when(time.Now())}, nil
	}
	return credential{}, fail(http.StatusNotFound, "not_found", "there is no such credential, or it is another's")
}
