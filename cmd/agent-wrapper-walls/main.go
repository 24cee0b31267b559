// Command agent-wrapper-walls is what is started for every command of an agent: in front of
// it (package wrapper/claude/prefix), and as the first process inside walls (package
// internal/walls/kernel/inside). Both take over before main. agent-wrapper is that too; but a program
// of its own starts in a third of the time. agent-wrapper uses it if it lies beside it and is
// of the same build.
package main

import (
	"fmt"
	"os"

	_ "github.com/agent-wrapper/agent-wrapper/internal/walls/kernel/inside"
	_ "github.com/agent-wrapper/agent-wrapper/wrapper/claude/prefix"
)

func main() {
	fmt.Fprintln(os.Stderr, "agent-wrapper-walls: agent-wrapper starts this program for commands inside walls: run agent-wrapper exec --walls -- COMMAND")
	os.Exit(2)
}
