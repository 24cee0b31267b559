//go:build amd64 || arm64

package inside

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// line is the line between a process inside and whoever has started it: packets of a
// word, and of what belongs to it.
type line struct{ fd int }

// say sends a packet.
func (l *line) say(text string) error { return Say(l.fd, text) }

// Say sends a packet, with descriptors.
func Say(fd int, text string, fds ...int) error {
	var side []byte
	if len(fds) > 0 {
		side = unix.UnixRights(fds...)
	}
	return unix.Sendmsg(fd, []byte(text), side, nil, unix.MSG_NOSIGNAL)
}

// failed tells why there is no sandbox, or no command.
func (l *line) failed(err error) error {
	var m *missing
	var n *notRun
	if errors.As(err, new(*unbegun)) {
		if err := l.say("unbegun"); err != nil {
			return err
		}
	}
	switch {
	case errors.As(err, &m) && Scarce(m.err):
		return l.say("failed\nthe sandbox cannot be built: " + m.layer + ": " + m.Error())
	case errors.As(err, &m):
		return l.say("missing " + m.layer + "\n" + m.err.Error())
	case errors.As(err, &n):
		return l.say("notrun\n" + n.err.Error())
	}
	return l.say("failed\n" + err.Error())
}

// Said is a packet.
type Said struct {
	// Word is "order", "sandbox", "start" or "signal" for the process that builds a sandbox;
	// "ready", "stopped", "listener", "ended", "missing", "notrun" or "failed" from it, the
	// last three behind "unbegun" if nothing has begun.
	Word string
	Of   string // of "missing": the layer; of "signal" and "ended": the number
	Why  string
	FDs  []int
}

const (
	longest = 4 << 10 // the most that a packet has; what is longer is an error's text, and cut off
	mostFDs = 4
)

// Hear waits for the next packet on an end of a line. It is not ok when nobody is on the
// line any more.
func Hear(fd int) (s Said, ok bool) {
	s, err := hear(fd)
	return s, err == nil
}

// errOver is the error that nobody is on the line any more.
var errOver = errors.New("nobody is on the line")

func hear(fd int) (Said, error) {
	data, side := make([]byte, longest), make([]byte, unix.CmsgSpace(4*mostFDs))
	for {
		n, m, _, _, err := unix.Recvmsg(fd, data, side, unix.MSG_CMSG_CLOEXEC)
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.ECONNRESET): // the other end did not hear all; what it said is still there
			continue
		case err != nil:
			return Said{}, err
		case n == 0:
			return Said{}, errOver
		}
		head, why, _ := strings.Cut(string(data[:n]), "\n")
		word, of, _ := strings.Cut(head, " ")
		return Said{word, of, why, handed(side[:m])}, nil
	}
}

// handed returns the descriptors that come with a packet.
func handed(side []byte) []int {
	all, err := unix.ParseSocketControlMessage(side)
	if err != nil {
		return nil
	}
	var fds []int
	for i := range all {
		came, _ := unix.ParseUnixRights(&all[i]) // what is no descriptor is none
		fds = append(fds, came...)
	}
	return fds
}
