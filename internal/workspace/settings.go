package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// Limits on what is read of a repository.
const (
	maxConfig     = 1 << 20   // bytes of a configuration file
	maxIndex      = 256 << 20 // bytes of an index
	maxIncludes   = 10        // depth, as in git
	maxSubmodules = 5         // depth
)

// Settings returns the settings of the git repository that dir lies in, and of its
// submodules: those of the repository's own configuration, with all that it includes,
// on whatever condition, and its hook post-index-change as "hooks/post-index-change".
// Settings that the user's or the machine's configuration has with the same value are
// left out. Outside of repositories there are none. Not ok: something cannot be read,
// and the settings may be any. Git is not run.
func (e Env) Settings(dir string) (settings []shell.Setting, ok bool) {
	r := gitReader{home: e.Place.Home}
	err := r.around(dir)
	for _, name := range []string{"GIT_DIR", "GIT_COMMON_DIR"} {
		if named := os.Getenv(name); named != "" {
			err = errors.Join(err, r.repository("", named, 0))
		}
	}
	if err != nil {
		return nil, false
	}
	if len(r.found) == 0 {
		return nil, true
	}
	own := r.own()
	return slices.DeleteFunc(r.found, func(s shell.Setting) bool { return slices.Contains(own, s) }), true
}

// gitReader collects the settings of repositories.
type gitReader struct {
	home  string
	found []shell.Setting
}

// around reads the repository that a directory lies in, as git finds it: upwards from
// where it really is.
func (r *gitReader) around(dir string) error {
	at, err := realDir(dir)
	if err != nil {
		return err
	}
	for ; ; at = filepath.Dir(at) {
		found, err := r.at(at, 0)
		if found || err != nil || at == filepath.Dir(at) {
			return err
		}
	}
}

// at reads the repository whose files begin at a directory, or that the directory is.
func (r *gitReader) at(dir string, depth int) (found bool, err error) {
	inside := filepath.Join(dir, ".git")
	var info fs.FileInfo
	if err = there(inside); err == nil {
		info, err = os.Stat(inside)
	}
	switch {
	case err == nil && info.IsDir():
		return isGitDir(inside), r.repository(dir, inside, depth)
	case err == nil:
		store, ok := pathIn(inside, "gitdir:")
		if !ok {
			return false, fmt.Errorf("%s names no directory", inside)
		}
		return true, r.repository(dir, store, depth)
	case !errors.Is(err, fs.ErrNotExist):
		return false, err
	case isGitDir(dir):
		return true, r.repository("", dir, depth)
	}
	return false, nil
}

// isGitDir reports whether git takes a directory for that of a repository. Like git it
// does without the objects where the repository has them elsewhere.
func isGitDir(dir string) bool {
	has := func(name string) bool { return there(filepath.Join(dir, name)) == nil }
	return has("HEAD") && (has("commondir") || has("objects") && has("refs"))
}

// repository reads the configuration of the repository in store, whose files lie in
// top, "" if it has none.
func (r *gitReader) repository(top, store string, depth int) error {
	common, err := commonOf(store)
	if err != nil {
		return err
	}
	from := len(r.found)
	for _, file := range []string{filepath.Join(common, "config"), filepath.Join(store, "config.worktree")} {
		if err := r.file(file, 0, true); err != nil {
			return err
		}
	}
	if err := r.hook(top, store, common, r.found[from:]); err != nil || top == "" {
		return err
	}
	hash := 20
	if slices.Contains(r.found[from:], sha256Objects) {
		hash = 32
	}
	return r.submodules(top, store, hash, depth)
}

// sha256Objects is the setting of a repository whose hashes have 32 bytes.
var sha256Objects = shell.Setting{Key: "extensions.objectformat", Value: "sha256"}

// commonOf returns the directory that the one of a repository shares with others: itself,
// unless it is that of a linked worktree.
func commonOf(store string) (string, error) {
	name := filepath.Join(store, "commondir")
	if _, err := os.Lstat(name); err != nil {
		return store, nil
	}
	common, ok := pathIn(name, "")
	if !ok {
		return "", fmt.Errorf("%s names no directory", name)
	}
	return common, nil
}

