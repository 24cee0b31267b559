package claude

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"runtime"
	"syscall"

	"github.com/agent-wrapper/agent-wrapper/walls/kernel"
	"github.com/agent-wrapper/agent-wrapper/wrapper/claude/prefix"
)

// program is what the agent CLI starts: the small program beside this one, which starts
// sooner, or this very one, whatever becomes of its file meanwhile.
func program() string {
	return cmp.Or(kernel.Small(), fmt.Sprintf("/proc/%d/exe", os.Getpid()))
}

// hand writes an answer with descriptors.
func hand(conn *net.UnixConn, a *prefix.Answer, files []*os.File) error {
	defer runtime.KeepAlive(files)
	var fds []int
	for _, f := range files {
		fds = append(fds, int(f.Fd()))
	}
	data, err := prefix.Encode(a)
	if err != nil {
		return err
	}
	n, _, err := conn.WriteMsgUnix(data, syscall.UnixRights(fds...), nil)
	if err == nil {
		_, err = conn.Write(data[n:])
	}
	return err
}
