package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/patterns"
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

// TestRepositoryElsewhere: the repository of a directory is elsewhere only if it says so
// itself. What is in the directory may be a command's.
func TestRepositoryElsewhere(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string // "" is a directory, "-> x" a link
		want  []string
	}{
		{"a working tree", map[string]string{"w/.git": "gitdir: TOP/m/.git/worktrees/w", "m/.git/worktrees/w/gitdir": "TOP/w/.git", "m/.git/worktrees/w/commondir": "../.."}, []string{"m/.git/worktrees/w", "m/.git"}},
		{"a working tree, relative", map[string]string{"w/.git": "gitdir: ../m/.git/worktrees/w", "m/.git/worktrees/w/gitdir": "../../../../w/.git", "m/.git/worktrees/w/commondir": "../.."}, []string{"m/.git/worktrees/w", "m/.git"}},
		{"a submodule", map[string]string{"w/.git": "gitdir: ../m/.git/modules/w", "m/.git/modules/w/config": "[core]\n\tworktree = ../../../../w\n"}, []string{"m/.git/modules/w"}},
		{"its own", map[string]string{"w/.git": ""}, nil},
		{"a link to a home", map[string]string{"w/.git": "-> ..", "x": ""}, nil},
		{"a link to another repository", map[string]string{"w/.git": "-> ../m/.git", "m/.git/objects": ""}, nil},
		{"a link to the file of another working tree", map[string]string{"w/.git": "-> ../v/.git", "v/.git": "gitdir: TOP/m/.git/worktrees/v", "m/.git/worktrees/v/gitdir": "TOP/v/.git", "m/.git/worktrees/v/commondir": "../.."}, nil},
		{"a home", map[string]string{"w/.git": "gitdir: ..", "x": ""}, nil},
		{"another repository", map[string]string{"w/.git": "gitdir: ../m/.git", "m/.git/objects": ""}, nil},
		{"the working tree of another", map[string]string{"w/.git": "gitdir: ../m/.git/worktrees/v", "m/.git/worktrees/v/gitdir": "TOP/v/.git", "m/.git/worktrees/v/commondir": "../.."}, nil},
		{"the submodule of another", map[string]string{"w/.git": "gitdir: ../m/.git/modules/v", "m/.git/modules/v/config": "[core]\n\tworktree = ../../../../v\n"}, nil},
		{"itself, as a working tree of what is above", map[string]string{"worktrees/w/.git": "gitdir: .", "worktrees/w/gitdir": ".git", "worktrees/w/commondir": "../.."}, nil},
		{"a directory of its own", map[string]string{"w/.git": "gitdir: d", "w/d/gitdir": "../.git", "w/d/commondir": "../.."}, nil},
		{"a working tree that says where all is", map[string]string{"w/.git": "gitdir: ../m/.git/worktrees/w", "m/.git/worktrees/w/gitdir": "TOP/w/.git", "m/.git/worktrees/w/commondir": "../../.."}, []string{"m/.git/worktrees/w"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			top, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			at := filepath.Join(top, "w")
			for name, text := range tt.files {
				if strings.HasPrefix(name, "worktrees/") {
					at = filepath.Join(top, "worktrees/w")
				}
				name = filepath.Join(top, name)
				to, link := strings.CutPrefix(text, "-> ")
				if !link {
					lay(t, name, strings.ReplaceAll(text, "TOP", top))
					continue
				}
				lay(t, filepath.Dir(name), "")
				if err := os.Symlink(to, name); err != nil {
					t.Fatal(err)
				}
			}
			var want []string
			for _, dir := range tt.want {
				want = append(want, filepath.Join(top, dir))
			}
			if got := (Tree{Env{Place: patterns.Place{Workspace: at}}}).Repository(at); !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		})
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
