//go:build sandbox && linux && (amd64 || arm64)

package kernel

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// escape is a way out of the sandbox.
type escape struct {
	name string
	// without are the layers that hold it: without all of them it succeeds.
	without []string
	// try returns nil if it got out.
	try  func(*world) error
	root bool // only root could do it outside
	user bool // the kernel lets root do it
	// stdin is a file that the command gets as its input.
	stdin func(*world) string
}

// writes hold what is outside against writes: the tree, and Landlock once more.
var writes = []string{"tree", "landlock"}

// rights hold the mounts themselves.
var rights = []string{"capabilities", "seccomp", "landlock"}

// others are the layers that hold processes outside. Only root can build the other layers
// without a namespace of users.
var others = []string{"users", "capabilities", "pid", "processes", "landlock"}

func put(path, text string, flags int) error {
	f, err := os.OpenFile(path, flags, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

func reads(path string) error {
	data, err := os.ReadFile(path)
	if err == nil && !strings.Contains(string(data), marker) {
		return fmt.Errorf("%s holds %q", path, data)
	}
	return err
}

func connects(network, address string) error {
	if address == "" {
		return errors.New("there is no service")
	}
	c, err := net.DialTimeout(network, address, 2*time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(2 * time.Second))
	if strings.HasPrefix(network, "udp") {
		c.Write([]byte("x"))
	}
	data := make([]byte, len(marker))
	if _, err := io.ReadFull(c, data); err != nil {
		return err
	}
	return nil
}

func call(nr uintptr, args ...uintptr) (uintptr, error) {
	args = append(args, 0, 0, 0, 0, 0, 0)
	r, _, errno := unix.Syscall6(nr, args[0], args[1], args[2], args[3], args[4], args[5])
	if errno != 0 {
		return 0, errno
	}
	return r, nil
}

func does(_ uintptr, err error) error { return err }

func opened(fd int, err error) error {
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// ptraced attaches to a process and lets it go.
func ptraced(pid int) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.PtraceAttach(pid); err != nil {
		return err
	}
	var s unix.WaitStatus
	unix.Wait4(pid, &s, unix.WALL, nil)
	return unix.PtraceDetach(pid)
}

var escapes = []escape{
	// what is written outside
	{name: "create a file outside", without: writes, try: func(w *world) error { return put(w.Out+"/new", "x", os.O_CREATE|os.O_WRONLY) }},
	{name: "overwrite a file outside", without: writes, try: func(w *world) error { return put(w.Out+"/victim", "x", os.O_WRONLY|os.O_TRUNC) }},
	{name: "append to a file outside", without: writes, try: func(w *world) error { return put(w.Out+"/victim", "x", os.O_WRONLY|os.O_APPEND) }},
	{name: "truncate a file outside", without: writes, try: func(w *world) error { return os.Truncate(w.Out+"/victim", 0) }},
	{name: "remove a file outside", without: writes, try: func(w *world) error { return os.Remove(w.Out + "/victim") }},
	{name: "remove a directory outside", without: writes, try: func(w *world) error { return os.Remove(w.Out + "/dir") }},
	{name: "make a directory outside", without: writes, try: func(w *world) error { return os.Mkdir(w.Out+"/new", 0o755) }},
	{name: "make a link outside", without: writes, try: func(w *world) error { return os.Symlink("x", w.Out+"/new") }},
	{name: "make a pipe outside", without: writes, try: func(w *world) error { return unix.Mkfifo(w.Out+"/new", 0o600) }},
	{name: "make a socket outside", without: writes, try: func(w *world) error {
		l, err := net.Listen("unix", w.Out+"/new")
		if err == nil {
			l.Close()
		}
		return err
	}},
	{name: "a nameless file outside", without: writes, try: func(w *world) error { return opened(unix.Open(w.Out, unix.O_TMPFILE|unix.O_WRONLY, 0o600)) }},
	{name: "move a file in", without: []string{"mounts", "landlock"}, try: func(w *world) error { return os.Rename(w.Out+"/victim", w.Work+"/victim") }},
	{name: "move a file out", without: []string{"mounts", "landlock"}, try: func(w *world) error { return os.Rename(w.Work+"/mine", w.Out+"/mine") }},
	{name: "exchange two files", without: []string{"mounts", "landlock"}, try: func(w *world) error {
		return unix.Renameat2(unix.AT_FDCWD, w.Work+"/mine", unix.AT_FDCWD, w.Out+"/victim", unix.RENAME_EXCHANGE)
	}},
	{name: "a hard link to a file outside", without: []string{"mounts", "landlock"}, try: func(w *world) error {
		return errors.Join(os.Link(w.Out+"/victim", w.Work+"/hard"), put(w.Work+"/hard", "x", os.O_WRONLY))
	}},
	{name: "a symbolic link to a file outside", without: writes, try: func(w *world) error {
		return errors.Join(os.Symlink("../out/victim", w.Work+"/soft"), put(w.Work+"/soft", "x", os.O_WRONLY))
	}},
	{name: "by /proc/self/root", without: writes, try: func(w *world) error { return put("/proc/self/root"+w.Out+"/victim", "x", os.O_WRONLY) }},
	{name: "by /proc/self/cwd", without: writes, try: func(w *world) error { return put("/proc/self/cwd/../out/victim", "x", os.O_WRONLY) }},
	{name: "up from the directory", without: writes, try: func(w *world) error { return put("../out/victim", "x", os.O_WRONLY) }},
	{name: "change a mode outside", without: []string{"tree"}, try: func(w *world) error { return os.Chmod(w.Out+"/victim", 0o777) }},
	{name: "change a mode by a descriptor", without: []string{"tree"}, try: func(w *world) error {
		f, err := os.Open(w.Out + "/victim")
		if err != nil {
			return err
		}
		defer f.Close()
		return f.Chmod(0o777)
	}},
	{name: "change a time outside", without: []string{"tree"}, try: func(w *world) error { return os.Chtimes(w.Out+"/victim", time.Unix(1, 0), time.Unix(1, 0)) }},
	{name: "set an attribute outside", without: []string{"tree"}, try: func(w *world) error { return unix.Setxattr(w.Out+"/victim", "user.x", []byte("x"), 0) }},
	{name: "change an owner outside", without: []string{"tree"}, try: func(w *world) error { return os.Chown(w.Out+"/victim", os.Getuid(), os.Getgid()) }},
	{name: "set a flag outside", without: []string{"tree"}, try: func(w *world) error {
		f, err := os.Open(w.Out + "/victim")
		if err != nil {
			return err
		}
		defer f.Close()
		const noDump = 0x40
		return unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, noDump|0x80000) // extents stay
	}},
	{name: "write to /sys", without: writes, root: true, try: func(*world) error {
		const file = "/sys/kernel/mm/transparent_hugepage/khugepaged/pages_to_scan"
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		return put(file, string(data), os.O_WRONLY)
	}},

	// what is protected in the middle of what is writable
	{name: "git's configuration", without: []string{"protected"}, try: func(w *world) error { return put(w.Work+"/.git/config", "x", os.O_WRONLY) }},
	{name: "git's configuration as git does it", without: []string{"protected"}, try: func(w *world) error {
		return errors.Join(put(w.Work+"/.git/config.lock", "x", os.O_CREATE|os.O_WRONLY), os.Rename(w.Work+"/.git/config.lock", w.Work+"/.git/config"))
	}},
	{name: "a hook", without: []string{"protected"}, try: func(w *world) error {
		return put(w.Work+"/.git/hooks/pre-commit", "x", os.O_CREATE|os.O_WRONLY)
	}},
	{name: "hooks moved away", without: []string{"protected"}, try: func(w *world) error { return os.Rename(w.Work+"/.git/hooks", w.Work+"/.git/old") }},
	{name: "the repository moved away", without: []string{"mounts"}, try: func(w *world) error { return os.Rename(w.Work+"/.git", w.Work+"/old") }},
	{name: "a protected file with another mode", without: []string{"protected"}, try: func(w *world) error { return os.Chmod(w.Work+"/settings.json", 0o666) }},
	{name: "a protected file replaced", without: []string{"protected"}, try: func(w *world) error { return os.Rename(w.Work+"/mine", w.Work+"/settings.json") }},
	{name: "a protected file removed", without: []string{"protected"}, try: func(w *world) error { return os.Remove(w.Work + "/settings.json") }},
	{name: "a protected file by a hard link", without: []string{"protected"}, try: func(w *world) error {
		return errors.Join(os.Link(w.Work+"/settings.json", w.Work+"/hard"), put(w.Work+"/hard", "x", os.O_WRONLY))
	}},

	// what cannot be read
	{name: "read what is denied", without: []string{"masks"}, try: func(w *world) error { return reads(w.Work + "/.env") }},
	{name: "read in a directory that is denied", without: []string{"masks"}, try: func(w *world) error { return reads(w.Work + "/keys/k") }},
	{name: "list a directory that is denied", without: []string{"masks"}, try: func(w *world) error { _, err := os.ReadDir(w.Work + "/keys"); return err }},
	{name: "run what is denied", without: []string{"masks"}, try: func(w *world) error { return exec.Command(w.Work + "/keys/tool").Run() }},
	{name: "read it by a hard link", without: []string{"masks"}, try: func(w *world) error {
		return errors.Join(os.Link(w.Work+"/.env", w.Work+"/hard"), reads(w.Work+"/hard"))
	}},
	{name: "read it by a symbolic link", without: []string{"masks"}, try: func(w *world) error {
		return errors.Join(os.Symlink(".env", w.Work+"/soft"), reads(w.Work+"/soft"))
	}},
	{name: "read it by another name", without: []string{"masks"}, try: func(w *world) error {
		return errors.Join(os.Rename(w.Work+"/.env", w.Work+"/env"), reads(w.Work+"/env"))
	}},
	{name: "read it when its directory has moved", without: []string{"masks"}, try: func(w *world) error {
		return errors.Join(os.Rename(w.Work+"/nest", w.Work+"/moved"), reads(w.Work+"/moved/secret"))
	}},
	{name: "read it by /proc/self/root", without: []string{"masks"}, try: func(w *world) error { return reads("/proc/self/root" + w.Work + "/.env") }},
	{name: "read it with another mode", without: []string{"masks"}, try: func(w *world) error {
		return errors.Join(os.Chmod(w.Work+"/.env", 0o644), reads(w.Work+"/.env"))
	}},
	{name: "read it by a descriptor of its path", without: []string{"masks"}, try: func(w *world) error {
		fd, err := unix.Open(w.Work+"/.env", unix.O_PATH, 0)
		if err != nil {
			return err
		}
		return reads(fmt.Sprintf("/proc/self/fd/%d", fd))
	}},
	{name: "read it by its handle", without: []string{"seccomp", "capabilities", "users"}, root: true, try: func(w *world) error {
		at, err := unix.Open(w.Work, unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		fd, err := unix.OpenByHandleAt(at, unix.NewFileHandle(w.HandleType, w.Handle), unix.O_RDONLY)
		if err != nil {
			return err
		}
		return reads(fmt.Sprintf("/proc/self/fd/%d", fd))
	}},
	{name: "watch what is denied", without: []string{"masks"}, try: func(w *world) error {
		fd, err := unix.InotifyInit1(0)
		if err != nil {
			return err
		}
		_, err = unix.InotifyAddWatch(fd, w.Work+"/.env", unix.IN_OPEN)
		return err
	}},
	{name: "remove it", without: []string{"masks"}, try: func(w *world) error { return os.Remove(w.Work + "/.env") }},
	{name: "read a login", without: []string{"masks"}, try: func(w *world) error { return reads(w.Home + "/.npmrc") }},
	{name: "read a key", without: []string{"masks"}, try: func(w *world) error { return reads(w.Home + "/.ssh/id") }},
	{name: "take a mask away", without: rights, try: func(w *world) error {
		return errors.Join(unix.Unmount(w.Work+"/.env", unix.MNT_DETACH), reads(w.Work+"/.env"))
	}},
	{name: "make the tree writable", without: rights, try: func(w *world) error {
		return errors.Join(unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND, ""), put(w.Out+"/victim", "x", os.O_WRONLY))
	}},
	{name: "make a part of it writable", without: rights, try: func(w *world) error {
		fd, err := unix.OpenTree(unix.AT_FDCWD, w.Out, unix.OPEN_TREE_CLONE|unix.AT_RECURSIVE)
		if err != nil {
			return err
		}
		if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}); err != nil {
			return err
		}
		return opened(unix.Openat(fd, "new", unix.O_CREAT|unix.O_WRONLY, 0o600))
	}},

	{name: "read a secret whose name is not UTF-8", without: []string{"masks"}, try: func(w *world) error { return reads(w.unreadable()) }},

	// devices
	{name: "a device outside of /dev", without: []string{"devices", "masks"}, root: true, try: func(w *world) error {
		fd, err := unix.Open(w.Out+"/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		return unix.Close(fd)
	}},
	{name: "write to another terminal", without: []string{"devices", "masks", "landlock"}, try: func(w *world) error {
		return put(w.Pts, "x", os.O_WRONLY|unix.O_NOCTTY)
	}},
	{name: "read the shared memory of others", without: []string{"devices", "masks"}, try: func(w *world) error { return reads(w.Shm) }},
	{name: "type into a terminal", without: []string{"seccomp"}, try: func(*world) error {
		master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
		if err != nil {
			return err
		}
		n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
		if err != nil {
			return err
		}
		if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
			return err
		}
		if _, err := unix.Setsid(); err != nil {
			return err
		}
		slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR, 0)
		if err != nil {
			return err
		}
		x := byte('x')
		return does(call(unix.SYS_IOCTL, slave.Fd(), unix.TIOCSTI, uintptr(unsafe.Pointer(&x))))
	}},

	{name: "make a device", without: []string{"capabilities", "users", "mounts", "landlock"}, root: true, try: func(w *world) error {
		const null = 1<<8 | 3
		if err := unix.Mknod(w.Work+"/null", unix.S_IFCHR|0o600, null); err != nil {
			return err
		}
		return opened(unix.Open(w.Work+"/null", unix.O_RDONLY, 0))
	}},
	{name: "write to the log of the kernel", without: []string{"devices", "masks", "landlock"}, root: true, try: func(*world) error {
		return put("/dev/kmsg", "agent-wrapper: a test of the sandbox\n", os.O_WRONLY)
	}},

	// processes
	{name: "signal a process outside", without: []string{"pid", "processes", "landlock"}, try: func(w *world) error { return unix.Kill(w.PID, unix.SIGCONT) }},
	{name: "trace a process outside", without: others, root: true, try: func(w *world) error { return ptraced(w.PID) }},
	{name: "read the memory of a process outside", without: others, root: true, try: func(w *world) error {
		return opened(unix.Open(fmt.Sprintf("/proc/%d/mem", w.PID), unix.O_RDONLY, 0))
	}},
	{name: "read the environment of a process outside", without: others, root: true, try: func(w *world) error {
		return reads(fmt.Sprintf("/proc/%d/environ", w.PID))
	}},
	{name: "read the memory of a process outside by a call", without: others, root: true, try: func(w *world) error {
		maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", w.PID))
		if err != nil {
			return err
		}
		var at uintptr
		if _, err := fmt.Sscanf(string(maps), "%x-", &at); err != nil {
			return err
		}
		data := make([]byte, 16)
		_, err = unix.ProcessVMReadv(w.PID, []unix.Iovec{{Base: &data[0], Len: 16}}, []unix.RemoteIovec{{Base: at, Len: 16}}, 0)
		return err
	}},
	{name: "take a descriptor of a process outside", without: append([]string{"seccomp"}, others...), root: true, try: func(w *world) error {
		process, err := unix.PidfdOpen(w.PID, 0)
		if err != nil {
			return err
		}
		return opened(unix.PidfdGetfd(process, 1, 0))
	}},
	{name: "look into the first process", without: []string{"first"}, try: func(*world) error {
		_, err := os.Readlink("/proc/1/fd/3")
		return err
	}},
	{name: "trace the first process", without: []string{"first"}, try: func(*world) error { return ptraced(1) }},
	{name: "become another user by a program", without: []string{"privileges", "mounts", "users", "landlock"}, root: true, try: func(w *world) error {
		out, err := exec.Command(w.Work+"/id", "-u").Output()
		if err == nil && strings.TrimSpace(string(out)) != "1234" {
			return fmt.Errorf("the user is %s", out)
		}
		return err
	}},
	{name: "leave the control group", without: writes, root: true, try: func(*world) error {
		groups, _ := filepath.Glob("/sys/fs/cgroup/pids/cgroup.procs")
		more, _ := filepath.Glob("/sys/fs/cgroup/cgroup.procs")
		if groups = append(groups, more...); len(groups) == 0 {
			return errors.New("there is none")
		}
		return put(groups[0], "0", os.O_WRONLY)
	}},
	{name: "by the root of a process outside", without: others, root: true, try: func(w *world) error {
		return put(fmt.Sprintf("/proc/%d/root%s/victim", w.PID, w.Out), "x", os.O_WRONLY)
	}},
	{name: "by the directory of a process outside", without: others, root: true, try: func(w *world) error {
		return put(fmt.Sprintf("/proc/%d/cwd/victim", w.PID), "x", os.O_WRONLY)
	}},
	{name: "see the processes outside", without: []string{"processes"}, try: func(w *world) error {
		_, err := os.Stat(fmt.Sprintf("/proc/%d/comm", w.PID))
		return err
	}},
	{name: "change the kernel's settings", without: []string{"processes", "tree", "landlock"}, root: true, try: func(*world) error {
		const file = "/proc/sys/kernel/core_pattern"
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		return put(file, string(data), os.O_WRONLY)
	}},
	{name: "shared memory of System V", without: []string{"ipc"}, try: func(w *world) error {
		data, err := unix.SysvShmAttach(w.SysV, 0, unix.SHM_RDONLY)
		if err == nil && !strings.HasPrefix(string(data), marker) {
			return errors.New("it is another one")
		}
		return err
	}},
	{name: "a queue of System V", without: []string{"ipc"}, try: func(w *world) error {
		message := struct {
			kind int64
			text [8]byte
		}{1, [8]byte{}}
		return does(call(unix.SYS_MSGSND, uintptr(w.Queue), uintptr(unsafe.Pointer(&message)), 8, unix.IPC_NOWAIT))
	}},

	// the network, and services
	{name: "a service on loopback", without: []string{"net", "network"}, try: func(w *world) error { return connects("tcp4", w.TCP) }},
	{name: "a service on loopback by IPv6", without: []string{"net", "network"}, try: func(w *world) error { return connects("tcp6", w.TCP6) }},
	{name: "a service by UDP", without: []string{"net", "network"}, try: func(w *world) error { return connects("udp4", w.UDP) }},
	{name: "an abstract socket", without: []string{"net", "network", "landlock"}, try: func(w *world) error { return connects("unix", w.Abstract) }},
	{name: "the interfaces of the machine", without: []string{"net", "network"}, try: func(*world) error {
		all, err := net.Interfaces()
		if err == nil && len(all) < 2 {
			return errors.New("there is only loopback")
		}
		return err
	}},
	{name: "the socket of a service", without: []string{"masks"}, try: func(w *world) error { return connects("unix", w.Service) }},
	{name: "a socket in /run", without: []string{"services"}, root: true, try: func(w *world) error { return connects("unix", w.Run) }},
	{name: "change the network", without: []string{"capabilities"}, try: func(*world) error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
		if err != nil {
			return err
		}
		req, err := unix.NewIfreq("lo")
		if err != nil {
			return err
		}
		req.SetUint16(0)
		return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req)
	}},
	{name: "packets past the network", without: []string{"seccomp", "capabilities"}, root: true, try: func(*world) error {
		return opened(unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0))
	}},

	// the kernel
	{name: "sockets of the hypervisor", without: []string{"seccomp"}, try: func(*world) error { return opened(unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)) }},
	{name: "rings past the filter", without: []string{"seccomp"}, try: func(*world) error {
		var params [120]byte
		return does(call(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params))))
	}},
	{name: "a namespace of users by unshare", without: []string{"seccomp"}, try: func(*world) error {
		cmd := exec.Command("unshare", "-U", "true")
		return cmd.Run()
	}},
	{name: "a namespace of users by clone", without: []string{"seccomp"}, try: func(*world) error {
		cmd := exec.Command("true")
		cmd.SysProcAttr = &unix.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
		return cmd.Run()
	}},
	{name: "a process by clone3", without: []string{"seccomp"}, try: func(*world) error {
		_, err := call(unix.SYS_CLONE3, 0, 0) // a size of 0 is refused otherwise
		if errors.Is(err, unix.EINVAL) {
			return nil
		}
		return err
	}},
	{name: "the keys of the user", without: []string{"seccomp"}, try: func(*world) error {
		return does(call(unix.SYS_KEYCTL, unix.KEYCTL_GET_KEYRING_ID, ^uintptr(2), 1)) // KEY_SPEC_SESSION_KEYRING
	}},
	{name: "the name of the machine", without: []string{"seccomp", "capabilities", "users"}, root: true, try: func(*world) error {
		name, err := os.Hostname()
		if err != nil {
			return err
		}
		return unix.Sethostname([]byte(name))
	}},
	{name: "programs in the kernel", without: []string{"seccomp", "capabilities", "users"}, root: true, try: func(*world) error {
		attr := struct{ kind, key, value, entries uint32 }{2, 4, 4, 1} // an array
		fd, err := call(unix.SYS_BPF, unix.BPF_MAP_CREATE, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
		return opened(int(fd), err)
	}},
	{name: "events of the machine", without: []string{"seccomp", "capabilities", "users"}, root: true, try: func(*world) error {
		return opened(unix.PerfEventOpen(&unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Config: unix.PERF_COUNT_SW_CPU_CLOCK}, 0, -1, -1, 0))
	}},
	{name: "events of files", without: []string{"seccomp"}, try: func(*world) error {
		return opened(unix.FanotifyInit(unix.FAN_CLASS_NOTIF|unix.FAN_REPORT_FID, 0))
	}},
	{name: "the log of the kernel", without: []string{"seccomp", "capabilities", "users"}, root: true, try: func(*world) error {
		_, err := unix.Klogctl(unix.SYSLOG_ACTION_SIZE_BUFFER, nil)
		return err
	}},
	{name: "faults handled by a program", without: []string{"seccomp"}, try: func(*world) error {
		return does(call(unix.SYS_USERFAULTFD, 1)) // UFFD_USER_MODE_ONLY
	}},

	// what is inherited
	{name: "a directory that is open", without: []string{"descriptors", "landlock"}, try: func(w *world) error {
		return opened(unix.Openat(w.DirFD, "new", unix.O_CREAT|unix.O_WRONLY, 0o600))
	}},
	{name: "a file that is open for writing", without: []string{"descriptors"}, try: func(w *world) error { return does(call(unix.SYS_FTRUNCATE, uintptr(w.WriteFD), 0)) }},
	{name: "a file that is open for reading", without: []string{"descriptors"}, try: func(w *world) error {
		data := make([]byte, len(marker))
		n, err := unix.Pread(w.ReadFD, data, 0)
		if err == nil && string(data[:n]) != marker {
			return fmt.Errorf("%q", data[:n])
		}
		return err
	}},
	{name: "a directory as the input", without: []string{"descriptors", "landlock"}, stdin: func(w *world) string { return w.Out }, try: func(*world) error {
		return opened(unix.Openat(0, "new", unix.O_CREAT|unix.O_WRONLY, 0o600))
	}},
	{name: "another mode of the input", without: []string{"streams"}, stdin: func(w *world) string { return w.Out + "/readable" }, try: func(*world) error { return unix.Fchmod(0, 0o777) }},
	{name: "another mode of the input's device", without: []string{"streams"}, root: true, stdin: func(w *world) string { return w.Out + "/null" }, try: func(*world) error { return unix.Fchmod(0, 0o600) }},
	{name: "the input opened again for writing", without: []string{"landlock", "streams"}, stdin: func(w *world) string { return w.Out + "/victim" }, try: func(*world) error {
		return put("/proc/self/fd/0", "x", os.O_WRONLY)
	}},

	// limits
	{name: "more memory", without: []string{"limits"}, try: func(*world) error {
		_, err := unix.Mmap(-1, 0, 5<<30, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
		return err
	}},
	{name: "a core file", without: []string{"limits"}, try: func(*world) error {
		var now unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_CORE, &now); err != nil || now.Max == 1 {
			return fmt.Errorf("at most %d bytes: %v", now.Max, err)
		}
		return nil
	}},
	{name: "more processes", without: []string{"limits"}, user: true, try: func(*world) error {
		for range 400 {
			cmd := exec.Command("sleep", "100")
			if err := cmd.Start(); err != nil {
				return err
			}
		}
		return nil
	}},
}

