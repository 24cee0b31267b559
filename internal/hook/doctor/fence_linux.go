package doctor

import (
	"context"
	"fmt"

	"github.com/agent-wrapper/agent-wrapper/internal/netns"
)

// Fence runs this program again in a network namespace of its own, with arguments by
// which it calls EnterFence, and returns its exit code. The error says why there can be
// no such namespace.
func Fence(ctx context.Context, args []string) (code int, err error) {
	return netns.Run(ctx, 0, nil, args)
}

// EnterFence brings loopback up in the namespace that Fence made, and executes this
// program anew with arguments of its own and without the right to change the network.
// It returns only if that fails, with the exit code for it.
func EnterFence(args []string) (code int, err error) {
	if err := netns.Up(); err != nil {
		return netns.Unready, fmt.Errorf("bring up loopback: %w", err)
	}
	return netns.Unready, netns.Exec(args)
}
