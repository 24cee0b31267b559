//go:build !linux

package claude

import (
	"net"
	"os"
)

// stream is a connection: only Linux has programs that ask.
type stream struct {
	*net.UnixConn
	files []*os.File
}

// program is nothing here: the agent CLI starts none.
func program() string { return "" }
