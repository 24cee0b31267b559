package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"unsafe"
)

// noFence is the exit code of a program that could not bring loopback up.
const noFence = 125

// Fence runs this program again in a network namespace of its own, with arguments by
// which it calls EnterFence, and returns its exit code. The error says why there can be
// no such namespace.
func Fence(ctx context.Context, args []string) (code int, err error) {
	for _, attr := range []*syscall.SysProcAttr{asUser(), asRoot()} {
		code, again := again(ctx, attr, args)
		if again == nil && code != noFence {
			return code, nil
		}
		if err == nil && again != nil {
			err = again
		}
	}
	if err == nil {
		err = errors.New("loopback cannot be brought up in it")
	}
	return 0, err
}

// asUser is a user namespace of our own, in which we are no root.
func asUser() *syscall.SysProcAttr {
	const capNetAdmin = 12
	uid, gid := os.Getuid(), os.Getgid()
	if uid == 0 {
		uid, gid = 1000, 1000 // hosts refuse some things to root
	}
	return &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: os.Getgid(), Size: 1}},
		AmbientCaps: []uintptr{capNetAdmin},
		Pdeathsig:   syscall.SIGKILL,
	}
}

func asRoot() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
}

// again runs this program with other arguments.
func again(ctx context.Context, attr *syscall.SysProcAttr, args []string) (int, error) {
	runtime.LockOSThread() // Pdeathsig follows the thread
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, "/proc/self/exe", args...)
	cmd.Args[0] = os.Args[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = attr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	err := cmd.Run()
	var ended *exec.ExitError
	if errors.As(err, &ended) && ended.Exited() {
		return ended.ExitCode(), nil
	}
	return 0, err
}

// EnterFence brings loopback up in the namespace that Fence made, and executes this
// program anew with arguments of its own and without the right to change the network.
// It returns only if that fails, with the exit code for it.
func EnterFence(args []string) (code int, err error) {
	if err := loopbackUp(); err != nil {
		return noFence, fmt.Errorf("bring up loopback: %w", err)
	}
	runtime.LockOSThread()
	const prCapAmbient, prCapAmbientClearAll = 47, 4
	if _, _, e := syscall.RawSyscall6(syscall.SYS_PRCTL, prCapAmbient, prCapAmbientClearAll, 0, 0, 0, 0); e != 0 {
		return noFence, e
	}
	return noFence, syscall.Exec("/proc/self/exe", append([]string{os.Args[0]}, args...), os.Environ())
}

func loopbackUp() error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	var ifreq struct {
		name  [16]byte
		flags uint16
		_     [22]byte
	}
	copy(ifreq.name[:], "lo")
	ifreq.flags = syscall.IFF_UP | syscall.IFF_RUNNING
	if _, _, e := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&ifreq))); e != 0 {
		return e
	}
	return nil
}
