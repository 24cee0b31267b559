//go:build linux && postgres

package postgres

import (
	"fmt"
	"os"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/test/pg"
)

var server *pg.Server

func TestMain(m *testing.M) {
	var err error
	if server, err = pg.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := server.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// opened opens a store in a database until the test ends.
func opened(t testing.TB, url string) *Store {
	t.Helper()
	s, err := Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
