//go:build unix

package server

import (
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/audit"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/signed"
)

// BenchmarkDecisions measures POST /api/decisions with a recorded decision beside a
// handler that reads the body and answers nothing, by the same clients: 64 of them, each
// one request after the other, in this process. Its figures are ratios of decisions to the
// null handler, which take turns: of-null is of requests a second, and cpu-of-null of
// requests a second of the processor, which says more if others use the machine too.
// The times of the processor are those of the client and the server together.
func BenchmarkDecisions(b *testing.B) {
	for _, how := range []struct {
		name, line string
		sync       audit.Sync
	}{
		{"status/none", "git status", audit.SyncNone},
		{"status/group", "git status", audit.SyncGroup},
		{"pipeline/none", "cd src && git diff --stat HEAD~3 | head -50", audit.SyncNone},
		{"pipeline/group", "cd src && git diff --stat HEAD~3 | head -50", audit.SyncGroup},
	} {
		b.Run(how.name, func(b *testing.B) {
			dir := workspace(b)
			h := listen(b, Options{Workspace: dir, Open: openerWith(b, dir, "", how.sync)})
			secret, _ := h.token(RoleAgent, "chat", "bot")
			null := nullServer(b)
			body := bash(how.line)
			var ours, theirs took
			requests(b, h.url+"/api/decisions", secret, body, 1) // opens the engine
			requests(b, h.url+"/api/decisions", secret, body, 200)
			requests(b, null, secret, body, 200)
			b.ResetTimer()
			for done := 0; done < b.N; done += 1000 {
				n := min(1000, b.N-done)
				ours.add(requests(b, h.url+"/api/decisions", secret, body, n))
				theirs.add(requests(b, null, secret, body, n))
			}
			b.ReportMetric(float64(b.N)/ours.refusal.Seconds(), "decisions/s")
			b.ReportMetric(float64(b.N)/theirs.refusal.Seconds(), "null/s")
			b.ReportMetric(theirs.refusal.Seconds()/ours.refusal.Seconds(), "of-null")
			b.ReportMetric(float64(ours.cpu.Microseconds())/float64(b.N), "cpu-us")
			b.ReportMetric(float64(theirs.cpu.Microseconds())/float64(b.N), "null-cpu-us")
			b.ReportMetric(theirs.cpu.Seconds()/ours.cpu.Seconds(), "cpu-of-null")
		})
	}
}

// nullServer returns the URL of a server that does nothing.
func nullServer(b *testing.B) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	web := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "{}")
	})}
	go func() { _ = web.Serve(l) }()
	b.Cleanup(func() { web.Close() })
	return "http://" + l.Addr().String()
}

// took is the time that something took, by the clock and of the processor.
type took struct{ refusal, cpu time.Duration }

func (t *took) add(more took) { t.refusal, t.cpu = t.refusal+more.refusal, t.cpu+more.cpu }

// processor returns the time that this process has had a processor.
func processor(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// requests does n requests by 64 clients and returns how long that took.
func requests(b *testing.B, url, secret, body string, n int) took {
	const clients = 64
	var transport http.RoundTripper = &http.Transport{MaxIdleConnsPerHost: clients}
	if key := keyOf(secret); key != nil {
		transport = &signed.Transport{Key: key, Base: transport}
	}
	web := &http.Client{Transport: transport}
	defer web.CloseIdleConnections()
	failed := make(chan string, clients)
	next := make(chan bool)
	begin, before := time.Now(), processor(b)
	for range clients {
		go func() {
			why := ""
			for range next {
				if err := one(web, url, body); err != "" {
					why = err
				}
			}
			failed <- why
		}()
	}
	for range n {
		next <- true
	}
	close(next)
	for range clients {
		if why := <-failed; why != "" {
			b.Fatal(why)
		}
	}
	return took{time.Since(begin), processor(b) - before}
}

// one does a request and says what was wrong with the answer.
func one(web *http.Client, url, body string) string {
	r, err := http.NewRequest("POST", url, strings.NewReader(body))
	if err != nil {
		return err.Error()
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := web.Do(r)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return err.Error()
	case resp.StatusCode != 200 || len(data) > 3 && !strings.Contains(string(data), `"behavior":"allow"`):
		return resp.Status + " " + string(data)
	}
	return ""
}
