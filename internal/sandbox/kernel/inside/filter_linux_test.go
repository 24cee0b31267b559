//go:build amd64 || arm64

package inside

import (
	"encoding/binary"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// TestFilter runs the filter as the kernel does, on calls that programs need and on those
// that they do not.
func TestFilter(t *testing.T) {
	vm, err := bpf.NewVM(filter())
	if err != nil {
		t.Fatal(err)
	}
	const allow, eperm, enosys, family = unix.SECCOMP_RET_ALLOW, unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM), unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS), unix.SECCOMP_RET_ERRNO | uint32(unix.EAFNOSUPPORT)
	type test struct {
		name string
		arch uint32
		nr   uint32
		args [2]uint32
		want uint32
	}
	tests := []test{
		{"read", arch, unix.SYS_READ, [2]uint32{}, allow},
		{"openat", arch, unix.SYS_OPENAT, [2]uint32{}, allow},
		{"fork", arch, unix.SYS_CLONE, [2]uint32{uint32(unix.SIGCHLD)}, allow},
		{"thread", arch, unix.SYS_CLONE, [2]uint32{unix.CLONE_VM | unix.CLONE_THREAD | unix.CLONE_FS}, allow},
		{"user namespace", arch, unix.SYS_CLONE, [2]uint32{unix.CLONE_NEWUSER | uint32(unix.SIGCHLD)}, eperm},
		{"unshare of files", arch, unix.SYS_UNSHARE, [2]uint32{unix.CLONE_FILES}, allow},
		{"time namespace", arch, unix.SYS_UNSHARE, [2]uint32{unix.CLONE_NEWTIME}, eperm},
		{"window size", arch, unix.SYS_IOCTL, [2]uint32{0, unix.TIOCGWINSZ}, allow},
		{"typing", arch, unix.SYS_IOCTL, [2]uint32{0, unix.TIOCSTI}, eperm},
		{"pasting", arch, unix.SYS_IOCTL, [2]uint32{0, unix.TIOCLINUX}, eperm},
		{"unix socket", arch, unix.SYS_SOCKET, [2]uint32{unix.AF_UNIX}, allow},
		{"inet6 socket", arch, unix.SYS_SOCKET, [2]uint32{unix.AF_INET6}, allow},
		{"netlink socket", arch, unix.SYS_SOCKET, [2]uint32{unix.AF_NETLINK}, allow},
		{"two of vsock", arch, unix.SYS_SOCKETPAIR, [2]uint32{unix.AF_VSOCK}, family},
		{"vsock", arch, unix.SYS_SOCKET, [2]uint32{unix.AF_VSOCK}, family},
		{"ciphers", arch, unix.SYS_SOCKET, [2]uint32{unix.AF_ALG}, family},
		{"packets", arch, unix.SYS_SOCKET, [2]uint32{unix.AF_PACKET}, family},
		{"another machine", unix.AUDIT_ARCH_I386, unix.SYS_READ, [2]uint32{}, enosys},
		{"open_tree_attr", arch, 467, [2]uint32{}, enosys},
		{"file_setattr", arch, 469, [2]uint32{}, enosys},
		{"what is not known yet", arch, 999, [2]uint32{}, enosys},
		{"removexattrat", arch, 466, [2]uint32{}, allow},
		{"x32", arch, 0x40000000, [2]uint32{}, enosys},
	}
	for _, nr := range refused {
		tests = append(tests, test{"refused", arch, nr, [2]uint32{}, eperm})
	}
	for _, nr := range absent {
		tests = append(tests, test{"absent", arch, nr, [2]uint32{}, enosys})
	}
	for _, tt := range tests {
		data := make([]byte, 64)
		put := func(at int, value uint32) { binary.BigEndian.PutUint32(data[at:], value) } // as the machine of the test has it
		put(numberAt, tt.nr)
		put(archAt, tt.arch)
		put(argsAt, tt.args[0])
		put(argsAt+8, tt.args[1])
		if got, err := vm.Run(data); err != nil || uint32(got) != tt.want {
			t.Errorf("%s (%d): %#x, %v, want %#x", tt.name, tt.nr, got, err, tt.want)
		}
	}
}
