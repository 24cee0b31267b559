//go:build amd64 || arm64

package inside

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// call is a system call.
type call struct {
	nr   uintptr
	args [6]uintptr
	may  syscall.Errno // an error that does not matter
	// layer is the one that is missing if it fails.
	layer string
}

// child is the first process inside. It shares our memory, since a copy would cost more than the
// whole sandbox, and has a stack of its own. Nothing of Go runs there: it makes the calls that it was
// given, starts the command, reaps what has lost its parent, and ends when the command does,
// with all that is left. It gives up all rights first, as the command has none, and nobody
// inside can look into it (layer first).
type child struct {
	calls [phases][]call // after each but the last phase it waits until it may go on
	start []call         // by the command itself; the last is its program

	line    uintptr // its end of the line to us
	process int32   // a descriptor of it
	pid     uintptr
	starts  bool // it is the command, which has no program yet

	word   [2]uintptr // what it tells: a word, and what belongs to it
	status uint32     // of a process that it has waited for
	one    byte
	all    uint64       // all signals
	was    uint64       // the signals that are blocked here
	stacks [2][]uintptr // of the child and of the command
	kept   []any        // what the calls point to
}

// The phases of a child.
const (
	begins    = iota // in its namespaces
	restricts        // when the tree is there: it gives up all rights
	starts           // when the command is known; then the sandbox is there, and it starts that
	phases
)

// sigaction is what the kernel is told of a signal. Nothing but zeros is the default.
type sigaction struct {
	handler, flags uintptr
	rest           [2]uintptr
}

// ignored is the handler of a signal that is ignored.
const ignored = 1

// defaultSignals are calls that give all signals their default effect that have a handler
// here, which must not run in the child. For the first process of a namespace the effect is
// none, wherever they come from; the command has them as they are meant.
func (k *child) defaultSignals() []call {
	var calls []call
	none := k.at(unsafe.Pointer(&sigaction{}))
	for s := uintptr(1); s < 65; s++ {
		act := new(sigaction)
		_, _, errno := syscall.RawSyscall6(unix.SYS_RT_SIGACTION, s, 0, uintptr(unsafe.Pointer(act)), unsafe.Sizeof(k.all), 0, 0)
		if errno == 0 && act.handler > ignored {
			calls = append(calls, call{nr: unix.SYS_RT_SIGACTION, args: [6]uintptr{s, none, 0, unsafe.Sizeof(k.all)}, layer: namespaces})
		}
	}
	return calls
}

// What a child tells.
const (
	tellsFailed = iota // the phase and the number of a call, and its error
	tellsWaits
	tellsRestricted
	tellsBuilt
	tellsNotRun // the error
	tellsStopped
	tellsEnded // the status
)

// childLine is the descriptor of the line in the child once the sandbox is there, and
// firstFree the one behind it.
const (
	childLine = 3
	firstFree = 4
)

// stack is how many words a stack has.
const stack = 2 << 10

// launch starts the child. What it has must stay where it is until it has ended.
func (c *child) launch() error {
	c.all, c.stacks = ^uint64(0), [2][]uintptr{make([]uintptr, stack), make([]uintptr, stack)}
	if errno := -int(c.fork()); errno > 0 {
		return syscall.Errno(errno)
	}
	return nil
}

// fork starts the child, with all signals blocked: the handlers of the runtime cannot run
// there. Both have the same descriptors until the child wants its own.
//
//go:norace
//go:nosplit
func (c *child) fork() int {
	syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&c.all)), uintptr(unsafe.Pointer(&c.was)), unsafe.Sizeof(c.all), 0, 0)
	c.pid = spawn(unix.CLONE_VM|unix.CLONE_FILES|unix.CLONE_PIDFD|uintptr(unix.SIGCHLD), c.top(0), &c.process, c)
	syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&c.was)), 0, unsafe.Sizeof(c.was), 0, 0)
	return int(c.pid)
}

// top returns where a stack begins, with place for an argument.
//
//go:norace
//go:nosplit
func (c *child) top(of int) uintptr {
	return uintptr(unsafe.Pointer(&c.stacks[of][stack-8])) &^ 15
}

// spawn starts a process as clone(2), which runs live on a stack. It returns its number, or
// minus the number of an error.
//
//go:noescape
func spawn(flags, stack uintptr, process *int32, c *child) (pid uintptr)

