package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/atomicfile"
	"github.com/agent-wrapper/agent-wrapper/internal/text/shellword"
)

// scratchPrefix begins the names of directories of runs; digits follow.
const scratchPrefix = "agent-wrapper-scratch-"

// scratchPlace is a run's place for temporary files.
type scratchPlace struct {
	dir    string // the agent's private directory
	env    string // a file, beside it, that makes it TMPDIR in the agent's shell
	own    string // a directory beside it that the driver alone uses
	remove func() // removes all
}

// openScratch makes a private directory for the temporary files of a run, below the
// system's directory for them, and tells the session of it. Before, those are removed
// that runs left behind which were killed. The caller must call remove, also with an
// error.
func (e *Engine) openScratch() (scratchPlace, error) {
	temps := e.tempDirs()
	place, err := newScratch()
	e.Session.Scratch(place.dir, temps...)
	if err == nil {
		e.Guard(place.env, place.own)
	}
	remove := place.remove
	place.remove = func() {
		e.Session.Scratch("", temps...)
		if remove != nil {
			remove()
		}
	}
	return place, err
}

// newScratch makes the directory in the system's for temporary files.
func newScratch() (scratchPlace, error) {
	parent, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		return scratchPlace{}, err
	}
	if info, err := os.Lstat(parent); err != nil || !unshared(info) {
		return scratchPlace{}, fmt.Errorf("other users can change what is in %s", parent)
	}
	sweep(parent)
	outer, remove, err := lockedDir(parent)
	if err != nil {
		return scratchPlace{}, err
	}
	place := scratchPlace{dir: filepath.Join(outer, "tmp"), env: filepath.Join(outer, "env"), own: filepath.Join(outer, "own"), remove: remove}
	text := "export TMPDIR=" + shellword.Single(place.dir) + "\n"
	if err := errors.Join(os.Mkdir(place.dir, 0o700), os.Mkdir(place.own, 0o700), os.WriteFile(place.env, []byte(text), 0o400)); err != nil {
		remove()
		return scratchPlace{}, err
	}
	return place, nil
}

// tempDirs returns the directories for everybody's temporary files, each as it is
// called and without symbolic links.
func (e *Engine) tempDirs() []string {
	var dirs []string
	for _, dir := range []string{os.TempDir(), "/tmp"} {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil || !e.mayHoldScratch(real) {
			continue
		}
		for _, name := range []string{filepath.Clean(dir), real} {
			if filepath.IsAbs(name) && !slices.Contains(dirs, name) {
				dirs = append(dirs, name)
			}
		}
	}
	return dirs
}

// mayHoldScratch reports whether new files in a directory are temporary files: it
// is not the home or in the workspace, and nobody else can replace what is in it.
func (e *Engine) mayHoldScratch(dir string) bool {
	for _, root := range append([]string{e.Place.Workspace}, e.Place.Roots...) {
		if below, err := filepath.Rel(root, dir); err != nil || filepath.IsLocal(below) {
			return false
		}
	}
	home, err := filepath.EvalSymlinks(e.Place.Home)
	if dir == "/" || err == nil && dir == home {
		return false
	}
	info, err := os.Lstat(dir)
	return err == nil && info.IsDir() && unshared(info)
}

// lockedDir makes a directory, which is locked while the process lives.
func lockedDir(parent string) (dir string, remove func(), err error) {
	const tries = 10 // another process may take a directory for one that was left behind before it is locked
	for range tries {
		if dir, err = os.MkdirTemp(parent, scratchPrefix); err != nil {
			return "", nil, err
		}
		made, err := os.Lstat(dir)
		if err != nil {
			continue
		}
		unlock, free, err := atomicfile.TryLock(dir)
		switch {
		case err == nil && free && unchanged(dir, made):
			return dir, func() { removeScratch(dir); unlock() }, nil
		case err == nil && free:
			unlock()
		default:
			_ = os.Remove(dir)
		}
	}
	return "", nil, fmt.Errorf("the directory %s cannot be locked", dir)
}

func unchanged(dir string, was fs.FileInfo) bool {
	now, err := os.Lstat(dir)
	return err == nil && os.SameFile(now, was)
}

// sweep removes the directories of runs that are no longer alive.
func sweep(parent string) {
	names, err := filepath.Glob(filepath.Join(parent, scratchPrefix+"*"))
	if err != nil {
		return
	}
	for _, dir := range names {
		number := strings.TrimPrefix(filepath.Base(dir), scratchPrefix)
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 || !owned(info) || number == "" || strings.Trim(number, "0123456789") != "" {
			continue
		}
		if unlock, free, err := atomicfile.TryLock(dir); err == nil && free {
			if unchanged(dir, info) {
				removeScratch(dir)
			}
			unlock()
		}
	}
}

// removeScratch removes a directory, also if the agent has made directories in it
// that may not be written. It follows no links. What cannot be removed, because a
// program still writes there, is left to the next run.
func removeScratch(dir string) {
	if os.RemoveAll(dir) == nil {
		return
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return
	}
	defer root.Close()
	_ = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			_ = root.Chmod(name, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(dir)
}
