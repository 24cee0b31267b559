//go:build amd64 || arm64

package inside

import (
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestNoNamespaces: what the kernel says about namespaces that there are none of is said
// in words that name the setting, once.
func TestNoNamespaces(t *testing.T) {
	for err, want := range map[error]string{
		syscall.ENOSPC: "user.max_user_namespaces",
		&os.PathError{Op: "fork/exec", Path: "/x", Err: syscall.ENOSPC}: "user.max_user_namespaces",
		syscall.EPERM: "operation not permitted: user namespaces are forbidden",
		&os.PathError{Op: "fork/exec", Path: "/x", Err: syscall.EPERM}:  "kernel.apparmor_restrict_unprivileged_userns",
		&os.PathError{Op: "fork/exec", Path: "/x", Err: syscall.EACCES}: "fork/exec /x: permission denied",
		io.EOF: "EOF",
	} {
		for _, got := range []string{NoNamespaces(err).Error(), (&missing{namespaces, err}).Error()} {
			if !strings.Contains(got, want) || strings.Contains(got, "no space") || strings.Count(got, "not permitted") > 1 {
				t.Errorf("%v: %s", err, got)
			}
		}
	}
	if got := (&missing{processes, syscall.EPERM}).Error(); got != "operation not permitted" {
		t.Errorf("another layer: %s", got)
	}
}

// TestScarce: what commands that run beside can use up is no property of the machine, and is
// not said to be one.
func TestScarce(t *testing.T) {
	for of, want := range map[error]bool{
		unix.EAGAIN: true, unix.ENOMEM: true, unix.EMFILE: true, unix.ENFILE: true, unix.ENOBUFS: true, unix.EINTR: true, unix.ETXTBSY: true, unix.ETOOMANYREFS: true, errKilled: true,
		unix.EPERM: false, unix.EACCES: false, unix.ENOSYS: false, unix.EINVAL: false, unix.EOPNOTSUPP: false, unix.ENOENT: false, unix.ENODEV: false,
	} {
		err := fmt.Errorf("make it: %w", of)
		if Scarce(err) != want {
			t.Errorf("%v: %v", of, !want)
		}
		ends, socketErr := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET, 0)
		if socketErr != nil {
			t.Fatal(socketErr)
		}
		if err := (&line{fd: ends[0]}).failed(&missing{masks, err}); err != nil {
			t.Fatal(err)
		}
		said, ok := Hear(ends[1])
		if word := map[bool]string{true: "failed", false: "missing"}[want]; !ok || said.Word != word || !strings.Contains(said.Why, of.Error()) {
			t.Errorf("%v: %+v", of, said)
		}
		unix.Close(ends[0])
		unix.Close(ends[1])
	}
}
