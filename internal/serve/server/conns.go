package server

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"sync"
)

// The numbers of connections: of those on which no credential was given yet, and of the
// others.
const (
	maxStrangers = 1024
	maxKnown     = 3072
)

// conns is a listener with a limit of connections. At the limit the one that has been idle
// longest is closed, so that a client with thousands of them shuts nobody out. Connections
// on which a credential was given have a limit of their own.
type conns struct {
	net.Listener

	mu               sync.Mutex
	strangers, known list.List // of *conn; the one that was used last is the last
}

// conn is one of them. Its fields are guarded by the mutex of all.
type conn struct {
	net.Conn
	all   *conns
	in    *list.List // nil after it was closed
	place *list.Element
	works int // requests under way
}

// Accept waits for a connection.
func (l *conns) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: accepted, all: l}
	l.mu.Lock()
	l.move(c, &l.strangers)
	l.mu.Unlock()
	l.limit(&l.strangers, maxStrangers, c)
	return c, nil
}

// move puts a connection behind those of a list.
func (l *conns) move(c *conn, to *list.List) {
	if c.in != nil {
		c.in.Remove(c.place)
	}
	c.in, c.place = to, to.PushBack(c)
}

// limit closes a connection of a list that is too long, but not the latest.
func (l *conns) limit(in *list.List, most int, latest *conn) {
	l.mu.Lock()
	var close *conn
	if in.Len() > most {
		close = oldest(in, latest)
	}
	l.mu.Unlock()
	if close != nil {
		close.Close()
	}
}

// oldest returns the connection that has been idle for the longest time; if each is used,
// the one that came first.
func oldest(in *list.List, latest *conn) *conn {
	for e := in.Front(); e != nil; e = e.Next() {
		if c := e.Value.(*conn); c.works == 0 && c != latest {
			return c
		}
	}
	return in.Front().Value.(*conn)
}

// Close closes the connection.
func (c *conn) Close() error {
	c.all.mu.Lock()
	if c.in != nil {
		c.in.Remove(c.place)
		c.in = nil
	}
	c.all.mu.Unlock()
	return c.Conn.Close()
}

// working adds to the number of requests under way.
func (c *conn) working(n int) {
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	if c.works += n; c.in != nil {
		c.all.move(c, c.in)
	}
}

// admitted says whether the credential of a request on the connection counts.
func (c *conn) admitted(ok bool) {
	l := c.all
	to, most := &l.strangers, maxStrangers
	if ok {
		to, most = &l.known, maxKnown
	}
	l.mu.Lock()
	moved := c.in != nil && c.in != to
	if moved {
		l.move(c, to)
	}
	l.mu.Unlock()
	if moved {
		l.limit(to, most, c)
	}
}

type connKey struct{}

// withConn is for http.Server.ConnContext.
func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// connOf returns the connection of a request, nil if it came otherwise.
func connOf(r *http.Request) *conn {
	c, _ := r.Context().Value(connKey{}).(*conn)
	return c
}
