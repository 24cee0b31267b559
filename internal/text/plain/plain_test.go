package plain

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// What libraries say is put into words wherever it stands in the chain, and nothing else
// is changed.
func TestText(t *testing.T) {
	t.Parallel()
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	for _, tt := range []struct {
		err  error
		want string
	}{
		{errors.New("rule 3: dial tcp"), "rule 3: dial tcp"},
		{fmt.Errorf("the log: %w", &fs.PathError{Op: "open", Path: "a/b", Err: syscall.ENOENT}), "the log: there is no file or directory a/b"},
		{&fs.PathError{Op: "open", Path: "a", Err: syscall.EACCES}, "you have no permission to use a"},
		{&fs.PathError{Op: "read", Path: "a", Err: syscall.EISDIR}, "a is a directory"},
		{&fs.PathError{Op: "open", Path: "a/b", Err: syscall.ENOTDIR}, "a part of a/b is not a directory"},
		{&fs.PathError{Op: "open", Path: "a", Err: syscall.ELOOP}, "a is a symbolic link that leads nowhere"},
		{&fs.PathError{Op: "write", Path: "a", Err: syscall.ENOSPC}, "the disk is full: a"},
		{&fs.PathError{Op: "read", Path: "a", Err: syscall.EIO}, "a: input/output error"},
		{&os.LinkError{Op: "rename", Old: "a", New: "b", Err: syscall.EACCES}, "you have no permission to use b"},
		{&exec.Error{Name: "claude", Err: exec.ErrNotFound}, "there is no program claude on PATH: install it, or name another"},
		{&exec.Error{Name: "./a", Err: fs.ErrNotExist}, "there is no program ./a"},
		{&fs.PathError{Op: "fork/exec", Path: "/a", Err: syscall.ENOEXEC}, "/a is not a program that this machine can run: name another"},
		{&exec.Error{Name: "a", Err: &fs.PathError{Op: "fork/exec", Path: "/a", Err: syscall.EACCES}}, "a is not executable: make it so (chmod +x), or name another program"},
		{&exec.Error{Name: "a", Err: syscall.EAGAIN}, "a cannot be started: resource temporarily unavailable"},
		{fmt.Errorf("the service: %w", &url.Error{Op: "Get", URL: "http://a", Err: refused}), "the service: nothing listens there: start it, or give another address"},
		{&net.OpError{Op: "listen", Err: syscall.EADDRINUSE}, "something listens there already: give another port"},
		{&net.OpError{Op: "listen", Err: syscall.EADDRNOTAVAIL}, "that is not an address of this machine: give one that is"},
		{&net.OpError{Op: "dial", Err: &net.DNSError{Name: "a.example", Err: "no such host"}}, "there is no host a.example: check its name"},
		{&net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}, "there was no answer in time"},
		{&net.OpError{Op: "dial", Err: errors.New("odd")}, "the connection failed: odd"},
		{errors.Join(errors.New("first"), context.DeadlineExceeded), "first\nthere was no answer in time"},
		{&net.AddrError{Err: "missing port in address", Addr: "a"}, "write HOST:PORT, such as 127.0.0.1:7717, with a port from 0 to 65535"},
	} {
		if got := Text(tt.err); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.err, got, tt.want)
		}
	}
}
