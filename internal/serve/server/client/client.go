// Package client is an approval.Broker that lies on a server of agent-wrapper, see
// package server.
//
//	b, err := client.New(client.Options{URL: "https://approvals.example", Token: token})
//	…
//	entry, err := b.Submit(ctx, entry)
//
// The server settles who answers, by the credential. It is trusted with that, and with
// nothing else: what it sends is decoded strictly and bounded; an answer about another
// approval, or with another digest, than the one that was asked for is an error; a
// redirection is never followed. The token is not sent: requests are signed with it, and
// only after the server has proved that it knows the token. What answers without that
// proof, as a program that has taken the server's port, is not heard.
//
// A request whose repetition does no harm is repeated for a while if the server cannot
// be reached: all but Answer and Withdraw. Those that wait are patient enough for a
// server that is started anew.
package client

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/signed"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
)

// Options say which server is meant, and who asks it.
type Options struct {
	// URL is that of the server: https://HOST[:PORT], or http:// for an address of
	// this machine.
	URL   string
	Token string // the credential
	// Roots are the authorities that vouch for the server; nil means the system's.
	Roots *x509.CertPool
	// User is the ID of the user whose program has to listen at an http:// URL; nil is any.
	// It is looked at on Linux only.
	User *int
}

// Client is a broker on a server. It is safe for concurrent use.
type Client struct {
	base *url.URL
	http *http.Client

	mu sync.Mutex
	// asked are the digests of the approvals that were submitted here and are not
	// final yet, by ID.
	asked map[string]string
}

var _ approval.Broker = (*Client)(nil)

// New returns a client. It connects to nothing yet.
func New(o Options) (*Client, error) {
	base, err := parseURL(o.URL)
	if err != nil {
		return nil, err
	}
	key, err := checkToken(o.Token)
	if err != nil {
		return nil, err
	}
	return &Client{base: base, http: &http.Client{
		Transport: &signed.Transport{Key: key, Base: transport(base, &o)},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}, asked: map[string]string{}}, nil
}

// parseURL returns the URL of a server; the error says why it cannot be one.
func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("the server's URL is invalid: write it like https://approvals.example") // it may hold a secret
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, errors.New("the server's URL may have only a host and a port: remove the rest, and never put a token in it")
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, errors.New("the server's URL must begin with https:// or http://: write it like https://approvals.example")
	case u.Hostname() == "":
		return nil, errors.New("the server's URL has no host: write it like https://approvals.example")
	case u.Path != "" && u.Path != "/":
		return nil, fmt.Errorf("the server's URL has the path %q: remove it", u.Path)
	case u.Scheme == "http" && !local(u.Hostname()):
		return nil, fmt.Errorf("http:// would send questions and answers to %s unencrypted: use https:// over a network", u.Hostname())
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host}, nil
}

// local reports whether a host's name is one of this machine.
func local(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

// maxToken is the size of the longest token in bytes.
const maxToken = 512

// checkToken returns the key of a token. The error does not hold the token.
func checkToken(token string) (*signed.Key, error) {
	key := signed.TokenKey(token)
	switch {
	case token == "":
		return nil, errors.New("the server's token is missing: give the one that agent-wrapper serve token create printed")
	case len(token) > maxToken:
		return nil, fmt.Errorf("the server's token is longer than %d bytes: give the one that agent-wrapper serve token create printed", maxToken)
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return nil, errors.New("the server's token has invalid characters: give the one that agent-wrapper serve token create printed")
	case key == nil:
		return nil, errors.New("the server's token is incomplete or not a token: give the one that agent-wrapper serve token create printed")
	}
	return key, nil
}

// The limits of a connection.
const (
	dialTimeout = 5 * time.Second
	maxHeader   = 64 << 10
	idle        = 90 * time.Second
)

func transport(base *url.URL, o *Options) http.RoundTripper {
	dialer := &net.Dialer{Timeout: dialTimeout}
	t := &http.Transport{
		TLSClientConfig:        &tls.Config{RootCAs: o.Roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    dialTimeout,
		MaxResponseHeaderBytes: maxHeader,
		DisableCompression:     true, // what is read is what is bounded
		IdleConnTimeout:        idle,
		Proxy:                  http.ProxyFromEnvironment,
	}
	if base.Scheme == "http" {
		// A name of this machine may lead elsewhere, and so would a proxy.
		dialer.Control, t.Proxy = onlyLocal, nil
	}
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		if err == nil && base.Scheme == "http" && o.User != nil {
			if err = ownedBy(*o.User, conn.RemoteAddr()); err != nil {
				return nil, errors.Join(err, conn.Close())
			}
		}
		return conn, err
	}
	return t
}

// ownedBy returns an error if it is another user whose program listens at an address.
func ownedBy(user int, at net.Addr) error {
	addr, err := netip.ParseAddrPort(at.String())
	if err != nil {
		return err
	}
	if found, ok := listener(addr); ok && found != user {
		return fmt.Errorf("at %s listens a program of user %d, not of user %d, whose server was there when you logged in: nothing was sent to it. If the server has moved to that user, log in again", at, found, user)
	}
	return nil
}

// Listener returns the ID of the user whose program listens at an http:// URL, nil if that
// cannot be told, as on systems other than Linux.
func Listener(ctx context.Context, server string) *int {
	base, err := parseURL(server)
	if err != nil || base.Scheme != "http" {
		return nil
	}
	dialer := &net.Dialer{Timeout: dialTimeout, Control: onlyLocal}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(base.Hostname(), cmp.Or(base.Port(), "80")))
	if err != nil {
		return nil
	}
	defer conn.Close()
	addr, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil {
		return nil
	}
	if user, ok := listener(addr); ok {
		return &user
	}
	return nil
}

// onlyLocal refuses connections that leave this machine.
func onlyLocal(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || !to.Addr().Unmap().IsLoopback() {
		return fmt.Errorf("%s is not this machine: use https:// over a network", address)
	}
	return nil
}

// Owner is whose credential a token is, as the server says.
type Owner struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Role string `json:"role"` // agent, person, admin
}

// Owner returns the owner of the token.
func (c *Client) Owner(ctx context.Context) (Owner, error) {
	var o Owner
	_, err := c.do(ctx, &request{method: http.MethodGet, path: "/api/me", answer: &o, patience: short})
	o.Name, o.Role = visible.Line(brief(o.Name)), visible.Line(brief(o.Role))
	return o, err
}

// Close closes the idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// remember keeps the digest of an approval that is submitted here.
func (c *Client) remember(id, digest string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked[id] = digest
}

// errLies is the error for an answer of the server that is about something else.
var errLies = errors.New("the server answered about a different approval from the one requested")

// check checks that an entry has this digest, if that is not "", and the one that was
// submitted here.
func (c *Client) check(e *approval.Entry, digest string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	submitted, known := c.asked[e.ID]
	if digest != "" && e.Digest != digest || known && e.Digest != submitted {
		return errLies
	}
	if e.Final() {
		delete(c.asked, e.ID)
	}
	return nil
}

// pause waits before a request is repeated; false if the context ends first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
