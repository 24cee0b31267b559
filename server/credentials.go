package server

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agent-wrapper/agent-wrapper/store"
)

// The reasons why a credential does not count. The client is told no more than that.
var (
	errNoCredential = errors.New("the token is missing, unknown, revoked or expired: create another with agent-wrapper serve token create")
	errUnchecked    = errors.New("credentials cannot be checked now: try again later")
)

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
	store store.Store
	known atomic.Pointer[look]
	looks *limiter // for credentials that were unknown

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

func newCredentials(s store.Store) *credentials {
	return &credentials{store: s, looks: newLimiter(10), looking: make(chan struct{}, 1), held: map[*hold]bool{}}
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
	case known.tokens[id] == nil || !valid(known.tokens[id], now):
		return nil, errNoCredential
	}
	return known.tokens[id], nil
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

// bearer returns the credential with a program's secret.
func (c *credentials) bearer(ctx context.Context, secret string) (*store.Token, error) {
	return c.proved(ctx, idOf(bearer, secret), sha256.Sum256([]byte(secret)))
}

// browser returns the credential of a browser's two halves.
func (c *credentials) browser(ctx context.Context, cookie, page string) (*store.Token, error) {
	return c.proved(ctx, idOf(browser, cookie), hashBrowser(cookie, page))
}

func (c *credentials) proved(ctx context.Context, id string, hash [sha256.Size]byte) (*store.Token, error) {
	if id == "" {
		return nil, errNoCredential
	}
	t, err := c.findNew(ctx, id)
	if err != nil {
		return nil, err
	}
	if subtle.ConstantTimeCompare(t.Hash[:], hash[:]) != 1 {
		return nil, errNoCredential
	}
	return t, nil
}

// pair uses up a one-time code and returns the credential of the browser that it lets
// in, with its halves.
func (c *credentials) pair(ctx context.Context, text string) (t store.Token, cookie, page string, err error) {
	if err := c.look(ctx); err != nil {
		return t, "", "", errUnchecked
	}
	by := c.coded(hashCode(text))
	if by == nil {
		return t, "", "", errNoCredential
	}
	t, cookie, page = mintBrowser(by, time.Now())
	switch err := c.store.CreateToken(ctx, t); {
	case errors.Is(err, store.ErrExists): // another browser was first
		return t, "", "", errNoCredential
	case err != nil:
		return t, "", "", errUnchecked
	}
	// If this fails, the code expires; it lets nobody in any more.
	_ = c.store.RevokeToken(ctx, by.ID, time.Now())
	return t, cookie, page, c.look(ctx)
}

// coded returns the credential of a code that counts, nil if there is none. It compares
// all of them.
func (c *credentials) coded(hash [sha256.Size]byte) (found *store.Token) {
	now := time.Now()
	for id, t := range c.known.Load().tokens {
		if strings.HasPrefix(id, code) && subtle.ConstantTimeCompare(t.Hash[:], hash[:]) == 1 && valid(t, now) {
			found = t
		}
	}
	return found
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
