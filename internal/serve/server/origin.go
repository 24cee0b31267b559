package server

import (
	"mime"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/serve/signed"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
)

// own reports whether a request is meant for this server, and comes from a page of its
// own if it comes from one. A page elsewhere can reach a server on this machine by a
// name that it has resolve to it, or without one, and the browser would send it there.
func (s *Server) own(r *http.Request) error {
	if !slices.Contains(s.hosts, strings.ToLower(r.Host)) {
		return fail(http.StatusForbidden, "other_host", "this server does not accept requests for that host name: add it with --host when you start the server")
	}
	for _, origin := range r.Header.Values("Origin") {
		_, host, ok := strings.Cut(strings.ToLower(origin), "://")
		if !ok || !slices.Contains(s.hosts, host) {
			return fail(http.StatusForbidden, "other_origin", "pages from other origins may not use this server")
		}
	}
	site, mode := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Sec-Fetch-Mode")
	if (site == "cross-site" || site == "same-site") && (r.Method != http.MethodGet || mode != "navigate") {
		return fail(http.StatusForbidden, "other_origin", "pages from other origins may not use this server")
	}
	return nil
}

// portOf returns the port of an address, "" if it has none.
func portOf(addr net.Addr) string {
	at, err := netip.ParseAddrPort(addr.String())
	if err != nil {
		return ""
	}
	return strconv.Itoa(int(at.Port()))
}

// hostsOf returns what a request to an address may have as its host.
func hostsOf(addr net.Addr, more []string) []string {
	at, err := netip.ParseAddrPort(addr.String())
	if err != nil {
		return lower(more)
	}
	port := portOf(addr)
	hosts := append(lower(more), net.JoinHostPort(at.Addr().Unmap().String(), port))
	if at.Addr().Unmap().IsLoopback() {
		hosts = append(hosts, "localhost:"+port)
	}
	return hosts
}

func lower(names []string) (out []string) {
	for _, name := range names {
		out = append(out, strings.ToLower(name))
	}
	return out
}

// websocketList is the header by which a page, which cannot set Authorization for a
// WebSocket, sends its stamp.
const websocketList = "Sec-WebSocket-Protocol"

// identify returns the credential of a request, and what was signed, unless a program gave
// its secret, which is for connections with TLS only.
func (s *Server) identify(r *http.Request) (*store.Token, *signed.Stamp, error) {
	text, bearer, err := stampOf(r)
	switch {
	case err != nil:
		return nil, nil, err
	case bearer && !s.options.TLS:
		return nil, nil, errUnsigned
	case bearer:
		t, err := s.credentials.bearer(r.Context(), text)
		return t, nil, err
	}
	stamp, ok := signed.Parse(text)
	if !ok {
		return nil, nil, errNoCredential
	}
	t, err := s.credentials.signer(r.Context(), stamp, signed.Request{Method: r.Method, Host: r.Host, URI: r.RequestURI})
	return t, stamp, err
}

// stampOf returns the text of a request's stamp, or the secret of a bearer.
func stampOf(r *http.Request) (text string, bearer bool, err error) {
	given := r.Header.Values("Authorization")
	for _, list := range r.Header.Values(websocketList) {
		for name := range strings.SplitSeq(list, ",") {
			if stamp, ok := strings.CutPrefix(strings.TrimSpace(name), signed.Protocol); ok {
				given = append(given, signed.Scheme+" "+stamp)
			}
		}
	}
	if len(given) != 1 {
		return "", false, errNoCredential
	}
	scheme, text, _ := strings.Cut(given[0], " ")
	bearer = strings.EqualFold(scheme, "Bearer")
	if !bearer && !strings.EqualFold(scheme, signed.Scheme) {
		return "", false, errNoCredential
	}
	return text, bearer, nil
}

// address returns the address that a request comes from.
func address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// isJSON reports whether a content type is JSON's. A form of another page cannot send
// that.
func isJSON(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && media == "application/json"
}
