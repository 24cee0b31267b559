//go:build amd64 || arm64

package inside

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// command is a command around which a sandbox is built: by a thread, in namespaces of mounts
// and of processes of its own, and at last by its first process. What is to be built is known
// before the command is.
type command struct {
	*Sandbox
	*Start
	streams [3]int
	outside int               // the directory of our descriptors, in the /proc outside
	mounted map[string]uint64 // the mount at each path of the tree, 0 if nothing is there
	dir     int               // where it begins
	rules   int               // of Landlock
	child   child
	line    int   // our end of the child's line
	other   int   // the child's, which is open here too until it has its own
	to      *line // to whoever has ordered it

	mu    sync.Mutex
	alive bool // the child is there, and its number is nobody else's

	obeys  sync.WaitGroup
	obeyed bool
}

// newCommand returns a command of which nothing is built.
func newCommand(w *Sandbox, to *line) *command {
	return &command{Sandbox: w, to: to, mounted: map[string]uint64{}, streams: [3]int{-1, -1, -1}, outside: -1, line: -1, other: -1, dir: -1, rules: -1}
}

// run builds the sandbox, runs the command and returns its exit code. It needs a goroutine that
// ends with it: nothing else may run in the namespaces of its thread.
func (o *Order) run(to *line, streams [3]int) (int, error) {
	runtime.LockOSThread()
	c := newCommand(&o.Sandbox, to)
	defer c.let()
	c.Start, c.streams = &o.Start, streams
	err := c.build(ahead)
	if err == nil {
		err = c.build(known)
	}
	if err != nil {
		return 0, err
	}
	return c.runs()
}

// runs runs the command and returns its exit code. Whoever has ordered it hears when the sandbox
// is there, when the command was stopped, and its end.
func (c *command) runs() (int, error) {
	err := c.build(last)
	if err == nil {
		err = c.to.say("ready")
	}
	if err != nil {
		return 0, err
	}
	return c.wait()
}

// stage is a layer with what builds it.
type stage struct {
	layer string
	build func(*command) error
}

// The stages: what is built before the command is known, what is made ready when it is, and
// what is for the child to build, in the order of its calls: each gives up what the next ones
// do not need. Nothing is mounted behind Landlock, and nothing is done without capabilities.
// Before the last stage nothing of the command has begun: it must not be told as unbegun.
var (
	ahead = []stage{
		{namespaces, (*command).separate},
		{processes, (*command).startChild},
		{mounts, (*command).mountTree},
		{landlocked, (*command).restrict},
		{namespaces, (*command).restrictChild},
	}
	known = []stage{
		{descriptors, (*command).lookAtStreams},
		{directory, (*command).enter},
		{streams, (*command).reopen},
		{processes, (*command).prepare},
	}
	last = []stage{{namespaces, (*command).begin}}
)

func (c *command) build(stages []stage) error {
	for _, s := range stages {
		if !c.has(s.layer) && s.layer != processes {
			continue
		}
		if err := s.build(c); err != nil {
			if inner := new(missing); errors.As(err, &inner) {
				return inner
			}
			return &missing{s.layer, err}
		}
	}
	return nil
}

// separate gives this thread namespaces: of mounts, which the child shares, and of
// processes, whose first one the child is.
func (c *command) separate() error {
	spaces := unix.CLONE_NEWNS
	if c.has(pids) {
		spaces |= unix.CLONE_NEWPID
	}
	if err := unix.Unshare(spaces); err != nil {
		return err
	}
	return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
}

// lookAtStreams makes sure that none of the streams is a directory: that is a way past
// every mount. The child closes all other descriptors.
func (c *command) lookAtStreams() error {
	for i, fd := range c.streams {
		var at unix.Stat_t
		if err := unix.Fstat(fd, &at); err == nil && at.Mode&unix.S_IFMT == unix.S_IFDIR {
			return fmt.Errorf("descriptor %d is a directory: give the command a file or a pipe", i)
		}
	}
	return nil
}

