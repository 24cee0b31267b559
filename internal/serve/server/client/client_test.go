package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/server/api"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/signed"
)

var (
	anna  = approval.Principal{Role: approval.Person, Name: "anna"}
	agent = approval.Principal{Role: approval.Agent, Name: "ci"}
)

// waiting is an approval as the server has it.
func waiting() approval.Entry {
	return approval.Entry{
		State:    approval.State{Terms: approval.Terms{ID: "k7/2", Digest: "1:ab", Asker: agent}, Status: approval.Pending},
		Question: json.RawMessage(`{}`), Seq: 3,
	}
}

func with(change func(*approval.Entry)) approval.Entry {
	e := waiting()
	change(&e)
	return e
}

func status(s approval.Status) approval.Entry { return with(func(e *approval.Entry) { e.Status = s }) }

// answering is a server that gives each request the next of its answers; the last one
// again and again.
type answering struct {
	answers []func(*http.Request) (*http.Response, error)
	got     []*http.Request
}

func (a *answering) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	a.got = append(a.got, r)
	next := a.answers[0]
	if len(a.answers) > 1 {
		a.answers = a.answers[1:]
	}
	return next(r)
}

// says is an answer of the server.
func says(code int, v any) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) {
		text, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		return raw(code, string(text)), nil
	}
}

func raw(code int, text string) *http.Response {
	return &http.Response{
		StatusCode: code, Body: io.NopCloser(strings.NewReader(text)),
		Header: http.Header{"Content-Type": {"application/json"}, api.VersionHeader: {api.Version}},
	}
}

func entry(e approval.Entry) func(*http.Request) (*http.Response, error) {
	return says(http.StatusOK, api.FromEntry(e))
}

func fails(err error) func(*http.Request) (*http.Response, error) {
	f, code, _ := api.FromError(err)
	return says(code, api.Failure{Error: f})
}

func lost(*http.Request) (*http.Response, error) { return nil, errors.New("connection reset") }

// token1 is a token.
const token1 = "awt_p1_secret-token"

// proving answers as a server that knows a key.
type proving struct {
	key  *signed.Key
	base http.RoundTripper
}

func (p *proving) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path == signed.HelloPath {
		var h signed.Hello
		if err := json.NewDecoder(r.Body).Decode(&h); err != nil {
			return nil, err
		}
		g := signed.Greeting{Instance: "now", Time: signed.At(time.Now())}
		g.Proof = g.Greet(p.key.Public(), r.URL.Host, h.Nonce)
		return says(http.StatusOK, g)(r)
	}
	_, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	stamp, ok := signed.Parse(text)
	resp, err := p.base.RoundTrip(r)
	if ok && err == nil {
		resp.Header.Set(signed.ProofHeader, stamp.Proof(p.key.Public(), r.URL.Host))
	}
	return resp, err
}

func talking(t *testing.T, answers ...func(*http.Request) (*http.Response, error)) (*Client, *answering) {
	t.Helper()
	c, err := New(Options{URL: "http://127.0.0.1:1", Token: token1})
	if err != nil {
		t.Fatal(err)
	}
	s := &answering{answers: answers}
	c.http.Transport = &signed.Transport{Key: signed.TokenKey(token1), Base: &proving{signed.TokenKey(token1), s}}
	return c, s
}

