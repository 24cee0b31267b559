//go:build linux && serve

package serve

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
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

// judgeCopies checks that the store has each record as it is; that the records verify is
// checked where they are read (allowed).
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
	texts := map[string]string{}
	for name := range copies {
		lines, err := kept.Audit(ctx, name, 0, 0)
		if err != nil {
			w.t.Fatal(err)
		}
		var text strings.Builder
		for _, l := range lines {
			text.Write(l.Line)
			text.WriteByte('\n')
		}
		texts[text.String()] = name
	}
	for _, s := range w.servers {
		data, err := os.ReadFile(filepath.Join(s.dir, "audit.jsonl"))
		if err != nil {
			w.t.Fatal(err)
		}
		if whole := data[:bytes.LastIndexByte(data, '\n')+1]; texts[string(whole)] == "" {
			w.wrong("the %d lines of the record of %s are in no copy as they are", bytes.Count(whole, []byte("\n")), s.name())
		}
	}
	if len(copies) != len(w.servers) {
		w.wrong("%d copies of the records of %d servers", len(copies), len(w.servers))
	}
}
