package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// worktree lays what git worktree add makes.
func worktree(t *testing.T, root, name string) {
	t.Helper()
	tree, own := filepath.Join(root, ".claude/worktrees", name), filepath.Join(root, ".git/worktrees", name)
	for _, file := range []struct{ path, text string }{
		{tree + "/src/x.go", "x"}, {tree + "/sub/README", "x"}, {tree + "/.git", "gitdir: " + own + "\n"}, {own + "/gitdir", tree + "/.git\n"},
	} {
		if err := os.MkdirAll(filepath.Dir(file.path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file.path, []byte(file.text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWorktrees: a worktree that the agent makes in the session counts as the workspace
// once its shell is there; one from before, one that is none, and what lies beside it do
// not.
func TestWorktrees(t *testing.T) {
	root := tree(t, []string{".git", "sub", ".claude/worktrees", "out/src"}, nil)
	worktree(t, root, "old")
	e := opened(t, Options{Dir: filepath.Join(root, "sub"), Dirs: &Dirs{}, NoRecord: true, Settings: settings(t, "mode = \"acceptEdits\"\ndeny = [\"Edit(*.key)\", \"Edit(./in/**)\"]")})
	edit := func(dir, name string) permission.Behavior {
		t.Helper()
		input := fmt.Appendf(nil, `{"file_path":%q,"content":"x"}`, filepath.Join(root, name))
		res, err := e.CanUseTool(t.Context(), permission.ToolUse{Tool: "Write", Input: input, Dir: filepath.Join(root, dir)})
		if err != nil {
			t.Fatal(err)
		}
		return res.Behavior
	}
	const trees = ".claude/worktrees/"
	d := taken(func(wrapper.Task) error {
		if edit(trees+"new/src", trees+"new/sub/x.go") == permission.Allow {
			t.Error("it counts before it is there")
		}
		worktree(t, root, "new")
		worktree(t, root, "other")
		worktree(t, root, "lonely")
		worktree(t, root, "foreign")
		worktree(t, root, "linked")
		err := os.Remove(filepath.Join(root, ".git/worktrees/lonely/gitdir"))
		if err == nil {
			err = os.WriteFile(filepath.Join(root, trees, "foreign/.git"), []byte("gitdir: "+root+"/out/.git/worktrees/foreign\n"), 0o600)
		}
		if err == nil {
			err = os.Rename(filepath.Join(root, trees, "linked"), filepath.Join(root, "out/linked"))
		}
		if err == nil {
			err = os.Symlink(filepath.Join(root, "out/linked"), filepath.Join(root, trees, "linked"))
		}
		if err != nil {
			t.Fatal(err)
		}
		branch := filepath.Join(root, trees, "branch")
		worktree(t, root, "branch")
		if err := errors.Join(os.RemoveAll(branch+"/sub"), os.Symlink(filepath.Join(root, "out"), branch+"/sub")); err != nil {
			t.Fatal(err)
		}
		for _, tree := range []string{filepath.Join(root, trees, "linked"), branch} {
			if e.trees.proven(tree, filepath.Join(tree, "sub")) {
				t.Errorf("%s, which leads elsewhere, is a worktree", tree)
			}
		}
		if edit("sub", trees+"new/sub/x.go") == permission.Allow {
			t.Error("it counts although the agent is not there")
		}
		for _, tt := range []struct {
			dir, file string
			want      permission.Behavior
		}{
			{trees + "new/src", trees + "new/sub/x.go", permission.Allow},
			{trees + "new", trees + "new/sub/y.go", permission.Allow},
			{"sub", trees + "new/sub/y.go", permission.Allow},
			{trees + "new", "sub/z.go", permission.Allow},
			{trees + "new", trees + "new/sub/x.key", permission.Deny},
			{trees + "new", trees + "new/sub/in/x.go", permission.Deny},
			{trees + "new", trees + "new/src/x.go", permission.Deny},
			{trees + "new", trees + "new/sub/.git", permission.Deny},
			{trees + "new", trees + "new/sub/.claude/settings.json", permission.Deny},
			{trees + "new", trees + "other/sub/x.go", permission.Deny},
			{trees + "new", "x.go", permission.Deny},
			{trees + "new", ".claude/x.go", permission.Deny},
			{trees + "old", trees + "old/sub/x.go", permission.Deny},
			{trees + "lonely", trees + "lonely/sub/x.go", permission.Deny},
			{trees + "foreign", trees + "foreign/sub/x.go", permission.Deny},
			{trees + "linked", trees + "linked/sub/x.go", permission.Deny},
			{trees + "branch", trees + "branch/sub/x.go", permission.Deny},
			{trees + "other", trees + "other/sub/x.go", permission.Allow},
			{trees + "other", trees + "new/sub/x.go", permission.Allow},
		} {
			if got := edit(tt.dir, tt.file); got != tt.want {
				t.Errorf("in %s, %s: %v", tt.dir, tt.file, got)
			}
		}
		return nil
	})
	if _, err := e.Drive(t.Context(), d, wrapper.Task{Prompt: "x"}); err != nil {
		t.Fatal(err)
	}
}

// TestNoWorktrees: none are looked for where they lie in the workspace anyway, and
// without a repository.
func TestNoWorktrees(t *testing.T) {
	root := tree(t, []string{"a/.git", "b/c", "d/e"}, map[string]string{"d/.git": "gitdir: " + strings.Repeat("x", 10)})
	for _, dir := range []string{"a", "b/c", "d/e", "d"} {
		if w := newWorktrees(filepath.Join(root, dir)); w != nil {
			t.Errorf("%s: %+v", dir, w)
		}
	}
}
