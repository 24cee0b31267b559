// Command agent-wrapper-walls is the first process inside walls: see package
// walls/kernel/inside, which takes over before main. agent-wrapper is that too; but a
// program of its own starts in a third of the time, and it is started for every command.
// agent-wrapper uses it if it lies beside it and is of the same build.
package main

import (
	"fmt"
	"os"

	_ "github.com/agent-wrapper/agent-wrapper/walls/kernel/inside"
)

func main() {
	fmt.Fprintln(os.Stderr, "agent-wrapper-walls: agent-wrapper starts this program for commands inside walls: run agent-wrapper exec --walls -- COMMAND")
	os.Exit(2)
}
