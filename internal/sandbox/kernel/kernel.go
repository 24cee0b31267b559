// Package kernel holds a command to a plan of package sandbox by means of the kernel:
// namespaces for users, mounts, processes, the network and IPC; a read-only tree with
// masks; no capabilities; Landlock; seccomp. Package inside builds the sandbox.
//
// The sandbox is built whole or not at all: where a layer is missing, [Held.Run] starts
// nothing. [Probe] says so before. Only Linux has a sandbox.
package kernel

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/sandbox"
)

// missing is the error that a layer cannot be built.
type missing struct {
	layer string
	err   error
}

func (m *missing) Error() string {
	return fmt.Sprintf("there is no sandbox here: %s: %v", m.layer, m.err)
}

func (m *missing) Unwrap() error { return m.err }

// IsMissing reports whether an error says that there is no sandbox on this machine.
func IsMissing(err error) bool { return errors.As(err, new(*missing)) }

// unbegun is the error that a command has not begun in the sandbox that it was to have.
type unbegun struct{ err error }

func (u *unbegun) Error() string { return u.err.Error() }

func (u *unbegun) Unwrap() error { return u.err }

// IsUnbegun reports whether an error of [Process.Start] says that nothing has begun.
func IsUnbegun(err error) bool { return errors.As(err, new(*unbegun)) }

// made is the error of a command that was ended, since it made what no command must.
type made struct{ why string }

func (m *made) Error() string { return "the command was ended: " + m.why }

// IsMade reports whether an error says that a command was ended for what it had made.
func IsMade(err error) bool { return errors.As(err, new(*made)) }

// Held holds commands to a plan.
type Held struct {
	Plan *sandbox.Plan
	// Proxy is given the listener of the proxy inside, on loopback, to serve until it is
	// closed; it must not block. Nil: there is none.
	Proxy func(net.Listener)

	omit []string // layers, for the tests
}

// proxyPort is the port inside on which the proxy listens.
const proxyPort = 3128

// env returns the variables that lead programs to the proxy.
func (h *Held) env() []string {
	if h.Proxy == nil {
		return nil
	}
	at := fmt.Sprintf("http://127.0.0.1:%d", proxyPort)
	var env []string
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"} {
		value := at
		if name == "NO_PROXY" {
			value = "localhost,127.0.0.1,::1"
		}
		env = append(env, name+"="+value, strings.ToLower(name)+"="+value)
	}
	return append(env, "NODE_USE_ENV_PROXY=1")
}