// startChild starts the child, which mounts a /proc of the new namespace and waits. What
// it is to do then it gets to know later.
func (c *command) startChild() error {
	err := c.open()
	if err == nil {
		err = c.prepareChild()
	}
	if err == nil {
		err = c.launch()
	}
	return err
}

// open opens what the child shares with us.
func (c *command) open() error {
	var err error
	if c.outside, err = unix.Open("/proc/self/fd", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		return err
	}
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	c.line, c.other = ends[0], ends[1]
	c.child.line = uintptr(ends[1])
	for _, fd := range []*int{&c.dir, &c.rules} {
		if *fd, err = unix.FcntlInt(uintptr(ends[0]), unix.F_DUPFD_CLOEXEC, firstFree); err != nil {
			return err
		}
	}
	return nil
}

// launch starts the child.
func (c *command) launch() error {
	if c.has(first) {
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil { // the command's exec undoes it for the command
			return &missing{first, err}
		}
	}
	c.mu.Lock()
	err := c.child.launch()
	c.alive = err == nil
	c.mu.Unlock()
	if err != nil {
		return &missing{namespaces, err}
	}
	return c.hears(tellsWaits)
}

// prepareChild sets the calls of the child before the command is known.
func (c *command) prepareChild() error {
	k := &c.child
	begin := append(k.defaultSignals(), call{nr: unix.SYS_PRCTL, args: [6]uintptr{unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL)}, layer: namespaces})
	if c.Shared {
		begin = append(begin, call{nr: unix.SYS_SETSID, layer: namespaces})
	}
	if c.has(mounts) && c.has(processes) {
		begin = append(begin, call{nr: unix.SYS_MOUNT, args: [6]uintptr{k.text("proc"), k.text("/proc"), k.text("proc"), unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC}, layer: processes})
	}
	restrict, err := c.limits()
	if err != nil {
		return &missing{limits, err}
	}
	if c.has(privileges) {
		restrict = append(restrict, call{nr: unix.SYS_PRCTL, args: [6]uintptr{unix.PR_SET_NO_NEW_PRIVS, 1}, layer: privileges})
	}
	if c.has(landlocked) {
		restrict = append(restrict, call{nr: unix.SYS_LANDLOCK_RESTRICT_SELF, args: [6]uintptr{uintptr(c.rules), landlockFlags}, layer: landlocked})
	}
	if c.has(seccomp) {
		prog, err := filterOf()
		if err != nil {
			return &missing{seccomp, err}
		}
		restrict = append(restrict, call{nr: unix.SYS_SECCOMP, args: [6]uintptr{unix.SECCOMP_SET_MODE_FILTER, 0, k.at(unsafe.Pointer(prog))}, layer: seccomp})
	}
	if c.has(capabilities) {
		restrict = append(restrict, k.noCapabilities()...)
	}
	k.calls[begins], k.calls[restricts] = begin, restrict
	return nil
}

// prepare sets the calls of the child when the command is known.
func (c *command) prepare() error {
	k := &c.child
	calls := []call{{nr: unix.SYS_UNSHARE, args: [6]uintptr{unix.CLONE_FILES}, layer: descriptors}}
	for i, fd := range c.streams {
		if i != fd {
			calls = append(calls, call{nr: unix.SYS_DUP3, args: [6]uintptr{uintptr(fd), uintptr(i)}, layer: streams})
		}
	}
	calls = append(calls,
		call{nr: unix.SYS_FCHDIR, args: [6]uintptr{uintptr(c.dir)}, layer: directory},
		call{nr: unix.SYS_DUP3, args: [6]uintptr{k.line, childLine, unix.O_CLOEXEC}, layer: descriptors},
	)
	if c.has(descriptors) {
		calls = append(calls, call{nr: unix.SYS_CLOSE_RANGE, args: [6]uintptr{firstFree, 1<<31 - 1}, layer: descriptors})
	}
	k.calls[starts] = calls
	return c.prepareStart()
}

