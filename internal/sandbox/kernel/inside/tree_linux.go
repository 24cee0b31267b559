//go:build amd64 || arm64

package inside

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/agent-wrapper/agent-wrapper/internal/text/subpath"
)

// mountTree makes the tree of files inside: read-only, with what is writable bound back,
// a /dev of its own, no sockets of others, and masks. Its /proc is read-only with it:
// /proc/sys belongs to root, who may be the user.
func (c *command) mountTree() error {
	w := c.Sandbox
	binds, err := w.binds()
	defer func() {
		for _, b := range binds {
			b.close() // what is not mounted
		}
	}()
	if err != nil {
		return err
	}
	for _, one := range []struct {
		layer string
		build func() error
		at    []string
	}{{devices, mountDev, []string{"/dev"}}, {services, w.hideServices, w.Services}, {mounts, w.temporary, w.Temp}} {
		if !w.has(one.layer) {
			continue
		}
		if err := one.build(); err != nil {
			return &missing{one.layer, err}
		}
		for _, path := range one.at {
			if err := c.covers(path, unix.AT_FDCWD, path); err != nil {
				return err
			}
		}
	}
	if w.has(tree) {
		if err := w.readOnly(); err != nil {
			return err
		}
	}
	for _, b := range binds {
		if err := c.put(b); err != nil {
			return &missing{b.layer, err}
		}
	}
	return nil
}

// readOnly makes all that is mounted read-only, with no devices and no programs that change
// the user, but for what is ours.
func (w *Sandbox) readOnly() error {
	set := uint64(unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID)
	if w.has(devices) {
		set |= unix.MOUNT_ATTR_NODEV
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: set}); err != nil {
		return fmt.Errorf("make / read-only: %w", err)
	}
	lifted := map[string]uint64{}
	for _, dir := range w.Temp {
		lifted[dir] = unix.MOUNT_ATTR_RDONLY
	}
	if w.has(devices) {
		lifted["/dev/shm"], lifted["/dev/pts"] = unix.MOUNT_ATTR_RDONLY, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NODEV
		for _, dev := range nodes {
			lifted["/dev/"+dev] = unix.MOUNT_ATTR_NODEV
		}
	}
	for path, attr := range lifted {
		at, err := plain(path)
		if err == nil {
			err = unix.MountSetattr(at, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_clr: attr})
			unix.Close(at)
		}
		if err != nil {
			return fmt.Errorf("make %s what it is: %w", path, err)
		}
	}
	return nil
}

// plain opens a path of a plan, in which no part is a link: the planner has resolved them, and
// a command that runs at the same time may put one there. What is mounted by a link is
// mounted, or copied, somewhere else.
func plain(path string) (int, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if errors.Is(err, unix.ELOOP) {
		return -1, fmt.Errorf("%s: there is a link in it: %w", path, errMoved)
	}
	if err != nil {
		return -1, fmt.Errorf("%s: %w", path, err)
	}
	return fd, nil
}

