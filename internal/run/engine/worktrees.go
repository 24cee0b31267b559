package engine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/agent-wrapper/agent-wrapper/internal/text/subpath"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// worktrees are the copies of the repository that an agent makes for itself and for its
// subagents while a session lasts, in the directory of the agent CLI. The part of each
// that is a copy of the workspace counts as it. Where the workspace is the root of the
// repository, they lie in it anyway.
type worktrees struct {
	part   string // the workspace, relative to the root of the repository
	dir    string // holds them
	store  string // git's own directory for them
	before map[string]bool

	mu   sync.Mutex
	made []string
}

// newWorktrees returns the worktrees of a session that begins, nil if the workspace is no
// part of a repository above it.
func newWorktrees(workspace string) *worktrees {
	root := workspace
	for {
		info, err := os.Lstat(filepath.Join(root, ".git"))
		if err == nil && (!info.IsDir() || root == workspace) {
			return nil // a worktree itself, or all of the repository
		}
		if err == nil {
			break
		}
		if root = filepath.Dir(root); root == filepath.Dir(root) {
			return nil
		}
	}
	part, err := filepath.Rel(root, workspace)
	if err != nil {
		return nil
	}
	t := &worktrees{
		part: part,
		dir:  filepath.Join(append([]string{root}, patterns.Worktrees...)...), store: filepath.Join(root, ".git", "worktrees"), before: map[string]bool{},
	}
	entries, err := os.ReadDir(t.dir)
	if err != nil && !os.IsNotExist(err) {
		return nil
	}
	for _, e := range entries {
		t.before[e.Name()] = true
	}
	return t
}

// madeFor returns all copies of the workspace if a directory lies in a worktree of the
// session that was not known, else nil.
func (t *worktrees) madeFor(dir string) []string {
	if t == nil {
		return nil
	}
	below, ok := subpath.Rel(dir, t.dir)
	if !ok || below == "." {
		return nil
	}
	name, _, _ := strings.Cut(filepath.ToSlash(below), "/")
	tree := filepath.Join(t.dir, name)
	t.mu.Lock()
	defer t.mu.Unlock()
	copied := filepath.Join(tree, t.part)
	if t.before[name] || slices.Contains(t.made, copied) || !t.proven(tree, copied) {
		return nil
	}
	t.made = append(t.made, copied)
	return slices.Clone(t.made)
}

// maxPointer is the size of the files by which a worktree and its repository name each
// other, at most.
const maxPointer = 8 << 10

// proven reports whether a directory is a worktree of the repository: each of the two
// names the other, and no link leads to either, nor to the part in it, which may be a link
// on another branch.
func (t *worktrees) proven(tree, copied string) bool {
	if real, err := filepath.EvalSymlinks(copied); err != nil || real != copied {
		return false
	}
	git := filepath.Join(tree, ".git")
	own, found := strings.CutPrefix(pointer(git), "gitdir: ")
	return found && filepath.Dir(own) == t.store && pointer(filepath.Join(own, "gitdir")) == git
}

// pointer returns the line in such a file, "" if it is none.
func pointer(file string) string {
	if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() || info.Size() > maxPointer {
		return ""
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(data), "\n")
}