func TestURLs(t *testing.T) {
	for _, good := range []string{"https://h", "https://h:8/", "http://127.0.0.1:1", "http://[::1]:2", "http://localhost:3", "http://127.9.9.9"} {
		if _, err := parseURL(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{
		"", "h", "ftp://h", "https://", "http://h:1", "http://10.0.0.1", "http://0.0.0.0:1", "http://localhost.example", "http://127.0.0.1.example",
		"https://token@h", "https://h/x", "https://h?token=secret", "https://h#secret", "https://h?", "unix:///x", "https://%zz", "http://[::ffff:10.0.0.1]",
	} {
		if u, err := parseURL(bad); err == nil {
			t.Errorf("%s: %s", bad, u)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// http:// stays on this machine, whatever its name leads to.
func TestOnlyLocal(t *testing.T) {
	for _, good := range []string{"127.0.0.1:80", "[::1]:80", "[::ffff:127.0.0.1]:80"} {
		if err := onlyLocal("tcp", good, nil); err != nil {
			t.Error(good, err)
		}
	}
	for _, bad := range []string{"10.0.0.1:80", "[fe80::1]:80", "0.0.0.0:80", "x"} {
		if onlyLocal("tcp", bad, nil) == nil {
			t.Error(bad)
		}
	}
}

func TestTokens(t *testing.T) {
	for _, bad := range []string{"", "a b", "a\n", "ä", strings.Repeat("x", 513), "awt_p1", "x_p1_y", "awt__y", "awt_p1.2_y", "awt_p1_a b", token1 + strings.Repeat("x", 513)} {
		if _, err := checkToken(bad); err == nil || bad != "" && strings.Contains(err.Error(), bad) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// The token goes nowhere.
func TestRequests(t *testing.T) {
	c, s := talking(t, entry(waiting()))
	if _, err := c.Submit(t.Context(), waiting()); err != nil {
		t.Fatal(err)
	}
	r := s.got[0]
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprint(r.Header, r.URL, string(body)); !strings.HasPrefix(r.Header.Get("Authorization"), "Agent-Wrapper p1.now.") || strings.Contains(text, "secret") {
		t.Errorf("%s %s: %s", r.Header, r.URL, body)
	}
	if strings.Contains(string(body), "asker") {
		t.Errorf("who asks is sent: %s", body)
	}
	if _, err := c.Get(t.Context(), "k7/2"); err != nil || s.got[1].URL.EscapedPath() != "/api/approvals/k7%2F2" {
		t.Error(err, s.got[1].URL)
	}
}

// A redirection is not followed: the question would go with it.
func TestRedirections(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("followed") }))
	defer elsewhere.Close()
	for _, version := range []string{"", api.Version} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set(api.VersionHeader, version)
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		}))
		c, err := New(Options{URL: s.URL, Token: token1})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Get(t.Context(), "1"); err == nil {
			t.Error("no error")
		}
		s.Close()
	}
}

// What listens in the server's place gets the token's id and signatures for a server that
// is gone, and nothing that it answers counts.
func TestUnproved(t *testing.T) {
	approved := status(approval.Approved)
	settled := says(http.StatusConflict, api.Failure{Error: api.Fault{Code: "settled", Status: "approved"}, Approval: new(api.FromEntry(approved))})
	for name, test := range map[string]struct {
		hello, answer func(*http.Request) (*http.Response, error)
	}{
		"no hello":                {says(http.StatusOK, struct{}{}), entry(approved)},
		"another's hello":         {says(http.StatusOK, signed.Greeting{Instance: "now", Time: signed.At(time.Now()), Proof: "x"}), entry(approved)},
		"an approval as hello":    {entry(approved), entry(approved)},
		"a refusal with approval": {settled, settled},
		"after hello, an answer":  {nil, entry(approved)},
		"after hello, a conflict": {nil, settled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, s := talking(t, test.answer)
				first := test.hello
				if first == nil {
					first = (&proving{signed.TokenKey(token1), nil}).RoundTrip
				}
				c.http.Transport.(*signed.Transport).Base = tripper(func(r *http.Request) (*http.Response, error) {
					if r.URL.Path == signed.HelloPath {
						return first(r)
					}
					return s.RoundTrip(r)
				})
				if e, err := c.Get(t.Context(), "k7/2"); err == nil || e.ID != "" {
					t.Errorf("it counts: %+v, %v", e, err)
				}
				if test.hello != nil && len(s.got) > 0 {
					t.Errorf("%d requests were sent before the server had proved itself", len(s.got))
				}
			})
		})
	}
}

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A server that was started again is asked anew, and a request is sent again that the new
// one has refused. A refusal that the server proves is one.
func TestStartedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := talking(t, entry(waiting()))
		if _, err := c.Get(t.Context(), "k7/2"); err != nil {
			t.Fatal(err)
		}
		base := c.http.Transport.(*signed.Transport).Base
		refused := 0
		c.http.Transport.(*signed.Transport).Base = tripper(func(r *http.Request) (*http.Response, error) {
			if r.URL.Path != signed.HelloPath && refused == 0 {
				refused++
				return says(http.StatusUnauthorized, api.Failure{Error: api.Fault{Code: "unauthorized"}})(r)
			}
			return base.RoundTrip(r)
		})
		if _, err := c.Answer(t.Context(), approval.Event{Kind: approval.Deny, ID: "k7/2", Digest: "1:ab", By: anna}, nil); err == nil || refused != 1 {
			t.Error("the answer says that it waits", err) // what talking answers
		}
		if len(s.got) != 2 {
			t.Errorf("%d requests", len(s.got))
		}
	})
}

