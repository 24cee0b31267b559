package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestGitFiles(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string // "" is a directory
		at    string
		dirs  []string
		want  []string // directories whose config is among the files
	}{
		{"no repository", map[string]string{"w": ""}, "w", nil, nil},
		{"its own", map[string]string{"w/.git": ""}, "w", nil, nil},
		{"kept apart", map[string]string{"w/.git": "gitdir: ../store\n", "store": ""}, "w", nil, []string{"store"}},
		{"kept apart, in a directory of it", map[string]string{"w/.git": "gitdir: ../store\n", "w/a/b": ""}, "w/a/b", nil, []string{"store"}},
		{"kept apart below", map[string]string{"w/.git": "gitdir: .store"}, "w", nil, []string{"w/.store"}},
		{"a worktree", map[string]string{"w/.git": "gitdir: ../m/.git/worktrees/w", "m/.git/worktrees/w/commondir": "../.."}, "w", nil, nil},
		{"a worktree of a bare one", map[string]string{"w/.git": "gitdir: ../m/worktrees/w", "m/worktrees/w/commondir": "../.."}, "w", nil, []string{"m/worktrees/w", "m"}},
		{"bare", map[string]string{"w/HEAD": "x", "w/objects": "", "w/refs": ""}, "w", nil, []string{"w"}},
		{"in a bare one", map[string]string{"m/HEAD": "x", "m/objects": "", "m/refs": "", "m/w": ""}, "m/w", nil, []string{"m"}},
		{"a project with a file HEAD", map[string]string{"w/HEAD": "x", "w/refs": ""}, "w", nil, nil},
		{"no path in it", map[string]string{"w/.git": "x"}, "w", nil, nil},
		{"by the environment", map[string]string{"w": ""}, "w", []string{"dots"}, []string{"dots"}},
		{"by the environment, its own", map[string]string{"w/.git": ""}, "w", []string{"w/.git"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			top := t.TempDir()
			for name, text := range tt.files {
				lay(t, filepath.Join(top, name), text)
			}
			var dirs []string
			for _, dir := range tt.dirs {
				dirs = append(dirs, filepath.Join(top, dir))
			}
			got := GitFiles(filepath.Join(top, tt.at), dirs...)
			for _, dir := range tt.want {
				for _, name := range []string{"config", "hooks", "info"} {
					if !slices.Contains(got, filepath.Join(top, dir, name)) {
						t.Errorf("%s of %s is not among %q", name, dir, got)
					}
				}
			}
			if len(got) != len(tt.want)*len(gitFiles) {
				t.Errorf("%q, want those of %q", got, tt.want)
			}
		})
	}
}

// A link .git leads to a directory whose path does not show that git uses it.
func TestGitFilesBehindLink(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	lay(t, filepath.Join(top, "store"), "")
	lay(t, filepath.Join(top, "w"), "")
	if err := os.Symlink("../store", filepath.Join(top, "w/.git")); err != nil {
		t.Fatal(err)
	}
	if got := GitFiles(filepath.Join(top, "w")); !slices.Contains(got, filepath.Join(top, "store/config")) {
		t.Errorf("%q", got)
	}
}

// lay creates a file, or a directory if the text is empty.
func lay(t *testing.T, path, text string) {
	t.Helper()
	dir := path
	if text != "" {
		dir = filepath.Dir(path)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if text == "" {
		return
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
