package proxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

// pipes is a listener whose connections are in memory.
type pipes struct {
	come chan net.Conn
	done chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.come:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { close(p.done); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// ask sends a request and returns the answer, and the connection.
func ask(t *testing.T, p *Proxy, request string) (*http.Response, net.Conn, *bufio.Reader) {
	t.Helper()
	l := &pipes{make(chan net.Conn), make(chan struct{})}
	p.Serve(l)
	t.Cleanup(func() { p.Close() })
	ours, theirs := net.Pipe()
	l.come <- theirs
	t.Cleanup(func() { ours.Close() })
	if _, err := io.WriteString(ours, request); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(ours)
	res, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	return res, ours, in
}

func only(host string) func(context.Context, string, string) error {
	return func(_ context.Context, got, port string) error {
		if got != host || port != "443" {
			return fmt.Errorf("%s:%s is not allowed", got, port)
		}
		return nil
	}
}

// TestRefused: what nobody allows is not connected, and no other way leads out.
func TestRefused(t *testing.T) {
	dial := func(_ context.Context, address string) (net.Conn, error) {
		return nil, errors.New("it is connected to " + address)
	}
	for request, want := range map[string]int{
		"CONNECT evil.org:443 HTTP/1.1\r\nHost: evil.org:443\r\n\r\n":        http.StatusForbidden,
		"CONNECT evil.org:443 HTTP/1.1\r\nHost: good.org:443\r\n\r\n":        http.StatusForbidden,
		"CONNECT good.org:22 HTTP/1.1\r\nHost: good.org:22\r\n\r\n":          http.StatusForbidden,
		"CONNECT good.org HTTP/1.1\r\nHost: good.org\r\n\r\n":                http.StatusBadRequest,
		"GET http://good.org/ HTTP/1.1\r\nHost: good.org\r\n\r\n":            http.StatusMethodNotAllowed,
		"POST / HTTP/1.1\r\nHost: good.org:443\r\nContent-Length: 0\r\n\r\n": http.StatusMethodNotAllowed,
	} {
		res, _, _ := ask(t, &Proxy{Decide: only("good.org"), Dial: dial}, request)
		body, _ := io.ReadAll(res.Body)
		if res.StatusCode != want || strings.Contains(string(body), "it is connected") {
			t.Errorf("%q: %d, %s", request, res.StatusCode, body)
		}
	}
}

// TestPlain: who decides knows of requests for http, which are refused whatever the answer.
func TestPlain(t *testing.T) {
	for request, want := range map[string]string{
		"GET http://good.org/x HTTP/1.1\r\nHost: good.org\r\n\r\n":      "good.org http",
		"GET http://good.org:8080/x HTTP/1.1\r\nHost: evil.org\r\n\r\n": "good.org http",
		"GET / HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n":                   "",
	} {
		asked := ""
		p := &Proxy{Decide: func(_ context.Context, host, port string) error { asked = host + " " + port; return nil }}
		if res, _, _ := ask(t, p, request); res.StatusCode != http.StatusMethodNotAllowed || asked != want {
			t.Errorf("%q: %d, asked %q", request, res.StatusCode, asked)
		}
	}
}

// TestConnected: what is allowed is connected, both ways.
func TestConnected(t *testing.T) {
	here, there := net.Pipe()
	p := &Proxy{Decide: only("good.org"), Dial: func(_ context.Context, address string) (net.Conn, error) {
		if address != "good.org:443" {
			return nil, errors.New(address)
		}
		return there, nil
	}}
	res, conn, in := ask(t, p, "CONNECT good.org:443 HTTP/1.1\r\nHost: good.org:443\r\n\r\n")
	if res.StatusCode != http.StatusOK {
		t.Fatal(res.Status)
	}
	go io.WriteString(conn, "ping")
	data := make([]byte, 4)
	if _, err := io.ReadFull(here, data); err != nil || string(data) != "ping" {
		t.Fatal(string(data), err)
	}
	go func() { io.WriteString(here, "pong"); here.Close() }()
	if _, err := io.ReadFull(in, data); err != nil || string(data) != "pong" {
		t.Fatal(string(data), err)
	}
}

// TestNear: an address of this machine or of a private network to which a name leads is
// decided on its own, in whatever form and after each resolution.
func TestNear(t *testing.T) {
	for address, plain := range map[string]string{
		"10.0.0.5": "10.0.0.5", "::ffff:10.0.0.5": "10.0.0.5", "64:ff9b::a00:5": "10.0.0.5", "fd00::1": "fd00::1", "127.0.0.1": "127.0.0.1",
	} {
		var asked []string
		p := &Proxy{
			Decide: func(_ context.Context, host, _ string) error {
				asked = append(asked, host)
				if host != "good.org" {
					return errors.New("no rule names it")
				}
				return nil
			},
			resolve: func(context.Context, string) ([]netip.Addr, error) {
				return []netip.Addr{netip.MustParseAddr(address)}, nil
			},
		}
		res, _, _ := ask(t, p, "CONNECT good.org:443 HTTP/1.1\r\nHost: good.org:443\r\n\r\n")
		body, _ := io.ReadAll(res.Body)
		if res.StatusCode != http.StatusBadGateway || !strings.Contains(string(body), "no rule names it") || strings.Join(asked, " ") != "good.org "+plain {
			t.Errorf("%s: %d, %s, asked %q", address, res.StatusCode, body, asked)
		}
	}
}
