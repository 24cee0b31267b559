// Package proxy is the way out of the sandbox: an HTTP proxy that makes connections to hosts
// which somebody else allows, one by one. It knows CONNECT only, which all programs use
// for https, and sees nothing of what is said.
package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/sandbox"
	"github.com/agent-wrapper/agent-wrapper/internal/text/nearby"
)

// Proxy serves the listener inside the sandbox.
type Proxy struct {
	// Decide returns why a connection to a host is refused, or nil. It is called for
	// each connection, by several goroutines. A connection to port [sandbox.Plain] is
	// refused whatever it returns. It is called again for an address to which a name leads
	// if that is near ([nearby.Is]), and has to refuse one that no rule names.
	Decide func(ctx context.Context, host, port string) error
	// Dial connects; nil is the network's own way.
	Dial func(ctx context.Context, address string) (net.Conn, error)

	resolve func(ctx context.Context, host string) ([]netip.Addr, error) // nil: the network's own way

	server http.Server
	open   sync.WaitGroup
}

// The times that a client may take for its request, and a host to be connected.
const (
	forRequest = 10 * time.Second
	forHost    = 30 * time.Second
)

// Serve serves a listener, in goroutines of its own, until Close.
func (p *Proxy) Serve(l net.Listener) {
	p.server.Handler, p.server.ReadHeaderTimeout = http.HandlerFunc(p.connect), forRequest
	p.open.Go(func() { _ = p.server.Serve(l) }) // it ends with Close
}

// Close ends the proxy with all of its connections.
func (p *Proxy) Close() error {
	err := p.server.Close()
	p.open.Wait()
	return err
}

// connect answers one request.
func (p *Proxy) connect(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		if host := r.URL.Hostname(); host != "" {
			_ = p.Decide(r.Context(), host, sandbox.Plain) // who refuses is to know of it
		}
		http.Error(w, "agent-wrapper: only https goes out of the sandbox: use https:// (CONNECT)", http.StatusMethodNotAllowed)
		return
	}
	host, port, err := net.SplitHostPort(r.Host)
	if err != nil || host == "" || port == "" {
		http.Error(w, "agent-wrapper: the request names no host and port", http.StatusBadRequest)
		return
	}
	if err := p.Decide(r.Context(), host, port); err != nil {
		http.Error(w, "agent-wrapper: "+host+" is not reached from inside the sandbox: "+err.Error(), http.StatusForbidden)
		return
	}
	out, err := p.dial(r.Context(), net.JoinHostPort(host, port))
	if err != nil {
		http.Error(w, "agent-wrapper: "+err.Error(), http.StatusBadGateway)
		return
	}
	defer out.Close()
	p.pass(w, out)
}

// pass passes bytes on between a client and a host until one of them ends, or the proxy
// does, which closes the client's connection.
func (p *Proxy) pass(w http.ResponseWriter, out net.Conn) {
	in, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer in.Close()
	if _, err := io.WriteString(in, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	done := make(chan struct{}, 2)
	go func() {
		_, _ = io.Copy(out, buffered)
		done <- struct{}{}
	}()
	go func() {
		_, _ = io.Copy(in, out)
		done <- struct{}{}
	}()
	<-done
	in.Close()
	out.Close()
	<-done
}

func (p *Proxy) dial(ctx context.Context, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, forHost)
	defer cancel()
	if p.Dial != nil {
		return p.Dial(ctx, address)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	found, err := p.lookUp(ctx, host)
	if err != nil {
		return nil, err
	}
	why := errors.New(host + " has no address")
	for _, ip := range found {
		if why = p.leads(ctx, host, port, ip); why != nil {
			continue
		}
		var d net.Dialer
		var out net.Conn
		if out, why = d.DialContext(ctx, "tcp", net.JoinHostPort(ip.String(), port)); why == nil {
			return out, nil
		}
	}
	return nil, why
}

// lookUp returns the addresses of a host.
func (p *Proxy) lookUp(ctx context.Context, host string) ([]netip.Addr, error) {
	if p.resolve != nil {
		return p.resolve(ctx, host)
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// leads returns an error for a near address, if no rule names it. That of the host itself
// was decided with it.
func (p *Proxy) leads(ctx context.Context, host, port string, ip netip.Addr) error {
	plain, near := nearby.Is(ip)
	if !near || host == plain.String() {
		return nil
	}
	if err := p.Decide(ctx, plain.String(), port); err != nil {
		return fmt.Errorf("%s leads to %s: %w", host, ip, err)
	}
	return nil
}
