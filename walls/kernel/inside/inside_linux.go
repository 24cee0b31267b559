//go:build amd64 || arm64

package inside

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/agent-wrapper/agent-wrapper/internal/build"
)

// Name is the name by which the first process inside is started.
const Name = "agent-wrapper-walls"

// The descriptors with which it is started, beside the three of the command.
const (
	lineFD  = 3 // the line to whoever has started it
	firstFD = 4 // the first that it was not started with
)

// Order is what the first process is told to do.
type Order struct {
	Build     string   // whose order it is; see build.Name
	Path      string   // the program; "" starts none
	Args, Env []string // of it
	Dir       string
	Dev, Ino  uint64 // of Dir

	Writable, ReadOnly []string
	Temp, Services     []string // empty; Temp is written, in memory
	Denied, Empty      []string // masks: nothing may be read, or there is nothing to read
	Proxy              int      // the port on which a proxy listens, 0 for none
	Shared             bool     // the network is that of a room
	Memory             uint64   // bytes of data of one process, 0 for no limit
	Processes          uint64   // 0 for no limit

	Omit []string `json:",omitempty"` // layers, for the tests, which show what each is for

	ahead ahead
}

// ahead is what has been done before the order came.
type ahead struct {
	filter  *unix.SockFprog
	bounded bool // dropBounds
}

func (o *Order) has(layer string) bool { return !slices.Contains(o.Omit, layer) }

// The layers, in the order in which they are built.
const (
	namespaces   = "namespaces"   // of users, mounts, processes, the network and IPC
	descriptors  = "descriptors"  // what else is inherited open is closed
	mounts       = "mounts"       // all that follows, up to masks
	tree         = "tree"         // everything is read-only, but for what is writable
	devices      = "devices"      // a /dev of its own
	processes    = "processes"    // a /proc of its own, read-only
	services     = "services"     // an empty /run
	protected    = "protected"    // read-only in the middle of what is writable
	masks        = "masks"        // what may not be read
	streams      = "streams"      // what the command is given to read cannot be changed
	network      = "network"      // loopback only
	directory    = "directory"    // the command begins inside the tree
	limits       = "limits"       // of memory and processes, and no core dumps
	first        = "first"        // nobody looks into the first process, or acts for it
	privileges   = "privileges"   // no_new_privs
	landlocked   = "landlock"     // writes, once more
	seccomp      = "seccomp"      // system calls that nothing inside needs
	capabilities = "capabilities" // none
)

// missing is the error that a layer cannot be built.
type missing struct {
	layer string
	err   error
}

func (m *missing) Error() string { return m.err.Error() }

func (m *missing) Unwrap() error { return m.err }

// init turns the process into the first one inside walls if it was started as that, and
// does not return then. That it is here, in a package that imports few others, is for
// speed: most others of the program are not initialized before. All of init is done by the
// first thread, as the rights that the command gets are those of one.
func init() {
	if len(os.Args) == 0 || os.Args[0] != Name {
		return
	}
	line := &line{fd: lineFD}
	switch {
	case len(os.Args) == 1:
		line.exit(inside(line, ahead{}))
	case len(os.Args) == 2 && os.Args[1] == RoomArg:
		line.exit(room(line))
	case len(os.Args) == 2 && os.Args[1] == waitsArg:
		line.exit(waits(line))
	}
}

// exit ends the process.
func (l *line) exit(code int, err error) {
	if err != nil && l.failed(err) != nil {
		fmt.Fprintf(os.Stderr, "%s: %v: it is agent-wrapper that starts this program, for commands inside walls\n", Name, err)
	}
	if err != nil {
		code = 1
	}
	os.Exit(code)
}

// inside builds the walls, runs the command and returns its exit code.
func inside(l *line, done ahead) (int, error) {
	unix.CloseOnExec(lineFD)
	o, err := l.order()
	if err != nil {
		return 0, err
	}
	o.ahead = done
	for _, s := range stages {
		if !o.has(s.layer) {
			continue
		}
		if err := s.build(o, l); err != nil {
			if inner := new(missing); errors.As(err, &inner) {
				return 0, inner
			}
			return 0, &missing{s.layer, err}
		}
	}
	if err := l.say("ready"); err != nil || o.Path == "" {
		return 0, err
	}
	return o.run(l)
}

