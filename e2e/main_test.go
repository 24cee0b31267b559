//go:build e2e

package e2e

import (
	"os"
	"testing"
)

// roleVar makes the test binary play another part.
const roleVar = "AW_E2E_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVar) {
	case "shim":
		shim()
		return
	case "mcp":
		serveMCP(os.Stdin, os.Stdout)
		return
	}
	enterNamespace()
	if err := adoptOrphans(); err != nil {
		fatal(err)
	}
	code := m.Run()
	end(descendants())
	os.Exit(code)
}
