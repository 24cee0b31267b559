package main

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store/ledger"
)

// record returns the file with the record of the server whose state directory is dir.
func (f *serveFlags) record(dir string) string {
	return cmp.Or(f.audit.file, filepath.Join(dir, "audit.jsonl"))
}

// copyEvery is how often new lines of the record are copied to the store.
const copyEvery = time.Second

// copyRecord copies the record to the store, where those of all servers are, until stop
// is called, which waits for the last line.
func copyRecord(kept store.Store, record string, log *slog.Logger) (stop func()) {
	name, err := os.Hostname()
	if err != nil {
		name = "server"
	}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		ledger.New(kept, name, record).Follow(ctx, copyEvery, func(err error) {
			log.Error("the audit log is not copied to the store", "record", record, "error", err)
		})
	})
	return func() {
		cancel()
		done.Wait()
	}
}