// order waits for the order, which comes with the streams of the command if the process
// was not started with them.
func (l *line) order() (*Order, error) {
	said, err := hear(l.fd)
	if errors.Is(err, errOver) {
		os.Exit(0) // it is not needed
	}
	if err != nil {
		return nil, err
	}
	if said.Word != "order" || len(said.FDs) != 1 && len(said.FDs) != 4 {
		return nil, fmt.Errorf("%q with %d descriptors is no order", said.Word, len(said.FDs))
	}
	for i, fd := range said.FDs[1:] {
		if err := unix.Dup3(fd, i, 0); err != nil {
			return nil, err
		}
		unix.Close(fd)
	}
	defer unix.Close(said.FDs[0])
	return readOrder(said.FDs[0])
}

func readOrder(fd int) (*Order, error) {
	var at unix.Stat_t
	if err := unix.Fstat(fd, &at); err != nil {
		return nil, err
	}
	data := make([]byte, at.Size)
	if n, err := unix.Pread(fd, data, 0); err != nil || n < len(data) {
		return nil, fmt.Errorf("the order is cut off: %v", err)
	}
	o := &Order{}
	if err := json.Unmarshal(data, o); err != nil {
		return nil, err
	}
	if own := build.Name(); o.Build != own {
		return nil, fmt.Errorf("%s is not of the same build as agent-wrapper (%s, not %s): install both, or remove it", Name, own, o.Build)
	}
	return o, nil
}