// A program of another user than the one whose server it was is sent nothing.
func TestListener(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0", "0.0.0.0:0", "[::]:0"} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			continue // there is no IPv6
		}
		heard := make(chan bool, 8)
		web := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { heard <- true })}
		go web.Serve(l)
		at := netip.MustParseAddrPort(l.Addr().String())
		to := at.Addr().Unmap()
		if to.IsUnspecified() {
			to = netip.MustParseAddr("127.0.0.1")
		}
		url := "http://" + netip.AddrPortFrom(to, at.Port()).String()
		user := Listener(t.Context(), url)
		if runtime.GOOS != "linux" {
			if user != nil {
				t.Error(*user)
			}
		} else if user == nil || *user != os.Getuid() {
			t.Errorf("%s: %v", address, user)
		} else {
			c, err := New(Options{URL: url, Token: token1, User: new(os.Getuid() + 1)})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Owner(t.Context()); err == nil || !strings.Contains(err.Error(), "log in again") {
				t.Error(err)
			}
			if len(heard) > 0 {
				t.Error("something was sent")
			}
			c.Close()
		}
		web.Close()
	}
}

// A server that does not tell the truth about what was asked is refused.
func TestLies(t *testing.T) {
	type call func(*Client) (approval.Entry, error)
	submit := func(c *Client) (approval.Entry, error) { return c.Submit(t.Context(), waiting()) }
	get := func(c *Client) (approval.Entry, error) { return c.Get(t.Context(), "k7/2") }
	consume := func(c *Client) (approval.Entry, error) { return c.Consume(t.Context(), "k7/2", "1:ab") }
	answer := func(kind approval.Kind) call {
		return func(c *Client) (approval.Entry, error) {
			return c.Answer(t.Context(), approval.Event{Kind: kind, ID: "k7/2", Digest: "1:ab", By: anna}, nil)
		}
	}
	list := func(c *Client) (approval.Entry, error) {
		_, err := c.List(t.Context(), approval.Filter{After: 3})
		return approval.Entry{}, err
	}
	other := with(func(e *approval.Entry) { e.ID = "k8" })
	digest := with(func(e *approval.Entry) { e.Digest = "1:cd" })
	form := api.FromEntry(waiting())
	form.Status = "open"
	for name, test := range map[string]struct {
		call   call
		answer func(*http.Request) (*http.Response, error)
	}{
		"submit: another id":        {submit, entry(other)},
		"submit: another digest":    {submit, entry(digest)},
		"get: another id":           {get, entry(other)},
		"get: an unknown status":    {get, says(http.StatusOK, form)},
		"get: no approval":          {get, says(http.StatusOK, struct{}{})},
		"get: another status code":  {get, says(http.StatusAccepted, api.FromEntry(waiting()))},
		"answer: another id":        {answer(approval.Deny), entry(with(func(e *approval.Entry) { e.ID, e.Status = "k8", approval.Denied }))},
		"answer: another digest":    {answer(approval.Deny), entry(with(func(e *approval.Entry) { e.Digest, e.Status = "1:cd", approval.Denied }))},
		"answer: denied, approved":  {answer(approval.Deny), entry(status(approval.Approved))},
		"answer: approved, denied":  {answer(approval.Approve), entry(status(approval.Denied))},
		"answer: approved, pending": {answer(approval.Approve), entry(waiting())},
		"answer: edited, approved":  {answer(approval.Edit), entry(status(approval.Approved))},
		"consume: another id":       {consume, entry(with(func(e *approval.Entry) { e.ID, e.Status = "k8", approval.Consumed }))},
		"consume: another digest":   {consume, entry(with(func(e *approval.Entry) { e.Digest, e.Status = "1:cd", approval.Consumed }))},
		"consume: approved":         {consume, entry(status(approval.Approved))},
		"list: an old one":          {list, says(http.StatusOK, api.List{Approvals: []api.Approval{api.FromEntry(waiting())}})},
		"duplicate keys": {get, func(*http.Request) (*http.Response, error) {
			return raw(http.StatusOK, `{"id":"k8","id":"k7/2"}`), nil
		}},
		"keys in another case": {get, func(*http.Request) (*http.Response, error) {
			return raw(http.StatusOK, `{"ID":"k7/2"}`), nil
		}},
		"too long": {get, func(*http.Request) (*http.Response, error) {
			r := raw(http.StatusOK, "")
			r.Body = io.NopCloser(io.LimitReader(blanks{}, maxBody+1))
			return r, nil
		}},
		"no JSON": {get, func(*http.Request) (*http.Response, error) {
			r := raw(http.StatusOK, `{}`)
			r.Header.Set("Content-Type", "text/html")
			return r, nil
		}},
		"another version": {get, func(*http.Request) (*http.Response, error) {
			r := raw(http.StatusOK, `{}`)
			r.Header.Set(api.VersionHeader, "2")
			return r, nil
		}},
		"another program": {get, func(*http.Request) (*http.Response, error) {
			r := raw(http.StatusOK, `{}`)
			r.Header.Del(api.VersionHeader)
			return r, nil
		}},
		"an error about another approval": {get, says(http.StatusConflict, api.Failure{Error: api.Fault{Code: "no_say"}, Approval: &api.Approval{
			ID: "k8", Digest: "1:ab", Status: "pending", Asker: api.FromPrincipal(agent),
		}})},
	} {
		c, _ := talking(t, test.answer)
		e, err := test.call(c)
		if err == nil {
			t.Errorf("%s: %+v", name, e)
		}
		var s *approval.Settled
		if errors.As(err, &s) || errors.Is(err, approval.ErrNoSay) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// blanks is white space without end.
type blanks struct{}

func (blanks) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// What was submitted with one digest is not settled with another.
func TestDigestOfSubmitted(t *testing.T) {
	c, s := talking(t, entry(waiting()))
	if _, err := c.Submit(t.Context(), waiting()); err != nil {
		t.Fatal(err)
	}
	forged := with(func(e *approval.Entry) { e.Digest, e.Status, e.Seq = "1:cd", approval.Approved, 4 })
	s.answers = append(s.answers[:0], entry(forged))
	if e, err := c.Get(t.Context(), "k7/2"); err == nil {
		t.Errorf("%+v", e)
	}
	s.answers = append(s.answers[:0], says(http.StatusOK, api.List{Approvals: []api.Approval{api.FromEntry(forged)}, Seq: 4}))
	if all, err := c.List(t.Context(), approval.Filter{}); err == nil {
		t.Errorf("%+v", all)
	}
}

// The errors of a broker are the same through the network, with the entry that is there.
func TestErrors(t *testing.T) {
	for _, want := range []error{approval.ErrUnknown, approval.ErrOther, approval.ErrNoSay, approval.ErrTwice} {
		c, _ := talking(t, fails(want))
		if _, err := c.Answer(t.Context(), approval.Event{Kind: approval.Deny, ID: "k7/2"}, nil); !errors.Is(err, want) {
			t.Errorf("%v: %v", want, err)
		}
	}
	there := api.FromEntry(status(approval.Denied))
	f, code, _ := api.FromError(&approval.Settled{Status: approval.Denied, By: anna})
	c, _ := talking(t, says(code, api.Failure{Error: f, Approval: &there}))
	e, err := c.Answer(t.Context(), approval.Event{Kind: approval.Approve, ID: "k7/2", Digest: "1:xy"}, nil)
	var s *approval.Settled
	if !errors.As(err, &s) || s.By != anna || e.Status != approval.Denied {
		t.Errorf("%+v, %v", e, err)
	}
}

// What a server says is shown with its control characters visible, and not at any length.
func TestMessages(t *testing.T) {
	c, _ := talking(t, says(http.StatusForbidden, api.Failure{Error: api.Fault{Code: "x\x1b[2J", Message: "a\x1b]0;t\a\nb\u202e" + strings.Repeat("y", 5000)}}))
	_, err := c.Get(t.Context(), "1")
	if err == nil || strings.ContainsAny(err.Error(), "\x1b\a\n\u202e") || len(err.Error()) > 2500 {
		t.Errorf("%q", err)
	}
}

// A request is sent again if that does no harm, for a limited time.
func TestRepeated(t *testing.T) {
	submit := func(c *Client) (approval.Entry, error) { return c.Submit(context.Background(), waiting()) }
	get := func(c *Client) (approval.Entry, error) { return c.Get(context.Background(), "k7/2") }
	answer := func(c *Client) (approval.Entry, error) {
		return c.Answer(context.Background(), approval.Event{Kind: approval.Deny, ID: "k7/2", Digest: "1:ab"}, nil)
	}
	withdraw := func(c *Client) (approval.Entry, error) {
		return c.Withdraw(context.Background(), "k7/2", agent, "")
	}
	down := says(http.StatusServiceUnavailable, api.Failure{Error: api.Fault{Code: "starting"}})
	for name, test := range map[string]struct {
		call    func(*Client) (approval.Entry, error)
		answers []func(*http.Request) (*http.Response, error)
		sent    int
		ok      bool
		atMost  time.Duration
	}{
		"submit":           {submit, []func(*http.Request) (*http.Response, error){lost, down, entry(waiting())}, 3, true, time.Second},
		"submit, gone":     {submit, []func(*http.Request) (*http.Response, error){lost}, 5, false, short},
		"get, restarted":   {get, []func(*http.Request) (*http.Response, error){lost, lost, lost, lost, lost, lost, entry(waiting())}, 7, true, 10 * time.Second},
		"answer":           {answer, []func(*http.Request) (*http.Response, error){lost, entry(status(approval.Denied))}, 1, false, 0},
		"withdraw":         {withdraw, []func(*http.Request) (*http.Response, error){lost, entry(status(approval.Cancelled))}, 1, false, 0},
		"refused is final": {get, []func(*http.Request) (*http.Response, error){fails(approval.ErrUnknown)}, 1, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, s := talking(t, test.answers...)
				began := time.Now()
				_, err := test.call(c)
				if (err == nil) != test.ok || len(s.got) != test.sent || time.Since(began) > test.atMost {
					t.Errorf("%v after %d requests and %s", err, len(s.got), time.Since(began))
				}
			})
		})
	}
}

