package workspace

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/sandbox"
	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
	"github.com/agent-wrapper/agent-wrapper/internal/text/subpath"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// asUser calls do on a thread of an ordinary user, to whom what is below a directory belongs.
func asUser(t *testing.T, dir string, do func()) {
	t.Helper()
	if os.Getuid() != 0 {
		do()
		return
	}
	const nobody = 65534
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(dir, func(name string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(name, nobody, nobody)
	})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread exits with its identity
		for _, call := range []uintptr{syscall.SYS_SETFSGID, syscall.SYS_SETFSUID} {
			if _, _, err := syscall.RawSyscall(call, nobody, 0, 0); err != 0 {
				t.Error(err)
			}
		}
		do()
	}()
	<-done
}

// plan makes a plan of the sandbox for a directory, without rules.
func plan(t *testing.T, dir string) (*sandbox.Plan, error) {
	place := patterns.Place{Workspace: dir}
	p := &permission.Policy{Place: place, SensitiveAsks: true, Deny: patterns.NewSet(place), Allow: patterns.NewSet(place)}
	return new(sandbox.Planner).Make(p, nil, &sandbox.Machine{Settings: gitFiles}, NewGlance(Tree{Env{Place: place}}, new(Memory)))
}

// TestHidden: of what an ordinary user has shut by its mode, the plan has what can be opened
// again by him, by a path that can be named.
func TestHidden(t *testing.T) {
	slow.Test(t)
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"shut/.env", "shut/sub/x.pem", "shut/.git/HEAD", "shut/.git/hooks/x", "other/x"} {
		lay(t, filepath.Join(root, name), "x")
	}
	lay(t, filepath.Join(root, "shut/.git/config"), "[core]\n")
	names := []string{"", "shut", "shut/.env", "shut/none", "shut/sub", "shut/sub/x.pem", "shut/sub/none", "shut/none/x", "other/x", "other/none", "other/x/y", strings.Repeat("n", 255), strings.Repeat("n", 256), "other/" + strings.Repeat("n", 256) + "/x", strings.Repeat("d/", 2050) + "x"}
	asUser(t, root, func() {
		for _, at := range []string{"shut", "shut/sub", "shut/.git", "shut/.git/hooks"} {
			for mode := os.FileMode(0); mode <= 0o700; mode += 0o100 {
				if err := os.Chmod(filepath.Join(root, at), mode); err != nil {
					t.Error(err)
					return
				}
				agree(t, root, names, mode)
				p, err := plan(t, root)
				for _, secret := range []string{"shut/.env", "shut/sub/x.pem"} {
					if err != nil || !withheld(p.Denied, filepath.Join(root, secret)) {
						t.Errorf("%s with mode %o: %s can be read: %v", at, mode, secret, err)
					}
				}
				if hook := filepath.Join(root, "shut/.git/hooks/x"); err != nil || !withheld(p.ReadOnly, hook) && !withheld(p.Denied, hook) {
					t.Errorf("%s with mode %o: hooks can be written", at, mode)
				}
				for _, one := range append(append(p.Writable, p.ReadOnly...), p.Denied...) {
					if _, err := os.Lstat(one.Path); err != nil {
						t.Errorf("%s with mode %o: %v", at, mode, err)
					}
				}
			}
			if err := os.Chmod(filepath.Join(root, at), 0o700); err != nil {
				t.Error(err)
			}
		}
		if err := os.Chmod(root, 0); err != nil {
			t.Error(err)
		}
		if _, err := plan(t, root); err == nil {
			t.Error("there is a plan for a workspace that cannot be listed")
		}
		if err := os.Chmod(root, 0o700); err != nil {
			t.Error(err)
		}
	})
}

// withheld reports whether a path is one of a list or below it.
func withheld(list []sandbox.Path, name string) bool {
	for _, p := range list {
		if name == p.Path || subpath.BelowFold(name, p.Path) {
			return true
		}
	}
	return false
}

// TestDeep: directories that are nested deeper than a path can name do not keep a plan from
// being made, and are withheld with the last one that can be named.
func TestDeep(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := root
	fd, err := syscall.Open(root, syscall.O_DIRECTORY|syscall.O_RDONLY, 0)
	for i := 0; err == nil && i < 30; i++ {
		name := fmt.Sprintf("%0200d", i)
		at = path.Join(at, name)
		if err = syscall.Mkdirat(fd, name, 0o700); err == nil {
			above := fd
			fd, err = syscall.Openat(above, name, syscall.O_DIRECTORY|syscall.O_RDONLY, 0)
			syscall.Close(above)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	secret, err := syscall.Openat(fd, ".env", syscall.O_CREAT|syscall.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	syscall.Close(secret)
	syscall.Close(fd)
	p, err := plan(t, root)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Denied) != 1 || !withheld(p.Denied, path.Join(at, ".env")) || len(p.Denied[0].Path) < sandbox.MaxPath-2*201 {
		t.Errorf("withheld are %v", p.Denied)
	}
}
