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
	"time"

	"golang.org/x/sys/unix"

	"github.com/agent-wrapper/agent-wrapper/internal/run/process"
	"github.com/agent-wrapper/agent-wrapper/internal/sandbox"
	"github.com/agent-wrapper/agent-wrapper/internal/sandbox/kernel/inside"
	"github.com/agent-wrapper/agent-wrapper/internal/sandbox/proxy"
)

// Room is where the commands of a session run, each inside a sandbox of its own. They share
// loopback, so that one reaches what another one serves, and IPC. One process builds the
// sandbox of each, so that none waits for a program to start. It is safe for concurrent use.
type Room struct {
	out  proxy.Proxy
	cmd  *exec.Cmd
	line *os.File
	done chan struct{} // closed when the room is gone

	mu  sync.Mutex // of the line against its end, and of err
	err error      // why there is no sandbox
}

// OpenRoom opens a room. decide returns why a connection to a host through its proxy is
// refused, or nil; commands are told of the proxy if their plan has hosts.
func OpenRoom(decide func(ctx context.Context, host, port string) error) (*Room, error) {
	ours, theirs, err := newLine()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	// One thread at a time runs Go there: others would only wake each other between calls.
	cmd := &exec.Cmd{
		Path: builder(), Args: []string{inside.Name, inside.RoomArg}, Dir: "/", Env: []string{"GOMAXPROCS=1", fmt.Sprintf("%s=%d", inside.RoomPort, proxyPort)},
		ExtraFiles: []*os.File{theirs}, SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	separate(cmd.SysProcAttr, nil)
	process.DefaultSignals()
	if err := cmd.Start(); inside.Scarce(err) {
		return nil, errors.Join(fmt.Errorf("the sandbox cannot be built: %w", err), ours.Close())
	} else if err != nil {
		return nil, errors.Join(&missing{"namespaces", inside.NoNamespaces(err)}, ours.Close())
	}
	r := &Room{out: proxy.Proxy{Decide: decide}, cmd: cmd, line: ours, done: make(chan struct{}), err: errNoSandbox}
	go r.listen()
	return r, nil
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

// closeLimit is after which time a room that does not end by itself is killed.
const closeLimit = 5 * time.Second

// Close ends the room and whatever runs there, and waits for that.
func (r *Room) Close() {
	defer time.AfterFunc(closeLimit, func() { _ = r.cmd.Process.Kill() }).Stop()
	r.mu.Lock()
	if !r.Gone() {
		_ = unix.Shutdown(int(r.line.Fd()), unix.SHUT_WR) // it may be going
	}
	r.mu.Unlock()
	<-r.done
}

// says sends the room what is to be built, with a line.
func (r *Room) says(w *inside.Sandbox, theirs *os.File) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Gone() {
		return r.err
	}
	return give(int(r.line.Fd()), "sandbox", w, int(theirs.Fd()))
}

// why returns why there is no sandbox, once the room is gone.
func (r *Room) why() error {
	<-r.done
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Prepare has the sandbox of a plan built for a command that is not known yet. Each Process
// must be started or forgone.
func (r *Room) Prepare(plan *sandbox.Plan) (*Process, error) {
	h := &Held{Plan: plan}
	if len(plan.Hosts) > 0 {
		h.Proxy = r.out.Serve
	}
	ours, theirs, err := newLine()
	if err != nil {
		return nil, err
	}
	w := h.sandbox()
	w.Proxy = 0 // it is the room's
	err = r.says(&w, theirs)
	theirs.Close()
	if gone(err) {
		err = r.why() // it is going
	}
	if err != nil {
		ours.Close()
		return nil, err
	}
	p := &Process{room: r, held: h, line: ours, begun: make(chan struct{}), over: make(chan struct{}), code: killed, err: errNoSandbox}
	go p.listen()
	return p, nil
}

// gone reports whether an error says that nobody is on a line any more.
func gone(err error) bool {
	return errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) || errors.Is(err, unix.EBADF)
}

// Start starts the command, whose program is given by its absolute path, and returns when it
// has begun. streams are its standard input, output and error. It is to be called once. If
// [IsUnbegun] says so of its error, the command may be started in another sandbox: this one may
// be made of files that have changed.
func (p *Process) Start(cmd *exec.Cmd, streams [3]*os.File) error {
	s, err := p.held.start(cmd)
	if err == nil {
		err = p.watches()
	}
	if err == nil {
		err = p.says(s, cmd.Args[0], streams)
	}
	if err != nil {
		p.Signal(unix.SIGKILL)
		return err
	}
	select {
	case <-p.begun:
		return nil
	case <-p.over:
	}
	select {
	case <-p.begun:
		return nil // and has ended
	default:
		return p.err
	}
}

// watches has the command ended when it makes what it must not.
func (p *Process) watches() error {
	guard, err := newWatch(p.held.Plan.Never)
	if err != nil {
		return &unbegun{err}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.line == nil {
		return guard.end() // it has ended
	}
	p.guard = guard
	guard.begin(func() { p.Signal(unix.SIGKILL) })
	return nil
}

// says sends the room what is to be started.
func (p *Process) says(s *inside.Start, program string, streams [3]*os.File) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.forgone {
		return &unbegun{errors.New("the sandbox is not kept any more")}
	}
	p.started, p.program = true, program
	if p.line == nil {
		return nil // it has ended
	}
	err := give(int(p.line.Fd()), "start", s, int(streams[0].Fd()), int(streams[1].Fd()), int(streams[2].Fd()))
	if gone(err) {
		return nil // it is going
	}
	return err
}

// Forgo ends the sandbox if no command was started in it.
func (p *Process) Forgo() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.started && p.line != nil && !p.forgone {
		p.forgone = true
		_ = inside.Say(int(p.line.Fd()), "forgone") // it may be going
	}
}

