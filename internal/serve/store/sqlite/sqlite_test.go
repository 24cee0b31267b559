package sqlite_test

import (
	"flag"
	"path/filepath"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store/sqlite"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store/storetest"
	"github.com/agent-wrapper/agent-wrapper/internal/test/brokertest"
)

var every = flag.Bool("every", false, "100 people by 1,000 requests, 200 kills")

// place returns what opens a store in a new directory.
func place(t testing.TB) func() store.Store {
	path := filepath.Join(t.TempDir(), "dir", "store.db")
	return func() store.Store { return open(t, path) }
}

func open(t testing.TB, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestBroker(t *testing.T) {
	brokertest.Run(t, func(t *testing.T, now func() time.Time) approval.Broker {
		s, err := sqlite.OpenAt(t.Context(), filepath.Join(t.TempDir(), "store.db"), now)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	})
}

func TestStore(t *testing.T) { storetest.Run(t, place) }

// TestRace: 100 people decide at the same time.
func TestRace(t *testing.T) {
	requests := 20
	if *every {
		requests = 1000
	}
	open := place(t)
	storetest.Race(t, 100, requests, open(), open())
}