// covers notes which mount is at a path: the last one is what is seen there. It is given by
// a descriptor, or by the path itself.
func (c *command) covers(path string, fd int, name string) error {
	at, err := statMount(fd, name)
	if err == nil && (at.Mnt_id == 0 || at.Attributes&unix.STATX_ATTR_MOUNT_ROOT == 0) {
		err = errors.New("something else is there than was mounted")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	c.mounted[path] = at.Mnt_id
	return nil
}

// statMount tells which mount a path is on, or a descriptor, with "". Every kernel that can
// make the tree does (mount_setattr is younger).
func statMount(fd int, path string) (at unix.Statx_t, err error) {
	flags := unix.AT_SYMLINK_NOFOLLOW
	if path == "" {
		flags |= unix.AT_EMPTY_PATH
	}
	err = unix.Statx(fd, path, flags, unix.STATX_MNT_ID, &at)
	return at, err
}

// mountAt returns which mount a path is on, 0 if it is not there.
func mountAt(path string) uint64 {
	at, err := statMount(unix.AT_FDCWD, path)
	if err != nil {
		return 0
	}
	return at.Mnt_id
}

// stands returns an error if the tree is not any more as it was made. Outside, what
// something is mounted on may have been moved or removed, or made where nothing was: then
// nothing is mounted there.
func (c *command) stands() error {
	for path, mount := range c.mounted {
		if mountAt(path) != mount {
			return fmt.Errorf("%s has changed meanwhile", path)
		}
	}
	return nil
}

// bind is what is to be mounted at a path.
type bind struct {
	layer string
	path  string
	copy  int    // of the mounts there; -1 for a mask
	file  string // the mask if a file is there
	dir   string // and if a directory is
	found *Found // what the mask is for, nil if that is not known
}

// binds returns what is to be mounted, what is above first. What is writable or
// read-only is copied now, as it is without the sandbox.
func (w *Sandbox) binds() ([]*bind, error) {
	var all []*bind
	for _, path := range w.Writable {
		fd, err := copyOf(path)
		if err != nil {
			return all, err
		}
		all = append(all, &bind{layer: mounts, path: path, copy: fd})
	}
	for _, path := range w.Shown {
		fd, err := readOnlyCopyOf(path)
		if err != nil {
			return all, err
		}
		all = append(all, &bind{layer: mounts, path: path, copy: fd})
	}
	for _, path := range w.ReadOnly {
		if !w.has(protected) {
			break
		}
		fd, err := readOnlyCopyOf(path)
		if err != nil {
			return all, &missing{protected, err}
		}
		all = append(all, &bind{layer: protected, path: path, copy: fd})
	}
	from := len(all)
	for _, path := range w.Denied {
		all = append(all, &bind{layer: masks, path: path, copy: -1, file: deniedFile, dir: deniedDir})
	}
	for _, path := range w.Empty {
		all = append(all, &bind{layer: masks, path: path, copy: -1, file: emptyFile, dir: emptyDir})
	}
	w.finds(all[from:])
	all = slices.DeleteFunc(all, func(b *bind) bool { return !w.has(b.layer) })
	slices.SortStableFunc(all, func(a, b *bind) int { return len(a.path) - len(b.path) })
	return all, nil
}

// put mounts it. What is to be masked and is not there cannot be made by the command either,
// unless it can write there.
func (c *command) put(b *bind) error {
	at, err := b.open()
	if err == nil {
		defer unix.Close(at)
		if b.copy < 0 {
			b.copy, err = mask(b, at)
		}
	}
	if errors.Is(err, fs.ErrNotExist) && !slices.ContainsFunc(c.Writable, func(dir string) bool { return subpath.Inside(b.path, dir) }) {
		c.mounted[b.path] = 0
		return nil
	}
	if err == nil {
		defer b.close()
		if err = moveOnto(b.copy, at); err != nil {
			err = fmt.Errorf("mount %s: %w", b.path, err)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", err, errMoved)
	}
	if err != nil {
		return err
	}
	return c.covers(b.path, b.copy, "")
}

// errMoved is that something else is at a path than was found there when the plan was made.
var errMoved = errors.New("it has changed meanwhile: try again")

// open opens what something is to be mounted on. What is to be masked has to be what was
// found there, in the directory in which it was found: what is mounted on it then goes with
// it, wherever a command beside moves it.
func (b *bind) open() (int, error) {
	if b.found == nil {
		return plain(b.path)
	}
	dir, err := plain(filepath.Dir(b.path))
	if err != nil {
		return -1, err
	}
	defer unix.Close(dir)
	at, err := unix.Openat2(dir, filepath.Base(b.path), &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC | unix.O_NOFOLLOW, Resolve: unix.RESOLVE_NO_SYMLINKS})
	switch {
	case !is(dir, b.found.In), err == nil && !is(at, b.found.Is), errors.Is(err, unix.ELOOP):
		if err == nil {
			unix.Close(at)
		}
		return -1, fmt.Errorf("%s: %w", b.path, errMoved)
	case err != nil:
		return -1, fmt.Errorf("%s: %w", b.path, err)
	}
	return at, nil
}

// finds gives the masks what was found where they belong. What is above one may be masked or
// emptied, so that something else is there.
func (w *Sandbox) finds(masks []*bind) {
	found, hidden := map[string]*Found{}, map[string]bool{}
	for i := range w.Found {
		found[string(w.Found[i].Path)] = &w.Found[i]
	}
	for _, dirs := range []Exact{w.Temp, w.Services, w.Denied, w.Empty} {
		for _, dir := range dirs {
			hidden[dir] = true
		}
	}
	for _, dirs := range []Exact{w.Writable, w.Shown} { // which are there again
		for _, dir := range dirs {
			hidden[dir] = false
		}
	}
	for _, b := range masks {
		at := filepath.Dir(b.path)
		for _, covered := hidden[at]; !covered && at != "/"; _, covered = hidden[at] {
			at = filepath.Dir(at)
		}
		if !hidden[at] {
			b.found = found[b.path]
		}
	}
}

// is reports whether a descriptor is of an inode, or that is not known.
func is(fd int, what Inode) bool {
	var at unix.Stat_t
	return what == Inode{} || unix.Fstat(fd, &at) == nil && at.Dev == what.Dev && at.Ino == what.Ino
}

// close lets go of the copy.
func (b *bind) close() {
	if b.copy >= 0 {
		unix.Close(b.copy)
	}
	b.copy = -1
}

// copyOf returns a copy of the mounts at a path, with whatever is mounted below. What is
// writable needs no devices and no programs that change the user.
func copyOf(path string) (int, error) {
	return copyWith(path, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
}

// readOnlyCopyOf returns one that is read-only.
func readOnlyCopyOf(path string) (int, error) {
	return copyWith(path, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_RDONLY)
}

func copyWith(path string, attr uint64) (int, error) {
	at, err := plain(path)
	if err != nil {
		return -1, err
	}
	defer unix.Close(at)
	fd, err := unix.OpenTree(at, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|unix.AT_EMPTY_PATH)
	if err != nil {
		return -1, fmt.Errorf("%s: %w", path, err)
	}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: attr}); err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("%s: %w", path, err)
	}
	return fd, nil
}

