//go:build linux && postgres

package terminal

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store/postgres"
	"github.com/agent-wrapper/agent-wrapper/internal/test/pg"
)

// database is the variable with the URL of the store of the servers.
const database = "TERMINAL_TEST_DATABASE"

func init() {
	files := openStore
	openStore = func(ctx context.Context, dir string) (store.Store, error) {
		url := os.Getenv(database)
		if url == "" {
			return files(ctx, dir)
		}
		for { // a server that is started while PostgreSQL is down is started again
			s, err := postgres.Open(ctx, url)
			if err == nil {
				return s, nil
			}
			select {
			case <-ctx.Done():
				return nil, err
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
}

// TestKilledWithPostgres is TestKilled with two servers that share a PostgreSQL, which
// is restarted and crashes while they work, and is down when one of them is killed.
func TestKilledWithPostgres(t *testing.T) {
	server, err := pg.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	t.Setenv(database, server.Database(t))
	dir := t.TempDir()
	var both sync.WaitGroup
	both.Go(func() {
		killOften(t, filepath.Join(dir, "two"), func(_ int, kill func()) { kill() })
	})
	killOften(t, filepath.Join(dir, "one"), func(i int, kill func()) {
		switch i % 4 {
		case 0:
			server.Restart(t, pg.Crash)
		case 1:
			server.Restart(t, pg.Fast)
		case 2:
			if err := server.Stop(pg.Crash); err != nil {
				t.Error(err)
			}
			kill()
			if err := server.Again(); err != nil {
				t.Error(err)
			}
		}
		kill()
	})
	both.Wait()
	nothingLost(t, dir, "one", "two")
}
