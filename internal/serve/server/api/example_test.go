package api_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/server/api"
)

// A server makes an event of what a person sent. Who it is, the credential says.
func ExampleAnswer_Event() {
	var a api.Answer
	if err := json.Unmarshal([]byte(`{"digest":"1:ab","kind":"deny","message":"not on Fridays"}`), &a); err != nil {
		fmt.Println(err)
	}
	anna := api.Principal{Role: "person", Name: "anna"}
	by, err := anna.Principal()
	if err != nil {
		fmt.Println(err)
	}
	e, err := a.Event("k7", by, time.Time{})
	fmt.Println(e.Kind == approval.Deny, e.By.Name, e.Message, err)
	// Output: true anna not on Fridays <nil>
}

// The query of a list names statuses.
func ExampleParseStatuses() {
	fmt.Println(api.ParseStatuses("pending,approved"))
	// Output: [pending approved] <nil>
}
