package server

import (
	"context"
	"crypto/subtle"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/serve/signed"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
)

// The reasons why a credential does not count. The client is told no more than that.
var (
	errNoCredential = errors.New("the token is missing, unknown, revoked or expired: create another with agent-wrapper serve token create")
	errUnchecked    = errors.New("credentials cannot be checked now: try again later")

	errOld      = unauthorized("this token is from an earlier version, which sent it unprotected, so it no longer counts: create another with agent-wrapper serve token create")
	errEnded    = fail(http.StatusUnauthorized, "server_restarted", "the server was started again, which signs browsers out: open the link that it printed, or create a code with agent-wrapper serve token create --role person --name NAME --browser")
	errUnsigned = unauthorized("tokens are not accepted over plain HTTP: sign the request (docs/reference/api.md), or use agent-wrapper approvals")
	errStale    = unauthorized("the signature is for another time, another server or another start of this one: send POST " + signed.HelloPath + " and sign again")
	errReplayed = unauthorized("this request was sent before")
)

// unauthorized returns a reason of its own why a credential does not count.
func unauthorized(why string) error { return fail(http.StatusUnauthorized, "unauthorized", "%s", why) }

// errRevoked is why a request ends before it is done.
var errRevoked = errors.New("the credential was revoked or has expired")

// The store is asked for credentials every lookEvery, since other processes create and
// revoke them too. What it said counts for maxAge: without it, nobody is let in.
const (
	lookEvery = time.Second
	maxAge    = 10 * time.Second
)

// credentials knows who may do requests, as the store had it at the last look.
type credentials struct {
	store    store.Store
	instance string // of the server: what lets browsers in ends with it
	began    time.Time
	known    atomic.Pointer[look]
	looks    *limiter // for credentials that were unknown
	seen     replays

	looking chan struct{} // has an element while the store is asked

	mu   sync.Mutex
	held map[*hold]bool
}

// look is what the store said.
type look struct {
	tokens map[string]*store.Token
	at     time.Time
}

// hold is an open request.
type hold struct {
	id  string
	end context.CancelCauseFunc
}

func newCredentials(s store.Store, instance string) *credentials {
	return &credentials{store: s, instance: instance, began: time.Now(), looks: newLimiter(10), looking: make(chan struct{}, 1), held: map[*hold]bool{}}
}

// watch looks at the store until ctx ends, and has more look at what depends on it.
func (c *credentials) watch(ctx context.Context, more func(context.Context) error, warn func(error)) {
	every := time.NewTicker(lookEvery)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
			if err := errors.Join(c.look(ctx), more(ctx)); err != nil && ctx.Err() == nil {
				warn(err)
			}
		}
	}
}

// look asks the store, and ends the requests of credentials that do not count any more.
func (c *credentials) look(ctx context.Context) error {
	c.looking <- struct{}{}
	defer func() { <-c.looking }()
	now := time.Now()
	all, err := c.store.Tokens(ctx)
	if err == nil {
		next := &look{map[string]*store.Token{}, now}
		for i := range all {
			next.tokens[all[i].ID] = &all[i]
		}
		c.known.Store(next)
	}
	c.endRevoked()
	return err
}

func (c *credentials) endRevoked() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for h := range c.held {
		if _, err := c.find(h.id); err != nil {
			h.end(errRevoked)
			delete(c.held, h)
		}
	}
}

// find returns a credential that counts.
func (c *credentials) find(id string) (*store.Token, error) {
	known, now := c.known.Load(), time.Now()
	switch {
	case known == nil || now.Sub(known.at) > maxAge:
		return nil, errUnchecked
	case known.tokens[id] == nil || !c.valid(known.tokens[id], now):
		return nil, errNoCredential
	}
	return known.tokens[id], nil
}

// valid reports whether a credential counts at a time, at this server.
func (c *credentials) valid(t *store.Token, now time.Time) bool {
	switch kindOf(t.ID) {
	case kindOld:
		return false
	case kindBrowser, kindCode:
		if !strings.HasSuffix(t.ID, "-"+c.instance) {
			return false
		}
	}
	return t.Revoked.IsZero() && (t.Expires.IsZero() || now.Before(t.Expires))
}

// counts reports whether a credential is not known as revoked or expired.
func (c *credentials) counts(id string) bool {
	_, err := c.find(id)
	return !errors.Is(err, errNoCredential)
}

// findNew is find for a credential that may have been created since the last look.
func (c *credentials) findNew(ctx context.Context, id string) (*store.Token, error) {
	if t, err := c.find(id); !errors.Is(err, errNoCredential) {
		return t, err
	}
	switch {
	case c.known.Load().tokens[id] != nil:
	case !c.looks.take("", time.Now()):
		c.looked() // others look, perhaps for the same one
	default:
		if err := c.look(ctx); err != nil {
			return nil, errUnchecked
		}
	}
	return c.find(id)
}

// looked waits for the looks that are under way.
func (c *credentials) looked() {
	c.looking <- struct{}{}
	<-c.looking
}

