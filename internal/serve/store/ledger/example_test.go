package ledger_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/audit"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store/ledger"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store/sqlite"
)

// The record of a server is copied to a store.
func ExampleCopier_Copy() {
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
	for name, lines := range copies {
		server, _, _ := strings.Cut(name, "#")
		fmt.Println(server, lines)
	}
	// Output: one 2
}