// An answer that may have counted says so.
func TestMaybe(t *testing.T) {
	c, _ := talking(t, lost)
	_, err := c.Answer(t.Context(), approval.Event{Kind: approval.Deny, ID: "1"}, nil)
	if err == nil || !strings.Contains(err.Error(), "may not have been recorded") {
		t.Error(err)
	}
}

// A lost answer to Consume is no lost approval; one that was consumed before is one.
func TestConsumedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		used := fails(&approval.Settled{Status: approval.Consumed, By: anna})
		c, _ := talking(t, lost, used, entry(status(approval.Consumed)))
		if e, err := c.Consume(t.Context(), "k7/2", "1:ab"); err != nil || e.Status != approval.Consumed {
			t.Errorf("%+v, %v", e, err)
		}
		c, _ = talking(t, used, entry(status(approval.Consumed)))
		if _, err := c.Consume(t.Context(), "k7/2", "1:ab"); err == nil {
			t.Error("consumed twice")
		}
		other := with(func(e *approval.Entry) { e.Status, e.Digest = approval.Consumed, "1:cd" })
		c, _ = talking(t, lost, used, entry(other))
		if _, err := c.Consume(t.Context(), "k7/2", "1:ab"); err == nil {
			t.Error("another request was consumed")
		}
	})
}

