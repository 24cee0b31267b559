package server

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/audit"
)

// BenchmarkDecisions measures POST /api/decisions with a recorded decision beside a
// handler that reads the body and answers nothing, by the same clients: 64 of them, each
// one request after the other, in this process. Its figure is the ratio of requests a
// second, decisions to the null handler, which take turns.
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
			var ours, theirs time.Duration
			requests(b, h.url+"/api/decisions", secret, body, 200) // opens the engine
			requests(b, null, secret, body, 200)
			b.ResetTimer()
			for done := 0; done < b.N; done += 1000 {
				n := min(1000, b.N-done)
				ours += requests(b, h.url+"/api/decisions", secret, body, n)
				theirs += requests(b, null, secret, body, n)
			}
			b.ReportMetric(float64(b.N)/ours.Seconds(), "decisions/s")
			b.ReportMetric(float64(b.N)/theirs.Seconds(), "null/s")
			b.ReportMetric(theirs.Seconds()/ours.Seconds(), "of-null")
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

// requests does n requests by 64 clients and returns how long that took.
func requests(b *testing.B, url, secret, body string, n int) time.Duration {
	const clients = 64
	web := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	defer web.CloseIdleConnections()
	failed := make(chan string, clients)
	next := make(chan bool)
	begin := time.Now()
	for range clients {
		go func() {
			why := ""
			for range next {
				if err := one(web, url, secret, body); err != "" {
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
	return time.Since(begin)
}

// one does a request and says what was wrong with the answer.
func one(web *http.Client, url, secret, body string) string {
	r, err := http.NewRequest("POST", url, strings.NewReader(body))
	if err != nil {
		return err.Error()
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+secret)
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
