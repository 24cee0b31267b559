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
)

// mountTree makes the tree of files inside: read-only, with what is writable bound back,
// a /dev of its own, no sockets of others, and masks. Its /proc is read-only with it:
// /proc/sys belongs to root, who may be the user.
func (c *command) mountTree() error {
	w := c.Walls
	binds, err := w.binds()
	if err != nil {
		return err
	}
	for _, one := range []struct {
		layer string
		build func() error
	}{{devices, w.mountDev}, {services, w.hideServices}, {mounts, w.temporary}} {
		if !w.has(one.layer) {
			continue
		}
		if err := one.build(); err != nil {
			return &missing{one.layer, err}
		}
	}
	if w.has(tree) {
		if err := readOnly(unix.AT_FDCWD, "/"); err != nil {
			return fmt.Errorf("make / read-only: %w", err)
		}
	}
	own := slices.Clone(w.Temp)
	if w.has(devices) {
		own = append(own, "/dev/pts", "/dev/shm")
	}
	for _, path := range own {
		if err := unix.MountSetattr(unix.AT_FDCWD, path, 0, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}); err != nil {
			return fmt.Errorf("make %s writable: %w", path, err)
		}
	}
	for i := range binds {
		b := &binds[i]
		if err := w.put(b); err != nil {
			return &missing{b.layer, err}
		}
	}
	for i := range binds {
		path := binds[i].path
		c.mounted = append(c.mounted, mounted{path, mountAt(path)})
	}
	return nil
}

// mounted is a path of the tree, with the mount that is there.
type mounted struct {
	path  string
	mount uint64
}

// mountAt returns which mount a path is on, 0 if it is not there. Every kernel that can make
// the tree tells it (mount_setattr is younger).
func mountAt(path string) uint64 {
	var at unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_MNT_ID, &at); err != nil {
		return 0
	}
	return at.Mnt_id
}

// stands returns an error if the tree is not any more as it was made. Outside, what
// something is mounted on may have been moved or removed, or made where nothing was: then
// nothing is mounted there.
func (c *command) stands() error {
	for _, m := range c.mounted {
		if mountAt(m.path) != m.mount {
			return fmt.Errorf("%s has changed", m.path)
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
}

// binds returns what is to be mounted, what is above first. What is writable or
// read-only is copied now, as it is without the walls.
func (w *Walls) binds() ([]bind, error) {
	var all []bind
	for _, path := range w.Writable {
		fd, err := copyOf(path)
		if err != nil {
			return nil, err
		}
		all = append(all, bind{layer: mounts, path: path, copy: fd})
	}
	for _, path := range w.ReadOnly {
		if !w.has(protected) {
			break
		}
		fd, err := copyOf(path)
		if err == nil {
			err = readOnly(fd, "")
		}
		if err != nil {
			return nil, &missing{protected, err}
		}
		all = append(all, bind{layer: protected, path: path, copy: fd})
	}
	for _, path := range w.Denied {
		all = append(all, bind{masks, path, -1, deniedFile, deniedDir})
	}
	for _, path := range w.Empty {
		all = append(all, bind{masks, path, -1, emptyFile, emptyDir})
	}
	all = slices.DeleteFunc(all, func(b bind) bool { return !w.has(b.layer) })
	slices.SortStableFunc(all, func(a, b bind) int { return len(a.path) - len(b.path) })
	return all, nil
}

// put mounts it. What is to be masked and is not there cannot be made by the command
// either, unless it can write there.
func (w *Walls) put(b *bind) error {
	if b.copy >= 0 {
		return put(b.copy, b.path)
	}
	err := mask(b.path, b.file, b.dir)
	if errors.Is(err, fs.ErrNotExist) && !slices.ContainsFunc(w.Writable, func(dir string) bool { return below(b.path, dir) }) {
		return nil
	}
	return err
}

// copyOf returns a copy of the mounts at a path, with whatever is mounted below. What is
// writable needs no devices and no programs that change the user.
func copyOf(path string) (int, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err == nil {
		err = unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV})
	}
	if err != nil {
		return -1, fmt.Errorf("%s: %w", path, err)
	}
	return fd, nil
}

