package process

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestOpenDir: a directory is opened by its own path only, and of a path no part is a
// link.
func TestOpenDir(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(root, name) }
	err = errors.Join(os.MkdirAll(in("a/b"), 0o700), os.Symlink(in("a/b"), in("last")), os.Symlink("a", in("way")), os.WriteFile(in("file"), nil, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{in("last"), in("way/b"), in("file"), in("none"), "a/b", ""} {
		if d, err := OpenDir(name); err == nil {
			t.Errorf("%q is opened", name)
			d.Close()
		}
	}
	for _, name := range []string{in("a/b"), root, "/"} {
		d, err := OpenDir(name)
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		one, err1 := os.Stat(d.Path())
		two, err2 := os.Stat(name)
		if err1 != nil || err2 != nil || !os.SameFile(one, two) {
			t.Errorf("%q: %v, %v, %v, %v", name, one, two, err1, err2)
		}
		d.Close()
	}
}
