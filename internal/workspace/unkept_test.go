package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// TestUnkept: a file that has contents, that git ignores and that its index does not have
// is gone for good when it is overwritten.
func TestUnkept(t *testing.T) {
	dir := ignoring(t, map[string]string{
		".gitignore": "*.db\nlocal/\n", ".git/index": string(index(2, 20, "a/held.db")), "a/held.db": "x", "a/app.db": "x", "a/empty.db": "", "a/main.go": "x",
		"local/x.txt": "x", "app[1].db": "x",
	})
	home := ignoring(t, map[string]string{".gitconfig": "[core]\n\texcludesFile = ~/mine\n", "mine": "private\n"})
	if err := os.Symlink("app.db", filepath.Join(dir, "a/link.db")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "private"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := Env{Place: patterns.Place{Home: home}}
	for name, want := range map[string]bool{
		"a/app.db": true, "a/held.db": false, "a/empty.db": false, "a/main.go": false, "a/none.db": false, "a/link.db": false, "a": false,
		"local/x.txt": true, "local": false, "private": true, "app[1].db": true, "./a/../a/app.db": true,
	} {
		if got := env.Unkept(shell.Word{Text: dir + "/" + name}); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	for text, want := range map[string]bool{"a/.db": true, "local/.txt": true, "a/.go": false, "local/.go": false} {
		at := len(dir) + 1 + strings.IndexByte(text, '.')
		if got := env.Unkept(shell.Word{Text: dir + "/" + text, Holes: []shell.Hole{{At: at, Kind: shell.Glob}}}); got != want {
			t.Errorf("%s with a glob: %v", text, got)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, ".git/index"), []byte("DIRC"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"a/app.db": false, "a/none": false, "a": false} {
		if got := env.Compiled(shell.Word{Text: dir + "/" + name}); got != want {
			t.Errorf("%s is compiled: %v", name, got)
		}
	}
	if program, err := os.Executable(); err != nil || !env.Compiled(shell.Word{Text: program}) {
		t.Errorf("a program is not compiled, %v", err)
	}
	if !env.Unkept(shell.Word{Text: dir + "/a/held.db"}) {
		t.Error("an index that cannot be read has every file")
	}
	if err := os.RemoveAll(filepath.Join(dir, ".git")); err != nil {
		t.Fatal(err)
	}
	if env.Unkept(shell.Word{Text: dir + "/a/app.db"}) {
		t.Error("there is no repository")
	}
}
