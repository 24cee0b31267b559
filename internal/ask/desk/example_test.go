package desk_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/desk"
	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// A program shows what the policies leave to a person, and hands in the answer.
func Example() {
	rules, err := policy.Parse([]byte(`ask = ["Bash(npm install:*)"]`), "my rules")
	if err != nil {
		log.Fatal(err)
	}
	e, err := engine.Open(engine.Options{Settings: rules, Isolated: true, NoRecord: true})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	questions := make(chan desk.Question, 1)
	d := desk.New(desk.Options{
		Menu:      desk.Menu{Keep: e.Keep, Session: e.Session, Edit: true},
		File:      desk.EditedFile,
		Asked:     func(q desk.Question) { questions <- q },
		Withdrawn: func(id, reason string) { fmt.Println("never mind:", id, reason) },
	})
	e.SetApprover(d)
	go func() { // somebody else
		q := <-questions
		fmt.Println(q.Tool, q.Reason)
		rung := 1
		if _, err := d.Answer(desk.Reply{ID: q.ID, Digest: q.Digest, Choice: desk.Session, Rung: &rung}); err != nil {
			fmt.Println(err)
		}
	}()
	for _, line := range []string{`{"command":"npm install left-pad"}`, `{"command":"npm install express"}`} {
		use := permission.ToolUse{Tool: "Bash", Input: json.RawMessage(line), Dir: e.Place.Workspace}
		res, err := e.CanUseTool(context.Background(), use)
		fmt.Println(res.Behavior, res.By, len(d.Waiting()), err)
	}
	d.Close("the program ends")
	// Output:
	// Bash asked by rule Bash(npm install:*): run npm install left-pad
	// allow person 0 <nil>
	// allow rule 0 <nil>
}
