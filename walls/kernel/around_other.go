//go:build !linux || !(amd64 || arm64)

package kernel

import (
	"context"
	"errors"
	"os/exec"
	"runtime"

	"github.com/agent-wrapper/agent-wrapper/process"
)

// Run starts nothing: there are no walls on this system.
func (h *Held) Run(ctx context.Context, _ *process.Command) (process.Result, error) {
	return process.Result{}, Probe(ctx)
}

// Probe returns why there are no walls here.
func Probe(context.Context) error {
	return &missing{runtime.GOOS + "/" + runtime.GOARCH, errors.New("only Linux on amd64 and arm64 has them")}
}

// Hand prepares nothing.
func (h *Held) Hand(*exec.Cmd) (wait func() error, err error) {
	return nil, Probe(context.Background())
}

// Small returns the small program of the walls, which is not there.
func Small() string { return "" }
