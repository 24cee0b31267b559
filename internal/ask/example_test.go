package ask_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/agent-wrapper/agent-wrapper/internal/ask"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/desk"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// A person at the terminal is asked what the policies leave open, and may keep
// rules for good.
func Example() {
	e, err := engine.Open(engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	ctx, interrupt := context.WithCancel(context.Background())
	defer interrupt()
	screen := ask.NewScreen(os.Stdout, nil)
	e.SetApprover(ask.New(ask.Terminal(os.Stdin, os.Stdout), screen, ask.Options{
		File:      desk.EditedFile,
		Editor:    ask.NewEditor(os.Stdin, e.OwnPath()),
		Keep:      e.Keep,
		Interrupt: interrupt,
	}))
	res, err := e.CanUseTool(ctx, permission.ToolUse{
		Tool: "Bash", Input: json.RawMessage(`{"command":"npm install left-pad"}`), Dir: e.Place.Workspace,
	})
	fmt.Fprintln(screen, res.Behavior, res.Message, err)
}
