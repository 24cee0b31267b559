//go:build amd64 || arm64

package kernel

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/agent-wrapper/agent-wrapper/internal/build"
	"github.com/agent-wrapper/agent-wrapper/internal/run/process"
	"github.com/agent-wrapper/agent-wrapper/internal/sandbox"
	"github.com/agent-wrapper/agent-wrapper/internal/sandbox/kernel/inside"
)

// Run runs a command inside the sandbox, as its own method Run does without. The program is
// found as it would be outside, and ended when the plan's time is over. If a layer is
// missing, the command is not started, and the error is a *missing.
func (h *Held) Run(ctx context.Context, c *process.Command) (process.Result, error) {
	a := &around{held: h, stops: make(chan struct{}, 1), done: make(chan struct{}), err: errNoSandbox}
	held := *c
	held.Prepare, held.Stops, held.Limit = a.prepare, a.stops, h.Plan.Limits.Time(c.Limit)
	res, err := held.Run(ctx)
	if a.line == nil {
		return res, err // nothing was prepared
	}
	<-a.done
	if ended := a.guard.end(); ended != nil {
		return process.Result{}, ended
	}
	switch not := new(process.NotStarted); {
	case errors.As(err, &not) && inside.Scarce(not.Err):
		return res, err
	case errors.As(err, &not):
		return res, &missing{"namespaces", inside.NoNamespaces(not.Err)}
	case a.err == errNoSandbox && !res.Cancelled && !res.TimedOut:
		return process.Result{}, &process.NotStarted{Program: a.args, Err: a.err}
	case a.err != nil && !res.Cancelled && !res.TimedOut:
		return process.Result{}, a.err
	}
	return res, err
}

var errNoSandbox = errors.New("the process that builds the sandbox ended before it was ready")

// around is one run.
type around struct {
	held  *Held
	line  *os.File // our end of the line, nil before there is one
	guard *watch
	stops chan struct{}
	args  string // the program

	done chan struct{} // closed when nobody is on the line any more
	err  error         // why there is no sandbox; set before done is closed
}

// prepare has the process started that builds the sandbox, in place of the program.
func (a *around) prepare(cmd *exec.Cmd) (begun func(), err error) {
	o, err := a.held.orderFor(cmd)
	if err != nil {
		return nil, err
	}
	guard, err := newWatch(a.held.Plan.Never)
	if err != nil {
		return nil, err
	}
	ours, theirs, err := newLine()
	if err != nil {
		return nil, errors.Join(err, guard.end())
	}
	if err := give(int(ours.Fd()), "order", o); err != nil {
		return nil, errors.Join(err, ours.Close(), theirs.Close(), guard.end())
	}
	a.line, a.args, a.guard = ours, cmd.Args[0], guard
	guard.begin(a.kill)
	cmd.Path, cmd.Args, cmd.Dir, cmd.Env = builder(), []string{inside.Name}, "/", []string{"GOMAXPROCS=1", "GOGC=off"} // it does one thing
	cmd.ExtraFiles = []*os.File{theirs}
	separate(cmd.SysProcAttr, a.held.omit)
	go a.listen(int(ours.Fd()))
	return func() { theirs.Close() }, nil
}

// kill has everything inside ended.
func (a *around) kill() {
	if line, err := a.line.SyscallConn(); err == nil { // it may be closed meanwhile
		_ = line.Control(func(fd uintptr) { _ = inside.Say(int(fd), "signal 9") })
	}
}

// newLine returns the two ends of a line.
func newLine() (ours, theirs *os.File, err error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(ends[0]), "line"), os.NewFile(uintptr(ends[1]), "line"), nil
}

// give sends an order on a line, with descriptors.
func give(line int, word string, order any, fds ...int) error {
	text, err := json.Marshal(order)
	if err != nil {
		return err
	}
	file, err := inMemory(text)
	if err != nil {
		return err
	}
	defer file.Close()
	return inside.Say(line, word, append([]int{int(file.Fd())}, fds...)...)
}

// orderFor returns the order for a command that is about to be started.
func (h *Held) orderFor(cmd *exec.Cmd) (*inside.Order, error) {
	s, err := h.start(cmd)
	if err != nil {
		return nil, err
	}
	return &inside.Order{Sandbox: h.sandbox(), Start: *s}, nil
}

// start returns what is to be started.
func (h *Held) start(cmd *exec.Cmd) (*inside.Start, error) {
	s := &inside.Start{Path: cmd.Path, Args: cmd.Args, Env: append(cmd.Env[:len(cmd.Env):len(cmd.Env)], h.env()...)}
	return s, beginIn(s, cmd.Dir)
}

// builder returns the program that builds a sandbox: the small one beside ours, which starts
// sooner, or ours.
func builder() string { return cmp.Or(Small(), "/proc/self/exe") }

// Small returns the small program beside ours, which builds a sandbox; "" if it is not there.
func Small() string {
	own, err := os.Executable()
	if err != nil {
		return ""
	}
	small := filepath.Join(filepath.Dir(own), inside.Name)
	if at, err := os.Stat(small); err != nil || !at.Mode().IsRegular() {
		return ""
	}
	return small
}