// prepareStart sets the calls of the command.
func (c *command) prepareStart() error {
	path, err := unix.BytePtrFromString(c.Path)
	if err != nil {
		return err
	}
	argv, errArgs := syscall.SlicePtrFromStrings(c.Args)
	envp, errEnv := syscall.SlicePtrFromStrings(c.Env)
	if err := errors.Join(errArgs, errEnv); err != nil {
		return err
	}
	k := &c.child
	k.kept = append(k.kept, path, argv, envp)
	k.start = []call{
		{nr: unix.SYS_RT_SIGPROCMASK, args: [6]uintptr{unix.SIG_SETMASK, k.at(unsafe.Pointer(&k.was)), 0, unsafe.Sizeof(k.was)}},
		{nr: unix.SYS_EXECVE, args: [6]uintptr{uintptr(unsafe.Pointer(path)), uintptr(unsafe.Pointer(&argv[0])), uintptr(unsafe.Pointer(&envp[0]))}},
	}
	return nil
}

// text returns the address of a text, which stays where it is as long as the child has it.
func (k *child) text(s string) uintptr {
	p, err := unix.BytePtrFromString(s)
	if err != nil {
		panic(err) // it is one of ours
	}
	k.kept = append(k.kept, p)
	return uintptr(unsafe.Pointer(p))
}

// at returns the address of something on the heap, which stays there as long as the child
// has it.
func (k *child) at(p unsafe.Pointer) uintptr {
	k.kept = append(k.kept, p)
	return uintptr(p)
}

// enter opens the directory of the command by its path, in the tree as it is now, and makes
// sure that it is the directory that was meant.
func (c *command) enter() error {
	fd, err := unix.Open(c.Dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Dir, err)
	}
	defer unix.Close(fd)
	var at unix.Stat_t
	if err := unix.Fstat(fd, &at); err != nil {
		return err
	}
	if c.Ino != 0 && (at.Dev != c.Dev || at.Ino != c.Ino) {
		return fmt.Errorf("%s is not the directory any more in which the command was to run", c.Dir)
	}
	return unix.Dup3(fd, c.dir, unix.O_CLOEXEC)
}

// limits returns the calls that limit the command. Its memory is never written to a core
// file, which a program outside may handle.
func (c *command) limits() ([]call, error) {
	if !c.has(limits) {
		return nil, nil
	}
	const none = 1 // of a core file; with 0, a program outside that handles them would start
	var calls []call
	for _, l := range []struct {
		what int
		most uint64
	}{{unix.RLIMIT_CORE, none}, {unix.RLIMIT_DATA, c.Memory}, {unix.RLIMIT_NPROC, c.Processes}} {
		if l.most == 0 {
			continue
		}
		var now unix.Rlimit
		if err := unix.Getrlimit(l.what, &now); err != nil {
			return nil, err
		}
		most := min(l.most, now.Max) // nobody but root can raise it
		if l.what == unix.RLIMIT_CORE && most < none && coreHandled() {
			return nil, errors.New("the hard limit of core files is 0, with which a program outside handles them (/proc/sys/kernel/core_pattern): it must be 1 or more (ulimit -Hc)")
		}
		calls = append(calls, call{nr: unix.SYS_PRLIMIT64, args: [6]uintptr{0, uintptr(l.what), c.child.at(unsafe.Pointer(&unix.Rlimit{Cur: most, Max: most}))}, layer: limits})
	}
	return calls, nil
}

// coreHandled reports whether a program handles core files, or it is not known.
func coreHandled() bool {
	pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	return err != nil || strings.HasPrefix(string(pattern), "|")
}

// goOn has the child go on until it tells a word.
func (c *command) goOn(until uintptr) error {
	if _, err := unix.Write(c.line, []byte{1}); err != nil {
		return err
	}
	return c.hears(until)
}

// restrictChild has the child give up its rights.
func (c *command) restrictChild() error { return c.goOn(tellsRestricted) }

