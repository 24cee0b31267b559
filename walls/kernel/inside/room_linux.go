//go:build amd64 || arm64

package inside

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// room is a process that has what the commands of a session share, the namespaces of
// users, of the network and of IPC. It runs a command for each order, which comes with the
// streams of the command and with a line of its own. A command ends when nobody is on its
// line any more, and all do when nobody is on ours.
func room(l *line) (int, error) {
	port, err := strconv.Atoi(os.Getenv(RoomPort))
	if err == nil {
		err = l.loopback(port)
	}
	if err != nil {
		return 0, &missing{network, err}
	}
	if err := l.say("ready"); err != nil {
		return 0, err
	}
	warm()
	for {
		switch said, err := hear(l.fd); {
		case errors.Is(err, errOver):
			return 0, nil
		case err != nil:
			return 0, err
		case said.Word != "order" || len(said.FDs) != 5:
			return 0, fmt.Errorf("%q with %d descriptors is no order", said.Word, len(said.FDs))
		default:
			go attend(&said)
		}
	}
}

// warm does what takes time for the first order only.
func warm() {
	text, err := json.Marshal(&Order{Args: []string{"a"}, Writable: []string{"b"}, Omit: []string{"c"}})
	if err == nil {
		_ = json.Unmarshal(text, new(Order)) // it is not used
	}
	_, _ = filterOf() // an order fails with the error
}

// attend runs one command.
func attend(said *Said) {
	l := &line{said.FDs[4]}
	defer unix.Close(l.fd)
	o, err := readOrder(said.FDs[0])
	if err == nil {
		o.Shared = true
		_, err = o.run(l, [3]int(said.FDs[1:4]))
	} else {
		for _, fd := range said.FDs[1:4] {
			unix.Close(fd)
		}
	}
	if err != nil {
		_ = l.failed(err) // nobody may be there any more
	}
}

// obey passes signals on to a command and what it has started in its group. When nobody is
// on the line any more, everything inside ends.
func (c *command) obey() {
	for {
		said, err := hear(c.to.fd)
		if err != nil {
			c.signal(unix.SIGKILL)
			return
		}
		if n, err := strconv.Atoi(said.Of); err == nil && said.Word == "signal" {
			c.signal(unix.Signal(n))
		}
	}
}
