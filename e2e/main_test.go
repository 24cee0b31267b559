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
	case "messenger":
		sendMessage()
		return
	case "mcp":
		serveMCP(os.Stdin, os.Stdout)
		return
	}
	enterNamespace()
	if err := adoptOrphans(); err != nil {
		fatal(err)
	}
	os.Exit(runTests(m))
}

// runTests runs the tests and leaves nothing behind.
func runTests(m *testing.M) int {
	var err error
	if buildDir, err = os.MkdirTemp("", "agent-wrapper-e2e"); err != nil {
		fatal(err)
	}
	defer os.RemoveAll(buildDir)
	defer func() { end(descendants()) }()
	return m.Run()
}
