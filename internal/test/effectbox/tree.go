//go:build linux

package effectbox

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// tree is the part of the root that lines can write to, seen from inside the
// root.
type tree struct {
	base   []File
	tops   []string // its directories directly below the root
	extra  []File   // the additional files that exist now
	before map[string]state
	dirty  bool
	owner  int
	// byTimes has files compared also by their inodes, in which the kernel sets a time with
	// almost every change, and everything else in the root is looked at.
	byTimes bool
}

// state is the part of a file's state that is compared.
type state struct {
	kind  Kind
	mode  fs.FileMode
	owner uint32
	time  time.Time
	size  int64
	data  []byte // content, up to maxData, or the target

	inode   uint64 // with byTimes
	changed syscall.Timespec
}

// maxData is how much of a file's content is compared, besides its size and
// time.
const maxData = 64 << 10

// old is the modification time of every file of the tree.
var old = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

func newTree(base []File, owner int, byTimes bool) *tree {
	t := &tree{base: base, dirty: true, owner: owner, byTimes: byTimes}
	for _, f := range base {
		top := "/" + strings.Split(f.Path, "/")[1]
		if !slices.Contains(t.tops, top) {
			t.tops = append(t.tops, top)
		}
	}
	return t
}

// reset restores the tree for a new line.
func (t *tree) reset(extra []File) error {
	if !t.dirty && len(extra) == 0 && len(t.extra) == 0 {
		return nil
	}
	if t.dirty {
		if err := t.remake(); err != nil {
			return err
		}
	} else if err := t.removeExtra(); err != nil {
		return err
	}
	t.extra = extra
	for _, f := range extra {
		if err := t.make(f); err != nil {
			return err
		}
	}
	for _, f := range extra {
		if err := t.age(f.Path); err != nil {
			return err
		}
		if err := t.age(filepath.Dir(f.Path)); err != nil {
			return err
		}
	}
	before, err := t.look()
	t.before, t.dirty = before, false
	return err
}

func (t *tree) removeExtra() error {
	for _, f := range slices.Backward(t.extra) {
		if err := os.Remove(f.Path); err != nil {
			return err
		}
		if err := t.age(filepath.Dir(f.Path)); err != nil {
			return err
		}
	}
	return nil
}

// remake removes everything and creates the tree anew.
func (t *tree) remake() error {
	t.extra = nil
	for _, top := range t.tops {
		if err := removeAll(top); err != nil {
			return err
		}
	}
	for _, f := range t.base {
		if err := t.make(f); err != nil {
			return err
		}
	}
	for _, f := range slices.Backward(t.base) {
		if err := t.age(f.Path); err != nil {
			return err
		}
	}
	return nil
}

// removeAll removes a tree whose directories may have lost their modes.
func removeAll(at string) error {
	if err := os.RemoveAll(at); err == nil {
		return nil
	}
	_ = filepath.WalkDir(at, func(name string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(name, 0o700)
		}
		return nil
	})
	if err := os.RemoveAll(at); err == nil {
		return nil
	}
	// A tree that is deeper than there may be open files.
	out, err := exec.Command("/real/bin/rm", "-rf", "--", at).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

func (t *tree) make(f File) error {
	var err error
	switch f.Kind {
	case Dir:
		err = os.Mkdir(f.Path, 0o755)
	case Link:
		err = os.Symlink(string(f.Data), f.Path)
	default:
		err = os.WriteFile(f.Path, f.Data, 0o644)
	}
	if err == nil && f.Mode != 0 {
		err = os.Chmod(f.Path, f.Mode)
	}
	if err != nil {
		return err
	}
	if f.Root {
		return nil
	}
	return os.Lchown(f.Path, t.owner, t.owner)
}

// age sets the time of a path, so that any later change is visible.
func (t *tree) age(name string) error {
	fi, err := os.Lstat(name)
	if err != nil || fi.Mode()&fs.ModeSymlink != 0 {
		return err
	}
	return os.Chtimes(name, old, old)
}

