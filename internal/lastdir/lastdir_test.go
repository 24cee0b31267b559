//go:build unix

package lastdir

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestRead: only what a shell writes is read, whatever else stands in its place.
func TestRead(t *testing.T) {
	work := t.TempDir()
	odd := filepath.Join(work, "a b\xff\xfe")
	secret := filepath.Join(work, "secret")
	lines := filepath.Join(work, "x\ny")
	for _, dir := range []string{odd, lines, work + "\n"} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
	}
	if err := os.WriteFile(secret, []byte(work+"\n"), 0o600); err != nil { // which would be taken
		t.Fatal(err)
	}
	text := func(s string) func(string) error {
		return func(at string) error { return os.WriteFile(at, []byte(s), 0o600) }
	}
	for _, x := range []struct {
		name string
		put  func(at string) error
		want string // "" is an error
	}{
		{"a path", text(work + "\n"), work},
		{"not UTF-8", text(odd + "\n"), odd},
		{"not clean", text(work + "/./\n"), work},
		{"the root", text("/\n"), "/"},
		{"nothing", func(string) error { return nil }, ""},
		{"an empty file", text(""), ""},
		{"a newline alone", text("\n"), ""},
		{"no newline at the end", text(work), ""},
		{"a newline in its name", text(lines + "\n"), lines},
		{"two lines", text(work + "\n" + work + "\n"), ""},
		{"a newline at the end of its name", text(work + "\n\n"), ""},
		{"a NUL", text(work + "\x00\n"), ""},
		{"a relative path", text(".\n"), ""},
		{"a directory that is not there", text(work + "/none\n"), ""},
		{"a file", text(secret + "\n"), ""},
		{"something long", text("/" + strings.Repeat("./", maxText) + "\n"), ""},
		{"a hole of 1 TiB", func(at string) error { return errors.Join(text(work+"\n")(at), os.Truncate(at, 1<<40)) }, ""},
		{"a link out", func(at string) error { return os.Symlink(secret, at) }, ""},
		{"a link to what is beside it", func(at string) error {
			return errors.Join(os.Symlink("beside", at), text(work+"\n")(filepath.Join(filepath.Dir(at), "beside")))
		}, ""},
		{"a link that leads nowhere", func(at string) error { return os.Symlink("none", at) }, ""},
		{"a further name of a secret", func(at string) error { return os.Link(secret, at) }, ""},
		{"a pipe", func(at string) error { return syscall.Mkfifo(at, 0o600) }, ""},
		{"a directory", func(at string) error { return os.Mkdir(at, 0o700) }, ""},
		{"a socket", func(at string) error {
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: at, Net: "unix"})
			if err == nil {
				l.SetUnlinkOnClose(false)
				err = l.Close()
			}
			return err
		}, ""},
		{"what cannot be read", func(at string) error { return errors.Join(text("\n")(at), os.Chmod(at, 0)) }, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			dir, err := os.MkdirTemp("", "lastdir") // a socket's path is short
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir)
			root, err := os.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			if err := x.put(filepath.Join(dir, "last")); err != nil {
				t.Fatal(err)
			}
			got, err := Read(root, "last")
			if got != x.want || (err == nil) != (x.want != "") || errors.Is(err, fs.ErrNotExist) != (x.name == "nothing") {
				t.Errorf("%q, %v; want %q", got, err, x.want)
			}
		})
	}
}

// TestReplaced: the directory that was opened is read, whatever has its name by then, and a
// pipe that takes the place of the file after it was looked at is not waited for.
func TestReplaced(t *testing.T) {
	work := t.TempDir()
	dir, other := filepath.Join(work, "dir"), filepath.Join(work, "other")
	for _, one := range []string{dir, other} {
		if err := os.Mkdir(one, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := errors.Join(root.WriteFile("last", []byte(work+"\n"), 0o600), os.WriteFile(filepath.Join(other, "last"), []byte("/\n"), 0o600),
		os.Rename(dir, dir+"-moved"), os.Symlink(other, dir)); err != nil {
		t.Fatal(err)
	}
	if got, err := Read(root, "last"); got != work || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir+"-moved", "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := root.OpenFile("pipe", os.O_RDONLY|unblocked, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}
