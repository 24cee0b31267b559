package server

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
)

// gated is a store that tells its credentials when the gate opens.
type gated struct {
	store.Store
	tokens []store.Token
	gate   chan struct{}
}

func (g *gated) Tokens(ctx context.Context) ([]store.Token, error) {
	select {
	case <-g.gate:
		return g.tokens, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestNewCredential: of many requests with a credential that was just created none is
// refused, though few of them may ask the store.
func TestNewCredential(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		token, secret, err := Mint(RoleAgent, "chat", "coder", time.Now(), time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		open := make(chan struct{})
		close(open)
		g := &gated{gate: open}
		c := newCredentials(g, "now")
		if err := c.look(t.Context()); err != nil {
			t.Fatal(err)
		}
		g.tokens, g.gate = []store.Token{token}, make(chan struct{})
		const requests = 64
		refused := make(chan error, requests)
		for range requests {
			go func() {
				_, err := c.bearer(t.Context(), secret)
				refused <- err
			}()
		}
		synctest.Wait()
		close(g.gate)
		for range requests {
			if err := <-refused; err != nil {
				t.Fatal(err)
			}
		}
	})
}