// TestEscapes: each way out is held, and is a way out without the layers that hold it.
func TestEscapes(t *testing.T) {
	held := 0
	for i := range escapes {
		e := &escapes[i]
		if root := os.Getuid() == 0 && os.Getenv(nestedEnv) == ""; e.root && !root || e.user && os.Getuid() == 0 {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			if out, said := attack(t, e, nil); out {
				t.Fatalf("it gets out of the sandbox: %s", said)
			}
			if out, said := attackInRoom(t, e); out {
				t.Fatalf("it gets out of the sandbox in a room: %s", said)
			}
			if out, said := attack(t, e, e.without); !out {
				t.Fatalf("it does not get out without %v either, so it shows nothing: %s", e.without, said)
			}
			held++
		})
	}
	t.Logf("%d escapes are held, each of which succeeds without its layers", held)
	if held < 60 {
		t.Errorf("only %d escapes are tried", held)
	}
}

// nestedEnv says that root is only called so.
const nestedEnv = "AW_WALLS_NESTED"

// forOthers returns a copy of this test that others can start.
func forOthers(t *testing.T) string {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "escapes")
	data, err := os.ReadFile("/proc/self/exe")
	must(t, err)
	must(t, os.WriteFile(exe, data, 0o755))
	for dir := filepath.Dir(exe); dir != "/tmp" && dir != "/"; dir = filepath.Dir(dir) {
		must(t, os.Chmod(dir, 0o755))
	}
	return exe
}