// file reads a configuration file, if it is there, and what it includes; conditional
// says whether also what it includes on a condition.
func (r *gitReader) file(name string, depth int, conditional bool) error {
	text, err := readRegular(name, maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	settings, err := parseGitConfig(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, s := range settings {
		always := s.Key == "include.path"
		if !always && !(strings.HasPrefix(s.Key, "includeif.") && strings.HasSuffix(s.Key, ".path")) {
			r.found = append(r.found, s)
			continue
		}
		if !always && !conditional {
			continue
		}
		if depth == maxIncludes {
			return fmt.Errorf("%s: includes nested too deep", name)
		}
		included, err := r.expand(s.Value, filepath.Dir(name))
		if err != nil {
			return err
		}
		if err := r.file(included, depth+1, conditional); err != nil {
			return err
		}
	}
	return nil
}

// expand returns the file that a setting names, relative to a directory.
func (r *gitReader) expand(value, dir string) (string, error) {
	rest, inHome := strings.CutPrefix(value, "~/")
	switch {
	case inHome && r.home != "":
		return filepath.Join(r.home, rest), nil
	case strings.HasPrefix(value, "~"), strings.HasPrefix(value, "%(prefix)/"), strings.HasPrefix(value, ":(optional)"):
		return "", fmt.Errorf("it is not known where %q is", value)
	case filepath.IsAbs(value):
		return value, nil
	}
	return filepath.Join(dir, value), nil
}

// hook notes the hook that git runs when a command that only looks has brought the
// index up to date (githooks(5)). Other hooks belong to what their commands are for.
func (r *gitReader) hook(top, store, common string, settings []shell.Setting) error {
	const name = "post-index-change"
	dir, mine := filepath.Join(common, "hooks"), true
	for _, s := range r.own() {
		mine = mine && s.Key != "core.hookspath"
	}
	for _, s := range settings {
		if s.Key != "core.hookspath" {
			continue
		}
		var err error
		if top == "" {
			top = store
		}
		if dir, err = r.expand(s.Value, top); err != nil {
			return err
		}
		mine = true
	}
	info, err := os.Stat(filepath.Join(dir, name))
	if mine && err == nil && !info.IsDir() && (info.Mode()&0o111 != 0 || runtime.GOOS == "windows") {
		r.found = append(r.found, shell.Setting{Key: "hooks/" + name, Value: filepath.Join(dir, name)})
	}
	return nil
}

// submodules reads the repositories of the submodules that are checked out: git status
// looks into them, by their own configuration.
func (r *gitReader) submodules(top, store string, hash, depth int) error {
	links, err := gitlinks(store, hash)
	if err != nil || len(links) == 0 {
		return err
	}
	if depth == maxSubmodules {
		return errors.New("submodules nested too deep")
	}
	for _, link := range links {
		if !filepath.IsLocal(link) {
			return fmt.Errorf("a submodule lies outside: %q", link)
		}
		if _, err := r.at(filepath.Join(top, link), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// own returns the settings of the user's and the machine's configuration, without
// those on a condition. What cannot be read has none.
func (r *gitReader) own() []shell.Setting {
	var own []shell.Setting
	for _, name := range ownConfig(r.home) {
		p := gitReader{home: r.home}
		if p.file(name, 0, false) == nil {
			own = append(own, p.found...)
		}
	}
	return own
}

// ownConfig returns the user's and the machine's configuration files (git-config(1),
// under FILES and ENVIRONMENT).
func ownConfig(home string) []string {
	var files []string
	if os.Getenv("GIT_CONFIG_NOSYSTEM") == "" {
		files = append(files, envOr("GIT_CONFIG_SYSTEM", "/etc/gitconfig"))
	}
	if global := os.Getenv("GIT_CONFIG_GLOBAL"); global != "" {
		return append(files, global)
	}
	if home == "" {
		return files
	}
	xdg := envOr("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	return append(files, filepath.Join(xdg, "git", "config"), filepath.Join(home, ".gitconfig"))
}

func envOr(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

// readRegular reads a file of at most limit bytes. A pipe would block.
func readRegular(name string, limit int64) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > limit {
		return nil, fmt.Errorf("%s is no file, or too long", name)
	}
	f, err := open(name, false)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}
