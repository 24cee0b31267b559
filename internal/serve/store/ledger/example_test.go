package ledger_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/agent-wrapper/agent-wrapper/internal/audit"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store/ledger"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store/sqlite"
)

// The record of a server is copied to a store, and the copy is checked.
func ExampleVerify() {
	dir, err := os.MkdirTemp("", "ledger")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx, path := context.Background(), filepath.Join(dir, "audit.jsonl")
	record, err := audit.Open(path, audit.Options{})
	if err != nil {
		panic(err)
	}
	defer record.Close()
	if err := record.Note("", "start", "the server starts"); err != nil {
		panic(err)
	}

	s, err := sqlite.Open(ctx, filepath.Join(dir, "store.db"))
	if err != nil {
		panic(err)
	}
	defer s.Close()
	if err := ledger.New(s, "one", path).Copy(ctx); err != nil {
		panic(err)
	}
	copies, err := s.AuditServers(ctx)
	if err != nil {
		panic(err)
	}
	for name := range copies {
		report, err := ledger.Verify(ctx, s, name)
		fmt.Println(report.Records, len(report.Faults), err)
	}
	// Output: 2 0 <nil>
}