// beginIn sets the directory in which a command begins.
func beginIn(s *inside.Start, dir string) error {
	if dir == "" {
		dir = "/proc/self/cwd"
	}
	var at unix.Stat_t
	if err := unix.Stat(dir, &at); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	s.Dir, s.Dev, s.Ino = dir, at.Dev, at.Ino
	if strings.HasPrefix(dir, "/proc/self/") {
		real, err := os.Readlink(dir)
		if err != nil {
			return err
		}
		s.Dir = real
	}
	return nil
}

// inMemory returns a file that no other process has a name for.
func inMemory(text []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("sandbox", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), "sandbox")
	if _, err := file.WriteAt(text, 0); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// spaces are the namespaces that the process that builds a sandbox is started in, beside that of
// users ("users"), by the names by which tests omit them. Each command has namespaces of mounts
// and of processes of its own.
var spaces = map[string]uintptr{"net": unix.CLONE_NEWNET, "ipc": unix.CLONE_NEWIPC}

// separate adds these namespaces to the attributes of a program. Inside, the user is whom
// he is outside, and nobody else is anybody.
func separate(a *syscall.SysProcAttr, omit []string) {
	for name, flag := range spaces {
		if !slices.Contains(omit, name) {
			a.Cloneflags |= flag
		}
	}
	if slices.Contains(omit, "users") {
		return
	}
	a.Cloneflags |= unix.CLONE_NEWUSER
	a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP} // over the exec; the command has none
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
}

// listen hears what the process that builds the sandbox says, until it has ended.
func (a *around) listen(fd int) {
	defer close(a.done)
	defer a.line.Close()
	for {
		said, ok := inside.Hear(fd)
		if !ok {
			return
		}
		switch why := errors.New(said.Why); said.Word {
		case "ready":
			a.err = nil
		case "stopped":
			select {
			case a.stops <- struct{}{}:
			default: // one that nobody has heard of yet says the same
			}
		case "listener":
			serve(a.held.Proxy, said.FDs)
		case "ended": // our child says so too
		case "missing":
			a.err = &missing{said.Of, why}
		case "notrun":
			a.err = &process.NotStarted{Program: a.args, Err: why}
		default:
			if a.err != nil { // it was not ready yet, so nothing has begun
				why = &process.NotStarted{Program: a.args, Err: why}
			}
			a.err = why
		}
	}
}

// serve gives a proxy the listener that has come.
func serve(proxy func(net.Listener), fds []int) {
	for _, fd := range fds {
		file := os.NewFile(uintptr(fd), "listener")
		if listener, err := net.FileListener(file); err == nil && proxy != nil {
			proxy(listener)
		}
		file.Close()
	}
}

// sandbox returns what the process that builds the sandbox is told of the plan.
func (h *Held) sandbox() inside.Sandbox {
	p := h.Plan
	w := inside.Sandbox{
		Build: build.Name(), Writable: sandbox.Paths(p.Writable), Temp: sandbox.Paths(p.Temp), Shown: sandbox.Paths(p.Shown), Services: sandbox.Paths(p.Services), ReadOnly: sandbox.Paths(p.ReadOnly), Denied: sandbox.Paths(p.Denied), Empty: sandbox.Paths(p.Empty),
		Memory: p.Limits.Memory, Processes: p.Limits.Processes, Omit: h.omit,
	}
	for _, f := range p.Found {
		w.Found = append(w.Found, inside.Found{Path: f.Path, Is: inside.Inode(f.Is), In: inside.Inode(f.In)})
	}
	if h.Proxy != nil {
		w.Proxy = proxyPort
	}
	return w
}

// Ours returns an error, of which [IsMissing] reports that there is no sandbox, where this
// program lies below a directory in which commands inside can write: they could replace it, and
// what lies beside it, with what then runs outside.
func Ours(roots []string) error {
	own, err := os.Executable()
	if err != nil {
		return &missing{"programs", err}
	}
	for _, root := range roots {
		real, err := filepath.EvalSymlinks(root)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return &missing{"programs", err}
		}
		if below, err := filepath.Rel(real, own); err != nil || filepath.IsLocal(below) {
			return &missing{"programs", fmt.Errorf("agent-wrapper itself lies in %s, where commands could replace it: %s: install it elsewhere", root, own)}
		}
	}
	return nil
}

// Probe builds a sandbox around nothing. The error says why there is none: on this machine, if
// [IsMissing] says so; else at the moment, which another command may have caused.
func Probe(ctx context.Context) error {
	return probe(ctx, nil)
}

func probe(ctx context.Context, omit []string) error {
	h, nothing := &Held{Plan: &sandbox.Plan{}, omit: omit}, "/usr/bin/true"
	if _, err := os.Stat(nothing); err != nil {
		nothing = "/proc/self/exe" // which takes longer to start, and to say that it is not for people
	}
	_, err := h.Run(ctx, &process.Command{Args: []string{nothing}, Dir: "/"})
	return err
}
