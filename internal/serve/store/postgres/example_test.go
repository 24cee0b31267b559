package postgres_test

import (
	"context"
	"fmt"
	"os"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store/postgres"
)

// Whoever has opened the same database hears of what others ask.
func ExampleOpen() {
	ctx := context.Background()
	opened, err := postgres.Open(ctx, os.Getenv("STORE"))
	if err != nil {
		fmt.Println(err) // it does not show the password
		return
	}
	var s store.Store = opened
	defer s.Close()
	for after := int64(0); ; {
		pending, err := s.List(ctx, approval.Filter{Status: []approval.Status{approval.Pending}, After: after})
		if err != nil {
			return
		}
		for _, e := range pending {
			fmt.Println(e.ID)
			after = e.Seq
		}
		if _, err := s.Wait(ctx, after); err != nil {
			return
		}
	}
}
