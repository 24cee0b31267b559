package workspace

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/agent-wrapper/agent-wrapper/shell"
	"github.com/agent-wrapper/agent-wrapper/walls"
)

// Tree is the real file system, for plans of walls.
type Tree struct{ Env }

// Kind returns what is at a path, without following a link there.
func (Tree) Kind(name string) walls.Kind {
	info, err := os.Lstat(name)
	if err != nil {
		return walls.Nothing
	}
	return kindOf(info.Mode().Type())
}

// Names returns how many names a file has.
func (Tree) Names(name string) int {
	info, err := os.Lstat(name)
	if err != nil {
		return 1
	}
	return names(info)
}

func kindOf(mode fs.FileMode) walls.Kind {
	switch {
	case mode&fs.ModeSymlink != 0:
		return walls.Link
	case mode.IsDir():
		return walls.Dir
	}
	return walls.File
}

// List returns what is in a directory.
func (Tree) List(dir string) (*walls.Listing, error) {
	l, _, err := listing(dir)
	return l, err
}

// listing returns what is in a directory, with its stamp.
func listing(dir string) (*walls.Listing, stamp, error) {
	f, err := open(dir, true)
	if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP) {
		err = fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	if err != nil {
		return nil, stamp{}, err
	}
	defer f.Close()
	was := stampOf(f) // what changes from here on changes the next one
	found, err := f.ReadDir(-1)
	l := &walls.Listing{Entries: make([]walls.Entry, 0, len(found))}
	for _, e := range found {
		l.Entries = append(l.Entries, walls.Entry{Name: e.Name(), Kind: kindOf(e.Type())})
	}
	return l, was, err
}

// Repository returns the directories in which git keeps the repository of a directory
// outside it, if that repository says that the directory is a working tree of it
// (git-worktree(1), git-submodule(1)). What only the directory says, by its .git, a command
// may have written there, to be let write wherever it wants.
func (t Tree) Repository(dir string) []string {
	kept, _ := gitDir(dir)
	if len(kept) == 0 {
		return nil
	}
	own, ok := t.Resolve(kept[0])
	written := func(root string) bool { return own == root || under(own, root) }
	if !ok || slices.ContainsFunc(append([]string{dir, t.Place.Workspace}, t.Place.Roots...), written) || !t.isTreeOf(dir, own) {
		return nil
	}
	outside := []string{own}
	if len(kept) == 1 {
		return outside
	}
	if common, ok := t.Resolve(kept[1]); ok && filepath.Join(common, "worktrees", filepath.Base(own)) == own {
		outside = append(outside, common)
	}
	return outside
}

// isTreeOf reports whether a directory of git, outside the workspace, names a directory as
// the working tree of it.
func (t Tree) isTreeOf(dir, gitDir string) bool {
	dir, ok := t.Resolve(dir)
	if !ok {
		return false
	}
	if back, found := pathIn(filepath.Join(gitDir, "gitdir"), ""); found {
		real, ok := t.Resolve(back)
		return ok && real == filepath.Join(dir, ".git")
	}
	text, err := ReadText(filepath.Join(gitDir, "config"))
	if err != nil {
		return false
	}
	settings, err := parseGitConfig(text)
	return err == nil && slices.ContainsFunc(settings, func(s shell.Setting) bool {
		to := s.Value
		if !filepath.IsAbs(to) {
			to = filepath.Join(gitDir, to)
		}
		real, ok := t.Resolve(to)
		return s.Key == "core.worktree" && ok && real == dir
	})
}

// cache is a directory outside the workspace in which a tool keeps what it can make or
// get again.
type cache struct {
	program  string   // that keeps it: the directory is made if the program is there
	variable string   // that names the directory
	dir      []string // below that of the user's caches, or below the home if it begins with ~
}

// caches lists the caches that commands inside walls may write. What a tool only reads
// there, or runs without asking, is not among them.
var caches = []cache{
	{"go", "GOCACHE", []string{"go-build"}},
	{"golangci-lint", "GOLANGCI_LINT_CACHE", []string{"golangci-lint"}},
	{"staticcheck", "STATICCHECK_CACHE", []string{"staticcheck"}},
	{"ccache", "CCACHE_DIR", []string{"ccache"}},
	{"npm", "", []string{"~", ".npm", "_cacache"}},
	{"npm", "", []string{"~", ".npm", "_logs"}},
	{"pip", "PIP_CACHE_DIR", []string{"pip"}},
	{"yarn", "YARN_CACHE_FOLDER", []string{"yarn"}},
}

// path returns the directory of a cache, "" if there is none.
func (c *cache) path(home string) string {
	if dir := os.Getenv(c.variable); c.variable != "" && dir != "" {
		return dir
	}
	dir := filepath.Join(c.dir...)
	if rest, ok := strings.CutPrefix(dir, "~"); ok {
		return home + rest
	}
	if base := os.Getenv("XDG_CACHE_HOME"); base != "" {
		return filepath.Join(base, dir)
	}
	return filepath.Join(home, ".cache", dir)
}

// make makes the directory of a cache if it is missing and its program is there. Without it
// the program says so.
func (c *cache) make(path string) {
	if there(path) != nil && caching()[c.program] {
		_ = os.MkdirAll(path, 0o700)
	}
}

// caching has the programs with caches that were there when it was first asked.
var caching = sync.OnceValue(func() map[string]bool {
	found := map[string]bool{}
	for i := range caches {
		_, err := exec.LookPath(caches[i].program)
		found[caches[i].program] = err == nil
	}
	return found
})

// Machine returns what a plan of walls depends on here, for a command that begins in a
// directory: the caches of tools that are there are then made if they are missing. With
// "" no command begins, and nothing is made.
func Machine(home, dir string) *walls.Machine {
	m := &walls.Machine{Temp: []string{os.TempDir(), "/tmp", "/var/tmp"}, Services: []string{"/run", "/var/run"}, Sockets: sockets(), Settings: slices.Clone(gitFiles), Dir: dir}
	for i := range caches {
		c := &caches[i]
		path := c.path(home)
		if home == "" || !filepath.IsAbs(path) {
			continue
		}
		if dir != "" {
			c.make(path)
		}
		m.Writable = append(m.Writable, walls.Path{Path: path, Why: "cache of " + c.program})
	}
	return m
}

// agents are variables with the sockets of services that act for whoever reaches them.
var agents = []string{"SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST", "GPG_AGENT_INFO", "TMUX", "WAYLAND_DISPLAY", "VSCODE_IPC_HOOK_CLI", "VSCODE_GIT_IPC_HANDLE"}

// sockets returns the paths of the sockets on which somebody listens, as far as the
// system tells, and of those that the environment names.
func sockets() []string {
	var found []string
	for _, name := range agents {
		for part := range strings.FieldsFuncSeq(os.Getenv(name), func(r rune) bool { return strings.ContainsRune(",;=", r) }) {
			part = strings.TrimPrefix(strings.TrimPrefix(part, "unix://"), "unix:")
			if filepath.IsAbs(part) {
				found = append(found, filepath.Clean(part))
			}
		}
	}
	f, err := os.Open("/proc/net/unix")
	if err != nil {
		return found
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if at := strings.IndexByte(lines.Text(), '/'); at > 0 { // the path is the last column
			found = append(found, filepath.Clean(lines.Text()[at:]))
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}
