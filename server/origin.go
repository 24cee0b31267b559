package server

import (
	"mime"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/store"
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

// The names of a browser's two halves. The cookie's ends with the port, since browsers
// send it to every port of the host and keep one of each name. It begins with __Host-
// where browsers demand https of that.
const (
	cookieName    = "agent-wrapper-"
	pageHeader    = "X-CSRF-Token"
	pageProtocol  = "agent-wrapper.csrf." // with the page's half: for a WebSocket, which has no such header
	websocketList = "Sec-WebSocket-Protocol"
)

func (s *Server) cookieName() string {
	if s.options.TLS {
		return "__Host-" + cookieName + s.port
	}
	return cookieName + s.port
}

// identify returns the credential of a request.
func (s *Server) identify(r *http.Request) (*store.Token, error) {
	if given := r.Header.Values("Authorization"); len(given) > 0 {
		scheme, secret, _ := strings.Cut(given[0], " ")
		if len(given) > 1 || !strings.EqualFold(scheme, "Bearer") {
			return nil, errNoCredential
		}
		return s.credentials.bearer(r.Context(), secret)
	}
	cookie, err := r.Cookie(s.cookieName())
	page := pageHalf(r)
	if err != nil || page == "" {
		return nil, errNoCredential
	}
	if r.Header.Get("Upgrade") != "" && r.Header.Get("Origin") == "" {
		return nil, errNoCredential
	}
	return s.credentials.browser(r.Context(), cookie.Value, page)
}

// pageHalf returns the half of a browser's credential that its page has.
func pageHalf(r *http.Request) string {
	if half := r.Header.Get(pageHeader); half != "" {
		return half
	}
	for _, list := range r.Header.Values(websocketList) {
		for name := range strings.SplitSeq(list, ",") {
			if half, ok := strings.CutPrefix(strings.TrimSpace(name), pageProtocol); ok {
				return half
			}
		}
	}
	return ""
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
