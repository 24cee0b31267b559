package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/serve/server"
	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
	"github.com/agent-wrapper/agent-wrapper/wrapper/claude"
)

// atServer are an agent's machine and a person's, and a service between them. Both are
// this process here; the person's has the token of login.
type atServer struct {
	t     *testing.T
	url   string
	agent string // the token
}

func newAtServer(t *testing.T, hosts ...string) *atServer {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	url, mint := approvalService(t, hosts...)
	s := &atServer{t, url, mint(server.RoleAgent, "ci")}
	if code, out := s.person(mint(server.RolePerson, "ann"), "login"); code != codeDone {
		t.Fatal(out)
	}
	return s
}

// person runs approvals at the server.
func (s *atServer) person(stdin string, args ...string) (int, string) {
	var out bytes.Buffer
	a := &app{in: strings.NewReader(stdin), out: &out, err: &out}
	code := a.run(s.t.Context(), append([]string{"approvals", "--server", s.url}, args...))
	return code, out.String()
}

// exec runs a line that is asked about, with a token.
func (s *atServer) exec(ctx context.Context, url, token, line string) (int, string) {
	var out bytes.Buffer
	a := &app{in: strings.NewReader(""), out: &out, err: &out, token: token}
	code := a.run(ctx, []string{"exec", "--approvals", url, "--isolated", "--ask", "Bash", "--", line})
	return code, out.String()
}

// asked waits for the question and returns its id.
func (s *atServer) asked() string {
	s.t.Helper()
	for {
		code, out := s.person("", "list", "--json")
		if code != codeDone {
			s.t.Fatal(out)
		}
		var all approvalsJSON
		if json.Unmarshal([]byte(out), &all) == nil && len(all.Approvals) > 0 {
			return all.Approvals[0].ID
		}
	}
}

// What is asked through a server is answered through it, from another process.
func TestApprovalsAtServer(t *testing.T) {
	s := newAtServer(t)
	for _, tt := range []struct {
		answer []string
		code   int
		want   string
	}{
		{[]string{"allow"}, codeDone, "ran-it"},
		{[]string{"deny"}, codeDenied, "not run: denied by ann ("},
		{[]string{"deny", "not on Fridays"}, codeDenied, "not run: denied by ann: not on Fridays ("},
	} {
		var code int
		var out string
		var running sync.WaitGroup
		running.Go(func() { code, out = s.exec(t.Context(), s.url, s.agent, "echo ran-it") })
		id := s.asked()
		at := "agent-wrapper approvals --server " + s.url
		if _, shown := s.person("", "show", id); !strings.Contains(shown, "echo ran-it") || !strings.Contains(shown, at+" …") {
			t.Errorf("%s", shown)
		}
		if _, wrong := s.person("", "allow", id, "--rung", "9"); !strings.Contains(wrong, at+" show "+id) {
			t.Errorf("%s", wrong)
		}
		if _, here := said(t, "approvals", "show", id); !strings.Contains(here, at) {
			t.Errorf("%s", here)
		}
		args := append([]string{tt.answer[0], id}, tt.answer[1:]...)
		if code, said := s.person("", args...); code != codeDone {
			t.Errorf("%v: %d: %s", args, code, said)
		}
		running.Wait()
		if code != tt.code || !strings.Contains(out, tt.want) {
			t.Errorf("%v: %d: %s", args, code, out)
		}
		if !strings.Contains(out, at+" show "+id) {
			t.Errorf("who waits is not told where to answer: %s", out)
		}
		if code, said := s.person("", "allow", id); code != codeDenied || !strings.Contains(said, "too late") {
			t.Errorf("a second answer: %d: %s", code, said)
		}
	}
}

