//go:build e2e

package e2e

import (
	"os"
	"os/signal"
	"syscall"
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
	case "sandboxed":
		fatal(sandboxed(os.Args[1:]))
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
	heedSignals()
	return m.Run()
}

// heedSignals has the wrapper heed the signals that end it, also where the tests
// were started with some of them ignored, as by nohup.
func heedSignals() {
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGHUP, syscall.SIGQUIT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
}