// clock returns the time for stamps. It only goes forward, also if somebody sets the clock
// of the machine back: then what was sent once would count again.
func (c *credentials) clock() time.Time { return c.began.Add(time.Since(c.began)) }

// claimed returns the credential that a request names, with the reason why it does not
// count.
func (c *credentials) claimed(ctx context.Context, id string) (*store.Token, error) {
	if strings.HasPrefix(id, code) && !strings.Contains(id, "-") {
		id += "-" + c.instance // who types a code does not know of which server it is
	}
	t, err := c.findNew(ctx, id)
	switch kind := kindOf(id); {
	case !errors.Is(err, errNoCredential):
		return t, err
	case kind == kindOld:
		return nil, errOld
	case kind == kindBrowser && !strings.HasSuffix(id, "-"+c.instance) && c.known.Load().tokens[id] != nil:
		return nil, errEnded
	}
	return nil, err
}

// greet proves to the owner of a credential that this is the server.
func (c *credentials) greet(ctx context.Context, host string, h *signed.Hello) (signed.Greeting, error) {
	if !signed.ValidNonce(h.Nonce) {
		return signed.Greeting{}, fail(http.StatusBadRequest, "bad_request", "nonce: send 16 random bytes in base64url, without padding")
	}
	t, err := c.claimed(ctx, h.ID)
	if err != nil {
		return signed.Greeting{}, err
	}
	g := signed.Greeting{Instance: c.instance, Time: signed.At(c.clock())}
	g.Proof = g.Greet(t.Hash, host, h.Nonce)
	return g, nil
}

// signer returns the credential that signed a request, which counts once.
func (c *credentials) signer(ctx context.Context, s *signed.Stamp, r signed.Request) (*store.Token, error) {
	t, err := c.claimed(ctx, s.ID)
	if err != nil {
		return nil, err
	}
	now := c.clock()
	switch {
	case s.Instance != c.instance:
		return nil, errStale
	case !s.By(t.Hash, r):
		return nil, errNoCredential
	case !timely(s, now):
		return nil, errStale
	}
	return t, c.seen.add(t.ID, s.Nonce, now)
}

// bearer returns the credential with a program's secret. It is for connections with TLS.
func (c *credentials) bearer(ctx context.Context, secret string) (*store.Token, error) {
	key := signed.TokenKey(secret)
	if key == nil {
		return nil, errNoCredential
	}
	t, err := c.claimed(ctx, key.ID)
	if err != nil {
		return nil, err
	}
	if given := key.Public(); subtle.ConstantTimeCompare(t.Hash[:], given[:]) != 1 {
		return nil, errNoCredential
	}
	return t, nil
}

// pair uses up a one-time code, and returns the credential of the browser that it lets in.
func (c *credentials) pair(ctx context.Context, by *store.Token, key signed.Public) (store.Token, error) {
	t := newBrowser(by, key, time.Now())
	switch err := c.store.CreateToken(ctx, t); {
	case errors.Is(err, store.ErrExists): // another browser was first
		return t, errNoCredential
	case err != nil:
		return t, errUnchecked
	}
	// If this fails, the code expires; it lets nobody in any more.
	_ = c.store.RevokeToken(ctx, by.ID, time.Now())
	return t, c.look(ctx)
}

// endOld revokes what does not count any more: the credentials of earlier versions, and
// what let browsers in at an earlier instance of this server.
func (c *credentials) endOld(ctx context.Context, instance string) error {
	all, err := c.store.Tokens(ctx)
	for i := range all {
		t := &all[i]
		browsers := kindOf(t.ID) == kindBrowser || kindOf(t.ID) == kindCode
		_, of, _ := strings.Cut(t.ID, "-")
		if t.Revoked.IsZero() && (kindOf(t.ID) == kindOld || browsers && (of == "" || of == instance)) {
			err = errors.Join(err, c.store.RevokeToken(ctx, t.ID, time.Now()))
		}
	}
	return err
}

// revoke ends a credential, and what it has open. The error is store.ErrUnknown if
// there is none.
func (c *credentials) revoke(ctx context.Context, id string) error {
	if err := c.store.RevokeToken(ctx, id, time.Now()); err != nil {
		return err
	}
	return c.look(ctx)
}

// hold returns a context that ends when the credential does, with errRevoked as the
// cause, until release is called.
func (c *credentials) hold(ctx context.Context, id string) (_ context.Context, release func()) {
	ctx, end := context.WithCancelCause(ctx)
	h := &hold{id, end}
	c.mu.Lock()
	c.held[h] = true
	c.mu.Unlock()
	if _, err := c.find(id); err != nil { // it was revoked just now
		end(errRevoked)
	}
	return ctx, func() {
		c.mu.Lock()
		delete(c.held, h)
		c.mu.Unlock()
		end(nil)
	}
}

// open returns the number of open requests.
func (c *credentials) open() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.held)
}

// agent returns the name of the agent whose credential has an ID, also if that does not
// count any more; "" if there is none.
func (c *credentials) agent(id string) string {
	if known := c.known.Load(); known != nil && known.tokens[id] != nil && known.tokens[id].Role == RoleAgent {
		return known.tokens[id].Name
	}
	return ""
}
