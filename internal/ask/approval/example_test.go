package approval_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
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

// What somebody approved three times may be worth a rule; accepting it is up to them.
func ExamplePropose() {
	now, anna := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), approval.Principal{Role: approval.Person, Name: "anna"}
	var entries []approval.Entry
	for i, name := range []string{"a", "b", "c"} {
		entries = append(entries, approval.Entry{
			State:   approval.State{Terms: approval.Terms{ID: name}, Status: approval.Consumed, By: anna, Votes: []approval.Vote{{By: anna}}},
			Project: "/p", Changed: now, Seq: int64(i),
			Question: json.RawMessage(`{"risk":"moderate","choices":[{"name":"session","rungs":[` +
				`{"rules":["Bash(npm install ` + name + `)"]},{"rules":["Bash(npm install:*)"]}]}]}`),
		})
	}
	for _, p := range approval.Propose(entries, "anna", "/p", nil, now) {
		fmt.Println(p.Rules, p.Risk, p.Times)
		fmt.Println("until", p.Grants("anna", "/p", now)[0].Expires.Format(time.DateOnly))
	}
	// Output:
	// [Bash(npm install:*)] moderate 3
	// until 2026-02-01
}
