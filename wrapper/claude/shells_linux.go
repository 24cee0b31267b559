package claude

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"syscall"

	"github.com/agent-wrapper/agent-wrapper/internal/sandbox/kernel"
)

// program is what the agent CLI starts: the small program beside this one, which starts
// sooner, or this very one, whatever becomes of its file meanwhile.
func program() string {
	return cmp.Or(kernel.Small(), fmt.Sprintf("/proc/%d/exe", os.Getpid()))
}

// stream reads from a connection, and keeps the descriptors that come.
type stream struct {
	*net.UnixConn
	files []*os.File
}

func (s *stream) Read(p []byte) (int, error) {
	side := make([]byte, syscall.CmsgSpace(4*streams))
	n, m, _, _, err := s.ReadMsgUnix(p, side)
	all, _ := syscall.ParseSocketControlMessage(side[:max(m, 0)]) // what is no descriptor is none
	for i := range all {
		fds, _ := syscall.ParseUnixRights(&all[i])
		for _, fd := range fds {
			f := os.NewFile(uintptr(fd), "stream")
			if len(s.files) > streams { // one too many shows that they are wrong
				f.Close()
				continue
			}
			s.files = append(s.files, f)
		}
	}
	return n, err
}