// killed is the exit code of a command of whose end nobody has told.
const killed = 128 + int(unix.SIGKILL)

// Process is a command in a room, or a sandbox that waits for one.
type Process struct {
	room    *Room
	held    *Held
	begun   chan struct{} // closed when it has begun
	over    chan struct{} // closed when it has ended
	unbegun bool          // nothing has begun, and it has ended
	code    int           // set before over is closed, as unbegun and err
	err     error

	mu      sync.Mutex // guards the line against its end, and the following
	line    *os.File
	guard   *watch
	started bool
	program string
	forgone bool
}

// listen hears what is said of the command, until nothing is left of what it has started.
func (p *Process) listen() {
	defer close(p.over)
	for line := int(p.line.Fd()); ; {
		said, ok := inside.Hear(line)
		if !ok {
			break
		}
		p.heard(&said)
		if said.Word == "ended" {
			break
		}
	}
	p.mu.Lock()
	p.line.Close()
	p.line = nil
	guard := p.guard
	p.mu.Unlock()
	if guard != nil {
		if ended := guard.end(); ended != nil {
			p.err = ended
		}
	}
	switch {
	case p.err == errNoSandbox:
		p.err = p.room.why()
	case p.unbegun:
		p.err = &unbegun{p.err}
	}
}

func (p *Process) heard(said *inside.Said) {
	switch why := errors.New(said.Why); said.Word {
	case "unbegun":
		p.unbegun = true
	case "ready":
		p.err = nil
		close(p.begun)
	case "ended":
		if code, err := strconv.Atoi(said.Of); err == nil {
			p.code = code
		}
	case "missing":
		p.err = &missing{said.Of, why}
	case "notrun":
		p.mu.Lock()
		p.err = &process.NotStarted{Program: p.program, Err: why}
		p.mu.Unlock()
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
// everything inside its sandbox.
func (p *Process) Signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.line != nil {
		_ = inside.Say(int(p.line.Fd()), fmt.Sprintf("signal %d", s)) // it may have ended
	}
}
