package workspace

import (
	"os"
	"path/filepath"
	"testing"
)

// TestGlance: a glance says of every name what a look at it says, in whatever order they
// are asked for.
func TestGlance(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"dir/sub", "shut"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"file", "File", "dir/a", "dir/é", "dir/sub/b", "shut/c"} {
		if err := os.WriteFile(filepath.Join(root, file), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"link": "dir", "dir/out": "../file", "dir/gone": "nowhere", "ring": "ring", "dir/sub/up": "../../link"} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	names := []string{
		"", "file", "File", "FILE", "none", "dir", "dir/a", "dir/A", "dir/É", "dir/é", "dir/ſ", "dir/none", "dir/sub", "dir/sub/b", "dir/sub/none/x", "dir/sub/none/y", "dir/sub/none/z", "file/x", "file/y", "file/z",
		"link", "link/a", "link/none", "link/sub/b", "link/sub/up/a", "dir/out", "dir/gone", "dir/gone/x", "dir/gone/y", "ring", "ring/x", "ring/y", "shut/c", "shut/d", "shut/e", "none/x", "none/y/z", "none/y/w", "dir/../file", "dir//a",
	}
	for _, mode := range []os.FileMode{0o755, 0o644, 0o311, 0} {
		if err := os.Chmod(filepath.Join(root, "shut"), mode); err != nil {
			t.Fatal(err)
		}
		agree(t, root, names, mode)
	}
	if err := os.Chmod(filepath.Join(root, "shut"), 0o755); err != nil {
		t.Fatal(err)
	}
}

// agree reports what a glance says otherwise than a look at it, below a directory.
func agree(t *testing.T, root string, names []string, mode os.FileMode) {
	tree, memory := Tree{}, new(Memory)
	for _, backwards := range []bool{false, true} {
		g := NewGlance(tree, memory)
		for range 3 {
			for i := range names {
				name := names[i]
				if backwards {
					name = names[len(names)-1-i]
				}
				at := root + "/" + name
				if got, want := g.Kind(at), tree.Kind(at); got != want {
					t.Errorf("mode %o: %q is %v, want %v", mode, name, got, want)
				}
				real, ok := g.Resolve(at)
				if want, wantOK := tree.Resolve(at); real != want || ok != wantOK {
					t.Errorf("mode %o: %q leads to %q, %v, want %q, %v", mode, name, real, ok, want, wantOK)
				}
			}
		}
	}
}
