//go:build !linux || !(amd64 || arm64)

package kernel

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"github.com/agent-wrapper/agent-wrapper/internal/run/process"
	"github.com/agent-wrapper/agent-wrapper/internal/sandbox"
)

// Run starts nothing: there is no sandbox on this system.
func (h *Held) Run(ctx context.Context, _ *process.Command) (process.Result, error) {
	return process.Result{}, Probe(ctx)
}

// Probe returns why there is no sandbox here.
func Probe(context.Context) error {
	return &missing{runtime.GOOS + "/" + runtime.GOARCH, errors.New("only Linux on amd64 and arm64 has a sandbox")}
}

// Hand prepares nothing.
func (h *Held) Hand(*exec.Cmd) (wait func() error, err error) {
	return nil, Probe(context.Background())
}

// Room has no commands here.
type Room struct{}

// OpenRoom opens none.
func OpenRoom(func(ctx context.Context, host, port string) error) (*Room, error) {
	return nil, Probe(context.Background())
}

// Gone reports that.
func (r *Room) Gone() bool { return true }

// Close does nothing.
func (r *Room) Close() {}

// Prepare prepares nothing.
func (r *Room) Prepare(*sandbox.Plan) (*Process, error) { return nil, Probe(context.Background()) }

// Process is none.
type Process struct{}

// Start starts nothing.
func (p *Process) Start(*exec.Cmd, [3]*os.File) error { return Probe(context.Background()) }

// Forgo does nothing.
func (p *Process) Forgo() {}

// Wait does not wait.
func (p *Process) Wait() (int, error) { return 0, Probe(context.Background()) }

// Signal does nothing.
func (p *Process) Signal(syscall.Signal) {}

// Ours returns nothing: [Probe] says that there is no sandbox.
func Ours([]string) error { return nil }

// Small returns the small program of the sandbox, which is not there.
func Small() string { return "" }
