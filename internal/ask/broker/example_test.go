package broker_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/broker"
)

// One process asks, and another one of the same user answers.
func ExampleLocal() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()

	asking, err := broker.OpenLocal(dir, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer asking.Close()
	if err := asking.Asks(os.Getpid()); err != nil {
		log.Fatal(err)
	}
	terms := approval.Terms{ID: "k3f9", Digest: "1:0", Asker: approval.Principal{Role: approval.Agent, Name: "agent"}}
	if _, err := asking.Submit(ctx, approval.Entry{State: approval.State{Terms: terms}}); err != nil {
		log.Fatal(err)
	}

	answering, err := broker.OpenLocal(dir, nil)
	if err != nil {
		log.Fatal(err)
	}
	pending, err := answering.List(ctx, approval.Filter{Status: []approval.Status{approval.Pending}})
	if err != nil || answering.Answerable([]int{os.Getpid()}) == nil {
		log.Fatal("a process below the one that asks may answer: ", err)
	}
	event := approval.Event{Kind: approval.Approve, ID: pending[0].ID, Digest: pending[0].Digest, By: approval.Principal{Role: approval.Person, Name: "anna"}}
	if _, err := answering.Answer(ctx, event, nil); err != nil {
		log.Fatal(err)
	}
	event.Kind = approval.Deny
	_, err = answering.Answer(ctx, event, nil)
	fmt.Println(err)

	settled, err := approval.Await(ctx, asking, "k3f9")
	fmt.Println(settled.Status, settled.By.Name, err)
	settled, err = asking.Consume(ctx, "k3f9", "1:0")
	fmt.Println(settled.Status, err)
	// Output:
	// the approval is already approved, by anna
	// approved anna <nil>
	// consumed <nil>
}
