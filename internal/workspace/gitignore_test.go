package workspace

import (
	"os"
	"path/filepath"
	"testing"
)

// TestIgnored: what .gitignore files ignore, as git check-ignore says
// (TestIgnoredAsGit).
func TestIgnored(t *testing.T) {
	for _, tt := range ignoreCases {
		dir := ignoring(t, tt.files)
		for name, want := range tt.dirs {
			if got := (Env{}).Ignored(filepath.Join(dir, name)); got != want {
				t.Errorf("%q: %s: %v", tt.files, name, got)
			}
		}
		for name, want := range tt.plain {
			if got, known := (Env{}).ignores(dir, filepath.Join(dir, name), false); got != want || !known {
				t.Errorf("%q: file %s: %v, %v", tt.files, name, got, known)
			}
		}
	}
	dir := ignoring(t, map[string]string{"x": "build\n"})
	if err := os.Symlink("x", filepath.Join(dir, ".gitignore")); err != nil {
		t.Fatal(err)
	}
	if (Env{}).Ignored(filepath.Join(dir, "build")) {
		t.Error("a link is read")
	}
	if err := os.RemoveAll(filepath.Join(dir, ".git")); err != nil {
		t.Fatal(err)
	}
	if (Env{}).Ignored(filepath.Join(dir, "x", "build")) {
		t.Error("there is no repository")
	}
}

// ignoreCases are files of a repository, and directories and files with whether git ignores
// them.
var ignoreCases = []struct {
	files       map[string]string
	dirs, plain map[string]bool
}{
	{map[string]string{".gitignore": "build/\n/dist\n# bin\n\ntarget  \r\n"}, map[string]bool{"build": true, "a/build": true, "dist": true, "a/dist": false, "bin": false, "target": true, "build/out": true, "out": false, "buildx": false}, nil},
	{map[string]string{".gitignore": "web/dist/\n**/out\n[Bb]in/\n*.build\n"}, map[string]bool{"web/dist": true, "dist": false, "a/web/dist": false, "out": true, "a/b/out": true, "bin": true, "Bin": true, "x.build": true, "build": false}, nil},
	{map[string]string{".gitignore": "build\n!build\n", "a/.gitignore": "dist\n"}, map[string]bool{"build": false, "a/build": false, "a/dist": true, "dist": false, "a/b/dist": true}, nil},
	{map[string]string{".gitignore": "build\n!/build\n", "a/.gitignore": "!build\n", "b/.gitignore": "/build\n"}, map[string]bool{"build": false, "a/build": false, "b/build": true, "c/build": true}, nil},
	{map[string]string{".gitignore": "gen/\n"}, map[string]bool{"gen/build": true, "a/gen/x/out": true}, nil},
	{
		map[string]string{".gitignore": "data/\nlogs/**\n*.db\n!keep.db\na/**/z\n**/cache/*.bin\n[!a-c]1\n\\#x\n\\!y\nw\\ \n?q\n[]x]2\n[^b-d]3\n[[:digit:]]4\nopen[\n", "a/.gitignore": "/only\n"},
		map[string]bool{"data": true, "logs": false, "x/data": true, "logs/a": true, "x.db": true},
		map[string]bool{
			"data": false, "data/app.db": true, "x/data/y": true, "logs/a": true, "logs/a/b": true, "x/logs/a": false, "x.db": true, "b/x.db": true, "keep.db": false, "data/keep.db": true,
			"a/z": true, "a/b/z": true, "a/b/c/z": true, "b/a/z": false, "cache/x.bin": true, "a/cache/x.bin": true, "cache/a/x.bin": false, "d1": true, "a1": false,
			"#x": true, "!y": true, "w ": true, "w": false, "pq": true, "q": false, "]2": true, "x2": true, "y2": false, "a3": true, "b3": false, "44": true, "a4": false, "a/only": true, "only": false, "a/b/only": false, "open[": false,
		},
	},
	{map[string]string{".git/info/exclude": "notes\n*.key\n", ".gitignore": "!b.key\n"}, map[string]bool{"notes": true}, map[string]bool{"notes": true, "a.key": true, "b.key": false, "a/b/notes": true}},
}

// ignoring lays out a repository without git.
func ignoring(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	files[".git/HEAD"] = "ref: refs/heads/main\n"
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
