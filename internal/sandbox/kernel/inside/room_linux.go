//go:build amd64 || arm64

package inside

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// room is a process that has what the commands of a session share, the namespaces of
// users, of the network and of IPC. It builds a sandbox for each order, which comes with a line
// of its own. On that line comes the command for it, with its streams. It ends when
// nobody is on its line any more, and all do when nobody is on ours.
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
	var all attended
	for {
		switch said, err := hear(l.fd); {
		case errors.Is(err, errOver):
			all.end()
			return 0, nil
		case err != nil:
			return 0, err
		case said.Word != "sandbox" || len(said.FDs) != 2:
			return 0, fmt.Errorf("%q with %d descriptors is no order", said.Word, len(said.FDs))
		default:
			all.begin(said.FDs[0], &line{said.FDs[1]})
		}
	}
}

// warm does what takes time for the first order only.
func warm() {
	_ = json.Unmarshal([]byte(`{"Writable": ["YQ=="], "Omit": ["b"]}`), new(Sandbox)) // it is not used
	_ = json.Unmarshal([]byte(`{"Args": ["YQ=="]}`), new(Start))
	_, _ = filterOf() // an order fails with the error
}

// attended are the lines of the commands of a room.
type attended struct {
	mu    sync.Mutex
	lines map[*line]bool
	over  sync.WaitGroup
}

// begin attends to a line.
func (a *attended) begin(order int, l *line) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.lines == nil {
		a.lines = map[*line]bool{}
	}
	a.lines[l] = true
	a.over.Add(1)
	go attend(order, l, func(err error) { a.done(l, err) })
}

// done tells why there was no command, if there was none, and hangs up.
func (a *attended) done(l *line, err error) {
	if err != nil {
		_ = l.failed(err) // nobody may be there any more
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.lines, l)
	unix.Close(l.fd)
	a.over.Done()
}

// end ends all commands, and what waits for one. It waits until nothing is left of them, but
// not for what the kernel does not end.
func (a *attended) end() {
	a.mu.Lock()
	for l := range a.lines {
		_ = unix.Shutdown(l.fd, unix.SHUT_RD) // as if nobody were there any more
	}
	a.mu.Unlock()
	defer time.AfterFunc(endLimit, func() { os.Exit(0) }).Stop()
	a.over.Wait()
}

// endLimit is a time in which everything ends that can be ended.
const endLimit = 3 * time.Second

// attend builds a sandbox, runs the command that comes for it, and calls done. It needs a
// goroutine that ends with it, as run does.
func attend(order int, l *line, done func(error)) {
	w := &Sandbox{}
	err := read(order, w)
	if err == nil {
		err = w.ours()
	}
	if err == nil {
		w.Shared = true
		err = w.await(l)
	}
	done(err)
}

// await builds a sandbox before the command comes that is to run there. The sandbox is checked
// again when it comes: the files that it is made of may have changed.
func (w *Sandbox) await(l *line) error {
	runtime.LockOSThread()
	c := newCommand(w, l)
	defer c.let()
	err := c.build(ahead)
	if err != nil {
		return &unbegun{err}
	}
	if c.Start, c.streams, err = hearStart(l); err == nil {
		err = c.stands()
	}
	if err == nil {
		err = c.build(known)
	}
	if err != nil {
		return &unbegun{err}
	}
	_, err = c.runs()
	return err
}

// hearStart waits for a command, and its streams.
func hearStart(l *line) (_ *Start, streams [3]int, err error) {
	streams = [3]int{-1, -1, -1}
	said, err := hear(l.fd)
	if err != nil {
		return nil, streams, err
	}
	if said.Word == "start" && len(said.FDs) == 1+len(streams) {
		s := &Start{}
		if err = read(said.FDs[0], s); err == nil {
			return s, [3]int(said.FDs[1:]), nil
		}
		said.FDs = said.FDs[1:]
	} else {
		err = errors.New("no command has come")
	}
	for _, fd := range said.FDs {
		unix.Close(fd)
	}
	return nil, streams, err
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