// begin has the child build what is left, and start the command, and lets go of what it has
// now.
func (c *command) begin() error {
	if err := c.goOn(tellsBuilt); err != nil {
		return err
	}
	c.close(&c.other, &c.dir, &c.rules, &c.outside)
	if c.Shared {
		c.closeStreams()
	}
	c.obeyed = true
	c.obeys.Go(c.obey)
	return nil
}

func (c *command) closeStreams() { c.close(&c.streams[0], &c.streams[1], &c.streams[2]) }

// close closes descriptors, once.
func (c *command) close(fds ...*int) {
	for _, fd := range fds {
		if *fd >= 0 {
			unix.Close(*fd)
		}
		*fd = -1
	}
}

// hears waits until the child tells a word.
func (c *command) hears(word uintptr) error {
	what, of, ok := c.hear()
	switch {
	case !ok:
		return errKilled
	case what == word:
		return nil
	case what&0xff == tellsFailed:
		return &missing{c.child.calls[what>>8&0xff][what>>16].layer, syscall.Errno(of)}
	}
	return fmt.Errorf("the first process says %d", what)
}

// hear returns what the child tells next. It is not ok if that has ended.
func (c *command) hear() (what, of uintptr, ok bool) {
	poll := []unix.PollFd{{Fd: int32(c.line), Events: unix.POLLIN}, {Fd: c.child.process, Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(poll, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return 0, 0, false
		}
		var word [unsafe.Sizeof(c.child.word)]byte
		n, _, err := unix.Recvfrom(c.line, word[:], unix.MSG_DONTWAIT)
		switch {
		case err == nil && n == len(word):
			told := (*[2]uintptr)(unsafe.Pointer(&word))
			return told[0], told[1], true
		case err == nil, !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR), poll[1].Revents != 0:
			return 0, 0, false
		}
	}
}

// wait waits for the end of the command, and of all that it has started, and returns its
// exit code.
func (c *command) wait() (int, error) {
	for {
		what, of, ok := c.hear()
		switch {
		case !ok:
			return c.ended(128 + int(unix.SIGKILL))
		case what == tellsNotRun:
			return 0, &notRun{c.Path, syscall.Errno(of)}
		case what == tellsStopped:
			_ = c.to.say("stopped") // whoever has ordered it may be gone, and we soon too
			continue
		case what != tellsEnded:
			return 0, fmt.Errorf("the first process says %d", what)
		}
		how := unix.WaitStatus(of)
		if how.Signaled() {
			return c.ended(128 + int(how.Signal()))
		}
		return c.ended(how.ExitStatus())
	}
}

// ended says how the command has ended. That the mounts go takes longer, and nobody waits
// for it.
func (c *command) ended(code int) (int, error) {
	_ = c.to.say("ended " + strconv.Itoa(code)) // as with stopped
	return code, nil
}

// signal sends the command, and what it has started in its group, a signal. SIGKILL ends
// everything inside the sandbox.
func (c *command) signal(s unix.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !c.alive:
	case s == unix.SIGKILL:
		_ = unix.PidfdSendSignal(int(c.child.process), s, nil, 0) // it may have ended
	default:
		_ = unix.Kill(-int(c.child.pid), s) // the child too, which heeds none
	}
}

// let ends what there is of the child, and lets go of all that was open for it.
func (c *command) let() {
	c.signal(unix.SIGKILL)
	c.mu.Lock()
	if c.alive {
		c.alive = false
		for {
			if _, err := unix.Wait4(int(c.child.pid), nil, unix.WALL, nil); !errors.Is(err, unix.EINTR) {
				break
			}
		}
		unix.Close(int(c.child.process))
	}
	c.mu.Unlock()
	if c.Shared {
		c.closeStreams()
	}
	if c.obeyed {
		_ = unix.Shutdown(c.to.fd, unix.SHUT_RD) // which ends obey
		c.obeys.Wait()
	}
	c.close(&c.line, &c.other, &c.dir, &c.rules, &c.outside)
}

// notRun is the error that the program could not be executed.
type notRun struct {
	path string
	err  error
}

func (n *notRun) Error() string { return n.path + ": " + n.err.Error() }