// stages are the layers with what builds them. Each gives up what the next ones do not
// need: nothing is mounted behind Landlock, and nothing is done without capabilities.
var stages = []struct {
	layer string
	build func(*Order, *line) error
}{
	{namespaces, func(*Order, *line) error { return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") }},
	{descriptors, (*Order).closeDescriptors},
	{mounts, (*Order).mountTree},
	{streams, (*Order).reopen},
	{network, (*Order).loopback},
	{directory, (*Order).enter},
	{limits, (*Order).limit},
	{privileges, func(*Order, *line) error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }},
	{landlocked, (*Order).restrict},
	{seccomp, (*Order).filterSyscalls},
	{capabilities, (*Order).dropCapabilities},
}

// closeDescriptors has the command inherit no descriptor but its streams, of which none
// may be a directory: that is a way past every mount.
func (o *Order) closeDescriptors(*line) error {
	for fd := range 3 {
		var at unix.Stat_t
		if err := unix.Fstat(fd, &at); err == nil && at.Mode&unix.S_IFMT == unix.S_IFDIR {
			return fmt.Errorf("descriptor %d is a directory: give the command a file or a pipe", fd)
		}
	}
	return unix.CloseRange(firstFD, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC)
}

// enter changes to the directory of the command by its path, in the tree as it is now,
// and makes sure that it is the directory that was meant.
func (o *Order) enter(*line) error {
	if err := unix.Chdir(o.Dir); err != nil {
		return fmt.Errorf("%s: %w", o.Dir, err)
	}
	var at unix.Stat_t
	if err := unix.Stat(".", &at); err != nil {
		return err
	}
	if o.Ino != 0 && (at.Dev != o.Dev || at.Ino != o.Ino) {
		return fmt.Errorf("%s is not the directory any more in which the command was to run", o.Dir)
	}
	return nil
}

// limit sets the limits of the command. Its memory is never written to a core file,
// which a program outside may handle.
func (o *Order) limit(*line) error {
	const none = 1 // of a core file; with 0, a program outside that handles them would start
	most, err := narrow(unix.RLIMIT_CORE, none)
	if err == nil && most < none && coreHandled() {
		err = errors.New("the hard limit of core files is 0, with which a program outside handles them (/proc/sys/kernel/core_pattern): it must be 1 or more (ulimit -Hc)")
	}
	if o.Memory > 0 && err == nil {
		_, err = narrow(unix.RLIMIT_DATA, o.Memory)
	}
	if o.Processes > 0 && err == nil {
		_, err = narrow(unix.RLIMIT_NPROC, o.Processes)
	}
	return err
}

// narrow sets a limit, unless there is a lower one already, which nobody but root can
// raise. It returns the one that holds.
func narrow(what int, most uint64) (uint64, error) {
	var now unix.Rlimit
	if err := unix.Getrlimit(what, &now); err != nil {
		return 0, err
	}
	most = min(most, now.Max)
	return most, unix.Setrlimit(what, &unix.Rlimit{Cur: most, Max: most})
}

// coreHandled reports whether a program handles core files, or it is not known.
func coreHandled() bool {
	pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	return err != nil || strings.HasPrefix(string(pattern), "|")
}

// run starts the command and returns its exit code. Signals to the group are the
// command's affair, and in a room they come on the line; whatever has lost its parent is
// reaped.
func (o *Order) run(l *line) (int, error) {
	if err := defaultSignals(); err != nil {
		return 0, err
	}
	if o.has(first) {
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil { // the command's exec undoes it for the command
			return 0, err
		}
	}
	pid, err := syscall.ForkExec(o.Path, o.Args, &syscall.ProcAttr{Env: o.Env, Files: []uintptr{0, 1, 2}})
	if err != nil {
		return 0, &notRun{o.Path, err}
	}
	if !o.Shared {
		return l.wait(pid)
	}
	closeStreams()
	go func() { l.exit(l.wait(pid)) }()
	return 0, l.obey()
}

// wait waits for the end of the command and returns its exit code.
func (l *line) wait(pid int) (int, error) {
	for {
		var how unix.WaitStatus
		switch got, err := unix.Wait4(-1, &how, unix.WUNTRACED, nil); {
		case errors.Is(err, unix.EINTR), err == nil && got != pid:
		case err != nil:
			return 0, err
		case how.Stopped():
			_ = l.say("stopped") // whoever has started us may be gone, and we soon too
		case how.Signaled():
			return l.ended(128 + int(how.Signal()))
		default:
			return l.ended(how.ExitStatus())
		}
	}
}

// ended ends whatever the command has left behind, and says how it has ended.
func (l *line) ended(code int) (int, error) {
	endAll()
	_ = l.say(fmt.Sprintf("ended %d", code)) // as with stopped
	return code, nil
}

// endAll ends all other processes of the namespace, if we are its first. The kernel does
// so when we end, but takes its time to do away with the mounts before anybody hears of it.
func endAll() {
	if os.Getpid() != 1 {
		return // without a namespace of our own, that would be all that the user has
	}
	_ = unix.Kill(-1, unix.SIGKILL) // there may be none
	for {
		if _, err := unix.Wait4(-1, nil, unix.WALL, nil); err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// closeStreams lets go of the streams of the command, whose end is not ours.
func closeStreams() {
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	for fd := range 3 {
		if err != nil || unix.Dup3(null, fd, 0) != nil {
			unix.Close(fd)
		}
	}
}

// obey passes signals on to the command and what it has started in its group, until nobody
// is on the line any more. It is done by the thread that has started the command, which
// Landlock lets it do.
func (l *line) obey() error {
	for {
		said, err := hear(l.fd)
		if errors.Is(err, errOver) {
			return nil
		}
		if err != nil {
			return err
		}
		if n, err := strconv.Atoi(said.Of); err == nil && said.Word == "signal" {
			_ = unix.Kill(0, unix.Signal(n)) // us too, who heed none
		}
	}
}

// defaultSignals gives all signals their default effect, but for those that are ignored.
// For the first process of a namespace that is none, wherever they come from; the command
// has them as they are meant. The handlers of the runtime would end us.
func defaultSignals() error {
	for s := uintptr(1); s < 32; s++ {
		var now, none sigaction
		if err := sigactionOf(s, nil, &now); err != nil {
			return err
		}
		const ignored = 1
		if s == uintptr(unix.SIGKILL) || s == uintptr(unix.SIGSTOP) || now.handler == ignored {
			continue
		}
		if err := sigactionOf(s, &none, nil); err != nil {
			return err
		}
	}
	return nil
}

// sigaction is what the kernel is told of a signal. Nothing but zeros is the default.
type sigaction struct {
	handler, flags uintptr
	rest           [2]uintptr
}

func sigactionOf(s uintptr, set, get *sigaction) error {
	if _, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, s, uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(get)), 8, 0, 0); errno != 0 {
		return os.NewSyscallError("rt_sigaction", errno)
	}
	return nil
}

// notRun is the error that the program could not be executed.
type notRun struct {
	path string
	err  error
}

func (n *notRun) Error() string { return n.path + ": " + n.err.Error() }

// below reports whether a path is dir or below it.
func below(path, dir string) bool {
	rest, err := filepath.Rel(dir, path)
	return err == nil && rest != ".." && !strings.HasPrefix(rest, "../")
}
