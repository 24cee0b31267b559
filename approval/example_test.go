package approval_test

import (
	"fmt"
	"time"

	"github.com/agent-wrapper/agent-wrapper/approval"
)

// What the record says of an approval that two people gave.
func ExampleState_Answered() {
	now := time.Now()
	state, _ := approval.Step(approval.State{}, approval.Event{Kind: approval.Ask, At: now, Terms: approval.Terms{
		ID: "ap_1", Digest: "1:…", Asker: approval.Principal{Role: approval.Agent, Name: "main"}, Quorum: 2,
	}})
	for _, name := range []string{"anna", "ben"} {
		state, _ = approval.Step(state, approval.Event{
			Kind: approval.Approve, At: now, ID: "ap_1", Digest: "1:…", Message: "fine",
			By: approval.Principal{Role: approval.Person, Name: name}, Credential: "token of " + name,
		})
	}
	fmt.Println(state.Status, *state.Answered())
	// Output: approved {ap_1 [{anna token of anna} {ben token of ben}] fine}
}
