//go:build !linux

package claude

import (
	"errors"
	"net"
	"os"

	"github.com/agent-wrapper/agent-wrapper/wrapper/claude/prefix"
)

// hand is for walls, which only Linux has.
func hand(*net.UnixConn, *prefix.Answer, []*os.File) error { return errors.ErrUnsupported }

// program is nothing here: the agent CLI starts none.
func program() string { return "" }
