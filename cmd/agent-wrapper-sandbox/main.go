// Command agent-wrapper-sandbox is started for every command of an agent: in front of the
// command (package wrapper/claude/prefix), and as the process that builds the sandbox (package
// internal/sandbox/kernel/inside). Both take over before main. agent-wrapper can do the same,
// but this program starts in a third of the time. agent-wrapper uses it if it lies in the same
// directory and is of the same build.
package main

import (
	"fmt"
	"os"

	_ "github.com/agent-wrapper/agent-wrapper/internal/sandbox/kernel/inside"
	_ "github.com/agent-wrapper/agent-wrapper/wrapper/claude/prefix"
)

func main() {
	fmt.Fprintln(os.Stderr, "agent-wrapper-sandbox: agent-wrapper starts this program for commands inside the sandbox: run agent-wrapper exec --sandbox -- COMMAND")
	os.Exit(2)
}