// look returns the state of the whole tree.
func (t *tree) look() (map[string]state, error) {
	out := make(map[string]state, len(t.before)+16)
	tops := t.tops
	if t.byTimes {
		tops = append(slices.Clone(tops), "/dev", "/log", "/opt", "/run", "/srv", "/usr/local")
		root, err := t.stateOf("/")
		if err != nil {
			return nil, err
		}
		out["/"] = root
	}
	for _, top := range tops {
		err := filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			s, err := t.stateOf(name)
			out[name] = s
			return err
		})
		if err != nil && !os.IsNotExist(err) {
			return out, err
		}
	}
	return out, nil
}

func (t *tree) stateOf(name string) (state, error) {
	fi, err := os.Lstat(name)
	if err != nil {
		return state{}, err
	}
	s := state{mode: fi.Mode().Perm() | fi.Mode()&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky), time: fi.ModTime(), size: fi.Size()}
	if sys, ok := fi.Sys().(*syscall.Stat_t); ok {
		s.owner = sys.Uid
		if t.byTimes {
			s.inode, s.changed = sys.Ino, sys.Ctim
		}
	}
	switch {
	case fi.IsDir():
		s.kind, s.size = Dir, 0
	case fi.Mode()&fs.ModeSymlink != 0:
		s.kind = Link
		target, err := os.Readlink(name)
		s.data, s.time = []byte(target), time.Time{}
		return s, err
	case !fi.Mode().IsRegular():
		s.kind = Other
		s.changed = syscall.Timespec{} // of a device, used by others
		if t.byTimes {
			s.time, s.size = time.Time{}, 0
		}
	case s.size <= maxData:
		s.data, err = os.ReadFile(name)
	}
	return s, err
}

// changes returns the differences between the tree and its initial state.
func (t *tree) changes() ([]Change, error) {
	after, err := t.look()
	if err != nil {
		return nil, err
	}
	return t.compare(after), nil
}

// moved returns the names, before and after, of files that are where they were in a
// directory that has another name now, and are otherwise as they were: true for a name
// that one has now. The name from before may be that of another file by now.
func (t *tree) moved(after map[string]state) map[string]bool {
	type file struct {
		dir, inode uint64
		base       string
		time       time.Time
		size       int64
	}
	of := func(in map[string]state, name string) file {
		s := in[name]
		return file{in[path.Dir(name)].inode, s.inode, path.Base(name), s.time, s.size}
	}
	names, found := map[file]string{}, map[string]bool{}
	for name, s := range t.before {
		if now, there := after[name]; s.kind != Dir && (!there || now.inode != s.inode) {
			names[of(t.before, name)] = name
		}
	}
	for name := range after {
		if was, ok := names[of(after, name)]; ok && was != name {
			found[name] = true
			if !found[was] {
				found[was] = false // nothing that was moved is there now
			}
		}
	}
	return found
}

// now returns the name that a file of the tree has now, if its directory was moved.
func (t *tree) now(name string) string {
	if _, err := os.Lstat(name); err == nil {
		return name
	}
	after, err := t.look()
	if err != nil {
		return name
	}
	for at, s := range after {
		if was := t.before[name]; s.inode == was.inode && s.kind == was.kind {
			return at
		}
	}
	return name
}

func (t *tree) compare(after map[string]state) (out []Change) {
	for name := range t.before {
		if _, ok := after[name]; !ok {
			out = append(out, Change{name, "removed"})
		}
	}
	for name := range after {
		if _, ok := t.before[name]; !ok {
			out = append(out, Change{name, "created"})
		}
	}
	for name, now := range after {
		was, ok := t.before[name]
		if !ok {
			continue
		}
		if what := was.differs(now); what != "" {
			out = append(out, Change{name, what})
		}
		t.dirty = t.dirty || !was.time.Equal(now.time) || was.changed != now.changed
	}
	t.dirty = t.dirty || len(out) > 0
	slices.SortFunc(out, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// differs returns what changed. The time of a directory means nothing by
// itself, since temporary files change it.
func (s state) differs(now state) string {
	switch {
	case s.kind != now.kind:
		return "kind"
	case s.kind == Link && !bytes.Equal(s.data, now.data):
		return "target"
	case s.size != now.size || !bytes.Equal(s.data, now.data):
		return "content"
	case s.mode != now.mode || s.owner != now.owner:
		return "mode"
	case s.kind != Dir && (!s.time.Equal(now.time) || s.inode != now.inode || s.changed != now.changed):
		return "time"
	}
	return ""
}
