package workspace

import (
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/sandbox"
)

// stamp tells whether a directory is as it was: whatever changes in it changes the time of
// that, which nobody can set. The zero value is of none.
type stamp struct {
	dev, ino, links  uint64
	size             int64
	changed, written syscall.Timespec
}

// stampOf returns the stamp of an open directory, none in a file system that is not known
// for its times.
func stampOf(dir *os.File) stamp {
	var fs syscall.Statfs_t
	var at syscall.Stat_t
	fd := int(dir.Fd())
	if syscall.Fstatfs(fd, &fs) != nil || !slices.Contains(timed, int64(fs.Type)) || syscall.Fstat(fd, &at) != nil {
		return stamp{}
	}
	if fs.Type == overlay && at.Nlink == 1 {
		return stamp{} // it is made up of several, of which it has the time of one
	}
	return newStamp(&at)
}

// settling is how long ago the last change of a directory must be: its time is rounded, to
// a second in some of the file systems in timed, and another change may have the same one.
const settling = 3 * time.Second

// settled reports whether each later change will show, for a stamp that was taken after now.
func (s stamp) settled(now time.Time) bool {
	old := func(t syscall.Timespec) bool { return time.Unix(t.Unix()).Add(settling).Before(now) }
	return s != (stamp{}) && old(s.changed) && old(s.written)
}

// still reports whether a directory has a stamp.
func (s stamp) still(dir string) bool {
	if s == (stamp{}) {
		return false
	}
	var at syscall.Stat_t
	for {
		switch err := syscall.Lstat(dir, &at); err {
		case nil:
			return s == newStamp(&at)
		case syscall.EINTR:
		default:
			return false
		}
	}
}

func newStamp(at *syscall.Stat_t) stamp {
	return stamp{at.Dev, at.Ino, uint64(at.Nlink), at.Size, at.Ctim, at.Mtim}
}

// overlay is the type of overlayfs.
const overlay = 0x794c7630

// timed are the file systems (statfs(2)) in which the time of a directory shows each change
// of what is in it, whoever makes it. Those of other machines and of programs (NFS, FUSE,
// 9P) are not among them, nor are those that make up what is in them (proc).
var timed = []int64{
	0xef53,     // ext2, ext3, ext4
	0x58465342, // XFS
	0x9123683e, // Btrfs
	0x01021994, // tmpfs
	overlay,
	0xf2f52010, // F2FS
	0xca451a4e, // bcachefs
	0x2fc12fc1, // ZFS
}

// inodeOf returns what an open directory is.
func inodeOf(dir *os.File) (i sandbox.Inode) {
	var at syscall.Stat_t
	if syscall.Fstat(int(dir.Fd()), &at) == nil {
		i = sandbox.Inode{Dev: at.Dev, Ino: at.Ino}
	}
	return i
}

// inodeAt returns what is at a path.
func inodeAt(name string) (i sandbox.Inode) {
	var at syscall.Stat_t
	if syscall.Lstat(name, &at) == nil {
		i = sandbox.Inode{Dev: at.Dev, Ino: at.Ino}
	}
	return i
}