// moveOnto mounts a copy on what is open.
func moveOnto(fd, at int) error {
	return unix.MoveMount(fd, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// move mounts one at a path.
func move(fd int, path string) error {
	at, err := plain(path)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	if err := moveOnto(fd, at); err != nil {
		return fmt.Errorf("mount %s: %w", path, err)
	}
	return nil
}

// The masks, in the /dev of the sandbox, which always is there.
const (
	maskDir    = "/dev/.sandbox"
	deniedFile = maskDir + "/denied-file"
	deniedDir  = maskDir + "/denied"
	emptyFile  = maskDir + "/empty-file"
	emptyDir   = maskDir + "/empty"
)

// mask returns a copy of what is to cover a path, which is open.
func mask(b *bind, at int) (int, error) {
	var is unix.Stat_t
	if err := unix.Fstat(at, &is); err != nil {
		return -1, fmt.Errorf("%s: %w", b.path, err)
	}
	if is.Mode&unix.S_IFMT == unix.S_IFDIR {
		return readOnlyCopyOf(b.dir)
	}
	return readOnlyCopyOf(b.file)
}

// nodes are the devices of the /dev inside.
var nodes = []string{"null", "zero", "full", "random", "urandom", "tty"}

// mountDev mounts a /dev with few devices, terminals of its own, and the masks.
func mountDev() error {
	var copies []int
	defer func() {
		for _, fd := range copies {
			unix.Close(fd)
		}
	}()
	for _, dev := range nodes {
		fd, err := unix.OpenTree(unix.AT_FDCWD, "/dev/"+dev, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
		if err != nil {
			return fmt.Errorf("/dev/%s: %w", dev, err)
		}
		copies = append(copies, fd)
	}
	const safe = unix.MS_NOSUID | unix.MS_NOEXEC
	if err := unix.Mount("tmpfs", "/dev", "tmpfs", safe|unix.MS_NODEV, "mode=755,size=1m"); err != nil {
		return fmt.Errorf("mount /dev: %w", err)
	}
	for i, dev := range nodes {
		if err := errors.Join(create("/dev/"+dev, 0o666), move(copies[i], "/dev/"+dev)); err != nil {
			return err
		}
	}
	for link, to := range map[string]string{"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2", "ptmx": "pts/ptmx"} {
		if err := os.Symlink(to, "/dev/"+link); err != nil {
			return err
		}
	}
	return errors.Join(
		os.Mkdir("/dev/pts", 0o755), os.Mkdir("/dev/shm", 0o755), os.Mkdir(maskDir, 0o755),
		unix.Mount("devpts", "/dev/pts", "devpts", safe, "newinstance,ptmxmode=0666,mode=620"),
		unix.Mount("tmpfs", "/dev/shm", "tmpfs", safe|unix.MS_NODEV, "mode=1777"),
		create(deniedFile, 0), create(emptyFile, 0o444), os.Mkdir(deniedDir, 0), os.Mkdir(emptyDir, 0o555),
	)
}

func create(path string, mode uint32) error {
	fd, err := unix.Open(path, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, mode)
	if err != nil {
		return &os.PathError{Op: "create", Path: path, Err: err}
	}
	return unix.Close(fd)
}

// hideServices empties the directories with sockets of services, but for links that lead
// out of them.
func (w *Sandbox) hideServices() error {
	for _, dir := range w.Services {
		links := w.linksIn(dir)
		if err := w.emptied(dir, map[string]string{"mode": "755", "size": "1m"}); err != nil {
			return err
		}
		for link, to := range links {
			if err := os.Symlink(to, link); err != nil {
				return err
			}
		}
	}
	return nil
}

// temporary empties the directories for temporary files.
func (w *Sandbox) temporary() error {
	for _, dir := range w.Temp {
		if err := w.emptied(dir, map[string]string{"mode": "1777"}); err != nil {
			return err
		}
	}
	return nil
}

// emptied mounts an empty directory over another one, with places in it for what is
// writable or shown below, and for further ones.
func (w *Sandbox) emptied(dir string, options map[string]string) error {
	at, err := plain(dir)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	fd, err := inMemory(options)
	if err != nil {
		return fmt.Errorf("mount %s: %w", dir, err)
	}
	defer unix.Close(fd)
	for _, path := range slices.Concat(w.Writable, w.Temp, w.Shown) {
		if subpath.Inside(path, dir) && path != dir {
			if err := makeDirs(fd, path[len(dir)+1:]); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
	}
	return moveOnto(fd, at)
}

// inMemory returns an empty directory in memory, which is mounted nowhere yet.
func inMemory(options map[string]string) (int, error) {
	made, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(made)
	for name, value := range options {
		if err := unix.FsconfigSetString(made, name, value); err != nil {
			return -1, err
		}
	}
	if err := unix.FsconfigCreate(made); err != nil {
		return -1, err
	}
	return unix.Fsmount(made, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
}

// makeDirs makes a directory, and those above it, in an open one.
func makeDirs(at int, path string) error {
	for i := range len(path) + 1 {
		if i < len(path) && path[i] != '/' {
			continue
		}
		if err := unix.Mkdirat(at, path[:i], 0o755); err != nil && !errors.Is(err, unix.EEXIST) {
			return err
		}
	}
	return nil
}

// linksIn returns the links of a directory that lead out of it, with their targets.
func (w *Sandbox) linksIn(dir string) map[string]string {
	entries, _ := os.ReadDir(dir) // what cannot be read is not shown
	links := map[string]string{}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.Type()&fs.ModeSymlink == 0 {
			continue
		}
		if to, err := os.Readlink(path); err == nil && filepath.IsAbs(to) && !slices.ContainsFunc(w.Services, func(d string) bool { return subpath.Inside(to, d) }) {
			links[path] = to
		}
	}
	return links
}
