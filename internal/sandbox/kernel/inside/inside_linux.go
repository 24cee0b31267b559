//go:build amd64 || arm64

package inside

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/agent-wrapper/agent-wrapper/internal/build"
)

// Name is the name by which the program is started that builds a sandbox. RoomArg makes it a
// room: see room. The port of its proxy stands in RoomPort.
const (
	Name     = "agent-wrapper-sandbox"
	RoomArg  = "room"
	RoomPort = "AW_ROOM_PORT"
)

// lineFD is the descriptor of the line to whoever has started it, behind its streams.
const lineFD = 3

// Order tells it to start a command inside the sandbox.
type Order struct {
	Sandbox
	Start
}

// Start is what is to be started.
type Start struct {
	Path      string // the program
	Args, Env Exact  // of it
	Dir       string
	Dev, Ino  uint64 // of Dir
}

// Exact are texts of any bytes, as paths are: as text of JSON, those that are not UTF-8 would
// become others.
type Exact []string

// MarshalJSON writes the bytes.
func (e Exact) MarshalJSON() ([]byte, error) {
	all := make([][]byte, len(e))
	for i, text := range e {
		all[i] = []byte(text)
	}
	return json.Marshal(all)
}

// UnmarshalJSON reads them.
func (e *Exact) UnmarshalJSON(data []byte) error {
	var all [][]byte
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	*e = nil
	for _, text := range all {
		*e = append(*e, string(text))
	}
	return nil
}

// Sandbox is what is to be built.
type Sandbox struct {
	Build              string // whose order it is; see build.Name
	Writable, ReadOnly Exact
	Temp, Services     Exact // empty; Temp is written, in memory
	Shown              Exact // in Temp, read-only
	Denied, Empty      Exact // masks: nothing may be read, or there is nothing to read
	Found              []Found
	Proxy              int    // the port on which a proxy listens, 0 for none
	Shared             bool   // in a room, which has the network, and with a session of its own
	Memory             uint64 // bytes of data of one process, 0 for no limit
	Processes          uint64 // 0 for no limit

	Omit []string `json:",omitempty"` // layers, for the tests, which show what each is for
}

// Found is what was at a path of Denied or Empty when the plan was made, and the directory in
// which it was found. What is 0 is not known.
type Found struct {
	Path   []byte
	Is, In Inode
}

// Inode is a file or a directory.
type Inode struct{ Dev, Ino uint64 }

func (w *Sandbox) has(layer string) bool { return !slices.Contains(w.Omit, layer) }

// The layers.
const (
	namespaces   = "namespaces"   // of users, mounts, processes, the network and IPC
	pids         = "pid"          // that of processes alone
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
	first        = "first"        // nobody looks into the first process, which has our memory
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

func (m *missing) Error() string {
	if m.layer == namespaces {
		return NoNamespaces(m.err).Error()
	}
	return m.err.Error()
}

func (m *missing) Unwrap() error { return m.err }

// errKilled is that somebody else has ended the first process.
var errKilled = errors.New("the first process was killed")

// Scarce reports whether an error says that there is not enough of something at the moment,
// which tells nothing of the machine: commands that run beside can use it up. That namespaces
// are at their limit is such a reason, unless the limit is 0 (namespaces(7)).
func Scarce(err error) bool {
	for _, of := range []error{unix.EAGAIN, unix.ENOMEM, unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.EINTR, unix.ETXTBSY, unix.ETOOMANYREFS, errKilled, errMoved} {
		if errors.Is(err, of) {
			return true
		}
	}
	return errors.Is(err, unix.ENOSPC) && !slices.ContainsFunc([]string{"user", "mnt", "pid", "net", "ipc"}, func(kind string) bool {
		limit, err := os.ReadFile("/proc/sys/user/max_" + kind + "_namespaces")
		return err == nil && strings.TrimSpace(string(limit)) == "0"
	})
}

// NoNamespaces returns the error that there are no namespaces with what the kernel means by
// it, where its own words say something else or nothing.
func NoNamespaces(err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return errors.New("the limit of user namespaces (user.max_user_namespaces) is reached or 0, or that of another kind (user.max_net_namespaces, ...)")
	case errors.Is(err, syscall.EPERM):
		return fmt.Errorf("%w: user namespaces are forbidden here (by kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns or a container)", syscall.EPERM)
	}
	return err
}

