//go:build amd64 || arm64

package inside

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"github.com/landlock-lsm/go-landlock/landlock"
	llsyscall "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// loopback switches loopback on, which is all there is, and hands out the listener of the
// proxy.
func (l *line) loopback(port int) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	req, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	req.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req); err != nil {
		return fmt.Errorf("switch on loopback: %w", err)
	}
	if port == 0 {
		return nil
	}
	listener, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(listener)
	if err := unix.Bind(listener, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	return errors.Join(unix.Listen(listener, unix.SOMAXCONN), Say(l.fd, "listener", listener))
}

// configs are what Landlock handles, by the version of its ABI.
var configs = [...]landlock.Config{
	1: landlock.V1, 2: landlock.V2, 3: landlock.V3, 4: landlock.V4, 5: landlock.V5, 6: landlock.V6, 7: landlock.V7, 8: landlock.V8, 9: landlock.V9,
}

// restrict makes the rules by which the command writes only to what is writable, and to its
// own /dev. The network has a namespace of its own.
func (c *command) restrict() error {
	abi, err := llsyscall.LandlockGetABIVersion()
	if err != nil || abi < 1 {
		return errors.New("this kernel does not have Landlock, or it is switched off")
	}
	conf := configs[min(abi, len(configs)-1)]
	conf.HandledAccessNet = 0
	write, device := landlock.RWDirs(slices.Concat(c.Writable, c.Temp)...), landlock.RWDirs("/dev")
	if abi >= 2 {
		write = write.WithRefer()
	}
	if abi >= 5 {
		write, device = write.WithIoctlDev(), device.WithIoctlDev()
	}
	rules, flags, err := conf.NewRulesetFD(landlock.RODirs("/"), write, device)
	if err != nil {
		return err
	}
	defer unix.Close(rules)
	if flags != landlockFlags {
		return fmt.Errorf("the rules are to be put in force with the flags %#x", flags)
	}
	return unix.Dup3(rules, c.rules, unix.O_CLOEXEC)
}

// landlockFlags are those with which rules are put in force that nobody has configured.
const landlockFlags = 0

// noCapabilities are the calls that give up all capabilities for good: no program gives
// them back, and none is passed on.
func (k *child) noCapabilities() []call {
	var calls []call
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		calls = append(calls, call{nr: unix.SYS_PRCTL, args: [6]uintptr{unix.PR_CAPBSET_DROP, c}, may: unix.EINVAL, layer: capabilities})
	}
	head, sets := &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, new([2]unix.CapUserData)
	return append(calls,
		call{nr: unix.SYS_PRCTL, args: [6]uintptr{unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL}, layer: capabilities},
		call{nr: unix.SYS_CAPSET, args: [6]uintptr{k.at(unsafe.Pointer(head)), k.at(unsafe.Pointer(sets))}, layer: capabilities},
	)
}

// refused are the system calls that nothing inside needs, and that have been ways out:
// mounts, other namespaces, keys of the user, what acts on the kernel or the machine,
// and rings, whose operations no filter sees.
var refused = []uint32{
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_FSOPEN,
	unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_SETNS, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_FANOTIFY_INIT, unix.SYS_SYSLOG,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_REBOOT,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_VHANGUP,
	unix.SYS_PIDFD_GETFD, unix.SYS_PROCESS_MADVISE, unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES, unix.SYS_LOOKUP_DCOOKIE,
}

// absent are system calls that programs do without if they are not there. clone3 has its
// flags in memory, where no filter sees them; lsm_set_self_attr is /proc/self/attr, which is
// read-only.
var absent = []uint32{unix.SYS_CLONE3, unix.SYS_LSM_SET_SELF_ATTR, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER}

// unknownCalls is the first number of those system calls of which nobody has looked at what they do
// inside, or that do more than programs need there: open_tree_attr, which changes mounts,
// and what Linux has added since. Programs do without, as on a kernel that does not have them. Up to
// 466 they are judged (Linux 6.13); the numbers are the same on all machines.
const unknownCalls = 467

// newNamespaces are the flags of clone and unshare for namespaces.
const newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWTIME

// families are the kinds of sockets that a namespace of the network holds, with what
// tells programs of it.
var families = []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}

// typing are the requests that type into a terminal in place of a person.
var typing = []uint32{unix.TIOCSTI, unix.TIOCLINUX}

// The fields of struct seccomp_data.
const (
	numberAt = 0
	archAt   = 4
	argsAt   = 16 // little-endian, 8 bytes each
)

// refusal returns the answer of the filter that makes a call fail.
func refusal(errno unix.Errno) bpf.Instruction {
	return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(errno)}
}

// filter returns the instructions of the filter.
func filter() []bpf.Instruction {
	load := func(at uint32) bpf.Instruction { return bpf.LoadAbsolute{Off: at, Size: 4} }
	unless := func(cond bpf.JumpTest, val uint32, answer bpf.Instruction) []bpf.Instruction {
		return []bpf.Instruction{bpf.JumpIf{Cond: cond, Val: val, SkipTrue: 1}, answer}
	}
	code := append([]bpf.Instruction{load(archAt)}, unless(bpf.JumpEqual, arch, refusal(unix.ENOSYS))...)
	code = append(code, load(numberAt))
	code = append(code, unless(bpf.JumpLessThan, unknownCalls, refusal(unix.ENOSYS))...) // with those of x32
	for _, nr := range refused {
		code = append(code, unless(bpf.JumpNotEqual, nr, refusal(unix.EPERM))...)
	}
	for _, nr := range absent {
		code = append(code, unless(bpf.JumpNotEqual, nr, refusal(unix.ENOSYS))...)
	}
	// look looks at the lower half of an argument of a call.
	look := func(nr uint32, arg int, then []bpf.Instruction) {
		then = append(append([]bpf.Instruction{load(argsAt + uint32(8*arg))}, then...), bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW})
		code = append(code, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: nr, SkipTrue: uint8(len(then))})
		code = append(code, then...)
	}
	spaces := unless(bpf.JumpBitsNotSet, newNamespaces, refusal(unix.EPERM))
	look(unix.SYS_CLONE, 0, spaces)
	look(unix.SYS_UNSHARE, 0, spaces)
	var types, sockets []bpf.Instruction
	for _, request := range typing {
		types = append(types, unless(bpf.JumpNotEqual, request, refusal(unix.EPERM))...)
	}
	look(unix.SYS_IOCTL, 1, types)
	for i, family := range families {
		sockets = append(sockets, bpf.JumpIf{Cond: bpf.JumpEqual, Val: family, SkipTrue: uint8(len(families) - i)})
	}
	sockets = append(sockets, refusal(unix.EAFNOSUPPORT))
	look(unix.SYS_SOCKET, 0, sockets)
	look(unix.SYS_SOCKETPAIR, 0, sockets)
	return append(code, bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW})
}

// filterOf returns the filter as the kernel has it.
var filterOf = sync.OnceValues(func() (*unix.SockFprog, error) {
	raw, err := bpf.Assemble(filter())
	if err != nil {
		return nil, err
	}
	code := make([]unix.SockFilter, len(raw))
	for i, in := range raw {
		code[i] = unix.SockFilter{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	return &unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}, nil
})