// live is the child, and the command until it has its program. It does not return.
//
//go:norace
//go:nosplit
func live(c *child) {
	if c.starts {
		c.make(c.start, phases)
		end()
	}
	c.make(c.calls[begins], begins)
	c.tell(tellsWaits, 0)
	c.mayGoOn()
	c.make(c.calls[restricts], restricts)
	c.tell(tellsRestricted, 0)
	c.mayGoOn()
	c.make(c.calls[starts], starts)
	c.line = childLine
	c.tell(tellsBuilt, 0)
	c.starts = true
	pid := spawn(unix.CLONE_VM|unix.CLONE_VFORK|uintptr(unix.SIGCHLD), c.top(1), nil, c)
	if int(pid) < 0 {
		c.tell(tellsNotRun, -pid)
		end()
	}
	syscall.RawSyscall6(unix.SYS_CLOSE_RANGE, 0, childLine-1, 0, 0, 0, 0) // somebody may wait for their end
	c.wait(pid)
	c.tell(tellsEnded, uintptr(c.status))
	end()
}

var _ = live // spawn calls it

// mayGoOn waits until it may go on.
//
//go:norace
//go:nosplit
func (c *child) mayGoOn() {
	if n, _, _ := syscall.RawSyscall6(unix.SYS_READ, c.line, uintptr(unsafe.Pointer(&c.one)), 1, 0, 0, 0); n != 1 {
		end()
	}
}

// make makes the calls of a phase. One that fails is the last: what cannot be built has no
// command.
//
//go:norace
//go:nosplit
func (c *child) make(calls []call, phase int) {
	for i := range calls {
		one := &calls[i]
		_, _, errno := syscall.RawSyscall6(one.nr, one.args[0], one.args[1], one.args[2], one.args[3], one.args[4], one.args[5])
		if errno == 0 || errno == one.may {
			continue
		}
		if one.nr == unix.SYS_EXECVE {
			c.tell(tellsNotRun, uintptr(errno))
		} else {
			c.tell(tellsFailed|uintptr(phase)<<8|uintptr(i)<<16, uintptr(errno))
		}
		end()
	}
}

// wait waits for the command, and ends what it has left behind. That is done if we are the
// first process of a namespace only: without, it would be all that the user has.
//
//go:norace
//go:nosplit
func (c *child) wait(pid uintptr) {
	status := uintptr(unsafe.Pointer(&c.status))
	for {
		got, _, errno := syscall.RawSyscall6(unix.SYS_WAIT4, ^uintptr(0), status, unix.WUNTRACED, 0, 0, 0)
		switch {
		case errno != 0 && errno != unix.EINTR:
			end()
		case errno != 0 || got != pid:
			continue
		case c.status&0xff == 0x7f:
			c.tell(tellsStopped, 0)
			continue
		}
		break
	}
	if own, _, _ := syscall.RawSyscall6(unix.SYS_GETPID, 0, 0, 0, 0, 0, 0); own != 1 {
		return
	}
	syscall.RawSyscall6(unix.SYS_KILL, ^uintptr(0), uintptr(unix.SIGKILL), 0, 0, 0, 0) // there may be none
	for {
		if _, _, errno := syscall.RawSyscall6(unix.SYS_WAIT4, ^uintptr(0), 0, unix.WALL, 0, 0, 0); errno != 0 && errno != unix.EINTR {
			return
		}
	}
}

// tell tells us something. Nobody may be there any more.
//
//go:norace
//go:nosplit
func (c *child) tell(what, of uintptr) {
	c.word[0], c.word[1] = what, of
	word := uintptr(unsafe.Pointer(&c.word))
	if _, _, errno := syscall.RawSyscall6(unix.SYS_WRITE, c.line, word, unsafe.Sizeof(c.word), 0, 0, 0); errno == unix.EBADF {
		syscall.RawSyscall6(unix.SYS_WRITE, childLine, word, unsafe.Sizeof(c.word), 0, 0, 0) // it is there by now
	}
}

// end ends the process.
//
//go:norace
//go:nosplit
func end() {
	for {
		syscall.RawSyscall6(unix.SYS_EXIT_GROUP, 1, 0, 0, 0, 0, 0)
	}
}
