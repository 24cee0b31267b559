//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"unsafe"
)

// The test binary starts itself anew in a network namespace with only
// loopback: stage "" clones, stage "net" brings loopback up, makes an /etc of
// our own, gives up its capabilities and executes stage "run", which runs the
// tests.
const stageVar = "AW_E2E_STAGE"

// noNamespace says why there is no namespace, "" if we are in one.
var noNamespace string

// enterNamespace returns only in stage run, or when no namespace can be had.
func enterNamespace() {
	switch os.Getenv(stageVar) {
	case "run":
		os.Unsetenv(stageVar)
		noNamespace = os.Getenv("AW_E2E_NO_NAMESPACE")
		return
	case "net":
		if err := loopbackUp(); err != nil {
			fmt.Fprintln(os.Stderr, "e2e: bring up loopback:", err)
			os.Exit(125)
		}
		if err := ownEtc(os.Getenv(etcVar)); err != nil {
			os.Setenv(etcVar, "")
		}
		os.Setenv(stageVar, "run")
		fatal(execSelf())
	}
	os.Setenv(stageVar, "net")
	if dir, err := os.MkdirTemp("", "e2e-etc"); err == nil {
		os.Setenv(etcVar, dir)
		defer os.RemoveAll(dir) // where os.Exit does not come first
	}
	var first error
	for _, attr := range []*syscall.SysProcAttr{asUser(), asRoot()} {
		code, err := runSelf(attr)
		if err == nil && code != 125 {
			os.RemoveAll(os.Getenv(etcVar))
			os.Exit(code)
		}
		if first == nil {
			first = err
		}
	}
	os.Unsetenv(stageVar)
	noNamespace = fmt.Sprintf("no network namespace can be made here (%v): run it as root, or allow unprivileged user namespaces", first)
}

// asUser is a user namespace of our own, in which we are no root.
func asUser() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags:                 syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWNS,
		UidMappings:                []syscall.SysProcIDMap{{ContainerID: 1000, HostID: os.Getuid(), Size: 1}},
		GidMappings:                []syscall.SysProcIDMap{{ContainerID: 1000, HostID: os.Getgid(), Size: 1}},
		GidMappingsEnableSetgroups: false,
		AmbientCaps:                []uintptr{capNetAdmin, capSysAdmin},
		Pdeathsig:                  syscall.SIGKILL,
	}
}

func asRoot() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
}

const (
	capNetAdmin = 12
	capSysAdmin = 21
)

func runSelf(attr *syscall.SysProcAttr) (code int, err error) {
	runtime.LockOSThread() // Pdeathsig follows the thread
	defer runtime.UnlockOSThread()
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = attr
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// execSelf replaces this process by a copy without ambient capabilities.
func execSelf() error {
	runtime.LockOSThread()
	const prCapAmbient, prCapAmbientClearAll = 47, 4
	if _, _, e := syscall.RawSyscall6(syscall.SYS_PRCTL, prCapAmbient, prCapAmbientClearAll, 0, 0, 0, 0); e != 0 {
		return e
	}
	return syscall.Exec("/proc/self/exe", os.Args, os.Environ())
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

// etcVar names the folder in which our own /etc is made, "" if there is none.
const etcVar = "AW_E2E_ETC"

// ownEtc puts a folder of links over /etc in our mount namespace, so that a
// test can lay managed settings there and the machine sees nothing of it. Those
// of the machine are left out.
func ownEtc(dir string) error {
	old, fresh := dir+"/old", dir+"/new"
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := errors.Join(os.Mkdir(old, 0o755), os.Mkdir(fresh, 0o755)); err != nil {
		return err
	}
	if err := syscall.Mount("/etc", old, "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
		return err
	}
	if err := syscall.Mount("tmpfs", fresh, "tmpfs", 0, "mode=755"); err != nil {
		return err
	}
	entries, err := os.ReadDir(old)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == filepath.Base(managedDir) {
			continue
		}
		if err := os.Symlink(old+"/"+e.Name(), fresh+"/"+e.Name()); err != nil {
			return err
		}
	}
	return syscall.Mount(fresh, "/etc", "", syscall.MS_BIND, "")
}

func fatal(err error) {
	fmt.Fprintln(os.Stderr, "e2e:", err)
	os.Exit(1)
}

// unable skips a test that cannot run here; with CI=true it fails it.
func unable(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}
