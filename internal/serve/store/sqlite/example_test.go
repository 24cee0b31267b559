package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store/sqlite"
)

// A question outlives the process that stored it.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "store")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx, path := context.Background(), filepath.Join(dir, "store.db")

	s, err := sqlite.Open(ctx, path)
	if err != nil {
		panic(err)
	}
	_, err = s.Submit(ctx, approval.Entry{
		State: approval.State{Terms: approval.Terms{ID: "1", Digest: "1:…", Asker: approval.Principal{Role: approval.Agent, Name: "a"}}},
	})
	if err := s.Close(); err != nil {
		panic(err)
	}

	var again store.Store
	if again, err = sqlite.Open(ctx, path); err != nil {
		panic(err)
	}
	defer again.Close()
	e, err := again.Get(ctx, "1")
	fmt.Println(e.ID, e.Status, err)
	// Output: 1 pending <nil>
}

// A backup is made while the store is in use, and restored when it is not.
func ExampleRestore() {
	dir, err := os.MkdirTemp("", "store")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx, path, backup := context.Background(), filepath.Join(dir, "store.db"), filepath.Join(dir, "backup.db")

	s, err := sqlite.Open(ctx, path)
	if err != nil {
		panic(err)
	}
	fmt.Println(s.Backup(ctx, backup))
	_, err = sqlite.Restore(ctx, backup, path)
	fmt.Println(err != nil) // it is in use
	fmt.Println(s.Close())
	before, err := sqlite.Restore(ctx, backup, path)
	fmt.Println(before != "", err)
	// Output:
	// <nil>
	// true
	// <nil>
	// true <nil>
}