// A server that says nothing does not hold a request for ever.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := talking(t, func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		began := time.Now()
		if _, err := c.Submit(t.Context(), waiting()); err == nil || time.Since(began) > timeout+short {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(errors.New("not needed any more")) })
		if _, err := c.Wait(ctx, 3); err == nil || err.Error() != "not needed any more" {
			t.Error(err)
		}
	})
}

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := func(seq int64) func(*http.Request) (*http.Response, error) {
			return says(http.StatusOK, api.List{Seq: seq})
		}
		c, s := talking(t, now(3), lost, now(3), now(5))
		if seq, err := c.Wait(t.Context(), 3); seq != 5 || err != nil || len(s.got) != 4 {
			t.Errorf("%d, %v after %d requests", seq, err, len(s.got))
		}
		if q := s.got[0].URL.Query(); q.Get("after") != "3" || q.Get("wait") != "25" {
			t.Error(s.got[0].URL)
		}
		c, _ = talking(t, now(2))
		if seq, err := c.Wait(t.Context(), 3); err == nil {
			t.Errorf("a server that was set back says %d", seq)
		}
		c, _ = talking(t, lost)
		began := time.Now()
		if _, err := c.Wait(t.Context(), 3); err == nil || time.Since(began) > long {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

// A list is fetched in pages; what changes meanwhile is in it once, as it is last.
func TestPages(t *testing.T) {
	page := func(from, to int64, name func(int64) string) func(*http.Request) (*http.Response, error) {
		var l api.List
		for seq := from; seq <= to; seq++ {
			l.Approvals = append(l.Approvals, api.FromEntry(with(func(e *approval.Entry) { e.ID, e.Seq = name(seq), seq })))
		}
		return says(http.StatusOK, l)
	}
	own := func(seq int64) string { return fmt.Sprint(seq) }
	c, s := talking(t, page(1, 100, own), page(101, 102, func(seq int64) string { return own(seq - 100) }))
	all, err := c.List(t.Context(), approval.Filter{Status: []approval.Status{approval.Pending, approval.Approved}, Project: "/w"})
	if err != nil || len(all) != 100 || all[0].Seq != 101 || s.got[1].URL.Query().Get("after") != "100" {
		t.Errorf("%d, %v, %s", len(all), err, s.got[1].URL)
	}
	if q := s.got[0].URL.Query(); q.Get("status") != "pending,approved" || q.Get("project") != "/w" {
		t.Error(q)
	}
	c, _ = talking(t, page(1, 7, own))
	if all, err := c.List(t.Context(), approval.Filter{Limit: 7}); err != nil || len(all) != 7 {
		t.Error(len(all), err)
	}
	if _, err := c.List(t.Context(), approval.Filter{Limit: 3}); err == nil {
		t.Error("more than were asked for")
	}
}
