// Package netns runs this program again where nothing but loopback is to be reached: in
// a network namespace of its own. It takes three steps, because a Go program cannot move
// all of its threads: [Run] starts the program anew in the namespace; that brings
// loopback up with [Up], and becomes with [Exec] the program that does the work, without
// the rights by which it could change the network again.
package netns

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"unsafe"
)

// Unready is the exit code of a program that could not make its namespace ready; Run
// then tries another way.
const Unready = 125

const capNetAdmin = 12

// Run runs this program with other arguments in a network namespace, and in those that
// more asks for, with these capabilities beside that to change the network. It returns
// the exit code. The error says why there can be no such namespace.
func Run(ctx context.Context, more uintptr, caps []uintptr, args []string) (code int, err error) {
	user := asUser(append([]uintptr{capNetAdmin}, caps...))
	for _, attr := range []*syscall.SysProcAttr{user, {}} {
		attr.Cloneflags |= syscall.CLONE_NEWNET | more
		attr.Pdeathsig = syscall.SIGKILL
		code, failed := again(ctx, attr, args)
		if failed == nil && code != Unready {
			return code, nil
		}
		if err == nil && failed != nil {
			err = failed
		}
	}
	if err == nil {
		err = errors.New("loopback cannot be brought up in it")
	}
	return 0, err
}

// asUser is a user namespace of our own, in which we are no root: agents refuse some
// things to root.
func asUser(caps []uintptr) *syscall.SysProcAttr {
	uid, gid := os.Getuid(), os.Getgid()
	if uid == 0 {
		uid, gid = 1000, 1000
	}
	return &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: os.Getgid(), Size: 1}},
		AmbientCaps: caps,
	}
}

// again runs this program once. One that a signal ended has the exit code of a shell.
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
	if !errors.As(err, &ended) {
		return 0, err
	}
	if status, ok := ended.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return ended.ExitCode(), nil
}

// Up brings loopback up.
func Up() error {
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

// Exec becomes this program anew, with other arguments and without the capabilities that
// Run gave. It returns only if that fails.
func Exec(args []string) error {
	runtime.LockOSThread()
	const prCapAmbient, prCapAmbientClearAll = 47, 4
	if _, _, e := syscall.RawSyscall6(syscall.SYS_PRCTL, prCapAmbient, prCapAmbientClearAll, 0, 0, 0, 0); e != 0 {
		return e
	}
	return syscall.Exec("/proc/self/exe", append([]string{os.Args[0]}, args...), os.Environ())
}
