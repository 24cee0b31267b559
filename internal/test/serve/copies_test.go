//go:build linux && serve

package serve

import (
	"bytes"
	"context"
	"os"
	"path/filepath"

	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store/ledger"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store/postgres"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store/sqlite"
)

// open opens the store of servers that have ended.
func (w *world) open(ctx context.Context) (store.Store, error) {
	if w.store != "" {
		return postgres.Open(ctx, w.store)
	}
	return sqlite.Open(ctx, filepath.Join(w.servers[0].dir, "serve.db"))
}

// judgeCopies checks that the store has every line of each record, in a chain that
// verifies.
func (w *world) judgeCopies() {
	w.t.Helper()
	ctx := w.t.Context()
	kept, err := w.open(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	defer kept.Close()
	copies, err := kept.AuditServers(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	var copied, written int64
	for name, lines := range copies {
		copied += lines
		if r, err := ledger.Verify(ctx, kept, name); err != nil || len(r.Faults) > 0 {
			w.wrong("the copy %s of a record: %v, %+v", name, err, r)
		}
	}
	for _, s := range w.servers {
		data, err := os.ReadFile(filepath.Join(s.dir, "audit.jsonl"))
		if err != nil {
			w.t.Fatal(err)
		}
		written += int64(bytes.Count(data, []byte("\n")))
	}
	if copied != written || len(copies) != len(w.servers) {
		w.wrong("%d lines of records are in the store, in %d copies; there are %d", copied, len(copies), written)
	}
}
