//go:build amd64 || arm64

package kernel

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/agent-wrapper/agent-wrapper/process"
	"github.com/agent-wrapper/agent-wrapper/walls"
	"github.com/agent-wrapper/agent-wrapper/walls/kernel/inside"
	"github.com/agent-wrapper/agent-wrapper/walls/proxy"
)

// Room is where the commands of a session run, each inside walls of its own. They share
// loopback, so that one reaches what another one serves, and IPC. A room has a first
// process ready for the next command, so that none waits for it to start. It is safe for
// concurrent use.
type Room struct {
	out  proxy.Proxy
	cmd  *exec.Cmd
	line *os.File
	done chan struct{} // closed when the room is gone
	free chan *waiting

	mu  sync.Mutex // of the line against its end, and of err
	err error      // why there are no walls
}

// waiting is a first process that waits for its order.
type waiting struct {
	line    *os.File
	process int // descriptor
}

// OpenRoom opens a room. decide returns why a connection to a host through its proxy is
// refused, or nil; commands are told of the proxy if their plan has hosts.
func OpenRoom(decide func(ctx context.Context, host, port string) error) (*Room, error) {
	ours, theirs, err := newLine()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	cmd := &exec.Cmd{
		Path: first(), Args: []string{inside.Name, inside.RoomArg}, Dir: "/", Env: append([]string{fmt.Sprintf("%s=%d", inside.RoomPort, proxyPort)}, inside.FirstEnv...),
		ExtraFiles: []*os.File{theirs}, SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	separate(cmd.SysProcAttr, nil, "net", "ipc")
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(&missing{"namespaces", err}, ours.Close())
	}
	r := &Room{out: proxy.Proxy{Decide: decide}, cmd: cmd, line: ours, done: make(chan struct{}), free: make(chan *waiting, 1), err: errNoWalls}
	r.next()
	go r.listen()
	return r, nil
}

// next has the room start another first process. If the room is gone, that shows when
// the process is wanted.
func (r *Room) next() {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = inside.Say(int(r.line.Fd()), "next")
}

// listen hears what the room says, until it is gone.
func (r *Room) listen() {
	defer close(r.done)
	defer r.out.Close()
	defer r.cmd.Wait()
	defer r.hangUp()
	for {
		said, ok := inside.Hear(int(r.line.Fd()))
		if !ok {
			return
		}
		switch {
		case said.Word == "ready":
			r.fails(errRoomOver)
		case said.Word == "listener":
			serve(r.out.Serve, said.FDs)
		case said.Word == "process" && len(said.FDs) == 2:
			r.free <- &waiting{os.NewFile(uintptr(said.FDs[0]), "line"), said.FDs[1]}
		case said.Word == "missing":
			r.fails(&missing{said.Of, errors.New(said.Why)})
		default:
			r.fails(errors.New(said.Why))
		}
	}
}

// hangUp closes the line, on which nobody is any more.
func (r *Room) hangUp() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.line.Close()
}

var errRoomOver = errors.New("the process that has the network of the session has ended")

func (r *Room) fails(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
}

// Gone reports whether the room is no more, and nothing that ran there.
func (r *Room) Gone() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// Close ends the room and whatever runs there, and waits for that.
func (r *Room) Close() {
	_ = r.cmd.Process.Kill() // it may be gone
	<-r.done
	select {
	case w := <-r.free:
		w.close()
	default:
	}
}

func (w *waiting) close() {
	w.line.Close()
	unix.Close(w.process)
}

// take returns a first process that waits.
func (r *Room) take() (*waiting, error) {
	select {
	case w := <-r.free:
		return w, nil
	case <-r.done:
		r.mu.Lock()
		defer r.mu.Unlock()
		return nil, r.err
	}
}

// Start starts a program, which is given by its absolute path, inside the walls of a plan.
// streams are its standard input, output and error.
func (r *Room) Start(plan *walls.Plan, cmd *exec.Cmd, streams [3]*os.File) (*Process, error) {
	h := &Held{Plan: plan}
	if len(plan.Hosts) > 0 {
		h.Proxy = r.out.Serve
	}
	o, err := h.orderFor(cmd)
	if err != nil {
		return nil, err
	}
	o.Shared, o.Proxy = true, 0
	w, err := r.take()
	if err != nil {
		return nil, err
	}
	err = give(int(w.line.Fd()), o, int(streams[0].Fd()), int(streams[1].Fd()), int(streams[2].Fd()))
	r.next()
	if err != nil {
		w.close()
		return nil, err
	}
	p := &Process{waiting: w, program: cmd.Args[0], over: make(chan struct{}), code: killed, err: errNoWalls}
	go p.listen()
	return p, nil
}

// killed is the exit code of a command of whose end nobody has told.
const killed = 128 + int(unix.SIGKILL)

// Process is a command in a room.
type Process struct {
	*waiting
	program string
	over    chan struct{} // closed when it has ended
	code    int           // set before over is closed
	err     error

	mu sync.Mutex // guards the descriptors against their end
}

// listen hears what the first process says, and waits for its end. The command is over
// before that, when the first process says so: then nothing is left of what it has started.
func (p *Process) listen() {
	ended := false
	for {
		said, ok := inside.Hear(int(p.line.Fd()))
		if !ok {
			break
		}
		if ended {
			continue // it is told already
		}
		if p.heard(&said); said.Word == "ended" {
			ended = true
			close(p.over)
		}
	}
	poll := []unix.PollFd{{Fd: int32(p.process), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(poll, -1); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting.close()
	p.waiting = nil
	if !ended {
		close(p.over)
	}
}

func (p *Process) heard(said *inside.Said) {
	switch why := errors.New(said.Why); said.Word {
	case "ready":
		p.err = nil
	case "ended":
		if code, err := strconv.Atoi(said.Of); err == nil {
			p.code = code
		}
	case "missing":
		p.err = &missing{said.Of, why}
	case "notrun":
		p.err = &process.NotStarted{Program: p.program, Err: why}
	case "failed":
		p.err = why
	}
}

// Wait waits until the command and all that it has started have ended, and returns its
// exit code, as a shell has it, or why it has not run.
func (p *Process) Wait() (int, error) {
	<-p.over
	return p.code, p.err
}

// Signal sends the command, and what it has started in its group, a signal. SIGKILL ends
// everything inside its walls.
func (p *Process) Signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.waiting == nil:
	case s == unix.SIGKILL:
		_ = unix.PidfdSendSignal(p.process, s, nil, 0) // it may have ended
	default:
		_ = inside.Say(int(p.line.Fd()), fmt.Sprintf("signal %d", s))
	}
}
