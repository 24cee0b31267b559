package server

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

var streamLoad = flag.Bool("streams", false, "2,000 open streams, 200 sessions with viewers")

// memory is what the process has in use, in bytes.
func memory() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

// opened opens a stream with a bare connection, which costs its own side little, and
// returns once the server has said how everything is.
func (h *harness) opened(path, secret string) net.Conn {
	h.t.Helper()
	host := strings.TrimPrefix(h.url, "http://")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { conn.Close() })
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"+
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAuthorization: %s\r\n\r\n", path, host, h.authorization("GET", path, secret))
	var got strings.Builder
	buf := make([]byte, 2048)
	for !strings.Contains(got.String(), `"current"`) {
		n, err := conn.Read(buf)
		if err != nil {
			h.t.Fatalf("%v: %s", err, got.String())
		}
		got.Write(buf[:n])
	}
	return conn
}

// An open stream on which nothing happens costs little.
func TestStreamMemory(t *testing.T) {
	n := 100
	if *streamLoad {
		n = 2000
	}
	h := listen(t, Options{})
	var secrets []string
	for i := range n/maxSockets + 1 {
		secret, _ := h.token(RolePerson, "", fmt.Sprint("p", i))
		secrets = append(secrets, secret)
	}
	before := memory()
	for i := range n {
		h.opened("/api/events", secrets[i/maxSockets])
	}
	each := (int64(memory()) - int64(before)) / int64(n) // less than nothing, when what tests before have left goes
	t.Logf("%d streams of events are open, %d bytes each", h.sockets.count(), each)
	if each > 64<<10 {
		t.Errorf("a stream takes %d bytes", each)
	}
	began := time.Now()
	h.ask("1", "ci")
	h.feedHas(1)
	t.Logf("an event was published after %s", time.Since(began))
}

// feedHas waits until so many events were published.
func (h *harness) feedHas(n int64) {
	for at := h.feed.end(); at < n; at = h.feed.end() {
		if _, wait, _ := h.feed.at(at); wait != nil {
			<-wait
		}
	}
}

// Viewers who keep up lose nothing of many sessions that write at once.
func TestStreamThroughput(t *testing.T) {
	sessions, lines := 5, 2000
	if *streamLoad {
		sessions, lines = 200, 10000 // 1 MB each
	}
	p := meet(t, Options{MostSessions: 2 * sessions, Rate: 1e6}) // one agent has half of them
	var all sync.WaitGroup
	began := time.Now()
	for i := range sessions {
		session := p.begin()
		v := p.watch(session, p.ann, "")
		p.execute(session, fmt.Sprintf(`i=0; while [ $i -lt %d ]; do i=$((i+1)); echo "$i abcdefghijklmnopqrstuvwxyz abcdefghijklmnopqrstuvwxyz abcdefghijklmnopqrstuvwxyz abcdef"; done; echo en''d`, lines))
		all.Go(func() { v.complete(i, lines) })
	}
	all.Wait()
	t.Logf("%d sessions of %d lines each were seen whole in %s", sessions, lines, time.Since(began))
}

// complete reads output to its end and checks that each line is there.
func (v *view) complete(session, lines int) {
	r, w := io.Pipe()
	go func() {
		defer w.Close()
		for tail := ""; !strings.HasSuffix(tail, "\nend\r\n"); {
			m := v.read("output")
			v.text = "" // is not kept
			if _, err := io.WriteString(w, m.Content); err != nil {
				return
			}
			tail += m.Content[max(0, len(m.Content)-16):]
			tail = tail[max(0, len(tail)-16):]
		}
	}()
	s, next := bufio.NewScanner(r), 1
	for s.Scan() {
		var n int
		if _, err := fmt.Sscanf(s.Text(), "%d abc", &n); err != nil {
			continue
		}
		if n != next {
			v.t.Errorf("session %d: line %d follows %d", session, n, next-1)
			return
		}
		next++
	}
	if next != lines+1 {
		v.t.Errorf("session %d: %d of %d lines", session, next-1, lines)
	}
}
