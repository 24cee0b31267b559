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

	"github.com/agent-wrapper/agent-wrapper/internal/sandbox"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/text/subpath"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// Tree is the real file system, for plans of the sandbox.
type Tree struct{ Env }

// Kind returns what is at a path, without following a link there.
func (Tree) Kind(name string) sandbox.Kind {
	if len(name) >= sandbox.MaxPath {
		return sandbox.Unknown
	}
	switch info, err := os.Lstat(name); {
	case err == nil:
		return kindOf(info.Mode().Type())
	case gone(err), errors.Is(err, syscall.ENAMETOOLONG): // a name that no directory has
		return sandbox.Nothing
	}
	return sandbox.Unknown
}

// Names returns how many names a file has.
func (Tree) Names(name string) int {
	info, err := os.Lstat(name)
	if err != nil {
		return 1
	}
	return names(info)
}

// gone reports whether an error says that nothing is at a path.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP)
}

func kindOf(mode fs.FileMode) sandbox.Kind {
	switch {
	case mode&fs.ModeSymlink != 0:
		return sandbox.Link
	case mode.IsDir():
		return sandbox.Dir
	}
	return sandbox.File
}

// List returns what is in a directory.
func (Tree) List(dir string) (*sandbox.Listing, error) {
	l, _, err := listing(dir)
	return l, err
}

// listing returns what is in a directory, with its stamp.
func listing(dir string) (*sandbox.Listing, stamp, error) {
	f, err := open(dir, true)
	if err != nil {
		return nil, stamp{}, listed(err)
	}
	defer f.Close()
	was := stampOf(f) // what changes from here on changes the next one
	found, err := f.ReadDir(-1)
	l := &sandbox.Listing{Entries: make([]sandbox.Entry, 0, len(found)), Of: inodeOf(f)}
	for _, e := range found {
		l.Entries = append(l.Entries, sandbox.Entry{Name: e.Name(), Kind: kindOf(e.Type())})
	}
	if err == nil {
		if _, err = os.Lstat(dir + "/."); !errors.Is(err, fs.ErrPermission) {
			err = nil // it can be entered
		}
	}
	return l, was, listed(err)
}

// Again implements sandbox.Files.
func (t Tree) Again(dir string) (*sandbox.Listing, error) { return t.List(dir) }

// Inode implements sandbox.Files.
func (Tree) Inode(name string) sandbox.Inode { return inodeAt(name) }

// listed returns an error of List for one of the system.
func listed(err error) error {
	switch {
	case err == nil:
		return nil
	case gone(err):
		return fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	case errors.Is(err, syscall.ENAMETOOLONG):
		return fmt.Errorf("%w: %w", fs.ErrPermission, err)
	}
	return err
}

// Passes returns the paths that are looked at to resolve one.
func (Tree) Passes(name string) []string { return passes(name, readlink) }

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
	written := func(root string) bool { return own == root || subpath.BelowFold(own, root) }
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

// caches lists the caches that commands inside the sandbox may write. What a tool only reads
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
// the program says so. It is not made where a command inside the sandbox can have put a link, in
// what it can write.
func (c *cache) make(path string, writable func() []string) {
	if there(path) == nil || !caching()[c.program] {
		return
	}
	dirs := writable()
	open := func(at string) bool {
		return slices.ContainsFunc(dirs, func(dir string) bool { return filepath.Dir(at) == dir || subpath.BelowFold(filepath.Dir(at), dir) })
	}
	if _, ok := follow(path, readlink); ok && !slices.ContainsFunc(passes(path, readlink), open) {
		_ = os.MkdirAll(path, 0o700)
	}
}

// Written returns the directories that a plan may let commands write at a place.
func Written(place patterns.Place) []string {
	t := Tree{Env{Place: place}}
	roots := append([]string{place.Workspace}, place.Roots...)
	all := slices.Clone(roots)
	for _, root := range roots {
		all = append(all, t.Repository(root)...)
	}
	for i := range caches {
		if real, ok := t.Resolve(caches[i].path(place.Home)); ok {
			all = append(all, real)
		}
	}
	return all
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

// Machine returns what a plan of the sandbox depends on here. If a command begins, the caches of
// tools that are there are made if they are missing.
func Machine(place patterns.Place, begins bool) *sandbox.Machine {
	m := &sandbox.Machine{Temp: []string{os.TempDir(), "/tmp", "/var/tmp"}, Services: services(place.Home), Sockets: sockets(place), Settings: slices.Clone(gitFiles), Never: slices.Clone(gitNever)}
	for i := range caches {
		c := &caches[i]
		path := c.path(place.Home)
		if place.Home == "" || !filepath.IsAbs(path) {
			continue
		}
		if begins {
			c.make(path, func() []string { return Written(place) })
		}
		m.Writable = append(m.Writable, sandbox.Path{Path: path, Why: "cache of " + c.program})
	}
	return m
}

// agents are variables with the sockets of services that act for whoever reaches them.
var agents = []string{"SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST", "GPG_AGENT_INFO", "TMUX", "WAYLAND_DISPLAY", "VSCODE_IPC_HOOK_CLI", "VSCODE_GIT_IPC_HANDLE"}

// homeServices are directories in a home with sockets of engines for containers and of
// virtual machines, which run whatever they are told, and of agents.
var homeServices = []string{
	".docker/run", ".docker/desktop", ".colima", ".lima", ".orbstack/run", ".local/share/containers/podman/machine", ".1password",
}

// services returns the directories for sockets of services.
func services(home string) []string {
	dirs := []string{"/run", "/var/run"}
	if own := filepath.Clean(os.Getenv("XDG_RUNTIME_DIR")); filepath.IsAbs(own) && !strings.HasPrefix(home+"/", own+"/") {
		if info, err := os.Stat(own); err == nil && info.Mode().Perm() == 0o700 { // as it has to be, and no directory of the system is
			dirs = append(dirs, own)
		}
	}
	if home != "" {
		for _, name := range homeServices {
			dirs = append(dirs, filepath.Join(home, name))
		}
	}
	return dirs
}

// sockets returns the paths of the sockets on which somebody listens, as far as the
// system tells, and of those that the environment names. One that was bound by a relative
// name is looked for in the workspace.
func sockets(place patterns.Place) []string {
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
		fields := strings.SplitN(strings.Join(strings.Fields(lines.Text()), " "), " ", 8)
		if len(fields) < 8 || strings.HasPrefix(fields[7], "@") { // the path is the last column; @: it has no file
			continue
		}
		if at := strings.IndexByte(lines.Text(), '/'); strings.HasPrefix(fields[7], "/") {
			found = append(found, filepath.Clean(lines.Text()[at:]))
			continue
		}
		for _, root := range append([]string{place.Workspace}, place.Roots...) {
			found = append(found, filepath.Join(root, fields[7]))
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}