// Without --server a person is told, in one line, that there are servers too; a program
// that reads JSON is not.
func TestAnswersElsewhereToo(t *testing.T) {
	s := newAtServer(t)
	for _, args := range [][]string{{"approvals"}, {"approvals", "list"}} {
		if code, out := said(t, args...); code != codeDone || strings.Count(out, "approvals --server "+s.url+"\n") != 1 {
			t.Errorf("%v: %d: %s", args, code, out)
		}
	}
	if _, out := said(t, "approvals", "--json"); strings.Contains(out, s.url) {
		t.Errorf("%s", out)
	}
	if _, out := s.person("", "list"); strings.Contains(out, "you also answer") {
		t.Errorf("%s", out)
	}
	if code, out := s.person("", "logout"); code != codeDone {
		t.Fatal(out)
	}
	if _, out := said(t, "approvals"); strings.Contains(out, "you also answer") {
		t.Errorf("%s", out)
	}
}

// said runs a command line and returns its exit code and all that it wrote.
func said(t *testing.T, args ...string) (int, string) {
	t.Helper()
	var out bytes.Buffer
	a := &app{in: strings.NewReader(""), out: &out, err: &out}
	return a.run(t.Context(), args), out.String()
}

// Who asks waits by a request that names the question: so the service knows that the asker
// is there. A proxy hands requests on as they were signed, for a host that the server has.
func TestAskerIsHeard(t *testing.T) {
	proxy := httptest.NewUnstartedServer(nil)
	s := newAtServer(t, proxy.Listener.Addr().String())
	to, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	waits := make(chan string, 10)
	through := httputil.NewSingleHostReverseProxy(to)
	proxy.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("wait") {
			waits <- r.URL.Path
		}
		through.ServeHTTP(w, r)
	})
	proxy.Start()
	defer proxy.Close()
	var running sync.WaitGroup
	running.Go(func() { s.exec(t.Context(), proxy.URL, s.agent, "echo ran-it") })
	id := s.asked()
	if got, want := <-waits, "/api/approvals/"+id; got != want {
		t.Errorf("it waits at %s, not at %s", got, want)
	}
	s.person("", "allow", id)
	running.Wait()
}

// A person's token does not ask, and the agent is told so.
func TestPersonsTokenDoesNotAsk(t *testing.T) {
	url, mint := approvalService(t)
	s := &atServer{t: t, url: url}
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	if code, out := s.exec(t.Context(), url, mint(server.RolePerson, "ann"), "touch ran"); code != codeDenied || !strings.Contains(out, "only agents can ask") {
		t.Errorf("%d: %s", code, out)
	}
}

// With the service gone, refusing or lying, and nobody here, what is asked is denied.
func TestNoServer(t *testing.T) {
	slow.Test(t)
	s := newAtServer(t)
	for name, tt := range map[string]struct {
		url, token string
		code       int
	}{
		"gone":               {"http://127.0.0.1:1", s.agent, codeDenied},
		"an unknown token":   {s.url, "awt_tabc_def", codeDenied},
		"no token":           {s.url, "", codeUsage},
		"over the network":   {"http://approvals.example", s.agent, codeUsage},
		"a token in it":      {"https://secret@approvals.example", s.agent, codeUsage},
		"no URL of a server": {"ftp://x", s.agent, codeUsage},
	} {
		code, out := s.exec(t.Context(), tt.url, tt.token, "touch ran")
		if _, err := os.Stat("ran"); code != tt.code || err == nil || strings.Contains(out, s.agent) {
			t.Errorf("%s: %d: %s", name, code, out)
		}
	}
}

// What an agent has started answers nothing, though the token of the person is there.
func TestAgentAtServer(t *testing.T) {
	s := newAtServer(t)
	ctx, end := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { s.exec(ctx, s.url, s.agent, "echo ran-it") })
	id := s.asked()
	t.Setenv(claude.BelowRun, "1")
	if code, out := s.person("", "allow", id); code != codeDenied || !strings.Contains(out, "started by an agent") {
		t.Errorf("%d: %s", code, out)
	}
	end()
	running.Wait()
}

// The token by which an agent's program asks is not in the environment of what it starts.
func TestTokenIsTaken(t *testing.T) {
	t.Setenv(tokenVariable, "awt_secret")
	if got := agentToken(); got != "awt_secret" {
		t.Errorf("%q", got)
	}
	if _, there := os.LookupEnv(tokenVariable); there {
		t.Error("it is there still")
	}
	if agentToken() != "" {
		t.Error("it is there twice")
	}
}