// unbegun is the error that nothing of a command has begun, and why.
type unbegun struct{ err error }

func (u *unbegun) Error() string { return u.err.Error() }

func (u *unbegun) Unwrap() error { return u.err }

// init makes the process the one that builds a sandbox if it was started as that, and does not
// return then. That it is here, in a package that imports few others, is for speed: most
// others of the program are not initialized before.
func init() {
	if len(os.Args) == 0 || os.Args[0] != Name {
		return
	}
	line := &line{fd: lineFD}
	unix.CloseOnExec(lineFD)
	lowerFiles()
	switch {
	case len(os.Args) == 1:
		line.exit(inside(line))
	case len(os.Args) == 2 && os.Args[1] == RoomArg:
		line.exit(room(line))
	}
}

// lowerFiles gives back the limit of open files, which package syscall raises for Go in init
// and lowers again for what it executes. Commands are started without it, and nothing tells
// what the limit was; so it executes what is not there.
func lowerFiles() { _ = syscall.Exec("", []string{Name}, nil) }

// exit ends the process.
func (l *line) exit(code int, err error) {
	if err != nil && l.failed(err) != nil {
		fmt.Fprintf(os.Stderr, "%s: %v: it is agent-wrapper that starts this program, for commands inside the sandbox\n", Name, err)
	}
	if err != nil {
		code = 1
	}
	os.Exit(code)
}

// inside runs one command, with our streams, and returns its exit code. It is in our group
// and has our terminal: signals that come from there are its affair.
func inside(l *line) (int, error) {
	said, err := hear(l.fd)
	if errors.Is(err, errOver) {
		os.Exit(0) // it is not needed
	}
	if err != nil {
		return 0, err
	}
	if said.Word != "order" || len(said.FDs) != 1 {
		return 0, fmt.Errorf("%q with %d descriptors is no order", said.Word, len(said.FDs))
	}
	o := &Order{}
	if err := read(said.FDs[0], o); err != nil {
		return 0, err
	}
	if err := o.ours(); err != nil {
		return 0, err
	}
	if o.has(network) {
		if err := l.loopback(o.Proxy); err != nil {
			return 0, &missing{network, err}
		}
	}
	heedNone()
	type end struct {
		code int
		err  error
	}
	ended := make(chan end)
	go func() {
		code, err := o.run(l, [3]int{0, 1, 2})
		ended <- end{code, err}
	}()
	how := <-ended
	return how.code, how.err
}

// heedNone has no signal but SIGKILL and SIGSTOP end or stop us. A program that we start
// has their default effect, but for those that are ignored.
func heedNone() {
	var all []os.Signal
	for s := syscall.Signal(1); s < 32; s++ {
		if s != unix.SIGKILL && s != unix.SIGSTOP && s != unix.SIGURG && !signal.Ignored(s) {
			all = append(all, s)
		}
	}
	signal.Notify(make(chan os.Signal, 1), all...)
}

// read reads what is in a file, and closes it.
func read(fd int, into any) error {
	defer unix.Close(fd)
	var at unix.Stat_t
	if err := unix.Fstat(fd, &at); err != nil {
		return err
	}
	data := make([]byte, at.Size)
	if n, err := unix.Pread(fd, data, 0); err != nil || n < len(data) {
		return fmt.Errorf("the order is cut off: %v", err)
	}
	return json.Unmarshal(data, into)
}

// ours returns an error if the order is not of our build.
func (w *Sandbox) ours() error {
	if own := build.Name(); w.Build != own {
		return fmt.Errorf("%s is not of the same build as agent-wrapper (%s, not %s): install both, or remove it", Name, own, w.Build)
	}
	return nil
}
