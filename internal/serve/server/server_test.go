package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/audit"
	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/server/api"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/signed"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store/sqlite"
)

// flaky is a store that fails once it is broken.
type flaky struct {
	store.Store
	broken atomic.Bool
}

var errBroken = errors.New("the disk is full")

func (f *flaky) Tokens(ctx context.Context) ([]store.Token, error) {
	if f.broken.Load() {
		return nil, errBroken
	}
	return f.Store.Tokens(ctx)
}

func (f *flaky) Heard(ctx context.Context, at time.Time, ids []string) error {
	if f.broken.Load() {
		return errBroken
	}
	return f.Store.Heard(ctx, at, ids)
}

func (f *flaky) Check(ctx context.Context) error {
	if f.broken.Load() {
		return errBroken
	}
	return f.Store.Check(ctx)
}

// open opens a store of its own.
func open(t testing.TB) store.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "serve.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// harness is a server on a port of its own.
type harness struct {
	*Server
	t    testing.TB
	url  string // http://127.0.0.1:PORT
	logs *logs

	signers *sync.Map // *http.Client, by secret
}

// logs are what was logged. They are read while the server runs.
type logs struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(p)
}

func (l *logs) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.String()
}

// workspace returns a directory to work in.
func workspace(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// opener opens engines that decide under profile terminal and a policy, and record.
func opener(t testing.TB, dir, text string) func(string, string, func(string)) (*engine.Engine, error) {
	return openerWith(t, dir, text, audit.SyncNone)
}

func openerWith(t testing.TB, dir, text string, sync audit.Sync) func(string, string, func(string)) (*engine.Engine, error) {
	t.Helper()
	spec, state := terminalProfile(t, text), t.TempDir()
	return func(agent, _ string, warn func(string)) (*engine.Engine, error) {
		return engine.Open(engine.Options{
			Dir: dir, Dirs: &engine.Dirs{State: state}, Isolated: true, Settings: spec, NoAdvice: true, Agent: agent, Warn: warn,
			Record: filepath.Join(state, "audit.jsonl"), Sync: sync,
		})
	}
}

// ruler loads the rules of an opener.
func ruler(t testing.TB, dir, text string) func(string) (*engine.Rules, error) {
	t.Helper()
	spec, state := terminalProfile(t, text), t.TempDir()
	return func(role string) (*engine.Rules, error) {
		mine := *spec
		mine.Role = role
		return engine.Load(engine.Options{Dir: dir, Dirs: &engine.Dirs{State: state}, Isolated: true, Settings: &mine, NoAdvice: true})
	}
}

// terminalProfile returns a policy under profile terminal.
func terminalProfile(t testing.TB, text string) *policy.Spec {
	t.Helper()
	spec, err := policy.Parse([]byte("profile = \"terminal\"\n"+text), "test")
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// listen starts a server.
func listen(t testing.TB, o Options) *harness {
	t.Helper()
	return listenWith(t, o, sendTimes{})
}

// listenWith is listen with other times than the server's own, if it is not zero.
func listenWith(t testing.TB, o Options, p sendTimes) *harness {
	t.Helper()
	h := &harness{t: t, logs: &logs{}, signers: &sync.Map{}}
	if o.Store == nil {
		o.Store = open(t)
	}
	o.Log = slog.New(slog.NewTextHandler(h.logs, nil))
	if o.Rate == 0 {
		o.Rate = 1e6 // tests look often
	}
	if o.Workspace == "" {
		o.Workspace = workspace(t)
	}
	if o.Open == nil {
		o.Open = opener(t, o.Workspace, "")
	}
	if o.Rules == nil {
		o.Rules = ruler(t, o.Workspace, "")
	}
	if o.Private == "" {
		o.Private = t.TempDir()
	}
	if o.Recordings == "" {
		o.Recordings = t.TempDir()
	}
	o.Name = "server-test"
	var err error
	if h.Server, err = New(o); err != nil {
		t.Fatal(err)
	}
	if p != (sendTimes{}) {
		h.sendTimes = p
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.url = "http://" + l.Addr().String()
	ctx, end := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- h.Serve(ctx, l) }()
	t.Cleanup(func() {
		end()
		if err := <-served; err != nil && !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// in returns the harness for a subtest.
func (h *harness) in(t testing.TB) *harness {
	other := *h
	other.t = t
	return &other
}

// token returns the secret of a new credential, and its ID.
func (h *harness) token(role, agentRole, name string) (secret, id string) {
	h.t.Helper()
	tok, secret, err := Mint(role, agentRole, name, time.Now(), time.Time{})
	if err != nil {
		h.t.Fatal(err)
	}
	if err := h.options.Store.CreateToken(h.t.Context(), tok); err != nil {
		h.t.Fatal(err)
	}
	return secret, tok.ID
}

// pairCode returns a code that lets a browser in.
func (h *harness) pairCode(name string) string {
	h.t.Helper()
	tok, code, err := MintCode(RolePerson, name, h.credentials.instance, time.Now())
	if err != nil {
		h.t.Fatal(err)
	}
	if err := h.options.Store.CreateToken(h.t.Context(), tok); err != nil {
		h.t.Fatal(err)
	}
	return code
}

// paired lets a browser in and returns its secret, which no server knows.
func (h *harness) paired(name string) (secret string) {
	h.t.Helper()
	code := h.pairCode(name)
	secret = signed.Prefix + browser + signed.CodeKey(code).ID[len(code[:1]):] + "-" + h.credentials.instance + "_" + random(32)
	h.want(h.do("POST", "/api/pair", code, pairBody(secret)), 200, "")
	return secret
}

// pairBody returns the body with which a browser with a secret is paired.
func pairBody(secret string) string {
	key := signed.TokenKey(secret).Public()
	text, _ := json.Marshal(pairing{key[:]})
	return string(text)
}

// keyOf returns the key of a secret, nil if it is none.
func keyOf(secret string) *signed.Key {
	if strings.Count(secret, "-") == 3 {
		return signed.CodeKey(secret)
	}
	return signed.TokenKey(secret)
}

// web returns the client of the owner of a secret. One that makes no key is sent as a
// bearer's.
func (h *harness) web(secret string) *http.Client {
	if c, ok := h.signers.Load(secret); ok {
		return c.(*http.Client)
	}
	c := &http.Client{}
	if key := keyOf(secret); key != nil {
		c.Transport = blind{h, key}
	}
	h.signers.Store(secret, c)
	return c
}

// blind signs requests for a server without asking who it is, as an attacker does.
type blind struct {
	h   *harness
	key *signed.Key
}

func (b blind) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.GetBody != nil {
		again, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		if body, err = io.ReadAll(again); err != nil {
			return nil, err
		}
	}
	host := r.URL.Host
	if r.Host != "" {
		host = r.Host
	}
	q := r.Clone(r.Context())
	q.Header.Set("Authorization", b.h.stamp(b.key, signed.Request{Method: r.Method, Host: host, URI: r.URL.RequestURI()}, body))
	return http.DefaultTransport.RoundTrip(q)
}

func (h *harness) stamp(key *signed.Key, r signed.Request, body []byte) string {
	s := signed.Stamp{Instance: h.credentials.instance, Time: signed.At(time.Now()), Nonce: signed.NewNonce(), Digest: signed.DigestOf(body)}
	return signed.Scheme + " " + key.Sign(r, s)
}

// authorization returns the header of a request without a body.
func (h *harness) authorization(method, uri, secret string) string {
	return h.stamp(keyOf(secret), signed.Request{Method: method, Host: strings.TrimPrefix(h.url, "http://"), URI: uri}, nil)
}

// reply is an answer to a request.
type reply struct {
	status int
	header http.Header
	body   string
}

// code returns the code of an error.
func (r reply) code() string {
	var f api.Failure
	_ = json.Unmarshal([]byte(r.body), &f)
	return f.Error.Code
}

// do does a request. Headers are pairs of a name and a value; Host is one.
func (h *harness) do(method, path, secret, body string, headers ...string) reply {
	h.t.Helper()
	r, err := http.NewRequestWithContext(h.t.Context(), method, h.url+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	if secret != "" && keyOf(secret) == nil {
		r.Header.Set("Authorization", "Bearer "+secret)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		if headers[i] == "Content-Type" {
			r.Header.Del(headers[i])
		}
		r.Header.Add(headers[i], headers[i+1])
	}
	resp, err := h.web(secret).Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, string(data)}
}

// want checks the status of an answer and, if it is an error, its code.
func (h *harness) want(r reply, status int, code string) {
	h.t.Helper()
	if r.status != status || r.code() != code {
		h.t.Errorf("got %d %q, want %d %q: %s", r.status, r.code(), status, code, r.body)
	}
}