// put mounts a copy at a path. No link is followed.
func put(fd int, path string) error {
	defer unix.Close(fd)
	if err := unix.MoveMount(fd, "", unix.AT_FDCWD, path, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("mount %s: %w", path, err)
	}
	return nil
}

// readOnly makes all mounts at a path read-only.
func readOnly(fd int, path string) error {
	flags := uint(unix.AT_RECURSIVE)
	if path == "" {
		flags |= unix.AT_EMPTY_PATH
	}
	return unix.MountSetattr(fd, path, flags, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID})
}

// The masks, in the /dev of the walls, which always is there.
const (
	maskDir    = "/dev/.walls"
	deniedFile = maskDir + "/denied-file"
	deniedDir  = maskDir + "/denied"
	emptyFile  = maskDir + "/empty-file"
	emptyDir   = maskDir + "/empty"
)

// mask covers a path.
func mask(path, file, dir string) error {
	var at unix.Stat_t
	if err := unix.Lstat(path, &at); err != nil {
		return fmt.Errorf("%s has changed meanwhile: %w: try again", path, err)
	}
	with := file
	switch at.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		with = dir
	case unix.S_IFLNK:
		return fmt.Errorf("%s is a link, which cannot be masked", path)
	}
	fd, err := copyOf(with)
	if err != nil {
		return err
	}
	if err := readOnly(fd, ""); err != nil {
		return err
	}
	return put(fd, path)
}

// nodes are the devices of the /dev inside.
var nodes = []string{"null", "zero", "full", "random", "urandom", "tty"}

// mountDev mounts a /dev with few devices, the masks, and terminals and shared memory of its
// own. The first two are there already in a room.
func (w *Walls) mountDev() error {
	if !w.Shared {
		if err := mountNodes(); err != nil {
			return err
		}
	}
	return errors.Join(
		unix.Mount("devpts", "/dev/pts", "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620"),
		unix.Mount("tmpfs", "/dev/shm", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "mode=1777"),
	)
}

// mountNodes mounts the /dev.
func mountNodes() error {
	copies := make([]int, len(nodes))
	for i, dev := range nodes {
		var err error
		copies[i], err = unix.OpenTree(unix.AT_FDCWD, "/dev/"+dev, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
		if err != nil {
			return fmt.Errorf("/dev/%s: %w", dev, err)
		}
	}
	if err := unix.Mount("tmpfs", "/dev", "tmpfs", unix.MS_NOSUID|unix.MS_NOEXEC|unix.MS_NODEV, "mode=755,size=1m"); err != nil {
		return fmt.Errorf("mount /dev: %w", err)
	}
	for i, dev := range nodes {
		if err := errors.Join(create("/dev/"+dev, 0o666), put(copies[i], "/dev/"+dev)); err != nil {
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
func (w *Walls) hideServices() error {
	for _, dir := range w.Services {
		links := w.linksIn(dir)
		if err := w.emptied(dir, "mode=755,size=1m"); err != nil {
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
func (w *Walls) temporary() error {
	for _, dir := range w.Temp {
		if err := w.emptied(dir, "mode=1777"); err != nil {
			return err
		}
	}
	return nil
}

// emptied mounts an empty directory over another one, with places in it for what is
// writable below, and for further ones.
func (w *Walls) emptied(dir, options string) error {
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return fmt.Errorf("mount %s: %w", dir, err)
	}
	for _, path := range slices.Concat(w.Writable, w.Temp) {
		if below(path, dir) {
			if err := os.MkdirAll(path, 0o755); err != nil {
				return err
			}
		}
	}
	return nil
}

// linksIn returns the links of a directory that lead out of it, with their targets.
func (w *Walls) linksIn(dir string) map[string]string {
	entries, _ := os.ReadDir(dir) // what cannot be read is not shown
	links := map[string]string{}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.Type()&fs.ModeSymlink == 0 {
			continue
		}
		if to, err := os.Readlink(path); err == nil && filepath.IsAbs(to) && !slices.ContainsFunc(w.Services, func(d string) bool { return below(to, d) }) {
			links[path] = to
		}
	}
	return links
}