// TestBounded: a user who is held to lower limits than those of the sandbox has a sandbox, with
// these lower limits.
func TestBounded(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can become somebody else")
	}
	core := "--core=0:0"
	if pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern"); err != nil || strings.HasPrefix(string(pattern), "|") {
		core = "--core=1:1" // a program handles core files here, which a limit of 0 does not prevent
	}
	cmd := exec.CommandContext(t.Context(), "prlimit", core, "--data=3000000000:3000000000", "--nproc=250:250",
		"setpriv", "--reuid=64998", "--regid=64998", "--clear-groups", "--inh-caps=-all", forOthers(t), "-test.run=^TestProbe$")
	cmd.Dir = "/tmp"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestEscapesOfOthers tries them as an ordinary user, and in the long form (AW_LONG) in a
// namespace of users and with capabilities that are inherited.
func TestEscapesOfOthers(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can become somebody else")
	}
	exe := forOthers(t)
	const some = "+sys_admin,+net_admin,+dac_override,+sys_ptrace,+sys_chroot"
	all := []struct {
		name  string
		start []string
	}{
		{"an ordinary user", []string{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"}},
		{"a namespace of users", []string{"unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc", "env", nestedEnv + "=1"}},
		{"inherited capabilities", []string{"setpriv", "--inh-caps=" + some, "--ambient-caps=" + some}},
	}
	if os.Getenv("AW_LONG") == "" {
		all = all[:1]
	}
	for _, who := range all {
		t.Run(who.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), who.start[0], append(who.start[1:], exe, "-test.run=^TestEscapes$", "-test.v")...)
			cmd.Dir = "/tmp"
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			for line := range strings.Lines(string(out)) {
				if strings.Contains(line, "escapes are held") {
					t.Log(strings.TrimSpace(line))
				}
			}
		})
	}
}
