//go:build linux && postgres

package postgres

import (
	"bytes"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
)

// proxy stands between a store and PostgreSQL, and can lose connections.
type proxy struct {
	url    string // of the database through it
	target string
	// commit, unless nil, is called for each COMMIT before it is forwarded, and says
	// what becomes of it.
	commit  atomic.Pointer[func() fate]
	commits atomic.Int64

	mu    sync.Mutex
	conns map[net.Conn]bool
}

// fate is what becomes of a COMMIT.
type fate struct {
	// cut: the client loses its connection instead of the answer.
	cut bool
	// arrives, unless nil: it is forwarded when that is closed, or never if lost.
	arrives chan struct{}
	lost    bool
}

func newProxy(t *testing.T, database string) *proxy {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{target: u.Host, conns: map[net.Conn]bool{}}
	u.Host = l.Addr().String()
	p.url = u.String()
	var running sync.WaitGroup
	running.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { p.serve(client) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		p.cut()
		running.Wait()
	})
	return p
}

// cut cuts all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
	clear(p.conns)
}

func (p *proxy) keep(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[c] = true
}

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	backend, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer backend.Close()
	p.keep(client)
	p.keep(backend)
	var deaf atomic.Bool // the client hears no more
	answered := make(chan struct{}, 1)
	var back sync.WaitGroup
	defer back.Wait()
	back.Go(func() {
		defer close(answered)
		defer client.Close()
		buffer := make([]byte, 64<<10)
		for {
			n, err := backend.Read(buffer)
			if err != nil {
				return
			}
			if deaf.Load() {
				select {
				case answered <- struct{}{}:
				default:
				}
				continue
			}
			if _, err := client.Write(buffer[:n]); err != nil {
				return
			}
		}
	})
	defer backend.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		if !bytes.HasPrefix(buffer[:n], []byte("Q\x00\x00\x00\x0bcommit")) {
			if _, err := backend.Write(buffer[:n]); err != nil {
				return
			}
			continue
		}
		p.commits.Add(1)
		var f fate
		if choose := p.commit.Load(); choose != nil {
			f = (*choose)()
		}
		if f.cut {
			deaf.Store(true)
			client.Close()
		}
		if f.lost {
			return
		}
		if f.arrives != nil {
			<-f.arrives
		}
		if _, err := backend.Write(buffer[:n]); err != nil {
			return
		}
		if f.cut {
			<-answered
			return
		}
	}
}
