//go:build amd64 || arm64

package inside

import (
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
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
