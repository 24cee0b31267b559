//go:build amd64 || arm64

package inside

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// line is the line between the first process inside and whoever has started it: packets
// of a word, and of what belongs to it.
type line struct{ fd int }

// say sends a packet.
func (l *line) say(text string) error {
	return unix.Send(l.fd, []byte(text), unix.MSG_NOSIGNAL)
}

// hand sends a packet with a descriptor.
func (l *line) hand(text string, fd int) error {
	return unix.Sendmsg(l.fd, []byte(text), unix.UnixRights(fd), nil, unix.MSG_NOSIGNAL)
}

// failed tells why there are no walls, or no command.
func (l *line) failed(err error) error {
	var m *missing
	var n *notRun
	switch {
	case errors.As(err, &m):
		return l.say("missing " + m.layer + "\n" + m.err.Error())
	case errors.As(err, &n):
		return l.say("notrun\n" + n.err.Error())
	}
	return l.say("failed\n" + err.Error())
}

// Said is a packet that the first process has sent.
type Said struct {
	Word string // "ready", "stopped", "listener", "missing", "notrun", "failed"
	Of   string // of "missing": the layer
	Why  string
	FD   int // of "listener"; -1 otherwise
}

// longest is the most that a packet has. What is longer is cut off: it is an error's text.
const longest = 4 << 10

// Hear waits for the next packet on the other end of the line. It is not ok when nobody
// is on the line any more.
func Hear(fd int) (s Said, ok bool) {
	data, side := make([]byte, longest), make([]byte, unix.CmsgSpace(4))
	for {
		n, m, _, _, err := unix.Recvmsg(fd, data, side, unix.MSG_CMSG_CLOEXEC)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			return Said{}, false
		}
		head, why, _ := strings.Cut(string(data[:n]), "\n")
		word, of, _ := strings.Cut(head, " ")
		return Said{word, of, why, descriptor(side[:m])}, true
	}
}

// descriptor returns the one that comes with a packet, or -1.
func descriptor(side []byte) int {
	all, err := unix.ParseSocketControlMessage(side)
	if err != nil || len(all) == 0 {
		return -1
	}
	fds, err := unix.ParseUnixRights(&all[0])
	if err != nil || len(fds) != 1 {
		return -1
	}
	return fds[0]
}
